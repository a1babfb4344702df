package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"wiretime/stats"
	"wiretime/store"
	"wiretime/study"
)

// Collect reads a run from the store, and what its loads left.
func Collect(st *store.Store, run int64, files Files) (Data, error) {
	c := collector{files: files}
	if err := c.collect(st, run); err != nil {
		return Data{}, fmt.Errorf("collect run %d for a report: %w", run, err)
	}
	return c.data, nil
}

type collector struct {
	data   Data
	files  Files
	values []map[string][]float64 // by cell, then metric: of the valid loads

	run     store.Run
	metrics []study.Metric
	whole   []store.Result // one for each cell of the run
	results []store.Result // likewise, with the loads of sessions pooled
	at      map[string]int // the index of the result that has a cell's loads, by the cell's key
	axes    Axes
}

func (c *collector) collect(st *store.Store, id int64) error {
	whole, loads, err := st.ResultsAndLoads(id)
	if err != nil {
		return err
	}
	if err := c.begin(st, id, whole); err != nil {
		return err
	}
	c.data.loads = loads
	c.addCells(c.results)
	c.addLoads()
	var failed []string
	for _, l := range loads {
		if l.Validity == store.Failed {
			failed = append(failed, l.Reason)
		}
	}
	if err := c.compare(st, failed); err != nil {
		return err
	}
	return c.addFiles()
}

// begin reads what is known of a run besides its cells and loads. whole has a result for each of its cells.
func (c *collector) begin(st *store.Store, id int64, whole []store.Result) error {
	run, err := st.Run(id)
	if err != nil {
		return err
	}
	c.run, c.whole = run, whole
	c.results, c.at = Pooled(whole)
	if c.metrics, err = st.Metrics(id); err != nil {
		return err
	}
	environment, err := describeEnvironment(run.Environment)
	if err != nil {
		return err
	}
	c.axes = AxesOf(c.results)
	servers, err := c.axes.describeServers(c.results, run.Environment)
	if err != nil {
		return err
	}
	c.data = Data{
		Study: run.StudyName, StudyText: run.StudyText, Seed: run.Seed, Run: run.ID,
		Started: run.Started, Finished: run.Finished, Version: run.Version,
		Checks:      c.axes.kind().checks(c.axes),
		Quick:       run.Quick(),
		Environment: environment,
		Compared:    c.axes.Compared(), Same: c.axes.same(c.results), Visits: c.axes.describeVisits(c.results), Strategies: c.axes.describeStrategies(c.results), Servers: servers,
		Metrics: []Metric{}, Networks: []Network{}, Cells: []Cell{}, Sections: []Section{}, Loads: []Load{},
	}
	for _, m := range c.metrics {
		c.data.Metrics = append(c.data.Metrics, Metric{
			Name: m.Name, Title: m.Title, Unit: m.Unit, Definition: m.Definition,
			Ranked: m.Unit == "ms" && !aboutTheLab(m.Name),
		})
	}
	if OnVirtualClock(c.results) {
		c.data.ClockNote = VirtualClock
	}
	return nil
}

// compare adds what the values of several cells say together. failed are the reasons of the attempts that failed.
func (c *collector) compare(st *store.Store, failed []string) error {
	c.data.Overview = overviewOf(c.results, c.metrics, c.axes.kind().overview, c.run.Seed)
	c.data.Summary = summaryOf(c.results, c.whole, c.data.Overview, c.data.Counts, c.data.reasons(failed))
	c.rank(c.run.Seed)
	drops, err := st.Drops(c.run.ID)
	if err != nil {
		return err
	}
	c.data.Dropped = Dropped(c.run, drops)
	published, err := st.Published(c.run.ID)
	if err != nil {
		return err
	}
	claims, err := st.Claims(c.run.ID)
	if err != nil {
		return err
	}
	c.data.Printed = CompareTables(c.whole, published, c.run.Seed)
	c.data.Claims = JudgeClaims(c.whole, c.metrics, claims, c.run.Seed)
	c.data.Series = collectSeries(c.results, c.whole, c.at, published)
	c.data.Clocks, err = CompareClocks(c.results, c.run.Seed)
	return err
}

// addCells adds cells, and what is said of all of them.
func (c *collector) addCells(results []store.Result) {
	axes := c.axes
	described := map[string]bool{}
	sections := map[string]int{}
	for i, r := range results {
		if !described[r.Cell.Network.Name] {
			described[r.Cell.Network.Name] = true
			c.data.Networks = append(c.data.Networks, axes.kind().network(axes, r.Cell))
		}
		summaries := map[string]Summary{}
		for metric, values := range r.Values {
			summaries[metric] = Summarize(values)
		}
		c.values = append(c.values, r.Values)
		c.data.Cells = append(c.data.Cells, Cell{
			Site: r.Cell.Subject(), Network: r.Cell.Network.Name, Protocol: r.Cell.Over(), Loader: r.Cell.By(), Clock: r.Cell.Clock(),
			Visit: r.Cell.On(study.AxisVisit), Strategy: r.Cell.On(study.AxisStrategy), Server: r.Cell.On(study.AxisServer), Shared: axes.shared(r.Cell), Label: axes.column(r.Cell),
			Valid: r.Valid, Invalid: r.Invalid, Failed: r.Failed, Unsupported: r.Unsupported, Pending: r.Pending,
			Summaries: summaries, MedianLoad: -1, Loads: []int{},
		})
		shared := axes.shared(r.Cell)
		key := axes.sectionKey(r.Cell)
		s, ok := sections[key]
		if !ok {
			s = len(c.data.Sections)
			sections[key] = s
			c.data.Sections = append(c.data.Sections, Section{Site: r.Cell.Subject(), Network: r.Cell.Network.Name, Clock: r.Cell.Clock(), Shared: shared, Answers: []Answer{}})
		}
		c.data.Sections[s].Cells = append(c.data.Sections[s].Cells, i)
	}
	c.data.Counts, c.data.Gaps = countsOf(results), Gaps(results)
	axes.kind().extend(&c.data, axes, results)
}

