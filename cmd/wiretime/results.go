package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"wiretime/english"
	"wiretime/report"
	"wiretime/stats"
	"wiretime/store"
	"wiretime/study"
	"wiretime/terminal"
)

// resultsWidth is where sentences of results are broken, in characters.
const resultsWidth = 100

func resultsCommand() *cobra.Command {
	var dir, statistic string
	var run int64
	var sparklines bool
	c := &cobra.Command{
		Use: "results", Short: "Show a run's results as tables", Args: arguments(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if err := study.CheckStatistic(statistic); err != nil {
				return input(fmt.Errorf("read --statistic: %w", err))
			}
			return withRun(dir, run, func(st *store.Store, id int64) error {
				return printResults(stdout, st, id, stats.Statistic(statistic), sparklines)
			})
		},
	}
	storeFlags(c, &dir, &run)
	c.Flags().BoolVar(&sparklines, "sparklines", onTerminal(), "draw where the loads of each cell lie (default: on a terminal)")
	c.Flags().StringVar(&statistic, "statistic", study.Median, "what the tables show of a cell's loads: median, mean, min, max, or a percentile such as p95")
	return c
}

// onTerminal reports whether somebody reads the output as it comes.
func onTerminal() bool { return stdout.Screen().Columns > 0 }

// storeFlags are the flags of every verb that reads a run.
func storeFlags(c *cobra.Command, dir *string, run *int64) {
	c.Flags().StringVar(dir, "store", defaultStore, "folder that keeps the results")
	c.Flags().Int64Var(run, "run", 0, "number of the run (default: the latest)")
}

// noteKey says that a store still has the key of a certificate authority, which should not
// be published with it.
func noteKey(st *store.Store) {
	if key := st.AuthorityKey(); key != "" {
		fmt.Fprintf(stderr, "wiretime: note: %s is the key of an old certificate authority for any name, and no longer used: delete the folder %s\n", key, filepath.Dir(key))
	}
}

// withRun opens a store and calls f with the run that is meant.
func withRun(dir string, run int64, f func(*store.Store, int64) error) error {
	st, err := store.Open(dir, store.Read)
	if err != nil {
		return err
	}
	defer st.Close()
	noteKey(st)
	if run == 0 {
		if run, err = latestRun(st); err != nil {
			return err
		}
	}
	return f(st, run)
}

func latestRun(st *store.Store) (int64, error) {
	runs, err := st.Runs()
	if err != nil {
		return 0, err
	}
	if len(runs) == 0 {
		return 0, input(fmt.Errorf("read store %s: it holds no run yet", st.Dir()))
	}
	return runs[len(runs)-1].ID, nil
}

// columnsOf are the metrics that a table of these results shows.
func columnsOf(metrics []study.Metric, results []store.Result, axes report.Axes) []study.Metric {
	var columns []study.Metric
	for _, name := range axes.Metrics(results) {
		if i := slices.IndexFunc(metrics, func(m study.Metric) bool { return m.Name == name }); i >= 0 {
			columns = append(columns, metrics[i])
		}
	}
	return columns
}

