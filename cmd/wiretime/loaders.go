package main

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"wiretime/capture"
	"wiretime/report"
	"wiretime/store"
	"wiretime/study"
	"wiretime/terminal"
	"wiretime/workload/pageload"
)

// printLoaders compares the medians of other loaders with Chromium's, pair by pair; it
// prints nothing if the run has no such pairs.
func printLoaders(w io.Writer, st *store.Store, run int64, results []store.Result) error {
	known := map[int]requested{} // by cell
	all, err := report.CompareLoaders(results, func(cell int) ([]string, error) {
		r, ok := known[cell]
		if ok {
			return r.urls, nil
		}
		r, err := requestedIn(st, run, results[cell].Cell)
		known[cell] = r
		return r.urls, err
	})
	if err != nil {
		return err
	}
	axes := report.AxesOf(results)
	for _, l := range all {
		fmt.Fprintf(w, "\nThe loader %s beside Chromium. %s\n", l.Loader, l.Verdict())
		fmt.Fprintln(w, "Median onLoad of both; ratios of medians, its own to Chromium's; connections; the share of resources asked for in the same order.")
		table := terminal.NewTable(w)
		heading := ""
		for _, p := range l.Pairs {
			browser, other := results[p.Browser], results[p.Other]
			if h := place(other.Cell, axes); h != heading {
				heading = h
				fmt.Fprintf(table, "\n%s\n%s\tchromium, ms\t%s, ms\tonLoad\tDCL\tPLT\tconnections\torder\tn\n", h, axes.Compared(), l.Loader)
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s, %s\t%s\t%d, %d\n", rowName(other.Cell, axes),
				median(browser.Values["onload"]), median(other.Values["onload"]), quotient(p.OnLoad), quotient(p.DCL), quotient(p.PLT),
				count(known[p.Browser].connections), count(known[p.Other].connections), share(p.Order), browser.Valid, other.Valid)
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func quotient(ratio float64) string {
	if ratio == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f", ratio)
}

func share(of float64) string {
	if of < 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", 100*of)
}

func count(values []float64) string {
	if len(values) == 0 {
		return "-"
	}
	sorted := slices.Sorted(slices.Values(values))
	return fmt.Sprintf("%.0f", sorted[len(sorted)/2])
}

// requested is what the valid loads of a cell requested.
type requested struct {
	urls        []string // of the median by onLoad of the loads with artefacts, in their order; none if all were dropped
	connections []float64
}

// requestedIn reads what the valid loads of a cell requested.
func requestedIn(st *store.Store, run int64, cell study.Cell) (requested, error) {
	var r requested
	valid, err := st.LoadsOf(run, cell)
	valid = slices.DeleteFunc(valid, func(l store.Load) bool { return l.Validity != store.Valid })
	if err != nil || len(valid) == 0 {
		return r, err
	}
	for _, l := range valid {
		if n, ok := l.Values["connections"]; ok {
			r.connections = append(r.connections, n)
		}
	}
	valid = slices.DeleteFunc(valid, func(l store.Load) bool { return l.Dropped })
	if len(valid) == 0 {
		return r, nil
	}
	slices.SortFunc(valid, func(a, b store.Load) int { return cmp.Compare(a.Values["onload"], b.Values["onload"]) })
	har, err := capture.ReadHAR(filepath.Join(valid[len(valid)/2].Artefacts, pageload.HARFile))
	if err != nil {
		return r, err
	}
	entries := slices.Clone(har.Log.Entries)
	slices.SortStableFunc(entries, func(a, b capture.Entry) int { return a.Started.Compare(b.Started) })
	for _, e := range entries {
		r.urls = append(r.urls, e.Request.URL)
	}
	return r, nil
}
