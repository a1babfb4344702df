package setup

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"wiretime/process"
)

// patience is how long programs may take to end after SIGTERM.
const patience = 5 * time.Second

// command runs a program to its end in its own process group. It ends with this one. When ctx is done, the group
// gets SIGTERM and later SIGKILL. The error holds the end of the output.
func command(ctx context.Context, program string, args ...string) error {
	c := exec.CommandContext(ctx, program, args...)
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	c.Env = append(os.Environ(), "MAKEFLAGS=", "DEBIAN_FRONTEND=noninteractive")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }
	c.WaitDelay = patience
	err := process.Run(c)
	if ctx.Err() != nil {
		if c.Process != nil {
			_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // processes that did not end
		}
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(append([]string{program}, args...), " "), err, lastLines(said.String(), 15))
	}
	return nil
}

// lastLines returns the end of a text without empty lines.
func lastLines(text string, n int) string {
	var all []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \r\n"); line != "" {
			all = append(all, line)
		}
	}
	return strings.Join(all[max(0, len(all)-n):], "\n")
}
