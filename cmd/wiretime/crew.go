package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"wiretime/campaign/broker"
	"wiretime/interrupt"
	"wiretime/process"
)

// crew is the workers that a campaign starts on this machine. Each is a program of its own, which a bug of a load cannot take
// the campaign down with.
type crew struct {
	server   *broker.Server
	campaign string
	dir      string // in which each has a folder
	size     int
	jobs     int // of each, at once
	said     func(line string)

	running sync.WaitGroup
}

// mostFailures is how often in a row a worker of this machine may fail.
const mostFailures = 3

// start starts the workers. fail is called when one fails again and again.
func (c *crew) start(ctx context.Context, fail context.CancelCauseFunc) error {
	for n := range c.size {
		name := "local-" + strconv.Itoa(n+1)
		i, err := c.server.Invite(name, time.Now().Add(inviteTerm))
		if err != nil {
			return err
		}
		dir := filepath.Join(c.dir, name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		file := filepath.Join(dir, "invitation")
		if err := i.Write(file); err != nil {
			return err
		}
		args := []string{"worker", "--join", file, "--folder", dir, "--campaign", c.campaign, "--jobs", strconv.Itoa(c.jobs), "--core", strconv.Itoa(n * c.jobs % runtime.NumCPU()), "--allow-commands"}
		c.running.Go(func() {
			if err := c.keepUp(ctx, name, args); err != nil {
				fail(err)
			}
		})
	}
	return nil
}

// wait waits until all workers have ended, which they do when start's context has.
func (c *crew) wait() { c.running.Wait() }

// keepUp runs a worker until ctx or the campaign ends, and starts it again if something kills it.
func (c *crew) keepUp(ctx context.Context, name string, args []string) error {
	for failures := 0; ctx.Err() == nil; {
		killed, err := c.once(ctx, name, args)
		if killed != "" {
			c.said(fmt.Sprintf("worker %s was ended by %s; it is started again", name, killed))
			continue
		}
		if err == nil {
			return nil
		}
		if failures++; failures == mostFailures && ctx.Err() == nil {
			return fmt.Errorf("worker %s failed %d times; the last time: %w", name, failures, err)
		}
	}
	return nil
}

// once runs a worker until it ends, and returns the signal that has killed it or why else it ended before the campaign.
func (c *crew) once(ctx context.Context, name string, args []string) (killed string, failed error) {
	var said lastLine
	command := exec.CommandContext(ctx, "/proc/self/exe", args...)
	command.Stdout, command.Stderr = io.Discard, io.MultiWriter(&said, &spoken{name: name, say: c.said})
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGINT) }
	command.WaitDelay = interrupt.Limit + 5*time.Second
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C reaches it once, by Cancel
	err := process.Run(command)
	if err == nil {
		return "", nil
	}
	if exited, is := errors.AsType[*exec.ExitError](err); is {
		if status, ok := exited.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return status.Signal().String(), nil
		}
	}
	if text := said.text(); text != "" {
		return "", errors.New(text)
	}
	return "", err
}

// spoken passes on what a worker says, line by line.
type spoken struct {
	name string
	say  func(line string)
	part []byte
}

func (s *spoken) Write(b []byte) (int, error) {
	s.part = append(s.part, b...)
	for {
		line, rest, whole := bytes.Cut(s.part, []byte("\n"))
		if !whole {
			return len(b), nil
		}
		s.part = rest
		if text := string(line); !strings.HasPrefix(text, "wiretime: ") {
			s.say(s.name + ": " + text)
		}
	}
}
