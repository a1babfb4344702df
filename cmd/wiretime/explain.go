package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"wiretime/capture"
	"wiretime/critical"
	"wiretime/evidence"
	"wiretime/lab"
	"wiretime/store"
	"wiretime/study"
	"wiretime/terminal"
)

func explainCommand() *cobra.Command {
	var dir string
	var run int64
	var asJSON bool
	c := &cobra.Command{
		Use:   "explain LOAD, or explain A B",
		Short: "Show what decided a load's onLoad, or why B takes longer than A",
		Long: `With one load, explain shows its critical path: what its onLoad waited for.

With two, it attributes the difference of their onLoads to causes: set-up, distance,
server, windows, bandwidth, bytes, priorities, queue, loss recovery, head-of-line
blocking and client. They add up exactly. A and B are two loads (r1-0003-a1), or
two cells, all of whose valid loads count (protocol=h2,network=lte). B's cell has
A's values on axes that it does not name. Before either may stand its store and,
before a cell, its run: before:r1-0003-a1, results:2:protocol=h2.`,
		Args: arguments(cobra.RangeArgs(1, 2)),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 2 {
				return explainTwo(dir, run, args[0], args[1], asJSON)
			}
			return explainLoad(dir, args[0], asJSON)
		},
	}
	c.Flags().StringVar(&dir, "store", defaultStore, "folder of the results")
	c.Flags().Int64Var(&run, "run", 0, "number of the run whose cells A and B name (default: the latest)")
	c.Flags().BoolVar(&asJSON, "json", false, "write JSON; times are ns, of a load since navigationStart")
	return c
}

func explainLoad(dir, id string, asJSON bool) error {
	st, err := store.Open(dir, store.Read)
	if err != nil {
		return err
	}
	defer st.Close()
	l, err := st.Load(id)
	if errors.Is(err, store.ErrNotFound) {
		return input(err)
	}
	if err != nil {
		return err
	}
	if err := checkExplicable(st, l); err != nil {
		return err
	}
	har, err := readHAR(l)
	var paths []*critical.Path
	if err == nil && har != nil {
		paths, err = criticalPaths(l, har)
	}
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return noOnLoad(l)
	}
	if asJSON {
		encoder := json.NewEncoder(forPrograms)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(struct {
			Load  string           `json:"load"`
			Cell  string           `json:"cell"`
			Pages []*critical.Path `json:"pages"`
		}{l.ID, l.Cell.Key(), paths})
	}
	fmt.Fprintf(stdout, "load %s, %s\n", l.ID, l.Cell.Key())
	for _, p := range paths {
		if err := printPath(p); err != nil {
			return err
		}
	}
	return nil
}

// checkBothEnds returns an error for a load on the live clock, whose capture, if there is one, has one end only.
func checkBothEnds(l store.Load, verb string) error {
	if l.Cell.Clock() != study.ClockLive {
		return nil
	}
	return input(fmt.Errorf("%s load %s: that takes the packets of both ends, and on the live clock those of this machine are known at most; 'wiretime show %s' names its files", verb, l.ID, l.ID))
}

// criticalPaths returns the critical path of each page of a load, from its HAR and its capture. A load on the live clock
// has none.
func criticalPaths(l store.Load, har *capture.HAR) ([]*critical.Path, error) {
	if l.Cell.Clock() == study.ClockLive {
		return nil, nil
	}
	packets, err := capture.ReadPackets(filepath.Join(l.Artefacts, lab.CaptureFile))
	if err != nil {
		return nil, fmt.Errorf("explain load %s: %w", l.ID, err)
	}
	return critical.Find(&evidence.Evidence{HAR: har, Packets: packets}), nil
}

func printPath(p *critical.Path) error {
	fmt.Fprintf(stdout, "\n%s: onLoad after %s ms\n\n", terminal.Line(p.Page), milliseconds(p.OnLoad))
	w := terminal.NewTable(stdout)
	fmt.Fprintln(w, "from, ms\tms\tphase\tkind\tresource")
	for _, s := range inShort(p.Steps) {
		kind := s.Kind.String()
		if !s.Seen {
			kind += " (by the phase)"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", milliseconds(s.From), milliseconds(s.took), s.Phase, kind, terminal.Line(resourceOf(s.Step)))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(stdout)
	sums := p.Sums()
	for _, k := range critical.Kinds() {
		fmt.Fprintf(w, "%s\t%s ms\t%.1f %%\n", k, milliseconds(sums[k]), 100*float64(sums[k])/float64(p.OnLoad))
	}
	fmt.Fprintf(w, "onLoad\t%s ms\t100.0 %%\n", milliseconds(p.OnLoad))
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(stdout, "\n%s\n", p.Verdict())
	return err
}

// row is the time that a phase of a resource spent on one kind, starting at its first step.
type row struct {
	critical.Step
	took int64 // ns
}

// inShort joins the steps of the same kind within each phase: a phase may alternate
// between two kinds with every packet.
func inShort(steps []critical.Step) []row {
	var rows []row
	phase := 0 // the first row of the current one
	for i, s := range steps {
		if i > 0 && (s.Phase != steps[i-1].Phase || s.URL != steps[i-1].URL) {
			phase = len(rows)
		}
		j := slices.IndexFunc(rows[phase:], func(r row) bool { return r.Kind == s.Kind && r.Seen == s.Seen })
		if j < 0 {
			rows = append(rows, row{Step: s, took: s.To - s.From})
		} else {
			rows[phase+j].took += s.To - s.From
		}
	}
	return rows
}

// resourceOf names the resource of a step. A step between two resources is named after the
// second.
func resourceOf(s critical.Step) string {
	switch {
	case s.Phase != critical.ClientPhase:
		return s.URL
	case s.URL == "":
		return "before onLoad"
	}
	return "before " + s.URL
}

// milliseconds writes a time in ns without rounding.
func milliseconds(ns int64) string { return fmt.Sprintf("%d.%06d", ns/1e6, ns%1e6) }
