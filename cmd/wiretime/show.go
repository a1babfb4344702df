package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"wiretime/artefact"
	"wiretime/capture"
	"wiretime/replay"
	"wiretime/store"
	"wiretime/study"
	"wiretime/terminal"
	"wiretime/workload"
	"wiretime/workload/pageload"
)

func showCommand() *cobra.Command {
	var dir, out string
	var drawn bool
	c := &cobra.Command{
		Use: "show LOAD", Short: "Show one load: its figures, its validity, its files, its waterfall",
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error { return show(dir, args[0], out, drawn) },
	}
	c.Flags().BoolVar(&drawn, "waterfall", false, "draw the load's requests over time, with its critical path, in place of the figures")
	c.Flags().StringVar(&out, "out", "", "folder that also gets the load's files, uncompressed, in a folder of the load's name")
	c.Flags().StringVar(&dir, "store", defaultStore, "folder of the results")
	return c
}

func show(dir, id, out string, drawn bool) error {
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
	if out != "" {
		if err := copyArtefacts(st, l, filepath.Join(out, l.ID)); err != nil {
			return err
		}
	}
	if drawn {
		return showWaterfall(stdout, st, l)
	}
	metrics, err := st.Metrics(l.Run)
	if err != nil {
		return err
	}
	w := terminal.NewTable(stdout)
	showCell(w, l)
	if err := showNotes(w, l); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, m := range metrics {
		if v, ok := l.Values[m.Name]; ok {
			fmt.Fprintf(w, "%s\t%.3f %s\n", m.Title, v, m.Unit)
		} else {
			fmt.Fprintf(w, "%s\tnot measured\n", m.Title)
		}
	}
	for i, p := range l.Pages {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "page %d\t%s\tstarted at %s, DCL %s, onLoad %s, PLT %s ms\n", i+1, terminal.Line(p.URL), ms(p.Started), ms(p.DCL), ms(p.OnLoad), ms(p.PLT))
	}
	if l.Artefacts != "" {
		fmt.Fprintln(w)
		files, err := os.ReadDir(l.Artefacts)
		if err != nil {
			return fmt.Errorf("list the files of load %s: %w", l.ID, err)
		}
		for _, f := range files {
			fmt.Fprintf(w, "file\t%s\n", terminal.Line(filepath.Join(l.Artefacts, f.Name())))
		}
	}
	if l.Dropped {
		files, err := st.Files(l)
		if err != nil {
			return err
		}
		fmt.Fprintln(w)
		for _, f := range files {
			fmt.Fprintf(w, "dropped\t%s, %d octets, SHA-256 %s\n", terminal.Line(f.Name), f.Octets, terminal.Line(f.SHA256))
		}
		fmt.Fprintf(w, "\t%s\n", terminal.Line(comeBack(st, l)))
	}
	return w.Flush()
}

// meant says what the values of an axis are of, where they do not say it.
var meant = map[study.Axis]string{
	study.AxisLinkDelay: " average one-way delay in each direction",
	study.AxisLoss:      " of packets, each independently",
}

// showCell prints which cell a load is of, and its validity.
func showCell(w io.Writer, l store.Load) {
	fmt.Fprintf(w, "load\t%s\n", l.ID)
	fmt.Fprintf(w, "cell\t%s\n", l.Cell.Key())
	for _, v := range l.Cell.Values {
		if v.Axis != study.AxisServer {
			fmt.Fprintf(w, "%s\t%s%s\n", v.Axis, v.Word, meant[v.Axis])
		}
	}
	fmt.Fprintf(w, "server\t%s%s\n", cmp.Or(l.Cell.On(study.AxisServer), study.ServerOwn), unlogged(l))
	fmt.Fprintf(w, "repeat, attempt, seed\t%d, %d, %d\n", l.Repeat, l.Attempt, l.Seed)
	fmt.Fprintf(w, "started\t%s, took %v\n", l.Started.Format("2006-01-02 15:04:05.000"), l.Wall)
	fmt.Fprintf(w, "validity\t%s\t%s\n", l.Validity, terminal.Line(l.Reason))
	for _, v := range l.Violations {
		fmt.Fprintf(w, "breaks rule %d\t%s\n", v.Rule, terminal.Line(v.Detail))
	}
}

// showNotes prints the renamed domains and the comments in the load's HAR.
func showNotes(w io.Writer, l store.Load) error {
	if l.Artefacts == "" {
		return nil
	}
	har, err := capture.ReadHAR(filepath.Join(l.Artefacts, pageload.HARFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, line := range replay.Renamed(har) {
		fmt.Fprintf(w, "renamed\t%s\n", terminal.Line(line))
	}
	for _, p := range har.Log.Pages {
		if p.Comment != "" {
			fmt.Fprintf(w, "note\t%s\n", terminal.Line(p.Comment))
		}
	}
	return nil
}

// unlogged returns a remark if the load's server kept no log.
func unlogged(l store.Load) string {
	if l.Artefacts == "" {
		return ""
	}
	file, err := artefact.Contents(filepath.Join(l.Artefacts, workload.ServerFile))
	if errors.Is(err, os.ErrNotExist) {
		return ", no log"
	}
	if err == nil {
		_ = file.Close()
	}
	return ""
}

// ms writes a page's time, or "unknown".
func ms(v float64) string {
	if v < 0 {
		return "unknown"
	}
	return fmt.Sprintf("%.1f", v)
}
