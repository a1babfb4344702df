package main

import (
	"fmt"
	"io"
	"slices"

	"wiretime/report"
	"wiretime/stats"
	"wiretime/study"
	"wiretime/terminal"
)

// printPaper prints what papers printed of a run's cells beside what was measured,
// and what became of the study's claims; nothing for a study that has neither.
func printPaper(w io.Writer, metrics []study.Metric, tables []report.Printed, claims []report.Claim) error {
	for _, t := range tables {
		if err := printTable(w, t, metrics); err != nil {
			return err
		}
	}
	return printClaims(w, claims)
}

// printTable prints one printed table, figure by figure.
func printTable(w io.Writer, t report.Printed, metrics []study.Metric) error {
	title := t.Metric
	if i := slices.IndexFunc(metrics, func(m study.Metric) bool { return m.Name == t.Metric }); i >= 0 {
		title = metrics[i].Title
	}
	if t.Statistic != study.Median {
		title = report.StatisticName(t.Statistic) + " " + title
	}
	fmt.Fprintf(w, "\nPublished: %s; %s, %s\n", t.Source, title, t.Unit)
	table := terminal.NewTable(w)
	fmt.Fprintf(table, "\t\tpublished\there\there / published\n")
	row := -1
	for _, f := range t.Figures {
		label := ""
		if f.Row != row {
			row, label = f.Row, t.Rows[f.Row]
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", label, t.Columns[f.Column], f.Printed,
			scaledInterval(f.Here, t.Scale), timesOf(f.Ratio))
	}
	return table.Flush()
}

// scaledInterval formats an estimate in a unit that is scale times its own.
func scaledInterval(e stats.Estimate, scale float64) string {
	if e.N == 0 {
		return "-"
	}
	form := "%.3g (%.3g..%.3g)"
	if e.Reached {
		form = "%.3g [%.3g..%.3g]"
	}
	return fmt.Sprintf(form, e.Value/scale, e.Low/scale, e.High/scale)
}

func timesOf(ratio float64) string {
	if ratio == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", ratio)
}

// printClaims prints each claim with its verdict, and the pairs in which it did not
// hold.
func printClaims(w io.Writer, claims []report.Claim) error {
	if len(claims) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\nClaims. A claim held where the 95 %% interval of its ratio, of medians or of another statistic, lies in the claimed range, and is refuted where the interval lies outside.\n")
	if slices.ContainsFunc(claims, func(c report.Claim) bool { return c.Per != "" }) {
		fmt.Fprintf(w, "A claim of growth held where the 95 %% interval of the mean change per step lies above no change, and is refuted where it does not reach above.\n")
	}
	for i, c := range claims {
		fmt.Fprintf(w, "\n%d. %s\n   %s%s: %s.\n", i+1, c.Text, c.Test, spread(c), c.Verdict)
		table := terminal.NewTable(w)
		table.Style = outcomeStyle
		for _, p := range c.Pairs {
			switch {
			case c.Per != "" && len(c.Pairs) > 1 && p.Steps != "":
				fmt.Fprintf(table, "   %s\t%s\t%s\t%s\n", p.Name, p.Outcome, pairRatio(p), p.Steps)
			case p.Outcome != report.Held:
				fmt.Fprintf(table, "   %s\t%s\t%s\n", p.Name, p.Outcome, pairRatio(p))
			}
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// outcomeStyle makes what was not confirmed stand out.
func outcomeStyle(_, cell string) terminal.Style {
	switch cell {
	case report.Refuted:
		return terminal.Red
	case report.Undecided:
		return terminal.Yellow
	}
	return terminal.Plain
}

// spread says between which values the ratios of all pairs lie.
func spread(c report.Claim) string {
	var ratios []float64
	for _, p := range c.Pairs {
		if p.Outcome != report.Unmeasured {
			ratios = append(ratios, p.Ratio)
		}
	}
	if len(ratios) == 0 {
		return ""
	}
	words := fmt.Sprintf("%.3f", slices.Min(ratios))
	if len(ratios) > 1 {
		words += fmt.Sprintf(" to %.3f", slices.Max(ratios))
	}
	if c.Per != "" {
		words += " " + c.Per
	}
	return " (here " + words + ")"
}

func pairRatio(p report.ClaimPair) string {
	switch {
	case p.Outcome == report.Unmeasured:
		return "-"
	case p.Interval:
		return fmt.Sprintf("%.3f [%.3f..%.3f]", p.Ratio, p.Low, p.High)
	}
	return fmt.Sprintf("%.3f, too few loads", p.Ratio)
}
