package report

import (
	"fmt"
	"slices"

	"wiretime/english"
	"wiretime/stats"
	"wiretime/store"
	"wiretime/study"
)

// grow judges a claim of growth. It held along a number if the 95 % interval of the mean change from one value to the next lies above
// none, and is refuted if the interval does not reach above none.
func (j *Claim) grow(results []store.Result, c store.Claim, sides [][2]sample, metrics []study.Metric, bootstrap *stats.Bootstrap) {
	axes := AxesOf(results)
	number, known := axes.Workload.Number(c.Along)
	if !known { // the store is not of this program's making
		j.Verdict = Unmeasured
		return
	}
	if c.Grows == study.OfDifference {
		unit := ""
		if i := slices.IndexFunc(metrics, func(m study.Metric) bool { return len(c.Pairs) > 0 && m.Name == c.Pairs[0].Metric }); i >= 0 {
			unit = metrics[i].Unit + " "
		}
		j.Test = fmt.Sprintf("what the difference %sgrows by with the %s", figures(c, metrics, "and"), number.Name)
		j.Per = unit + "per step"
	} else {
		j.Test = fmt.Sprintf("factor by which the ratio %sgrows with the %s", figures(c, metrics, "to"), number.Name)
		j.Per = "per step"
	}
	cells := make([][2]study.Cell, len(sides))
	for i, s := range sides {
		cells[i] = [2]study.Cell{s[0].cell, s[1].cell}
	}
	all := number.Along(cells)
	names, noun := rowNames(axes, number, sides, all)
	for i, places := range all {
		row := judgeGrowth(c, sides, places, bootstrap)
		row.Name = names[i]
		j.Pairs = append(j.Pairs, row)
	}
	j.Verdict = verdict(j.Pairs, noun)
	if len(j.Pairs) == 0 { // a quick run without the cells
		j.Verdict = Unmeasured
	}
	if len(j.Pairs) == 1 && j.Pairs[0].Steps != "" {
		j.Verdict += "; it " + j.Pairs[0].Steps
	}
}

// judgeGrowth judges a claim at those places along its number that have been measured.
func judgeGrowth(c store.Claim, sides [][2]sample, places []study.Place, bootstrap *stats.Bootstrap) ClaimPair {
	var measured []stats.Pair
	for _, p := range places {
		x, y := sides[p.Pair][0], sides[p.Pair][1]
		if len(x.values) == 0 || len(y.values) == 0 || c.Grows == study.OfRatio && !(aboveZero(x.values) && aboveZero(y.values)) {
			continue
		}
		measured = append(measured, stats.Pair{X: x.values, Y: y.values, OfX: x.statistic, OfY: y.statistic})
	}
	row := ClaimPair{Outcome: Unmeasured}
	if len(measured) < study.FewestSteps {
		return row
	}
	trend, none := bootstrap.TrendOfRatios, 1.0
	if c.Grows == study.OfDifference {
		trend, none = bootstrap.TrendOfDifferences, 0
	}
	t := trend(measured)
	row.Ratio, row.Low, row.High, row.Interval, row.Outcome = t.Step, t.Low, t.High, t.Enough, Undecided
	switch {
	case !t.Enough:
	case t.Low > none:
		row.Outcome = Held
	case t.High <= none:
		row.Outcome = Refuted
	}
	row.Steps = fmt.Sprintf("rises at %d of %s", t.Rises, english.Count(len(measured)-1, "step"))
	if t.Falls > 0 {
		row.Steps += fmt.Sprintf(" and falls for certain at %d", t.Falls)
	}
	return row
}

// rowNames names rows of pairs along a number by the axes on which the rows differ, and returns a noun for these names.
func rowNames(axes Axes, number study.Number, sides [][2]sample, rows [][]study.Place) (names []string, noun string) {
	firsts := make([][2]sample, len(rows))
	for i, places := range rows {
		firsts[i] = sides[places[0].Pair]
		for side := range firsts[i] {
			cell := firsts[i][side].cell
			_, rest := axes.beside(cell, []study.Number{number})
			firsts[i][side].cell = cell.With(number.Axis, rest)
		}
	}
	return pairNames(firsts)
}
