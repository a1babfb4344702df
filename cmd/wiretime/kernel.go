package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

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
	p := newProgress(os.Stderr)
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

// progress shows the steps of a build: on a terminal in one line that changes,
// elsewhere in a line every 15 seconds.
type progress struct {
	out      io.Writer
	terminal bool
	begun    time.Time
	steps    chan kernel.Step
	ended    chan struct{}
}

func newProgress(file *os.File) *progress {
	_, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
	p := &progress{out: file, terminal: err == nil, begun: time.Now(), steps: make(chan kernel.Step), ended: make(chan struct{})}
	go p.run()
	return p
}

func (p *progress) show(s kernel.Step) { p.steps <- s }

// end waits until everything has been printed.
func (p *progress) end() {
	close(p.steps)
	<-p.ended
}

func (p *progress) run() {
	defer close(p.ended)
	every := 15 * time.Second
	if p.terminal {
		every = time.Second
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	var current kernel.Step
	for {
		select {
		case s, ok := <-p.steps:
			switch {
			case !ok:
				if p.terminal && current.Name != "" {
					fmt.Fprint(p.out, "\r\x1b[K")
				}
				return
			case s.Note && p.terminal:
				fmt.Fprintf(p.out, "\r\x1b[Knote: %s\n", terminal.Line(s.Name))
			case s.Note:
				fmt.Fprintf(p.out, "note: %s\n", terminal.Line(s.Name))
			default:
				fresh := s.Name != current.Name
				if current = s; fresh || p.terminal {
					p.line(current)
				}
			}
		case <-tick.C:
			if current.Name != "" {
				p.line(current)
			}
		}
	}
}

func (p *progress) line(s kernel.Step) {
	text := terminal.Line(s.Name)
	if s.Expected > 0 {
		text += fmt.Sprintf(": %d of about %d files", s.Done, max(s.Expected, s.Done))
	}
	text += ", " + time.Since(p.begun).Round(time.Second).String()
	if p.terminal {
		fmt.Fprint(p.out, "\r\x1b[K"+text)
		return
	}
	fmt.Fprintln(p.out, text)
}
