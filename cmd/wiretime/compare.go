package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"wiretime/compare"
	"wiretime/store"
	"wiretime/study"
)

type compareOptions struct {
	store     string
	run       int64
	metrics   []string
	statistic string
	margin    string
	adjust    string
	changed   bool
	failIf    []string
	undecided bool // fails, too
	junit     string
	markdown  string
	json      string
	csv       string
	until     string
	atMost    string
}

func compareCommand() *cobra.Command {
	var o compareOptions
	c := &cobra.Command{
		Use:   "compare A B",
		Short: "Say how B differs from A: runs, stores, or values of an axis",
		Long: `Compare pairs the cells of two sides and says of each pair how B differs from A:
faster, slower, the same within a margin, or not decided, and how many more loads
would probably decide.

A and B are each a store (results), a run of one (results:3), or cells of a run
that --store and --run name (protocol=h2, or server=mine,protocol=h3). Cells are
paired by all axes on which they are not compared. What cannot be compared
(another clock, site or network behind the same name, too few loads) is said.

--fail-if 'onload p50 > +3%' makes the exit code 1 where the whole interval of the
difference lies beyond the bound.

With --until, A and B are study files. Compare measures both in turns and adds
loads until every pair of cells is decided or --at-most is reached.

docs/compare.md has the methods.`,
		Args: arguments(cobra.ExactArgs(2)),
		RunE: func(_ *cobra.Command, args []string) error { return compareSides(args[0], args[1], o) },
	}
	f := c.Flags()
	f.StringVar(&o.store, "store", "", "folder of the results whose cells A and B name (default: "+defaultStore+"); with --until, folder for both stores (default: "+untilStore+")")
	f.Int64Var(&o.run, "run", 0, "number of the run whose cells A and B name (default: the latest)")
	f.StringArrayVar(&o.metrics, "metric", nil, "a metric to compare; may be repeated (default: onload, or the main metric of streams, uploads and crowds)")
	f.StringVar(&o.statistic, "statistic", study.Median, "what is compared of a cell's loads: median, mean, or a percentile such as p95")
	f.StringVar(&o.margin, "margin", "1%", "how far B may be from A and still count as the same; 0%: never say the same")
	f.StringVar(&o.adjust, "adjust", compare.AdjustHolm, "how p-values allow for the number of cells: holm (no false difference at all, in 95 % of comparisons) or fdr (5 % of the differences may be false)")
	f.BoolVar(&o.changed, "changed-sites", false, "compare although sites have another content: that is what is compared")
	f.StringArrayVar(&o.failIf, "fail-if", nil, "end with exit code 1 where this is decided to be true, as in 'onload p50 > +3%' or 'plt mean > 20 ms'; may be repeated")
	f.BoolVar(&o.undecided, "fail-undecided", false, "with --fail-if: also where it is not decided, or the cells cannot be compared")
	f.StringVar(&o.junit, "junit", "", "write a `FILE` of JUnit XML, with a test case for each rule and pair of cells")
	f.StringVar(&o.markdown, "markdown", "", "write the tables to a `FILE` as Markdown, for a pull request")
	f.StringVar(&o.json, "json", "", "write the comparison to a `FILE` as JSON")
	f.StringVar(&o.csv, "csv", "", "write the comparison to a `FILE` as CSV")
	untilFlags(c, &o)
	return c
}

// compareSides compares two sides, prints and writes the result, and applies the rules.
func compareSides(a, b string, o compareOptions) error {
	config, rules, err := o.config()
	if err != nil {
		return input(err)
	}
	if o.until != "" {
		return compareUntil(a, b, o, config, rules)
	}
	sideA, closeA, err := openSide(a, o)
	if err != nil {
		return err
	}
	defer closeA()
	sideB, closeB, err := openSide(b, o)
	if err != nil {
		return err
	}
	defer closeB()
	result, err := compare.Compare(sideA, sideB, config, seedOf(sideA))
	if err != nil {
		return input(err)
	}
	return o.finish(result, rules)
}

// seedOf seeds the bootstrap, as the report does.
func seedOf(s compare.Side) uint64 { return s.Run.Seed }

