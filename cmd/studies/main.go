// Command studies measures the studies that the documentation shows, and writes their tables and
// pictures into README.md, CONTRIBUTING.md, docs/*.md and docs/papers/*.md.
//
//	studies [-list] [-measured] [STUDY...]
//
// What a page shows is described in the page itself, in blocks that begin with a comment
// "<!-- measured table", "claims", "quote", "query", "figure", "picture" or "script" and end with "<!-- end -->"; see block.go. Each
// study has a store in .cache/studies, and each script a file there. A study that was interrupted goes on where it was, a whole one is not measured
// again: delete its store to have it measured anew. A block is rewritten only when all its studies are whole.
//
// Without arguments it takes the studies that are measured on the virtual clock. Those that need the real
// clock, and so a machine that does nothing else, are measured when they are named.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"wiretime/interrupt"
)

func main() {
	list := flag.Bool("list", false, "list the studies that pages show, and measure nothing")
	measured := flag.Bool("measured", false, "measure nothing, and rewrite what whole stores have")
	flag.Parse()
	ctx, stop := interrupt.Context(context.Background(), "studies")
	defer stop()
	switch err := run(ctx, flag.Args(), *list, *measured); {
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "studies: interrupted; the same command goes on")
		os.Exit(130)
	case err != nil:
		fmt.Fprintln(os.Stderr, "studies:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, names []string, list, measured bool) error {
	pages, err := readPages(".")
	if err != nil {
		return err
	}
	shown := studiesOf(pages)
	if list {
		for _, name := range shown {
			fmt.Println(name)
		}
		return nil
	}
	for _, name := range names {
		if !slices.Contains(shown, name) {
			return fmt.Errorf("no page shows the study %q; 'make studies STUDY=-list' lists those that pages show", name)
		}
	}
	wanted := names
	if len(names) == 0 {
		for _, name := range shown {
			real, err := needsRealClock(name)
			if err != nil {
				return err
			}
			if real && !measured {
				fmt.Printf("== %s needs the real clock: measure it with make studies STUDY=%s\n", name, name)
				continue
			}
			missing, err := missingTables(name)
			if err != nil {
				return err
			}
			if len(missing) > 0 && !measured {
				fmt.Printf("== %s needs %s: put them there (the study says whose they are), and measure it with make studies STUDY=%s\n", name, strings.Join(missing, ", "), name)
				continue
			}
			wanted = append(wanted, name)
		}
	}
	runs := newRuns(filepath.Join(".cache", "studies"))
	var failed error
	for i, name := range wanted {
		if !measured {
			fmt.Printf("== %d of %d: %s\n", i+1, len(wanted), name)
			start := time.Now()
			if err := runs.measure(ctx, name); err != nil {
				if ctx.Err() != nil {
					return err
				}
				failed = errors.Join(failed, err)
				continue
			}
			fmt.Printf("== %s took %v\n", name, time.Since(start).Round(time.Second))
		}
		if err := rewrite(ctx, runs, name); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// rewrite makes the blocks that show a study, and writes the pages that have changed. It reads the pages anew,
// since somebody may have edited them while the study was measured.
func rewrite(ctx context.Context, runs *runs, name string) error {
	pages, err := readPages(".")
	if err != nil {
		return err
	}
	for _, p := range pages {
		for i := range p.blocks {
			b := &p.blocks[i]
			if !slices.Contains(b.studies(), name) {
				continue
			}
			whole, err := runs.load(ctx, b.studies())
			if err != nil {
				return err
			}
			if whole == nil {
				fmt.Printf("   %s:%d waits for another of its studies: %v\n", p.path, b.line, b.studies())
				continue
			}
			body, err := b.make(ctx, whole, filepath.Dir(p.path))
			if err != nil {
				return fmt.Errorf("%s:%d: %w", p.path, b.line, err)
			}
			b.body = body
			fmt.Printf("   %s:%d: a %s\n", p.path, b.line, b.kind)
		}
		if err := p.write(); err != nil {
			return err
		}
	}
	return nil
}
