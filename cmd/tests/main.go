// Command tests runs all that make test runs, part after part: the set-up, the linter, the tests of the report's page and
// those of Go, with the given arguments for go test. It says every 15 seconds which tests are under way in packages that
// take long. At the end it says what failed, with the last lines of each test and the command that repeats it, what was
// skipped and why, and how long each part took.
//
// Tests run in an order drawn from a seed, which the end names; WIRETIME_TEST_SEED sets it. The exit code is 1 if
// something failed, and that of the set-up if the set-up failed.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// every is how often the progress is told.
const every = 15 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	seed := os.Getenv("WIRETIME_TEST_SEED")
	if seed == "" {
		seed = strconv.FormatInt(time.Now().Unix(), 10)
	}
	source := flag.String("kernel-source", "", "tarball of Linux for the set-up to build the virtual clock's kernel from (default: Debian's, through apt)")
	limit := flag.Duration("timeout", 20*time.Minute, "how long the tests of a package may take, as in go test")
	flag.Parse()
	code := run(ctx, parts(*source, *limit, flag.Args(), seed), seed, os.Stdout)
	os.Exit(code) //nolint:gocritic // stop has nothing left to do
}

// part is a part of the whole run.
type part struct {
	name    string
	command []string
	vital   bool // without it the other parts make no sense
	goTest  bool // it prints the events of go test -json
	folder  string
	took    time.Duration
	err     error
}

// parts returns the parts in the order in which they run.
func parts(source string, limit time.Duration, args []string, seed string) []part {
	// The linter has vetted already.
	test := []string{"go", "test", "-json", "-vet=off", "-timeout", limit.String(), "-shuffle", seed}
	return []part{
		{name: "set-up", command: []string{".cache/bin/setup", "-kernel-source", source, "tests"}, vital: true},
		{name: "linter", command: []string{"make", "--no-print-directory", "lint"}},
		{name: "report's page", command: []string{"npm", "test"}, folder: "report/ui"},
		{name: "Go", command: append(test, args...), goTest: true},
	}
}

// run runs the parts and returns the exit code.
func run(ctx context.Context, all []part, seed string, out io.Writer) int {
	progress := newProgress(out)
	code := 0
	for i := range all {
		p := &all[i]
		fmt.Fprintf(out, "== %s\n", p.name)
		began := time.Now()
		p.err = p.run(ctx, progress, out)
		p.took = time.Since(began)
		if p.err == nil {
			continue
		}
		code = 1
		if ctx.Err() != nil || p.vital {
			all = all[:i+1]
			break
		}
	}
	if failed := all[len(all)-1]; failed.vital && failed.err != nil {
		code = exitCode(failed.err)
	}
	progress.summary(all, seed)
	return code
}

// run runs a part to its end. What is interrupted gets SIGINT, on which go test ends its tests.
func (p *part) run(ctx context.Context, progress *progress, out io.Writer) error {
	c := exec.CommandContext(ctx, p.command[0], p.command[1:]...)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.Dir, c.Stdout, c.Stderr = p.folder, out, out
	if !p.goTest {
		return c.Run()
	}
	c.Stdout = nil
	events, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	if err := progress.follow(events); err != nil {
		_ = c.Cancel()
		_ = c.Wait()
		return err
	}
	return c.Wait()
}

// exitCode is that of a program that ended with err, or 1.
func exitCode(err error) int {
	if failed, ok := err.(*exec.ExitError); ok && failed.ExitCode() > 0 { //nolint:errorlint // as Run and Wait return it
		return failed.ExitCode()
	}
	return 1
}
