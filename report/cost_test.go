package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"wiretime/costtest"
	"wiretime/store"
	"wiretime/study"
)

// TestCostOfHostileStores makes the parts of a report for which elements of a run are looked up among the others, of very
// many.
func TestCostOfHostileStores(t *testing.T) {
	const n = 10_000
	var ofPages, ofStreams, ofNetworks []store.Result
	for i := range n {
		loader := []string{chromium, "builtin"}[i%2]
		ofPages = append(ofPages, store.Result{Valid: 1, Values: map[string][]float64{"onload": {1}}, Cell: page(fmt.Sprint(i/2), map[study.Axis]string{
			study.AxisLoader: loader, study.AxisServer: fmt.Sprint(i), study.AxisStrategy: fmt.Sprint(i),
		})})
		ofNetworks = append(ofNetworks, store.Result{Valid: 1, Values: map[string][]float64{"onload": {1}}, Cell: page(fmt.Sprint(i/2), map[study.Axis]string{
			study.AxisProtocol: []string{"h2", "h3"}[i%2],
		})})
		ofStreams = append(ofStreams, store.Result{Cell: streamOver(fmt.Sprint(i), study.Link{Delay: time.Duration(i) * time.Millisecond, Loss: float64(i) / n})})
	}
	var printed []store.Figure
	for i := range n {
		printed = append(printed, store.Figure{Table: 1, RowLabel: fmt.Sprint(i), ColumnLabel: fmt.Sprint(i), Cell: ofPages[0].Cell.Key(), Value: 1})
	}
	urls := make([]string, 16*n)
	for i := range urls {
		urls[i] = fmt.Sprintf("https://www.test/%d", i)
	}
	reversed := slices.Clone(urls)
	slices.Reverse(reversed)
	deep := strings.Repeat(`{"a":`, 9000) + "{" + strings.Repeat(`"b":1,"c":1,`, 1000) + `"d":1}` + strings.Repeat("}", 9000)
	long := `{"` + strings.Repeat("x", 100_000) + `":{`
	for i := range n {
		long += fmt.Sprintf(`"%d":1,`, i)
	}
	long += `"y":1}}`
	for _, c := range []struct {
		name   string
		octets int
		make   func()
	}{
		{"loaders", n * 100, func() { _, _ = CompareLoaders(ofPages, func(int) ([]string, error) { return nil, nil }) }},
		{"the order of requests", len(urls) * 10, func() {
			if got := sameOrder(urls, reversed); got != 0 {
				t.Errorf("%v of the pairs have the same order, want none", got)
			}
		}},
		{"servers", n * 100, func() { _, _ = AxesOf(ofPages).describeServers(ofPages, nil) }},
		{"transports", n * 100, func() { meanings(ofStreams, study.Cell.Over, func(string) string { return "" }) }},
		{"an overview with too many labels", n * 100, func() { _ = overviewOf(ofPages, onLoad, pageKind.overview, 1).said() }},
		{"an overview of very many places", n * 100, func() {
			o := overviewOf(ofNetworks[:n/5], onLoad, pageKind.overview, 1)
			if got := o.said(); len(o.Places) != n/10 || len(got) > 1000 {
				t.Errorf("%d places, %d octets of words", len(o.Places), len(got))
			}
		}},
		{"series", n * 100, func() { seriesOf(ofStreams) }},
		{"a printed table", n * 100, func() { CompareTables(ofPages, printed, 1) }},
		{"an environment of deep objects", len(deep), func() { _, _ = describeEnvironment(json.RawMessage(deep)) }},
		{"an environment with a long name", len(long), func() { _, _ = describeEnvironment(json.RawMessage(long)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			costtest.Check(t, c.octets, costtest.Limit{Fixed: 16 << 20, PerOctet: 128, Time: time.Microsecond}, c.make)
		})
	}
}
