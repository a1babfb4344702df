package server

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"wiretime/process"
	"wiretime/sandbox"
)

// instance is a running server program. It is the first process of a PID namespace: when
// it ends, the kernel ends whatever it has started.
type instance struct {
	child    *process.Child
	output   *os.File // with its output, until it has ended
	patience time.Duration
	signal   syscall.Signal // asks it to exit
	stopping atomic.Bool
	ended    chan struct{}
	err      error // why it exited; valid once ended is closed
}

// asNobody is the command prefix that runs a program as nobody.
var asNobody = []string{"unshare", "--user", "--map-user=65534", "--map-group=65534", "--"}

// start starts a program. output is the file that receives its output. A contained program may read the given
// folders, beside its own and what all programs may.
func start(l launch, c Config, output string, reads ...string) (_ *instance, err error) {
	args := l.args
	if l.nobody && !c.Contained && os.Geteuid() == 0 {
		args = append(append([]string{}, asNobody...), args...)
	}
	command := exec.Command(args[0], args[1:]...)
	p := &instance{patience: cmp.Or(l.patience, stopLimit), signal: cmp.Or(l.stop, syscall.SIGTERM), ended: make(chan struct{})}
	command.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(output), "LANG=C.UTF-8"}, l.environment...)
	command.Dir = filepath.Dir(output)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Cloneflags: syscall.CLONE_NEWPID}
	// A program of the same server, which started before this one, may have put something else there.
	file, err := os.OpenFile(output, os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = file.Close()
		}
	}()
	p.output, command.Stdout, command.Stderr = file, file, file
	if command.Err != nil {
		return nil, command.Err
	}
	if c.Contained {
		command.Env = append(command.Env, "TMPDIR="+filepath.Dir(output))
		policy := sandbox.Policy{Read: reads, Write: []string{c.Folder}, Ports: true}
		if c.Kind.plain { // a study's own command may be anywhere, and need anything that the user has
			policy.Read, policy.KeepUser = []string{"/"}, true
		}
		if err := sandbox.Contain(command, policy); err != nil {
			return nil, err
		}
	}
	c.Command(command)
	if p.child, err = process.Start(command); err != nil {
		return nil, err
	}
	go p.wait()
	return p, nil
}

func (p *instance) wait() {
	defer close(p.ended)
	defer p.output.Close()
	err := p.child.Wait()
	if p.stopping.Load() {
		return
	}
	if err == nil {
		err = errors.New("exit status 0")
	}
	p.err = fmt.Errorf("%w%s", err, p.lastWords())
}

// keptOutput is how many octets of a program's output an error quotes.
const keptOutput = 1500

// lastWords returns the end of the program's output, to be appended to an
// error.
func (p *instance) lastWords() string {
	info, err := p.output.Stat()
	if err != nil {
		return "; no output"
	}
	extra := max(0, info.Size()-keptOutput)
	text, err := io.ReadAll(io.NewSectionReader(p.output, extra, keptOutput))
	if err != nil || len(text) == 0 {
		return "; no output"
	}
	if extra > 0 {
		if _, whole, found := strings.Cut(string(text), "\n"); found {
			text = []byte(whole)
		}
	}
	return "; last output: " + strings.TrimSpace(string(text))
}

// stopLimit is how long a program that catches the signal to stop has to exit by default.
const stopLimit = 2 * time.Second

// stop ends the program and whatever it has started, and waits until all have
// ended.
func (p *instance) stop() {
	p.stopping.Store(true)
	group := p.child.Command.Process.Pid
	if p.catches(p.signal) {
		_ = syscall.Kill(group, p.signal) // it may have just exited
		select {
		case <-p.ended:
		case <-time.After(p.patience):
		}
	}
	_ = syscall.Kill(-group, syscall.SIGKILL) // likewise
	<-p.ended
}

// catches reports whether the program has a handler for a signal. Without one, a signal
// has no effect on the first process of a namespace.
func (p *instance) catches(s syscall.Signal) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.child.Command.Process.Pid))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(status)) {
		if mask, ok := strings.CutPrefix(line, "SigCgt:"); ok {
			caught, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
			return err == nil && caught>>(s-1)&1 == 1
		}
	}
	return false
}
