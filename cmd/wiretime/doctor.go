package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"wiretime/kernel"
	"wiretime/lab"
	"wiretime/loader/chromium"
	"wiretime/loader/firefox"
	"wiretime/runner"
)

func doctorCommand() *cobra.Command {
	var chosen runner.Browsers
	c := &cobra.Command{
		Use: "doctor", Short: "Say what this machine gives and what it lacks", Args: arguments(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return doctor(chosen) },
	}
	browserFlags(c, &chosen)
	return c
}

var errUnfit = errors.New("this machine lacks what is marked with ✗")

func doctor(chosen runner.Browsers) error {
	findings := append(lab.Doctor(), chromiumFinding(chosen.Chromium), firefoxFinding(chosen.Firefox), kernelFinding(),
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