// printResults prints one table per site, network, loader, congestion control, initial window,
// clock, visit, strategy and server, and compares the clocks of a run that used both. Where a run
// has one protocol and several strategies or servers, these share a table. Tables show the statistic; comparisons, published figures and
// claims have their own. Sparklines show where the loads of each cell lie.
func printResults(w io.Writer, st *store.Store, id int64, statistic stats.Statistic, sparklines bool) error {
	run, err := st.Run(id)
	if err != nil {
		return err
	}
	metrics, err := st.Metrics(id)
	if err != nil {
		return err
	}
	published, err := st.Published(id)
	if err != nil {
		return err
	}
	claims, err := st.Claims(id)
	if err != nil {
		return err
	}
	whole, err := st.Results(id, report.ShownMetrics(metrics, published, claims)...)
	if err != nil {
		return err
	}
	results, _ := report.Pooled(whole)
	faults, err := st.Faults(id)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "Run %d of study %s, seed %d: %d of %d loads done.\n", run.ID, run.StudyName, run.Seed, run.Done, run.Planned)
	if run.Quick() {
		fmt.Fprintln(w, "This is a quick run: it measures only a part of the study, and its claims and tables are not those of the full run.")
	}
	for _, paragraph := range report.InWords(whole, metrics, run.Seed) {
		fmt.Fprintf(w, "\n%s\n", english.Wrap(paragraph, resultsWidth))
	}
	fmt.Fprintln(w, "\n"+statisticsOf(statistic)+", with their 95 % interval; in parentheses the range, where there are too few loads for one.")
	if report.OnVirtualClock(results) {
		fmt.Fprintln(w, report.VirtualClock)
		if err := printVersions(w, run); err != nil {
			return err
		}
	}
	if err := printTables(w, results, metrics, tabulated{statistic, stats.NewBootstrap(run.Seed), terminal.ScreenFor(w), sparklines}); err != nil {
		return err
	}
	if err := printClocks(w, results, metrics, run.Seed); err != nil {
		return err
	}
	if err := printPaper(w, metrics, report.CompareTables(whole, published, run.Seed), report.JudgeClaims(whole, metrics, claims, run.Seed)); err != nil {
		return err
	}
	if err := printLoaders(w, st, id, results); err != nil {
		return err
	}
	for _, gap := range report.Gaps(results) {
		fmt.Fprintf(w, "\nWhat the archive lacked of %s.\n", gap)
	}
	if err := printFaults(w, results, faults); err != nil {
		return err
	}
	drops, err := st.Drops(id)
	if err != nil {
		return err
	}
	if said := report.Dropped(run, drops); said != "" {
		fmt.Fprintln(w, said)
	}
	return nil
}

// printVersions names the programs that figures of the virtual clock follow from, beside
// the study and this program.
func printVersions(w io.Writer, run store.Run) error {
	var with struct {
		Browser string
		Kernel  string `json:"virtual_kernel"`
	}
	if err := json.Unmarshal(run.Environment, &with); err != nil {
		return fmt.Errorf("read the environment of run %d: %w", run.ID, err)
	}
	names := []string{"Linux " + with.Kernel}
	if with.Browser != "" {
		names = append(names, with.Browser)
	}
	_, err := fmt.Fprintf(w, "Measured with %s: the same versions give the same figures on any machine.\n", strings.Join(names, " and "))
	return err
}

// tabulated is what tables show of a cell's loads.
type tabulated struct {
	stats.Statistic
	bootstrap  *stats.Bootstrap
	screen     terminal.Screen
	sparklines bool
}

// statisticsOf names a statistic of several cells at the beginning of a sentence.
func statisticsOf(s stats.Statistic) string {
	names := map[stats.Statistic]string{study.Median: "Medians", study.Mean: "Means", study.Min: "Minima", study.Max: "Maxima"}
	return cmp.Or(names[s], "Percentiles "+string(s))
}

// printTables prints the statistics of cells that are next to each other and differ only in
// what they are compared by.
func printTables(w io.Writer, results []store.Result, metrics []study.Metric, of tabulated) error {
	axes, onVirtual := report.AxesOf(results), report.OnVirtualClock(results)
	heading := func(r store.Result) string {
		h := place(r.Cell, axes)
		if onVirtual {
			h += ", " + r.Cell.Clock() + " clock"
		}
		return h
	}
	table := terminal.NewTable(w)
	table.Style = countStyle
	for rest := results; len(rest) > 0; {
		rows := rest
		if end := slices.IndexFunc(rest, func(r store.Result) bool { return heading(r) != heading(rest[0]) }); end > 0 {
			rows = rest[:end]
		}
		rest = rest[len(rows):]
		shown := columnsOf(metrics, rows, axes)
		columns := []string{axes.Compared()}
		for _, m := range shown {
			columns = append(columns, m.Title+", "+m.Unit)
		}
		spark := of.sparks(rows, shown)
		fmt.Fprintf(table, "\n%s\n%s\tn\tinvalid\tfailed\tunsupported%s\n", heading(rows[0]), strings.Join(columns, "\t"), spark.heading)
		for _, r := range rows {
			row := []string{rowName(r.Cell, axes)}
			for _, m := range shown {
				row = append(row, of.interval(r.Values[m.Name], m.Unit))
			}
			fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d%s\n", strings.Join(row, "\t"), r.Valid, r.Invalid, r.Failed, r.Unsupported, spark.of(r))
		}
	}
	return table.Flush()
}

