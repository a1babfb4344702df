package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"wiretime/kernel"
	"wiretime/lab"
	"wiretime/loader/chromium"
	"wiretime/loader/firefox"
	"wiretime/machine"
	"wiretime/runner"
)

func doctorCommand() *cobra.Command {
	var chosen runner.Browsers
	c := &cobra.Command{
		Use: "doctor", Short: "Say what this machine gives and what it lacks", Args: arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return doctor(c.Context(), chosen) },
	}
	browserFlags(c, &chosen)
	return c
}

var errUnfit = errors.New("this machine lacks what is marked with ✗")

func doctor(ctx context.Context, chosen runner.Browsers) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	findings := append(lab.Doctor(), chromiumFinding(chosen.Chromium), firefoxFinding(chosen.Firefox), kernelFinding(), punctualityFinding(ctx),
		lab.Program("pasta", "commands behind 'wiretime link' cannot reach the outside world", "install Debian's package passt"),
		lab.Program("npm", "the built-in site cannot be fetched", "install Node.js"),
		lab.Program("tshark", "captures can be kept but not looked at here", "install Debian's package tshark"))
	fit := true
	for _, f := range findings {
		mark := "✓"
		if !f.OK {
			mark = "!"
			if f.Required {
				mark, fit = "✗", false
			}
		}
		fmt.Printf("%s %s: %s\n", mark, f.Name, f.Detail)
		if !f.OK {
			fmt.Printf("    to do: %s\n", f.Remedy)
		}
	}
	if !fit {
		fmt.Fprintln(os.Stderr, "wiretime:", errUnfit)
		os.Exit(exitMachine)
	}
	return nil
}

func chromiumFinding(chosen string) lab.Finding {
	f := lab.Finding{Name: "Chromium", Required: true}
	path, err := chromium.Find(chosen)
	if err != nil {
		f.Detail, f.Remedy = "not found", "install Debian's package chromium-headless-shell or chromium"
		return f
	}
	f.OK, f.Detail = true, path
	return f
}

func firefoxFinding(chosen string) lab.Finding {
	f := lab.Finding{Name: "Firefox"}
	path, err := firefox.Find(chosen)
	if err != nil {
		f.Detail, f.Remedy = "not found: studies with the loader firefox cannot be run", "install Debian's package firefox-esr"
		return f
	}
	f.OK, f.Detail = true, path
	return f
}

func kernelFinding() lab.Finding {
	f := lab.Finding{Name: "virtual clock"}
	k, err := kernel.Find()
	if err != nil {
		f.Detail, f.Remedy = err.Error(), "wiretime kernel build (some minutes, once); without it everything is measured on the real clock"
		return f
	}
	f.OK, f.Detail = true, fmt.Sprintf("Linux %s, %s", k.Version, k.Path)
	return f
}

// punctualityFinding says which clock the machine suits.
func punctualityFinding(ctx context.Context) lab.Finding {
	f := lab.Finding{Name: "punctuality"}
	s, err := machine.Examine(ctx, examineTime)
	if err != nil {
		f.Detail, f.Remedy = err.Error(), "use the virtual clock"
		return f
	}
	detail := []string{"left alone, " + s.AsIs.String()}
	if s.Awake != nil {
		detail = append(detail, "with its processors kept awake, "+s.Awake.String())
	}
	if s.Others >= 0 {
		detail = append(detail, fmt.Sprintf("others took %.1f %% of the processors", 100*s.Others))
	}
	detail = append(detail, s.Unchecked...)
	why := s.Unfit()
	if f.OK = why == ""; f.OK {
		detail = append(detail, "it suits both clocks")
	} else {
		detail = append(detail, "it suits the virtual clock")
		f.Remedy = "use the virtual clock (make kernel, then --clock virtual), since " + why + "; or leave the machine alone while loads run on the real clock"
	}
	f.Detail = strings.Join(detail, "\n    ")
	return f
}
