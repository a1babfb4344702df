package kernel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"wiretime/process"
)

// newCommand prepares a program in its own process group, which is killed as a whole when
// ctx ends. An empty environment means this process's own, with messages in English.
func newCommand(ctx context.Context, dir string, environment []string, program string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, program, args...)
	c.Dir = dir
	if c.Env = environment; environment == nil {
		c.Env = append(os.Environ(), "LC_ALL=C")
	}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	return c
}

// output runs a program and returns its standard output. The error holds the end of its
// standard error.
func output(ctx context.Context, dir string, environment []string, program string, args ...string) ([]byte, error) {
	c := newCommand(ctx, dir, environment, program, args...)
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	if err := process.Run(c); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return out.Bytes(), fmt.Errorf("%s: %s: %s", program, howEnded(err), lastLines(said.String()+out.String(), 5))
	}
	return out.Bytes(), nil
}

// howEnded describes a program's exit status. It drops the error itself, because main would
// take an exec.ExitError as the status to exit with.
func howEnded(err error) string { return err.Error() }

// lastLines returns the end of a text without empty lines.
func lastLines(text string, n int) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \r\n"); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// extractTarball copies one file out of a Debian package.
func extractTarball(ctx context.Context, deb, name, to string) error {
	file, err := os.Create(to)
	if err != nil {
		return err
	}
	unpack := newCommand(ctx, filepath.Dir(to), nil, "dpkg-deb", "--fsys-tarfile", deb)
	pick := newCommand(ctx, filepath.Dir(to), nil, "tar", "-xO", name)
	var said bytes.Buffer
	unpack.Stderr, pick.Stderr, pick.Stdout = &said, &said, file
	between, err := unpack.StdoutPipe()
	if err != nil {
		return err
	}
	pick.Stdin = between
	unpacking, err := process.Start(unpack)
	if err != nil {
		return err
	}
	failed := process.Run(pick)
	_, drained := io.Copy(io.Discard, between) // tar stops reading early, but dpkg-deb must be able to write everything
	if err := errors.Join(failed, drained, unpacking.Wait(), file.Close()); err != nil {
		return fmt.Errorf("%s: %s", howEnded(err), lastLines(said.String(), 3))
	}
	return context.Cause(ctx)
}
