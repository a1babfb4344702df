// Command tests runs go test with the given arguments, and says every 15 seconds
// which tests are under way in packages that take long. It prints the same as
// go test otherwise: a line for each package, and what failed tests printed. A
// package may take half an hour unless the arguments set another -timeout.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// every is how often the progress is told.
const every = 15 * time.Second

// limit is how long the tests of a package may take, as go test's -timeout. Those of cmd/wiretime take five minutes
// alone on two cores and longer beside other packages; go test's own limit is ten.
const limit = "30m"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	code, err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "tests:", err)
	}
	os.Exit(code) //nolint:gocritic // stop has nothing left to do
}

// run runs go test and returns its exit code.
func run(ctx context.Context, args []string, out, complaints io.Writer) (int, error) {
	// go test ends its tests when it is interrupted.
	test := exec.CommandContext(ctx, "go", append([]string{"test", "-json", "-timeout", limit}, args...)...)
	test.Cancel = func() error { return test.Process.Signal(os.Interrupt) }
	test.Stderr = complaints
	events, err := test.StdoutPipe()
	if err != nil {
		return 1, fmt.Errorf("run go test: %w", err)
	}
	if err := test.Start(); err != nil {
		return 1, fmt.Errorf("run go test: %w", err)
	}
	readErr := newProgress(out).follow(events)
	err = test.Wait()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok && readErr == nil {
		return max(1, failed.ExitCode()), nil
	}
	if err = errors.Join(readErr, err); err != nil {
		return 1, fmt.Errorf("run go test: %w", err)
	}
	return 0, nil
}
