package main

import (
	"cmp"
	"fmt"

	"wiretime/report"
	"wiretime/store"
)

// figure writes the block's figure of a run to the file page, and returns how many charts it has.
func (b *block) figure(r *measuredRun, page string) (charts int, err error) {
	st, err := store.Open(r.store, store.Read)
	if err != nil {
		return 0, err
	}
	defer st.Close()
	runs, err := st.Runs()
	if err != nil {
		return 0, err
	}
	run := runs[len(runs)-1] // the store of a whole study has one
	metrics, err := st.Metrics(run.ID)
	if err != nil {
		return 0, err
	}
	published, err := st.Published(run.ID)
	if err != nil {
		return 0, err
	}
	results, err := st.Results(run.ID, b.metrics()...)
	if err != nil {
		return 0, err
	}
	f, err := report.Draw(results, metrics, published, run.Seed, b.specification())
	if err != nil {
		return 0, err
	}
	charts = len(f.Panels)
	if f.Against != nil {
		charts *= len(f.Lines)
	}
	return charts, report.WriteFigure(page, f)
}

// metrics are those that the figure shows.
func (b *block) metrics() []string {
	names := []string{}
	for _, l := range append([]column{{}}, b.Lines.drawn...) {
		if name := cmp.Or(l.Metric, b.Metric); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// specification is what the block says of its figure.
func (b *block) specification() report.FigureSpec {
	spec := report.FigureSpec{Along: b.Along, Against: b.Against, Panels: b.Panels, For: b.For.choice(),
		Metric: b.Metric, Statistic: b.Statistic, Unit: b.Unit, X: report.Cut(b.X), Y: report.Cut(b.Y)}
	for _, l := range b.Lines.drawn {
		line := report.FigureLine{Title: l.Title, Metric: l.Metric, Statistic: l.Statistic, Of: l.Of.choice()}
		for _, side := range l.Ratio {
			line.Ratio = append(line.Ratio, side.choice())
		}
		spec.Lines = append(spec.Lines, line)
	}
	return spec
}

// choice is the selection as package report takes it.
func (s selection) choice() report.Choice {
	choice := report.Choice{}
	for name, wanted := range s {
		values, many := wanted.([]any)
		if !many {
			values = []any{wanted}
		}
		for _, v := range values {
			choice[name] = append(choice[name], fmt.Sprint(v))
		}
	}
	return choice
}

// windowFor is the width of a window in which one chart stands alone, and several stand in two columns.
func windowFor(charts int) int {
	if charts > 1 {
		return 1060
	}
	return 720
}
