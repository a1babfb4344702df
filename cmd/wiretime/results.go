package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"wiretime/stats"
	"wiretime/store"
)

func resultsCommand() *cobra.Command {
	var dir string
	var run int64
	c := &cobra.Command{
		Use: "results", Short: "Show a run's results as tables", Args: arguments(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			return withRun(dir, run, func(st *store.Store, id int64) error { return printResults(os.Stdout, st, id) })
		},
	}
	storeFlags(c, &dir, &run)
	return c
}

// storeFlags are the flags of every verb that reads a run.
func storeFlags(c *cobra.Command, dir *string, run *int64) {
	c.Flags().StringVar(dir, "store", defaultStore, "folder that keeps the results")
	c.Flags().Int64Var(run, "run", 0, "number of the run (default: the latest)")
}

// withRun opens a store and calls f with the run that is meant.
func withRun(dir string, run int64, f func(*store.Store, int64) error) error {
	st, err := store.Open(dir, store.Read)
	if err != nil {
		return err
	}
	defer st.Close()
	if run == 0 {
		runs, err := st.Runs()
		if err != nil {
			return err
		}
		if len(runs) == 0 {
			return input(fmt.Errorf("read store %s: it holds no run yet", dir))
		}
		run = runs[len(runs)-1].ID
	}
	return f(st, run)
}

// shownMetrics are the columns of the results' tables, in ms.
var shownMetrics = []string{"dcl", "onload", "plt", "tow"}

// printResults prints one table per site and network.
func printResults(w io.Writer, st *store.Store, id int64) error {
	run, err := st.Run(id)
	if err != nil {
		return err
	}
	results, err := st.Results(id)
	if err != nil {
		return err
	}
	metrics, err := st.Metrics(id)
	if err != nil {
		return err
	}
	titles := map[string]string{}
	for _, m := range metrics {
		titles[m.Name] = m.Title + ", " + m.Unit
	}
	fmt.Fprintf(w, "Run %d of study %s, seed %d: %d of %d loads done.\n", run.ID, run.StudyName, run.Seed, run.Done, run.Planned)
	fmt.Fprintln(w, "Medians, with their 95 % interval; in parentheses the range, where there are too few loads for one.")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	heading := ""
	wrong := 0
	for _, r := range results {
		if h := r.Cell.Site + " over " + r.Cell.Network + axes(r.Cell); h != heading {
			heading = h
			columns := []string{"protocol"}
			for _, m := range shownMetrics {
				columns = append(columns, titles[m])
			}
			fmt.Fprintf(table, "\n%s\n%s\tn\tinvalid\tfailed\n", h, strings.Join(columns, "\t"))
		}
		row := []string{r.Cell.Protocol}
		for _, m := range shownMetrics {
			row = append(row, interval(r.Values[m]))
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\n", strings.Join(row, "\t"), r.Valid, r.Invalid, r.Failed)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	loads, err := st.Loads(id)
	if err != nil {
		return err
	}
	for _, l := range loads {
		for _, v := range l.Violations {
			if v.Rule == 1 {
				wrong++
				break
			}
		}
	}
	_, err = fmt.Fprintf(w, "\n%d of %d loads used a protocol other than the one asked for.\n", wrong, len(loads))
	return err
}

// axes names what tells a table apart beside site and network.
func axes(c store.Cell) string {
	return fmt.Sprintf(" (%s, %s, initcwnd %d)", c.Loader, c.Congestion, c.InitCwnd)
}

func interval(values []float64) string {
	if len(values) == 0 {
		return "-"
	}
	m := stats.Median(values)
	if m.Reached {
		return fmt.Sprintf("%.0f [%.0f..%.0f]", m.Median, m.Low, m.High)
	}
	return fmt.Sprintf("%.0f (%.0f..%.0f)", m.Median, m.Low, m.High)
}
