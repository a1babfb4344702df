package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"wiretime/capture"
	"wiretime/difference"
	"wiretime/evidence"
	"wiretime/lab"
	"wiretime/store"
	"wiretime/study"
)

// explainTwo says why the loads of one side take longer than those of another.
func explainTwo(dir string, run int64, first, second string, asJSON bool) error {
	var names [2]sideName
	for i, text := range []string{first, second} {
		var err error
		if names[i], err = parseSide(text, dir, run); err != nil {
			return input(err)
		}
	}
	if (names[0].load == "") != (names[1].load == "") {
		return input(fmt.Errorf("explain %s and %s: one is a load and the other a cell; name two loads or two cells", first, second))
	}
	a, err := names[0].read(nil)
	if err != nil {
		return err
	}
	b, err := names[1].read(&a.cell)
	if err != nil {
		return err
	}
	if a.dir == b.dir && a.run == b.run && a.load == b.load && a.cell.Key() == b.cell.Key() {
		return input(fmt.Errorf("explain %s and %s: they are the same", first, second))
	}
	d, err := difference.Between(a.loads, b.loads, a.seed)
	if errors.Is(err, difference.ErrPages) || errors.Is(err, difference.ErrTabs) {
		return input(fmt.Errorf("explain %s and %s: %w", first, second, err))
	}
	if err != nil {
		return err
	}
	nameA, nameB := sideNames(a, b)
	notes := notesOn(a, b)
	if asJSON {
		encoder := json.NewEncoder(forPrograms)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(struct {
			CellA   string   `json:"cellA"`
			CellB   string   `json:"cellB"`
			Summary string   `json:"summary"`
			Notes   []string `json:"notes,omitempty"`
			*difference.Difference
		}{a.cell.Key(), b.cell.Key(), d.Sentence(nameA, nameB), notes, d})
	}
	return printDifference(a, b, d, nameA, nameB, notes)
}

// explicable returns an error if the onLoad of a cell's loads cannot be attributed to causes.
func explicable(c study.Cell) error {
	switch {
	case c.Workload == study.Streams():
		return errors.New("a stream has no onLoad, and what it waits for is not attributed to causes; 'wiretime frames LOAD' shows what held its sender")
	case c.Workload == study.Crowds():
		return errors.New("a crowd has no onLoad: it loads no page")
	case c.On(study.AxisUpload) != "":
		return errors.New("an upload is a single request and has no critical path; 'wiretime frames LOAD' shows what held its sender")
	case c.Clock() == study.ClockLive:
		return errors.New("that takes the packets of both ends, and on the live clock those of this machine are known at most")
	}
	return nil
}

// checkExplicable returns an error if the onLoad of a load cannot be attributed to causes.
func checkExplicable(st *store.Store, l store.Load) error {
	if err := explicable(l.Cell); err != nil {
		return input(fmt.Errorf("explain load %s: %w", l.ID, err))
	}
	if l.Dropped {
		return input(fmt.Errorf("explain load %s: its artefacts were dropped; %s", l.ID, comeBack(st, l)))
	}
	return nil
}

func noOnLoad(l store.Load) error {
	return input(fmt.Errorf("explain load %s: the load is %s and has no onLoad ('wiretime show %s' has the reason)", l.ID, l.Validity, l.ID))
}

// timeOf reads what a load spent its time on, from its HAR and its capture. It returns nil if the load has no onLoad.
func timeOf(l store.Load) (*difference.Load, error) {
	har, err := readHAR(l)
	if err != nil {
		return nil, fmt.Errorf("explain load %s: %w", l.ID, err)
	}
	if har == nil {
		return nil, nil
	}
	packets, err := capture.ReadPackets(filepath.Join(l.Artefacts, lab.CaptureFile))
	if err != nil {
		return nil, fmt.Errorf("explain load %s: %w", l.ID, err)
	}
	return difference.Of(l.ID, &evidence.Evidence{HAR: har, Packets: packets}), nil
}

// inParallel calls f with each load, on all processors, and returns the results in the same order.
func inParallel[T any](loads []store.Load, f func(store.Load) (T, error)) ([]T, error) {
	results, errs := make([]T, len(loads)), make([]error, len(loads))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(len(loads), runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := range next {
				results[i], errs[i] = f(loads[i])
			}
		})
	}
	for i := range loads {
		next <- i
	}
	close(next)
	workers.Wait()
	return results, errors.Join(errs...)
}

// sideNames returns short names for two sides: what their cells differ by, or else their loads, runs or stores.
func sideNames(a, b *side) (nameA, nameB string) {
	var inA, inB []string
	for _, v := range a.cell.Values {
		if other := b.cell.On(v.Axis); other != v.Word {
			info := a.cell.Workload.Info(v.Axis)
			inA, inB = append(inA, info.Say(v.Word)), append(inB, info.Say(other))
		}
	}
	switch {
	case len(inA) > 0:
		return strings.Join(inA, ", "), strings.Join(inB, ", ")
	case a.load != b.load:
		return "load " + a.load, "load " + b.load
	case a.dir != b.dir:
		return a.dir, b.dir
	}
	return fmt.Sprint("run ", a.run), fmt.Sprint("run ", b.run)
}

// notesOn says what a reader has to know of two sides.
func notesOn(a, b *side) []string {
	var notes []string
	if a.cell.Subject() != b.cell.Subject() {
		notes = append(notes, "The sites differ: resources count as the same where their URLs are the same.")
	}
	if a.cell.Clock() != b.cell.Clock() {
		notes = append(notes, "The clocks differ: on the virtual clock processor time counts as zero.")
	}
	for _, s := range []*side{a, b} {
		if s.invalid != "" {
			notes = append(notes, fmt.Sprintf("Load %s is not valid: %s.", s.load, s.invalid))
		}
		if s.missing > 0 {
			notes = append(notes, fmt.Sprintf("Of the valid loads of %s, %d have not kept their files and are left out.", s.cell.Key(), s.missing))
		}
	}
	return slices.Compact(notes)
}
