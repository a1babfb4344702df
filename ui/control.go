package ui

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"wiretime/interrupt"
	"wiretime/process"
	"wiretime/store"
)

// control starts runs and stops them. One process at a time writes to a store, so there is one run at most.
type control struct {
	program []string
	store   string
	changed func() // is called when a run begins, is told to stop, or has ended

	mu      sync.Mutex
	child   *child
	told    int // another program's process that was told to stop
	last    *ended
	closing bool
}

// child is a run that this server started.
type child struct {
	*process.Child
	study    string
	said     *tail
	stopping bool
	done     chan struct{}
}

// ended is how a run ended that this server started.
type ended struct {
	Code  int    `json:"code"`
	Said  string `json:"said"` // the end of what it printed
	Study string `json:"study,omitempty"`
}

func (c *control) init(program []string, dir string) { c.program, c.store = program, dir }

// start starts `wiretime run` with the arguments. study names the study for people.
func (c *control) start(study string, arguments ...string) (pid int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch writer := store.Writer(c.store); {
	case c.closing:
		return 0, fmt.Errorf("start a run: %w: this `wiretime ui` is ending", errConflict)
	case c.child != nil:
		return 0, fmt.Errorf("start a run: %w: process %d measures already; stop it, or wait until it ends", errConflict, c.child.Command.Process.Pid)
	case writer > 0:
		return 0, fmt.Errorf("start a run: %w: process %d writes to the store; stop it, or wait until it ends", errConflict, writer)
	}
	command := exec.Command(c.program[0], append(append(c.program[1:len(c.program):len(c.program)], "run", "--store", c.store), arguments...)...)
	said := &tail{}
	command.Stdout, command.Stderr = said, said
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C in this server's terminal is passed on by end
	command.WaitDelay = interrupt.Limit                       // for programs of the run that hold its output
	started, err := process.Start(command)
	if err != nil {
		return 0, fmt.Errorf("start a run: %w", err)
	}
	run := &child{Child: started, study: study, said: said, done: make(chan struct{})}
	c.child, c.last = run, nil
	go func() { // end waits for it
		defer close(run.done)
		err := run.Wait()
		c.mu.Lock()
		c.child, c.last = nil, &ended{Code: exitCode(err), Said: said.text(), Study: study}
		c.mu.Unlock()
		c.changed()
	}()
	c.changed()
	return command.Process.Pid, nil
}

// exitCode returns the code of a program that has ended: 128 and the signal's number for one that was killed, as shells have it.
func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &exit):
		return 1
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exit.ExitCode()
}

// stop has the process that measures stop in good order, whoever started it. Told again, a run of this server stops at once.
func (c *control) stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.changed()
	if c.child != nil {
		c.child.stopping = true
		return c.child.Command.Process.Signal(syscall.SIGINT)
	}
	pid := store.Writer(c.store)
	if pid == 0 {
		return fmt.Errorf("stop the run: %w: no process measures", errConflict)
	}
	// The number could become another program's before the signal is sent, unless a descriptor holds the process.
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return fmt.Errorf("stop process %d: %w", pid, err)
	}
	defer unix.Close(process)
	if store.Writer(c.store) != pid {
		return fmt.Errorf("stop the run: %w: the process has just ended", errConflict)
	}
	if err := unix.PidfdSendSignal(process, unix.SIGINT, nil, 0); err != nil {
		return fmt.Errorf("stop process %d: %w", pid, err)
	}
	c.told = pid
	return nil
}

// end has the run of this server stop in good order, and waits until it has. Nothing starts after that.
func (c *control) end() {
	c.mu.Lock()
	c.closing = true
	run := c.child
	if run != nil && !run.stopping {
		run.stopping = true
		_ = run.Command.Process.Signal(syscall.SIGINT) // it may just have ended
	}
	c.mu.Unlock()
	if run != nil {
		<-run.done
	}
}

// running describes the process that measures; nil if no process does.
func (c *control) running() (now *running, last *ended) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.child != nil {
		return &running{Pid: c.child.Command.Process.Pid, Own: true, Stopping: c.child.stopping, Study: c.child.study, Said: c.child.said.text()}, nil
	}
	if pid := store.Writer(c.store); pid > 0 {
		return &running{Pid: pid, Stopping: pid == c.told}, c.last
	}
	return nil, c.last
}

// mostSaid is how many octets are kept of what a run prints.
const mostSaid = 8 << 10

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	end []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, p...)
	if more := len(t.end) - mostSaid; more > 0 {
		t.end = append([]byte(nil), t.end[more:]...)
	}
	return len(p), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.ToValidUTF8(t.end, []byte("?")))
}
