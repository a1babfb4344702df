package report

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"wiretime/store"
)

// CollectCells reads what a report says of a run's cells, without its loads and their files: of the metrics that tables show, and of
// those that are named. It takes a fraction of the time that Collect takes.
func CollectCells(st *store.Store, run int64, metrics ...string) (Data, error) {
	var c collector
	if err := c.cells(st, run, metrics); err != nil {
		return Data{}, fmt.Errorf("collect the cells of run %d: %w", run, err)
	}
	return c.data, nil
}

func (c *collector) cells(st *store.Store, run int64, metrics []string) error {
	names, err := metricsOf(st, run)
	if err != nil {
		return err
	}
	for _, name := range metrics {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	results, err := st.Results(run, names...)
	if err != nil {
		return err
	}
	if err := c.begin(st, run, results); err != nil {
		return err
	}
	c.addCells(c.results)
	broken, err := st.Broken(run)
	if err != nil {
		return err
	}
	for i := range c.data.Checks {
		c.data.Checks[i].Broken = broken[c.data.Checks[i].Rule]
	}
	c.data.Counts.WrongProtocol = broken[1]
	c.data.Words, c.data.MediansOnly = []string{""}, true
	var failed []string
	if c.data.Counts.Failed > 0 {
		if failed, err = st.Reasons(run, store.Failed); err != nil {
			return err
		}
	}
	return c.compare(st, failed)
}

// metricsOf names the metrics that the tables of a run show.
func metricsOf(st *store.Store, run int64) ([]string, error) {
	metrics, err := st.Metrics(run)
	if err != nil {
		return nil, err
	}
	published, err := st.Published(run)
	if err != nil {
		return nil, err
	}
	claims, err := st.Claims(run)
	if err != nil {
		return nil, err
	}
	return ShownMetrics(metrics, published, claims), nil
}

// ErrNoCell is wrapped by the error for a cell that a run does not have.
var ErrNoCell = errors.New("the run has no such cell")

// OfCell reads what a report says of one cell, which is given by its index in the Data of CollectCells, with all its loads: Data.Loads
// and the loads that it returns are parallel. Of the files it reads those of the median load, as far as there are functions for them.
func OfCell(st *store.Store, run int64, cell int, files Files) (Data, []store.Load, error) {
	c := collector{files: files}
	err := c.only(st, run, func(c *collector) (int, error) { return cell, nil })
	if err == nil {
		c.addLoads()
		err = c.addMedian()
	}
	if err != nil {
		return Data{}, nil, fmt.Errorf("read cell %d of run %d: %w", cell, run, err)
	}
	return c.data, c.data.loads, nil
}

// OfLoad reads what a report says of one load and of its cell, which is the only one in Data, and returns the cell's index in the Data
// of CollectCells, and its loads. In Data the load stands for its cell as if it were the median load.
func OfLoad(st *store.Store, load store.Load, files Files) (data Data, cell int, loads []store.Load, err error) {
	c := collector{files: files}
	err = c.only(st, load.Run, func(c *collector) (int, error) {
		i, ok := c.at[load.Cell.Key()]
		if !ok {
			return 0, ErrNoCell
		}
		cell = i
		return i, nil
	})
	if err == nil {
		loads = c.data.loads
		c.data.loads = []store.Load{load}
		c.addLoads()
		if c.data.Cells[0].MedianLoad = -1; load.Artefacts != "" {
			c.data.Cells[0].MedianLoad = 0
		}
		c.nameKinds()
		err = c.show([]int{0}, math.MaxInt, false)
	}
	if err != nil {
		return Data{}, 0, nil, fmt.Errorf("read load %s: %w", load.ID, err)
	}
	return c.data, cell, loads, nil
}

// only fills in one cell of a run, the one that which returns, and reads its loads. To say which axes the run uses it needs all cells,
// but not their values.
func (c *collector) only(st *store.Store, run int64, which func(*collector) (int, error)) error {
	cells, err := st.Cells(run)
	if err != nil {
		return err
	}
	whole := make([]store.Result, len(cells))
	for i, cell := range cells {
		whole[i] = store.Result{Cell: cell, Values: map[string][]float64{}}
	}
	if err := c.begin(st, run, whole); err != nil {
		return err
	}
	number, err := which(c)
	if err != nil {
		return err
	}
	if number < 0 || number >= len(c.results) {
		return ErrNoCell
	}
	var members []store.Result
	for _, cell := range cells {
		if c.at[cell.Key()] != number {
			continue
		}
		r, loads, err := st.ResultOf(run, cell)
		if err != nil {
			return err
		}
		members = append(members, r)
		c.data.loads = append(c.data.loads, loads...)
		c.at[cell.Key()] = 0
	}
	one := members[0]
	if len(members) > 1 {
		one = pool(members)
	}
	c.addCells([]store.Result{one})
	c.data.MediansOnly, c.data.Words = true, []string{""}
	return nil
}

// addMedian gives the only cell its median load, with what that left.
func (c *collector) addMedian() error {
	cell := &c.data.Cells[0]
	if cell.MedianLoad = c.medianLoad(cell); cell.MedianLoad < 0 {
		return nil
	}
	c.nameKinds()
	return c.show([]int{cell.MedianLoad}, math.MaxInt, false)
}

// Places returns the label of each result within its section, and the sections, each as indices of its results, in the order of the Data
// of an Overview.
func Places(results []store.Result) (labels []string, sections [][]int) {
	c := collector{axes: AxesOf(results)}
	c.addCells(results)
	for _, cell := range c.data.Cells {
		labels = append(labels, cell.Label)
	}
	for _, s := range c.data.Sections {
		sections = append(sections, s.Cells)
	}
	return labels, sections
}
