package report

import (
	"errors"
	"fmt"
	"runtime"

	"wiretime/capture"
	"wiretime/critical"
	"wiretime/flowcontrol"
	"wiretime/media/record"
	"wiretime/store"
)

// Files reads what loads left. Each function returns nil if the load did not leave it; its errors end Collect. A report
// goes without what it has no function for. Functions are called in several goroutines at once.
type Files struct {
	HAR    func(store.Load) (*capture.HAR, error)
	Paths  func(store.Load, *capture.HAR) ([]*critical.Path, error) // the critical paths of the HAR's pages
	Stream func(store.Load) (*record.Stream, error)
	// Connections reads the connections of a page's load.
	Connections func(store.Load) ([]*flowcontrol.Connection, error)
}

// left is what a load left, as far as the report shows it.
type left struct {
	har         *capture.HAR
	paths       []*critical.Path
	stream      *record.Stream
	connections []*flowcontrol.Connection
}

// read reads the HAR of a load and, for the median load of its cell, the rest. Connections are read only if they are charted.
func (f Files) read(l store.Load, median, charted bool) (left, error) {
	var all left
	var err error
	if f.HAR != nil {
		if all.har, err = f.HAR(l); err != nil {
			return all, fmt.Errorf("load %s: %w", l.ID, err)
		}
	}
	if !median {
		return all, nil
	}
	if f.Paths != nil && all.har != nil {
		if all.paths, err = f.Paths(l, all.har); err != nil {
			return all, fmt.Errorf("find the critical path of load %s: %w", l.ID, err)
		}
	}
	if f.Connections != nil && all.har != nil && charted {
		if all.connections, err = f.Connections(l); err != nil {
			return all, fmt.Errorf("read the connections of load %s: %w", l.ID, err)
		}
	}
	if f.Stream != nil {
		if all.stream, err = f.Stream(l); err != nil {
			return all, fmt.Errorf("read the stream of load %s: %w", l.ID, err)
		}
	}
	return all, nil
}

// errTooMany ends the reading of all loads.
var errTooMany = errors.New("too many requests for one report")

// addFiles gives every load its waterfall, or, where that would be too many requests, only the median load of each cell.
// Median loads also get what decided their time, or their timeline.
func (c *collector) addFiles() error {
	c.nameKinds()
	var all, medians []int
	requests := 0.0 // by the loads' figures, which say it without the HARs
	for i, l := range c.data.loads {
		all = append(all, i)
		if l.Artefacts != "" {
			requests += l.Values["requests"]
		}
	}
	for i := range c.data.Cells {
		cell := &c.data.Cells[i]
		if cell.MedianLoad = c.medianLoad(cell); cell.MedianLoad >= 0 {
			medians = append(medians, cell.MedianLoad)
		}
	}
	if requests <= maxRequests {
		err := c.show(all, maxRequests)
		if !errors.Is(err, errTooMany) {
			return err
		}
		for i := range c.data.Loads {
			c.data.Loads[i].Waterfall = nil
		}
	}
	c.data.MediansOnly = true
	return c.show(medians, 0)
}

// nameKinds names what numbers in critical paths and flows stand for.
func (c *collector) nameKinds() {
	if c.files.Paths != nil {
		c.data.Kinds = kindNames()
	}
	if c.files.Connections != nil {
		c.data.Reasons = reasonNames()
	}
}

// show reads what the loads left and adds it to the report. It returns errTooMany after more requests than most, if that is
// not 0.
func (c *collector) show(loads []int, most int) error {
	words, requests := newVocabulary(), 0
	read := func(i int) (left, error) {
		l := loads[i]
		cell := c.data.Loads[l].Cell
		return c.files.read(c.data.loads[l], c.data.Cells[cell].MedianLoad == l, cell < mostFlows)
	}
	err := inOrder(len(loads), read, func(i int, of left) error {
		load := &c.data.Loads[loads[i]]
		if of.har != nil {
			load.Waterfall = words.waterfall(of.har)
		}
		if load.Waterfall != nil {
			requests += len(load.Waterfall.Requests)
		}
		if most > 0 && requests > most {
			return errTooMany
		}
		if len(of.paths) > 0 && !c.data.Uploads {
			c.data.Cells[load.Cell].Critical = explain(loads[i], of.paths)
		}
		if of.connections != nil {
			c.data.Cells[load.Cell].Flow = flowOf(loads[i], of)
		}
		if of.stream != nil {
			load.Timeline = timeline(of.stream)
		}
		return nil
	})
	c.data.Words = words.words
	return err
}

// inOrder calls read with 0 to n-1, several at a time, and use with what it returned, in this order. The first error ends it.
func inOrder[T any](n int, read func(i int) (T, error), use func(i int, value T) error) error {
	type result struct {
		value T
		err   error
	}
	ahead, stop := make(chan chan result, runtime.GOMAXPROCS(0)-1), make(chan struct{})
	go func() {
		defer close(ahead)
		for i := range n {
			next := make(chan result, 1)
			select {
			case ahead <- next:
			case <-stop:
				return
			}
			go func() {
				value, err := read(i)
				next <- result{value, err}
			}()
		}
	}()
	var err error
	used := 0
	for next := range ahead { // after an error, too: it waits for those that have begun
		r := <-next
		if err != nil {
			continue
		}
		if err = r.err; err == nil {
			err = use(used, r.value)
		}
		if used++; err != nil {
			close(stop)
		}
	}
	return err
}
