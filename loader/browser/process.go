package browser

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"wiretime/process"
)

// Process is a running browser with all the processes that it has started.
type Process struct {
	pid     int
	exited  chan struct{}
	killing sync.Once
}

// Start starts a browser in a process group of its own. output receives what it prints. The
// caller must call Kill when it is done with the browser.
//
// It returns the errors of [exec.Cmd.Start].
func Start(command *exec.Cmd, output *Output) (*Process, error) {
	command.Stdout, command.Stderr = output, output
	command.WaitDelay = time.Second // for child processes that may keep its output open
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Setpgid = true
	child, err := process.Start(command)
	if err != nil {
		return nil, err
	}
	p := &Process{pid: command.Process.Pid, exited: make(chan struct{})}
	go func() {
		_ = child.Wait() // the exit status is in its last output
		close(p.exited)
	}()
	return p, nil
}

// PID returns the process ID of the browser's first process.
func (p *Process) PID() int { return p.pid }

// Exited returns a channel that is closed once the browser has exited. Processes that it has started
// may still be running then.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Kill ends the browser and all its processes and waits for them. Calls after the first do nothing.
func (p *Process) Kill() {
	p.killing.Do(func() {
		// Its child processes may still be running after a crash.
		_ = syscall.Kill(-p.pid, syscall.SIGKILL)
		<-p.exited
		reap(p.pid)
	})
}

// reap waits for the processes of a group that have become this program's children because
// their own parent is gone.
func reap(group int) {
	for {
		if _, err := syscall.Wait4(-group, nil, 0, nil); err != nil && err != syscall.EINTR {
			return
		}
	}
}

// guardGrace is how long a use of a browser may take to end after its context has ended.
const guardGrace = 5 * time.Second

// Guard kills the browser if a use of it does not end soon after its context has. A browser that is stopped, or that a
// page has taken over, may read no commands, and then everything that sends one waits. The caller must call
// done when the use has ended.
func (p *Process) Guard(ctx context.Context) (done func()) {
	ended, settled := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(settled)
		select {
		case <-ended:
		case <-time.After(guardGrace):
			p.Kill()
		}
	})
	return func() {
		close(ended)
		if !stop() {
			<-settled
		}
	}
}

// Version returns the name and version that a browser's binary prints.
func Version(ctx context.Context, binary string) (string, error) {
	out, err := exec.CommandContext(ctx, binary, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("get the version of %s: %w", binary, err)
	}
	return strings.TrimSpace(string(out)), nil
}
