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
		fmt.Fprintf(stdout, "%s %s: %s\n", mark(f), f.Name, f.Detail)
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

func mark(f lab.Finding) string {
	switch {
	case f.OK:
		return "✓"
	case f.Required:
		return "✗"
	}
	return "!"
}
