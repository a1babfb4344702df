package main

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"wiretime/difference"
	"wiretime/store"
	"wiretime/study"
)

// sideName is how the command line names one of two sides: a load, or a cell by its values on axes.
type sideName struct {
	dir   string // store
	run   int64  // of a cell; 0: the latest
	load  string // its ID; empty: a cell
	where study.Selection
}

var loadID = regexp.MustCompile(`^r\d+-\d+-a\d+$`)

// parseSide reads a load as in "r1-0007-a1", or a cell as in "protocol=h2,network=lte". Before either may stand a store, and
// before a cell also a run, as in "results:3:protocol=h2".
func parseSide(text, dir string, run int64) (sideName, error) {
	s := sideName{dir: dir, run: run}
	head, values, selects := strings.Cut(text, "=")
	place, name, found := cutLast(head)
	if selects {
		name += "=" + values
	}
	if found {
		if before, number, ok := cutLast(place); ok {
			if n, err := strconv.ParseInt(number, 10, 64); err == nil {
				if n < 1 {
					return s, fmt.Errorf("read %q: invalid run %d: want a number from 1", text, n)
				}
				place, s.run = before, n
			}
		}
		if s.dir = place; place == "" {
			return s, fmt.Errorf("read %q: want a store before the colon", text)
		}
	}
	if loadID.MatchString(name) {
		s.load = name
		return s, nil
	}
	if !strings.Contains(name, "=") {
		return s, fmt.Errorf("read %q: want a load as in r1-0007-a1, or a cell as in protocol=h2,network=lte", text)
	}
	s.where = study.Selection{}
	var axis study.Axis
	for part := range strings.SplitSeq(name, ",") {
		word, value, ok := strings.Cut(part, "=")
		if !ok && axis != "" { // a value with a comma
			s.where[axis][0] += "," + part
			continue
		}
		if axis = study.Axis(word); !ok || word == "" || value == "" {
			return s, fmt.Errorf("read %q: want AXIS=VALUE between commas, as in protocol=h2,network=lte", text)
		}
		if s.where[axis] != nil {
			return s, fmt.Errorf("read %q: it has two values on axis %s; name one", text, axis)
		}
		s.where[axis] = []string{value}
	}
	return s, nil
}

// cutLast cuts at the last colon. Without one, all is after it.
func cutLast(text string) (before, after string, found bool) {
	i := strings.LastIndexByte(text, ':')
	if i < 0 {
		return "", text, false
	}
	return text[:i], text[i+1:], true
}

// side is one of the two sides that are explained.
type side struct {
	sideName
	cell    study.Cell
	seed    uint64
	loads   []*difference.Load
	missing int    // valid loads of a cell whose files were not kept
	invalid string // why a load is not valid; empty if it is
}

// read finds the loads of a side, and says what each of them spent its time on. A cell of which like is not nil has like's
// values on the axes that the side does not name, if that decides between several.
func (n sideName) read(like *study.Cell) (*side, error) {
	st, err := store.Open(n.dir, store.Read)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	if n.load != "" {
		return n.readLoad(st)
	}
	if n.run == 0 {
		runs, err := st.Runs()
		if err != nil {
			return nil, err
		}
		if len(runs) == 0 {
			return nil, input(fmt.Errorf("read store %s: it holds no run yet", n.dir))
		}
		n.run = runs[len(runs)-1].ID
	}
	run, err := st.Run(n.run)
	if err != nil {
		return nil, err
	}
	results, err := st.Results(n.run)
	if err != nil {
		return nil, err
	}
	cells := make([]study.Cell, len(results))
	for i, r := range results {
		cells[i] = r.Cell
	}
	s := &side{sideName: n, seed: run.Seed}
	if s.cell, err = pickCell(cells, n.where, like); err != nil {
		return nil, input(fmt.Errorf("explain a cell of run %d in store %s: %w", n.run, n.dir, err))
	}
	if err := explicable(s.cell); err != nil {
		return nil, input(fmt.Errorf("explain cell %s: %w", s.cell.Key(), err))
	}
	return s, s.readCell(st)
}

func (n sideName) readLoad(st *store.Store) (*side, error) {
	l, err := st.Load(n.load)
	if errors.Is(err, store.ErrNotFound) {
		return nil, input(err)
	}
	if err != nil {
		return nil, err
	}
	if err := checkExplicable(st, l); err != nil {
		return nil, err
	}
	spent, err := timeOf(l)
	if err != nil {
		return nil, err
	}
	if spent == nil {
		return nil, noOnLoad(l)
	}
	n.run = l.Run
	return &side{sideName: n, cell: l.Cell, loads: []*difference.Load{spent}, invalid: l.Reason}, nil
}

// readCell reads the valid loads of the side's cell.
func (s *side) readCell(st *store.Store) error {
	all, err := st.LoadsOf(s.run, s.cell)
	if err != nil {
		return err
	}
	valid := slices.DeleteFunc(all, func(l store.Load) bool { return l.Validity != store.Valid })
	kept := slices.DeleteFunc(slices.Clone(valid), func(l store.Load) bool { return l.Artefacts == "" })
	s.missing = len(valid) - len(kept)
	switch {
	case len(valid) == 0:
		return input(fmt.Errorf("explain cell %s: it has no valid load", s.cell.Key()))
	case len(kept) == 0:
		return input(fmt.Errorf("explain cell %s: none of its %d valid loads has kept its files; %s", s.cell.Key(), len(valid), comeBack(st, valid[0])))
	}
	s.loads, err = inParallel(kept, timeOf)
	for i, l := range s.loads {
		if l == nil && err == nil {
			return noOnLoad(kept[i])
		}
	}
	return err
}

// pickCell returns the one cell that a selection picks. Where it picks several, those count that are like another cell on
// all axes that it does not name.
func pickCell(cells []study.Cell, where study.Selection, like *study.Cell) (study.Cell, error) {
	for _, axis := range slices.Sorted(maps.Keys(where)) {
		known := valuesOn(axis, cells)
		if len(known) == 0 {
			return study.Cell{}, fmt.Errorf("its cells have no axis %q", axis)
		}
		if !slices.Contains(known, where[axis][0]) {
			return study.Cell{}, fmt.Errorf("no cell has %s %q; they have %s", axis, where[axis][0], strings.Join(known, ", "))
		}
	}
	picked := slices.DeleteFunc(slices.Clone(cells), func(c study.Cell) bool { return !where.Picks(c) })
	if len(picked) > 1 && like != nil {
		named := slices.Collect(maps.Keys(where))
		alike := slices.DeleteFunc(slices.Clone(picked), func(c study.Cell) bool { return c.But(named...) != like.But(named...) })
		if len(alike) == 1 {
			picked = alike
		}
	}
	if len(picked) == 1 {
		return picked[0], nil
	}
	if len(picked) == 0 {
		return study.Cell{}, errors.New("no cell has all these values")
	}
	var open []string
	for _, v := range picked[0].Values {
		if known := valuesOn(v.Axis, picked); len(known) > 1 {
			open = append(open, fmt.Sprintf("%s (%s)", v.Axis, strings.Join(known, ", ")))
		}
	}
	return study.Cell{}, fmt.Errorf("%d cells have these values; name one also on %s", len(picked), strings.Join(open, " and "))
}

// valuesOn returns the values that cells have on an axis, in their order.
func valuesOn(axis study.Axis, cells []study.Cell) []string {
	var known []string
	for _, c := range cells {
		if v := c.On(axis); v != "" && !slices.Contains(known, v) {
			known = append(known, v)
		}
	}
	return known
}
