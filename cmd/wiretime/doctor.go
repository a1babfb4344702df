package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"wiretime/kernel"
	"wiretime/lab"
	"wiretime/loader/chromium"
)

func doctorCommand() *cobra.Command {
	var binary string
	c := &cobra.Command{
		Use: "doctor", Short: "Say what this machine gives and what it lacks", Args: arguments(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return doctor(binary) },
	}
	c.Flags().StringVar(&binary, "chromium", "", "the browser's binary (default: the first that is found)")
	return c
}

var errUnfit = errors.New("this machine lacks what is marked with ✗")

func doctor(binary string) error {
	findings := append(lab.Doctor(), browserFinding(binary), kernelFinding(),
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

func browserFinding(chosen string) lab.Finding {
	f := lab.Finding{Name: "Chromium", Required: true}
	path, err := chromium.Find(chosen)
	if err != nil {
		f.Detail, f.Remedy = "not found", "install Debian's package chromium-headless-shell or chromium"
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
