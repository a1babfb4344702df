package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"wiretime/kernel"
	"wiretime/terminal"
)

func kernelCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "kernel", Short: "Build, check and find the kernel of the virtual clock", Args: arguments(cobra.NoArgs),
		Long: `The virtual clock runs a lab inside a Linux kernel of its own: User-Mode Linux, an
ordinary process that needs no root. Its clock jumps to the next timer whenever
everything in it waits. 'wiretime kernel build' builds it once, in some minutes.`,
	}
	c.AddCommand(kernelBuildCommand(), kernelCheckCommand(), kernelPathCommand())
	return c
}

func kernelBuildCommand() *cobra.Command {
	var o kernel.BuildOptions
	c := &cobra.Command{
		Use: "build", Short: "Build the kernel, unless it has been built already", Args: arguments(cobra.NoArgs),
		Long: `Build takes the Linux source from the Debian mirror that apt is configured for, with
package lists of its own, or from the tarball of --source. It keeps the kernel in the
user's cache folder.`,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.SHA256 != "" && o.Source == "" {
				return input(errors.New("--sha256 needs --source"))
			}
			return buildKernel(c.Context(), o)
		},
	}
	c.Flags().StringVar(&o.Source, "source", "", "tarball of Linux 7.2 or newer, from kernel.org or from Debian's linux-source (default: Debian's, through apt)")
	c.Flags().StringVar(&o.SHA256, "sha256", "", "expected checksum of the tarball")
	return c
}

func kernelPathCommand() *cobra.Command {
	return &cobra.Command{
		Use: "path", Short: "Print the path of the kernel", Args: arguments(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			k, err := kernel.Find()
			if err != nil {
				return err
			}
			fmt.Fprintln(stdout, k.Path)
			return nil
		},
	}
}

func kernelCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use: "check", Short: "Boot the kernel and check that it does what the virtual clock needs", Args: arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := interruptible(c.Context())
			defer stop()
			return checkKernel(ctx)
		},
	}
}

func checkKernel(ctx context.Context) error {
	k, err := kernel.Find()
	if err != nil {
		return err
	}
	findings, err := k.Check(ctx)
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted%w", errInterrupted)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errUnfitKernel, err)
	}
	fit := true
	for _, f := range findings {
		mark := "✓"
		if !f.OK {
			mark, fit = "✗", false
		}
		fmt.Fprintf(stdout, "%s %-13s %s\n", mark, f.Name, f.Detail)
	}
	if !fit {
		return errUnfitKernel
	}
	fmt.Fprintln(stdout, "The virtual clock works on this machine.")
	return nil
}

// kernelUnfit reports whether an error means that this machine cannot build or boot the kernel.
func kernelUnfit(err error) bool {
	return slices.ContainsFunc([]error{
		errUnfitKernel, kernel.ErrNotBuilt, kernel.ErrUnsupported, kernel.ErrNoCompiler, kernel.ErrNoSource, kernel.ErrSpace, kernel.ErrMemory, kernel.ErrForbidden,
	}, func(reason error) bool { return errors.Is(err, reason) })
}

var errUnfitKernel = errors.New("the virtual clock does not work on this machine")

func buildKernel(ctx context.Context, o kernel.BuildOptions) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	p := showSteps(stderr)
	o.Progress = p.show
	k, err := kernel.Build(ctx, o)
	p.end()
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted%w", errInterrupted)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "Linux %s for the virtual clock: %s\n", k.Version, k.Path)
	return nil
}

// steps shows the steps of a build: on a terminal in one line that changes, elsewhere in a line every 15 seconds.
type steps struct {
	to    terminal.Writer
	begun time.Time
	watch *terminal.Watch
	next  chan kernel.Step
	ended chan struct{}

	mu      sync.Mutex
	current kernel.Step
}

func showSteps(to terminal.Writer) *steps {
	s := &steps{to: to, begun: time.Now(), next: make(chan kernel.Step), ended: make(chan struct{})}
	s.watch = to.Watch(func(int) terminal.Text { return terminal.Text{{Words: s.line()}} })
	go s.run()
	return s
}

func (s *steps) show(step kernel.Step) { s.next <- step }

// end waits until everything has been printed.
func (s *steps) end() {
	close(s.next)
	<-s.ended
	if s.watch != nil {
		s.watch.End()
	}
}

func (s *steps) run() {
	defer close(s.ended)
	tick := time.NewTicker(15 * time.Second)
	defer tick.Stop()
	for {
		select {
		case step, ok := <-s.next:
			switch {
			case !ok:
				return
			case step.Note:
				fmt.Fprintf(s.to, "note: %s\n", terminal.Line(step.Name))
			default:
				s.mu.Lock()
				fresh := step.Name != s.current.Name
				s.current = step
				s.mu.Unlock()
				s.print(fresh)
			}
		case <-tick.C:
			s.print(true)
		}
	}
}

// print shows how the build stands; where no line can change, only if due.
func (s *steps) print(due bool) {
	if s.watch != nil {
		s.watch.Update()
	} else if line := s.line(); due && line != "" {
		fmt.Fprintln(s.to, line)
	}
}

func (s *steps) line() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current.Name == "" {
		return ""
	}
	text := terminal.Line(s.current.Name)
	if s.current.Expected > 0 {
		text += fmt.Sprintf(": %d of about %d files", s.current.Done, max(s.current.Expected, s.current.Done))
	}
	return text + ", " + time.Since(s.begun).Round(time.Second).String()
}
