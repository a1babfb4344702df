package main

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"wiretime/capture"
	"wiretime/report"
	"wiretime/store"
	"wiretime/workload/pageload"
)

// printLoaders compares the medians of other loaders with Chromium's, pair by pair; it
// prints nothing if the run has no such pairs.
func printLoaders(w io.Writer, results []store.Result, loads []store.Load) error {
	valid := map[string][]store.Load{} // by the keys of their cells
	for _, l := range loads {
		if l.Validity == store.Valid {
			valid[l.Cell.Key()] = append(valid[l.Cell.Key()], l)
		}
	}
	known := map[int][]string{}
	all, err := report.CompareLoaders(results, func(cell int) ([]string, error) {
		urls, ok := known[cell]
		if ok {
			return urls, nil
		}
		urls, err := askedFor(valid[results[cell].Cell.Key()])
		known[cell] = urls
		return urls, err
	})
	if err != nil {
		return err
	}
	axes := report.AxesOf(results)
	for _, l := range all {
		fmt.Fprintf(w, "\nThe loader %s beside Chromium. %s\n", l.Loader, l.Verdict())
		fmt.Fprintln(w, "Median onLoad of both; ratios of medians, its own to Chromium's; connections; the share of resources asked for in the same order.")
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		heading := ""
		for _, p := range l.Pairs {
			browser, other := results[p.Browser], results[p.Other]
			if h := place(other.Cell, axes); h != heading {
				heading = h
				fmt.Fprintf(table, "\n%s\n%s\tchromium, ms\t%s, ms\tonLoad\tDCL\tPLT\tconnections\torder\tn\n", h, axes.Compared(), l.Loader)
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s, %s\t%s\t%d, %d\n", rowName(other.Cell, axes),
				median(browser.Values["onload"]), median(other.Values["onload"]), quotient(p.OnLoad), quotient(p.DCL), quotient(p.PLT),
				count(browser.Values["connections"]), count(other.Values["connections"]), share(p.Order), browser.Valid, other.Valid)
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

// askedFor returns the URLs that the median, by onLoad, of a cell's valid loads with artefacts asked for, in
// their order. It returns none if all artefacts were dropped.
func askedFor(valid []store.Load) ([]string, error) {
	valid = slices.DeleteFunc(slices.Clone(valid), func(l store.Load) bool { return l.Dropped })
	if len(valid) == 0 {
		return nil, nil
	}
	slices.SortFunc(valid, func(a, b store.Load) int { return cmp.Compare(a.Values["onload"], b.Values["onload"]) })
	har, err := capture.ReadHAR(filepath.Join(valid[len(valid)/2].Artefacts, pageload.HARFile))
	if err != nil {
		return nil, err
	}
	entries := slices.Clone(har.Log.Entries)
	slices.SortStableFunc(entries, func(a, b capture.Entry) int { return a.Started.Compare(b.Started) })
	var urls []string
	for _, e := range entries {
		urls = append(urls, e.Request.URL)
	}
	return urls, nil
}
