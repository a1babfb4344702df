package report

import (
	"encoding/json"
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
	rest, err := json.Marshal(c.data)
	if err != nil {
		return fmt.Errorf("encode the report's data: %w", err)
	}
	room := max(0, maxOctets-pageOctets-len(rest))
	if requests*requestOctets <= float64(room) {
		err := c.show(all, room, true)
		if !errors.Is(err, errTooMany) {
			return err
		}
		for i := range c.data.Loads {
			c.data.Loads[i].Waterfall = nil
		}
		for i := range c.data.Cells {
			c.data.Cells[i].Flow = nil
		}
	}
	c.data.MediansOnly = true
	return c.show(medians, room, false)
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

// show reads what the loads left and adds it to the report, as long as there is room for it, in octets. What does not fit is left out or, if
// all of it is wanted, the error is errTooMany.
func (c *collector) show(loads []int, room int, whole bool) error {
	words := newVocabulary()
	read := func(i int) (left, error) {
		l := loads[i]
		cell := c.data.Loads[l].Cell
		return c.files.read(c.data.loads[l], c.data.Cells[cell].MedianLoad == l, cell < mostFlows)
	}
	fits := func(octets int) bool {
		if octets > room {
			return false
		}
		room -= octets
		return true
	}
	err := inOrder(len(loads), read, func(i int, of left) error {
		load := &c.data.Loads[loads[i]]
		if of.har != nil {
			switch {
			case fits(requestOctets * len(of.har.Log.Entries)):
				load.Waterfall = words.waterfall(of.har)
			case whole:
				return errTooMany
			default:
				c.data.Omitted++
			}
		}
		if len(of.paths) > 0 && !c.data.Uploads {
			c.data.Cells[load.Cell].Critical = explain(loads[i], of.paths)
		}
		if of.connections != nil {
			flow := flowOf(loads[i], of)
			text, err := json.Marshal(flow)
			if err != nil {
				return fmt.Errorf("encode the windows of load %s: %w", load.ID, err)
			}
			if fits(len(text)) {
				c.data.Cells[load.Cell].Flow = flow
			} else if whole {
				return errTooMany
			}
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
