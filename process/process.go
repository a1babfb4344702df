// Package process starts child programs that die with this one.
//
// Linux can kill a child when its parent dies (PR_SET_PDEATHSIG), but takes the parent to be the
// thread that started the child. Go ends a thread when a goroutine that is locked to it returns,
// and any goroutine may have started a child on that thread before. So each child here is started
// on a thread that is kept until the child has been waited for.
package process

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Child is a program that has been started.
type Child struct {
	// Command has been started; it must not be waited for but by Wait.
	Command *exec.Cmd
	wait    chan struct{}
	ended   chan error
}

// Start starts a command whose process the kernel kills (SIGKILL) when this program ends, however
// it ends. Whatever else the command's SysProcAttr says holds. The caller must call Wait once.
//
// It returns the errors of [exec.Cmd.Start].
func Start(command *exec.Cmd) (*Child, error) {
	return start(command, command.Start)
}

// StartOn starts a command as [Start] does, on one of the processors that this program may use, which
// are counted from 0: in a container they need not be the machine's first. The child and its own children
// stay there.
func StartOn(processor int, command *exec.Cmd) (*Child, error) {
	return start(command, func() error { return startPinned(processor, command) })
}

func start(command *exec.Cmd, begin func() error) (*Child, error) {
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Pdeathsig = syscall.SIGKILL
	c := &Child{Command: command, wait: make(chan struct{}), ended: make(chan error)}
	started := make(chan error)
	go c.own(begin, started)
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// own starts the child and keeps its thread until the child has ended.
func (c *Child) own(begin func() error, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := begin()
	started <- err
	if err != nil {
		return
	}
	<-c.wait
	c.ended <- c.Command.Wait()
}

// startPinned starts a command on one processor: a process inherits the processors of the thread
// that starts it.
func startPinned(processor int, command *exec.Cmd) error {
	var before, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return fmt.Errorf("read this thread's CPU affinity: %w", err)
	}
	number, err := numberOf(processor, before)
	if err != nil {
		return fmt.Errorf("pin %s to a processor: %w", command.Path, err)
	}
	one.Set(number)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return fmt.Errorf("pin %s to processor %d: %w", command.Path, number, err)
	}
	started := command.Start()
	if err := unix.SchedSetaffinity(0, &before); err != nil && started == nil {
		return errors.Join(fmt.Errorf("unpin the thread that started %s: %w", command.Path, err), command.Process.Kill(), command.Wait())
	}
	return started
}

// numberOf returns the machine's number of the processor that comes n-th, from 0, in a set.
func numberOf(n int, set unix.CPUSet) (int, error) {
	for number, before := 0, 0; before < set.Count(); number++ {
		if !set.IsSet(number) {
			continue
		}
		if before == n {
			return number, nil
		}
		before++
	}
	return 0, fmt.Errorf("there is no processor %d: this program may use %d, counted from 0", n, set.Count())
}

// Wait waits until the child has ended and returns the errors of [exec.Cmd.Wait].
func (c *Child) Wait() error {
	c.wait <- struct{}{}
	return <-c.ended
}

// Run starts a command as [Start] does and waits until it has ended.
func Run(command *exec.Cmd) error {
	c, err := Start(command)
	if err != nil {
		return err
	}
	return c.Wait()
}
