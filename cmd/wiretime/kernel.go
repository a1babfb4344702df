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
everything in it waits. A release has it beside the program, in ../lib/wiretime/kernel;
otherwise 'wiretime kernel build' builds it once, in some minutes.`,
	}
	c.AddCommand(kernelBuildCommand(), kernelCheckCommand(), kernelPathCommand(), kernelSourceCommand())
	return c
}

func kernelBuildCommand() *cobra.Command {
	var o kernel.BuildOptions
	c := &cobra.Command{
		Use: "build", Short: "Build the kernel, unless it has been built already", Args: arguments(cobra.NoArgs),
		Long: `Build takes the Linux source from the Debian mirror that apt is configured for, with
package lists of its own, or from the tarball of --source. It keeps the kernel in the
user's cache folder. A program with a kernel beside it uses that one and builds none.`,
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

func kernelSourceCommand() *cobra.Command {
	return &cobra.Command{
		Use: "source DIR", Short: "Save what the kernel is built from into a folder", Args: arguments(cobra.ExactArgs(1)),
		Long: `Source saves into a folder what 'wiretime kernel build' would build from, for a machine
without a Debian mirror or for a time when the mirror has another Linux: its tarball,
from the Debian mirror that apt is configured for, Wiretime's patches and configuration,
and how to build it.`,
		RunE: func(c *cobra.Command, args []string) error {
			return saveKernelSource(c.Context(), args[0])
		},
	}
}

func kernelPathCommand() *cobra.Command {
	return &cobra.Command{
		Use: "path", Short: "Print the path of the kernel", Args: arguments(cobra.NoArgs),
		Long: `Path prints the path of the kernel that the virtual clock uses: the one beside the program,
in ../lib/wiretime/kernel, or else the one in the user's cache folder that was built last.`,
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
	k, err := kernel.Beside()
	switch {
	case err == nil && o.Source != "":
		return input(fmt.Errorf("build a kernel: this program uses the one beside it, %s: copy the program alone to another folder, and build with the copy", k.Path))
	case err != nil:
		err = withSteps(ctx, func(ctx context.Context, progress func(kernel.Step)) (err error) {
			o.Progress = progress
			k, err = kernel.Build(ctx, o)
			return err
		})
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "Linux %s for the virtual clock: %s\n", k.Version, k.Path)
	return nil
}

func saveKernelSource(ctx context.Context, dir string) error {
	return withSteps(ctx, func(ctx context.Context, progress func(kernel.Step)) error {
		tarball, err := kernel.SaveSource(ctx, dir, progress)
		if err == nil {
			fmt.Fprintf(stdout, "Linux, patches and configuration are in %s. To build from them: wiretime kernel build --source %s\n", dir, tarball)
		}
		return err
	})
}

// withSteps shows the steps of what it does, which Ctrl-C interrupts.
func withSteps(ctx context.Context, do func(context.Context, func(kernel.Step)) error) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	p := showSteps(stderr)
	err := do(ctx, p.show)
	p.end()
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted%w", errInterrupted)
	}
	return err
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
