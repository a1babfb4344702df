package report

import (
	"strings"
	"testing"

	"wiretime/store"
	"wiretime/study"
)

// TestCompareLoaders: cells are paired by everything but their loader, protocols ranked
// where Chromium tells them apart, and orders compared by pairs.
func TestCompareLoaders(t *testing.T) {
	cell := func(loader, protocol, network string, onload ...float64) store.Result {
		return store.Result{Cell: page(network, map[study.Axis]string{study.AxisProtocol: protocol, study.AxisLoader: loader}),
			Valid: len(onload), Values: map[string][]float64{"onload": onload, "dcl": onload, "plt": onload}}
	}
	results := []store.Result{
		cell("chromium", "h2", "slow", 900, 1000, 1100), // 0
		cell("chromium", "h3", "slow", 2000),
		cell("chromium", "http/1.1", "slow", 1040), // within 5 % of h2
		cell("builtin", "h2", "slow", 1050),        // 3: near
		cell("builtin", "h3", "slow", 1000),        // far, and ranked otherwise
		cell("builtin", "http/1.1", "slow", 1100),
		cell("builtin", "h2", "fast", 1),  // no Chromium there
		cell("chromium", "h2", "fastest"), // nothing valid
		cell("builtin", "h2", "fastest", 1),
		cell("firefox", "h2", "slow", 1),
	}
	asked := map[int][]string{0: {"a", "b", "c", "d"}, 3: {"b", "a", "c", "e"}}
	all, err := CompareLoaders(results, func(cell int) ([]string, error) { return asked[cell], nil })
	if err != nil || len(all) != 2 || all[0].Loader != "builtin" || all[1].Loader != "firefox" || len(all[1].Pairs) != 1 {
		t.Fatal(all, err)
	}
	l := all[0]
	if len(l.Pairs) != 3 || l.Measured != 3 || l.Near != 2 {
		t.Errorf("%d pairs, %d of %d near: %+v", len(l.Pairs), l.Near, l.Measured, l.Pairs)
	}
	if p := l.Pairs[0]; p.Browser != 0 || p.Other != 3 || p.OnLoad != 1.05 || p.Order != 2.0/3 {
		t.Errorf("the first pair is %+v", p)
	}
	if l.Pairs[1].Order != -1 {
		t.Errorf("an order that is not known is %v", l.Pairs[1].Order)
	}
	// h2 and h3, http/1.1 and h3: Chromium tells them apart, and here h3 is the faster.
	if l.Ranked != 2 || l.SameRank != 0 {
		t.Errorf("%d of %d ranked alike", l.SameRank, l.Ranked)
	}
	if v := l.Verdict(); !strings.Contains(v, "2 of 3 cells (67 %)") || !strings.Contains(v, "0 of 2 pairs") {
		t.Error(v)
	}
	if all, err := CompareLoaders(results[:3], nil); all != nil || err != nil {
		t.Errorf("one loader: %+v, %v", all, err)
	}
}