// countStyle makes the counts of loads stand out that went wrong.
func countStyle(top, cell string) terminal.Style {
	switch {
	case cell == top || cell == "0":
		return terminal.Plain
	case top == string(store.Failed):
		return terminal.Red
	case top == string(store.Invalid):
		return terminal.Yellow
	}
	return terminal.Plain
}

// printFaults says which loads could not be run, and why, and how many of the
// others used a wrong protocol.
func printFaults(w io.Writer, results []store.Result, faults store.Faults) error {
	measured := 0
	for _, r := range results {
		measured += r.Valid + r.Invalid + r.Failed
	}
	if len(faults.Unsupported) > 0 {
		fmt.Fprintln(w)
	}
	for _, u := range faults.Unsupported {
		fmt.Fprintf(w, "Unsupported, %d planned loads: %s.\n", u.Loads, u.Reason)
	}
	_, err := fmt.Fprintf(w, "\n%d of %d loads used a protocol other than the one asked for.\n", faults.WrongProtocol, measured)
	return err
}

// place names what the cells of a table share, their clock left out.
func place(c study.Cell, axes report.Axes) string {
	network := c.Network.Name
	if by := axes.Compared(); by == "server" || by == "strategy" {
		network += " and " + c.Over()
	}
	about := fmt.Sprintf("%s over %s (%s, %s, initcwnd %d)", c.Subject(), network, c.By(), c.On(study.AxisCongestion), c.InitCwnd())
	if c.Clock() == study.ClockLive {
		about = fmt.Sprintf("%s over this machine's own network (%s)", c.Subject(), c.By())
	}
	if axes.Compared() == "transport" && c.Unusual(study.AxisStrategy) {
		about += ", strategy " + c.On(study.AxisStrategy)
	}
	return strings.Join(append([]string{about}, axes.Shared(c)...), ", ")
}

// rowName names a cell in its table, by what place does not name.
func rowName(c study.Cell, axes report.Axes) string {
	return axes.Label(c, c.Workload.By, study.AxisCongestion, study.AxisInitCwnd)
}

// printClocks compares the medians on both clocks, pair by pair; it prints
// nothing if no cell is on both.
func printClocks(w io.Writer, results []store.Result, metrics []study.Metric, seed uint64) error {
	clocks, err := report.CompareClocks(results, seed)
	if err != nil || clocks == nil {
		return err
	}
	axes, title := report.AxesOf(results), clocks.Metric
	if i := slices.IndexFunc(metrics, func(m study.Metric) bool { return m.Name == clocks.Metric }); i >= 0 {
		title = metrics[i].Title
	}
	fmt.Fprintf(w, "\nTwo clocks. %s\n", clocks.Verdict)
	fmt.Fprintf(w, "Median %s on both; the ratio, virtual to real, with its 95 %% interval where there are loads enough.\n", title)
	table := terminal.NewTable(w)
	heading := ""
	for _, p := range clocks.Pairs {
		real, virtual := results[p.Real], results[p.Virtual]
		h := place(real.Cell, axes)
		if p.Lossy {
			h += ", with loss"
		}
		if h != heading {
			heading = h
			fmt.Fprintf(table, "\n%s\n%s\treal, ms\tvirtual, ms\tratio\tn\n", h, axes.Compared())
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d, %d\n", rowName(real.Cell, axes),
			median(real.Values[clocks.Metric]), median(virtual.Values[clocks.Metric]), ratio(p), real.Valid, virtual.Valid)
	}
	return table.Flush()
}

func median(values []float64) string {
	if len(values) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", stats.Median(values).Median)
}

func ratio(p report.ClockPair) string {
	switch {
	case p.Ratio == 0:
		return "-"
	case p.Interval:
		return fmt.Sprintf("%.3f [%.3f..%.3f]", p.Ratio, p.Low, p.High)
	}
	return fmt.Sprintf("%.3f", p.Ratio)
}

func (t tabulated) interval(values []float64, unit string) string {
	if len(values) == 0 {
		return "-"
	}
	decimals := 2
	if unit == "ms" {
		decimals = 0
	}
	e := t.bootstrap.Estimate(values, t.Statistic)
	brackets := "()"
	if e.Reached {
		brackets = "[]"
	}
	return fmt.Sprintf("%.*f %c%.*f..%.*f%c", decimals, e.Value, brackets[0], decimals, e.Low, decimals, e.High, brackets[1])
}
