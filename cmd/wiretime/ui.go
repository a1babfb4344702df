package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"wiretime/capture"
	"wiretime/difference"
	"wiretime/lab"
	"wiretime/runner"
	"wiretime/site"
	"wiretime/store"
	"wiretime/study"
	"wiretime/study/papers"
	"wiretime/ui"
)

// uiOptions are the flags of `wiretime ui`.
type uiOptions struct {
	store, studies, listen, tokenFile string
	open                              bool
}

func uiCommand() *cobra.Command {
	var o uiOptions
	c := &cobra.Command{
		Use: "ui", Short: "Serve a live page over the store: look, compare, follow a run, start and stop it",
		Long: `Ui serves a page on this machine's loopback and prints its address. The page shows
the store's runs, cells and loads, follows a run while it is measured, whoever
started it, and starts studies of its own.

The address has a token, without which nothing is answered. Runs that the page
started stop in good order when ui ends (Ctrl-C) and can be resumed.`,
		Args: arguments(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return serveUI(o) },
	}
	c.Flags().StringVar(&o.store, "store", defaultStore, "folder of the results; there need not be one yet")
	c.Flags().StringVar(&o.studies, "studies", ".", "folder of the study files that the page shows and changes")
	c.Flags().StringVar(&o.listen, "listen", "127.0.0.1:9480", "loopback address to listen on; port 0 takes any that is free")
	c.Flags().StringVar(&o.tokenFile, "token-file", "", "file that keeps the token from one start to the next, as for Prometheus; it is made if it is missing (default: a new token at each start)")
	c.Flags().BoolVar(&o.open, "open", false, "open the page in this desktop's browser")
	return c
}

func serveUI(o uiOptions) error {
	ctx, stop := interruptible(context.Background())
	defer stop()
	if info, err := os.Stat(o.studies); err != nil || !info.IsDir() {
		return input(fmt.Errorf("serve the page: --studies %s: is not a folder", o.studies))
	}
	library, err := site.DefaultLibrary()
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	token := ui.NewToken()
	if o.tokenFile != "" {
		if token, err = ui.TokenFile(o.tokenFile); err != nil {
			return input(err)
		}
	}
	app, err := ui.App()
	if err != nil {
		return err
	}
	server := ui.New(ui.Config{
		App:   app,
		Store: o.store, Studies: o.studies, Version: runner.Version(), Token: token, Program: []string{program},
		Files:   leftByLoads(),
		Packets: readPackets, Began: loadBegan, Return: comeBack,
		Parse:      func(name string, text []byte) (*study.Study, error) { return parseStudy(name, text, library) },
		Difference: differenceOf,
		Papers: func(store string) (any, error) {
			contents, err := builtinContents()
			if err != nil {
				return nil, err
			}
			verdicts, err := lastVerdicts([]string{store})
			if err != nil {
				return nil, err
			}
			return listPapers(papers.All(), contents, verdicts), nil
		},
	})
	listener, err := ui.Listen(o.listen)
	if err != nil {
		return input(err)
	}
	address := ui.Address(listener.Addr(), token)
	fmt.Fprintf(stdout, "The page over %s is at %s\nIt is for you alone: the token in its address lets anyone with it start runs here. Ctrl-C ends it.\n", o.store, address)
	if o.open {
		if err := openBrowser(address); err != nil {
			fmt.Fprintln(stderr, "wiretime: open the page:", err)
		}
	}
	return server.Serve(ctx, listener)
}

// openBrowser has the desktop open an address, and does not wait: the program that opens it may stay.
func openBrowser(address string) error {
	c := exec.Command("xdg-open", address)
	if err := c.Start(); err != nil {
		return err
	}
	return c.Process.Release()
}

// differenceOf says why two loads differ, as `wiretime explain A B --json` does.
func differenceOf(st *store.Store, a, b store.Load) (any, error) {
	var sides [2]*side
	for i, l := range []store.Load{a, b} {
		var err error
		if sides[i], err = (sideName{dir: st.Dir(), load: l.ID}).readLoad(st); err != nil {
			return nil, err
		}
	}
	d, err := difference.Between(sides[0].loads, sides[1].loads, 1)
	if err != nil {
		return nil, err
	}
	nameA, nameB := sideNames(sides[0], sides[1])
	return struct {
		Sentence string `json:"sentence"`
		*difference.Difference
	}{d.Sentence(nameA, nameB), d}, nil
}

// readPackets reads a load's capture. It returns nil if the load has no capture, or one of this machine's end alone, as on the live clock.
func readPackets(l store.Load) (*capture.Packets, error) {
	if l.Artefacts == "" || l.Cell.Clock() == study.ClockLive {
		return nil, nil
	}
	packets, err := capture.ReadPackets(filepath.Join(l.Artefacts, lab.CaptureFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, capture.ErrTruncated): // what precedes the cut is sound
		return packets, nil
	}
	return packets, err
}

// loadBegan returns when a page's navigation or a stream began; the zero time if the load left neither.
func loadBegan(l store.Load) (time.Time, error) {
	har, err := readHAR(l)
	if err != nil {
		return time.Time{}, err
	}
	if har != nil && len(har.Log.Pages) > 0 {
		return har.Log.Pages[0].Started, nil
	}
	stream, err := readStream(l)
	if err != nil || stream == nil {
		return time.Time{}, err
	}
	return stream.Started, nil
}