// config reads the flags that say what is compared, and the rules.
func (o compareOptions) config() (c compare.Config, rules []compare.Rule, err error) {
	c.ChangedSites, c.Adjust = o.changed, o.adjust
	if o.adjust != compare.AdjustHolm && o.adjust != compare.AdjustFDR {
		return c, nil, fmt.Errorf("read --adjust: unknown way %.20q; write %s or %s", o.adjust, compare.AdjustHolm, compare.AdjustFDR)
	}
	if c.Margin, err = parseMargin(o.margin); err != nil {
		return c, nil, fmt.Errorf("read --margin: %w", err)
	}
	add := func(f compare.Figure) {
		if !slices.Contains(c.Figures, f) {
			c.Figures = append(c.Figures, f)
		}
	}
	metrics := o.metrics
	if len(metrics) == 0 && len(o.failIf) == 0 && o.statistic != study.Median {
		return c, nil, errors.New("read --statistic: name the metric as well, as in --metric onload --statistic p95")
	}
	for _, m := range metrics {
		f, err := compare.ParseFigure(m, o.statistic)
		if err != nil {
			return c, nil, fmt.Errorf("read --metric and --statistic: %w", err)
		}
		add(f)
	}
	for _, text := range o.failIf {
		r, err := compare.ParseRule(text)
		if err != nil {
			return c, nil, fmt.Errorf("read --fail-if: %w", err)
		}
		rules = append(rules, r)
		add(r.Figure)
	}
	if o.adjust != compare.AdjustHolm && o.until != "" {
		return c, nil, errors.New("read --adjust: --until needs holm, whose errors the looks can add up")
	}
	if o.undecided && len(rules) == 0 {
		return c, nil, errors.New("read --fail-undecided: it needs a --fail-if")
	}
	return c, rules, nil
}

// parseMargin reads a percentage from 0 up to, but not including, 100.
func parseMargin(text string) (float64, error) {
	digits, ok := strings.CutSuffix(strings.TrimPrefix(text, "±"), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if !ok || err != nil || !(v >= 0 && v < 100) {
		return 0, fmt.Errorf("invalid percentage %.20q: want one from 0%% to below 100%%, as in 3%%", text)
	}
	return v / 100, nil
}

// openSide opens what a side names.
func openSide(text string, o compareOptions) (s compare.Side, closeStore func(), err error) {
	spec, err := compare.ParseSpec(text)
	if err != nil {
		return s, nil, input(err)
	}
	dir, run := spec.Dir, spec.Run
	if spec.Where != nil {
		dir, run = cmp.Or(o.store, defaultStore), o.run
	}
	st, err := store.Open(dir, store.Read)
	if err != nil {
		return s, nil, err
	}
	closeStore = func() { _ = st.Close() }
	if run == 0 {
		if run, err = latestRun(st); err != nil {
			closeStore()
			return s, nil, err
		}
	}
	s, err = compare.Open(text, st, run, spec.Where)
	if err != nil {
		closeStore()
		return s, nil, input(err)
	}
	return s, closeStore, nil
}

// finish prints a comparison, writes the files, and applies the rules.
func (o compareOptions) finish(result *compare.Comparison, rules []compare.Rule) error {
	if err := result.Apply(rules); err != nil {
		return input(err)
	}
	if err := result.WriteText(stdout); err != nil {
		return err
	}
	for _, file := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{o.markdown, result.WriteMarkdown}, {o.json, result.WriteJSON}, {o.csv, result.WriteCSV},
		{o.junit, func(w io.Writer) error { return result.WriteJUnit(w, o.undecided) }},
	} {
		if err := writeTo(file.name, file.write); err != nil {
			return err
		}
	}
	return result.Verdict(o.undecided)
}

// writeTo writes a file; an empty name writes none.
func writeTo(name string, write func(io.Writer) error) error {
	if name == "" {
		return nil
	}
	out, err := newOutput(name)
	if err != nil {
		return err
	}
	defer out.discard()
	if err := write(out); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return out.keep()
}
