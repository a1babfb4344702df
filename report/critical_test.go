package report

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"wiretime/capture"
	"wiretime/critical"
	"wiretime/evidence"
	"wiretime/store"
)

// TestExplainShowsTheMedianLoad gives each cell the path of one of its loads.
func TestExplainShowsTheMedianLoad(t *testing.T) {
	st, run := clockStudy.keep(t)
	data, err := Collect(st, run, readSynthetic)
	if err != nil {
		t.Fatal(err)
	}
	asked := []string{}
	find := func(l store.Load) ([]*critical.Path, error) {
		asked = append(asked, l.ID)
		h, err := readSynthetic(l)
		return critical.Find(&evidence.Evidence{HAR: h}), err
	}
	if err := data.Explain(find); err != nil {
		t.Fatal(err)
	}
	onLoad := slices.IndexFunc(data.Metrics, func(m Metric) bool { return m.Name == "onload" })
	for i, cell := range data.Cells {
		c := cell.Critical
		if c == nil {
			t.Fatalf("cell %d has no critical path", i)
		}
		load := data.Loads[c.Load]
		if load.ID != asked[i] || load.Cell != i || c.Load != cell.MedianLoad {
			t.Errorf("cell %d shows load %s of cell %d, its path is that of %s and its waterfall that of load %d", i, load.ID, load.Cell, asked[i], cell.MedianLoad)
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
	data, err := Collect(st, run, func(store.Load) (*capture.HAR, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the disk is gone")
	if err := data.Explain(func(store.Load) ([]*critical.Path, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("Explain says %v, want %v", err, broken)
	}
	if err := data.Explain(func(store.Load) ([]*critical.Path, error) { return nil, nil }); err != nil || data.Cells[0].Critical != nil {
		t.Errorf("without paths Explain says %v and shows %v", err, data.Cells[0].Critical)
	}
}
