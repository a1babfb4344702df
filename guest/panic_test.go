package guest

import (
	"strings"
	"testing"

	"wiretime/panics"
)

// TestPanicInGuest has the second load of a batch panic, because it names no site. Its result has the panic with the stack, and
// the same guest does the other loads.
func TestPanicInGuest(t *testing.T) {
	b := everyProtocol(1)
	b.Loads = b.Loads[:3]
	b.Loads[1].Site = ""
	var results []Result
	if err := host(t).Run(t.Context(), machine(1), b, func(r Result) error { results = append(results, r); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(results) != 3 {
		t.Fatalf("%d results of 3 loads", len(results))
	}
	for i, r := range results {
		if i != 1 {
			if r.Failed != nil || r.Record.Common().LoadError != nil {
				t.Errorf("load %s failed: %v, %v", r.ID, r.Failed, r.Record)
			}
			continue
		}
		p := panics.In(r.Failed)
		if p == nil || !strings.Contains(p.Value, "nil pointer dereference") || !strings.Contains(p.Stack, "station.(*Station).loadRenamed") {
			t.Errorf("load %s failed with %v", r.ID, r.Failed)
		}
	}
}
