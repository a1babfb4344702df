// Command uipictures takes the pictures of wiretime ui that docs/ui.md shows, in Chromium: it measures a small study, serves the pages over
// it, and writes docs/ui-*.png.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"wiretime/atomicfile"
	"wiretime/interrupt"
	"wiretime/loader/chromium"
	"wiretime/scratch"
	"wiretime/ui/reader"
)

// shown is the study that is measured; its loads cost little.
const shown = `name: four-places
title: Three protocols, two pages, two networks
repeats: 6
clock: virtual
matrix:
  sites: [magazine, objects@40x20kB]
  protocols: [https/1.1, h2, h3]
  networks:
    - lte
    - {name: lossy, rate: 5mbit, rtt: 100ms, loss: 1%, queue: 64kB}
  loaders: [builtin]
`

// picture is a page as docs/ui.md shows it.
type picture struct {
	file, hash string
	look       reader.Look
	height     float64 // of the part that is shown, CSS pixels
	ready      string  // JavaScript that is true when all is drawn
}

var (
	screen = reader.Look{Width: 1100, Height: 1200}
	dark   = reader.Look{Width: 1100, Height: 1200, Dark: true}
	phone  = reader.Look{Width: 390, Height: 844, Phone: true}
	paper  = reader.Look{Width: 794, Height: 1123, Print: true} // A4 at 96 pixels per inch
)

var pictures = []picture{
	{"ui-overview.png", "#/runs/1", screen, 1150, `document.querySelector(".overview svg") !== null`},
	{"ui-load.png", "#/loads/r1-0007-a1", dark, 1120, `document.querySelectorAll("tr.lane svg").length === 3`},
	{"ui-compare.png", "#/compare/r1-0007-a1/r1-0008-a1", screen, 1150, `document.querySelectorAll("svg.glance").length === 2`},
	{"ui-phone.png", "#/runs/1/cells/1", phone, 844, `document.querySelector(".distribution svg") !== null`},
	{"ui-print.png", "#/runs/1", paper, 1123, `document.querySelector(".overview svg") !== null`},
}

func main() {
	ctx, stop := interrupt.Context(context.Background(), "uipictures")
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "uipictures:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	browser, err := chromium.Find("")
	if err != nil {
		return err
	}
	temporary, err := scratch.Make("", "wiretime-ui-pictures-")
	if err != nil {
		return err
	}
	defer temporary.Remove()
	folder := temporary.Path
	study, store := filepath.Join(folder, "four-places.yaml"), filepath.Join(folder, "results")
	if err := os.WriteFile(study, []byte(shown), 0o600); err != nil {
		return err
	}
	measure := exec.CommandContext(ctx, "bin/wiretime", "run", study, "--store", store)
	measure.Stderr = os.Stderr
	if err := measure.Run(); err != nil {
		return fmt.Errorf("measure the study: %w", err)
	}
	address, end, err := serve(ctx, store, folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	r, err := reader.Open(ctx, browser, folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if err := r.Open(ctx, address); err != nil {
		return err
	}
	home, _, _ := strings.Cut(address, "?") // the first visit has left a cookie in the place of the token
	for _, p := range pictures {
		if err := p.take(ctx, r, home); err != nil {
			return fmt.Errorf("take the picture %s: %w", p.file, err)
		}
		fmt.Println("docs/" + p.file)
	}
	return nil
}

// serve starts wiretime ui and returns its address, and what ends it.
func serve(ctx context.Context, store, studies string) (address string, end func() error, err error) {
	c := exec.CommandContext(ctx, "bin/wiretime", "ui", "--store", store, "--studies", studies, "--listen", "127.0.0.1:0")
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := c.Start(); err != nil {
		return "", nil, fmt.Errorf("serve the pages: %w", err)
	}
	end = func() error {
		if err := c.Process.Signal(syscall.SIGINT); err != nil {
			return err
		}
		if err := c.Wait(); err != nil && c.ProcessState.ExitCode() != interrupt.ExitCode {
			return fmt.Errorf("serve the pages: %w", err)
		}
		return nil
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if address = regexp.MustCompile(`http://\S+`).FindString(lines.Text()); address != "" {
			return address, end, nil
		}
	}
	return "", nil, errors.Join(errors.New("serve the pages: wiretime ui printed no address"), end())
}

// take takes the picture of a page of the pages at address.
func (p picture) take(ctx context.Context, r *reader.Reader, address string) error {
	if err := r.Set(ctx, p.look); err != nil {
		return err
	}
	for _, to := range []string{"about:blank", address + p.hash} { // charts are as wide as the window was when they were drawn, so the page is loaded anew
		if err := r.Open(ctx, to); err != nil {
			return err
		}
	}
	if err := r.Until(ctx, p.ready+` && document.querySelector("[aria-busy=true]") === null`); err != nil {
		return err
	}
	if err := r.Eval(ctx, `document.activeElement.blur()`, nil); err != nil {
		return err
	}
	shot, err := r.Picture(ctx, p.height)
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes("docs/"+p.file, shot)
}
