package report

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"wiretime/capture"
	"wiretime/critical"
	"wiretime/evidence"
	"wiretime/store"
)

// TestExplainShowsTheMedianLoad gives each cell the path of one of its loads.
func TestExplainShowsTheMedianLoad(t *testing.T) {
	st, run := clockStudy.keep(t)
	var asking sync.Mutex
	asked := map[string]bool{}
	find := func(l store.Load, h *capture.HAR) ([]*critical.Path, error) {
		asking.Lock()
		defer asking.Unlock()
		asked[l.ID] = true
		return critical.Find(&evidence.Evidence{HAR: h}), nil
	}
	data, err := Collect(st, run, Files{HAR: readSynthetic, Paths: find})
	if err != nil {
		t.Fatal(err)
	}
	if len(asked) != len(data.Cells) {
		t.Errorf("%d loads were explained, want one for each of %d cells", len(asked), len(data.Cells))
	}
	onLoad := slices.IndexFunc(data.Metrics, func(m Metric) bool { return m.Name == "onload" })
	for i, cell := range data.Cells {
		c := cell.Critical
		if c == nil {
			t.Fatalf("cell %d has no critical path", i)
		}
		load := data.Loads[c.Load]
		if !asked[load.ID] || load.Cell != i || c.Load != cell.MedianLoad {
			t.Errorf("cell %d shows load %s of cell %d, explained: %v, and its waterfall is that of load %d", i, load.ID, load.Cell, asked[load.ID], cell.MedianLoad)
		}
		sum := int64(0)
		for _, ns := range c.Kinds {
			sum += ns
		}
		if sum != c.OnLoad || len(c.Kinds) != len(data.Kinds) || !strings.HasPrefix(c.Verdict, "The biggest cause is ") {
			t.Errorf("cell %d: %+v", i, c)
		}
		// Of an even number of loads one of the two in the middle.
		faster, slower := 0, 0
		for _, other := range cell.Loads {
			switch v := *data.Loads[other].Values[onLoad]; {
			case v < *load.Values[onLoad]:
				faster++
			case v > *load.Values[onLoad]:
				slower++
			}
		}
		if d := faster - slower; d < -1 || d > 1 {
			t.Errorf("cell %d shows load %s, of whose siblings %d are faster and %d slower", i, load.ID, faster, slower)
		}
	}
}

func TestExplainPassesOnWhatIsWrong(t *testing.T) {
	st, run := clockStudy.keep(t)
	broken := errors.New("the disk is gone")
	_, err := Collect(st, run, Files{HAR: readSynthetic, Paths: func(store.Load, *capture.HAR) ([]*critical.Path, error) { return nil, broken }})
	if !errors.Is(err, broken) {
		t.Errorf("Collect says %v, want %v", err, broken)
	}
	data, err := Collect(st, run, Files{HAR: readSynthetic, Paths: func(store.Load, *capture.HAR) ([]*critical.Path, error) { return nil, nil }})
	if err != nil || data.Cells[0].Critical != nil {
		t.Errorf("without paths Collect says %v and shows %v", err, data.Cells[0].Critical)
	}
}