// Summarize describes the valid values of one metric in one cell.
func Summarize(values []float64) Summary {
	all, median := stats.Summarize(values), stats.Median(values)
	return Summary{
		N: all.N, Median: median.Median, Interval: median.Reached, Low: median.Low, High: median.High,
		Min: all.Min, Max: all.Max, CV: all.CV,
	}
}

// addLoads adds the loads.
func (c *collector) addLoads() {
	for _, l := range c.data.loads {
		load := Load{
			ID: l.ID, Cell: c.at[l.Cell.Key()], Repeat: l.Repeat, Attempt: l.Attempt,
			Validity: string(l.Validity), Reason: l.Reason, Values: make([]*float64, len(c.data.Metrics)),
		}
		for i, m := range c.data.Metrics {
			if v, ok := l.Values[m.Name]; ok {
				load.Values[i] = &v
			}
		}
		broken := map[int]bool{}
		for _, v := range l.Violations {
			broken[v.Rule] = true
		}
		for i := range c.data.Checks {
			if broken[c.data.Checks[i].Rule] {
				c.data.Checks[i].Broken++
			}
		}
		if broken[1] {
			c.data.Counts.WrongProtocol++
		}
		cell := &c.data.Cells[load.Cell]
		cell.Loads = append(cell.Loads, len(c.data.Loads))
		c.data.Loads = append(c.data.Loads, load)
	}
}

// medianLoad returns the load that represents the cell: the valid one with artefacts whose onLoad
// (without an onLoad, whose first ranked metric) is nearest to the median. It returns -1 if there
// is none.
func (c *collector) medianLoad(cell *Cell) int {
	metric := slices.IndexFunc(c.data.Metrics, func(m Metric) bool {
		_, ok := cell.Summaries[m.Name]
		return ok && m.Name == "onload"
	})
	if metric < 0 {
		metric = slices.IndexFunc(c.data.Metrics, func(m Metric) bool {
			_, ok := cell.Summaries[m.Name]
			return ok && m.Ranked
		})
	}
	if metric < 0 {
		return -1
	}
	median := cell.Summaries[c.data.Metrics[metric].Name].Median
	best, nearest := -1, math.Inf(1)
	for _, i := range cell.Loads {
		l := c.data.Loads[i]
		if v := l.Values[metric]; l.Validity == string(store.Valid) && c.data.loads[i].Artefacts != "" && v != nil && math.Abs(*v-median) < nearest {
			best, nearest = i, math.Abs(*v-median)
		}
	}
	return best
}

// rank compares each cell with the one that has the best median, in every section and by every metric of the overview.
func (c *collector) rank(seed uint64) {
	bootstrap := stats.NewBootstrap(seed)
	for i := range c.data.Sections {
		section := &c.data.Sections[i]
		for _, m := range c.data.Overview.Metrics {
			var cells []int
			for _, cell := range section.Cells {
				if len(c.values[cell][m.Name]) > 0 {
					cells = append(cells, cell)
				}
			}
			if len(cells) == 0 {
				continue
			}
			median := func(cell int) float64 { return c.data.Cells[cell].Summaries[m.Name].Median }
			slices.SortStableFunc(cells, func(a, b int) int {
				if m.More {
					a, b = b, a
				}
				return cmp.Compare(median(a), median(b))
			})
			answer := Answer{Metric: m.Name, Fastest: cells[0], Behind: []Behind{}}
			for _, cell := range cells[1:] {
				worse, better := cell, cells[0]
				if m.More {
					worse, better = better, worse
				}
				d := bootstrap.Compare(c.values[worse][m.Name], c.values[better][m.Name])
				answer.Behind = append(answer.Behind, Behind{Cell: cell, Diff: d.Value, Interval: d.Enough, Low: d.Low, High: d.High})
			}
			section.Answers = append(section.Answers, answer)
		}
	}
}

// aboutTheLab reports whether a metric describes the lab (how punctual it was, what its path
// offered), not the page or the stream.
func aboutTheLab(metric string) bool {
	return metric == "steal" || slices.ContainsFunc([]string{"late_", "emulator_", "taken_", "processor_", "path_"}, func(prefix string) bool {
		return strings.HasPrefix(metric, prefix)
	})
}
