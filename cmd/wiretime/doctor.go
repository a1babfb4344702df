package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"wiretime/doctor"
	"wiretime/lab"
	"wiretime/runner"
	"wiretime/terminal"
)

func doctorCommand() *cobra.Command {
	var chosen runner.Browsers
	c := &cobra.Command{
		Use: "doctor", Short: "Show what this machine has and lacks", Args: arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return runDoctor(c.Context(), chosen) },
	}
	browserFlags(c, &chosen)
	return c
}

var errUnfit = errors.New("this machine lacks what is marked with ✗")

func runDoctor(ctx context.Context, chosen runner.Browsers) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	findings := doctor.Examine(ctx, doctor.Config{Chromium: chosen.Chromium, Firefox: chosen.Firefox, Duration: examineTime})
	for _, f := range findings {
		text, style := mark(f)
		if err := terminal.Println(stdout, terminal.Text{{Style: style, Words: text}, {Words: fmt.Sprintf(" %s: %s", f.Name, f.Detail)}}); err != nil {
			return err
		}
		if !f.OK {
			fmt.Fprintf(stdout, "    to do: %s\n", f.Remedy)
		}
	}
	if !doctor.Fit(findings) {
		fmt.Fprintln(stderr, "wiretime:", errUnfit)
		os.Exit(exitMachine)
	}
	return nil
}

func mark(f lab.Finding) (string, terminal.Style) {
	switch {
	case f.OK:
		return "✓", terminal.Green
	case f.Required:
		return "✗", terminal.Red
	}
	return "!", terminal.Yellow
}
