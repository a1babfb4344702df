package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"wiretime/capture"
	"wiretime/network"
	"wiretime/store"
	"wiretime/study"
)

// keepReport, with `go test ./report -run TestCollect -keep FILE`, leaves the
// synthetic report for a look at it in a browser.
var keepReport = flag.String("keep", "", "write the synthetic report to this `file`")

func TestCollect(t *testing.T) {
	d := collectFlags(t)
	t.Run("counts every attempt", func(t *testing.T) { countsEveryAttempt(t, d) })
	t.Run("summarises valid loads only", func(t *testing.T) { summarisesValidLoadsOnly(t, d) })
	t.Run("ranks from the fastest", func(t *testing.T) { ranksFromTheFastest(t, d) })
	t.Run("is written", func(t *testing.T) { isWritten(t, d) })
}

func collectFlags(t *testing.T) Data {
	t.Helper()
	st, run := flagStudy.keep(t)
	d, err := Collect(st, run, Files{HAR: readSynthetic})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func countsEveryAttempt(t *testing.T, d Data) {
	sum := Counts{Planned: 120, Without: 5, WrongProtocol: 0} // each of the failed attempts was the last
	for _, l := range d.Loads {
		switch l.Validity {
		case "valid":
			sum.Valid++
		case "invalid":
			sum.Invalid++
		case "failed":
			sum.Failed++
		}
	}
	sum.Pending = d.Counts.Pending
	if d.Counts != sum {
		t.Errorf("counts are %+v, the loads say %+v", d.Counts, sum)
	}
	if sum.Pending != 1 || sum.Invalid == 0 || sum.Failed != 5 {
		t.Errorf("%d pending, %d invalid, %d failed; want 1, some, 5", sum.Pending, sum.Invalid, sum.Failed)
	}
	if late := d.Checks[slices.IndexFunc(d.Checks, func(c Check) bool { return c.Rule == 3 })].Broken; late != sum.Invalid {
		t.Errorf("%d loads broke rule 3, %d are invalid for it", late, sum.Invalid)
	}
	if d.Seed != math.MaxUint64 {
		t.Errorf("seed is %d", d.Seed)
	}
}

func summarisesValidLoadsOnly(t *testing.T, d Data) {
	for i, cell := range d.Cells {
		plt := slices.IndexFunc(d.Metrics, func(m Metric) bool { return m.Name == "plt" })
		var values []float64
		for _, l := range cell.Loads {
			if d.Loads[l].Cell != i {
				t.Fatalf("load %s is listed by cell %d and names cell %d", d.Loads[l].ID, i, d.Loads[l].Cell)
			}
			if d.Loads[l].Validity == "valid" {
				values = append(values, *d.Loads[l].Values[plt])
			}
		}
		s := cell.Summaries["plt"]
		if s.N != len(values) || s.N != cell.Valid {
			t.Errorf("%s on %s: n = %d, %d values, %d valid", cell.Label, cell.Network, s.N, len(values), cell.Valid)
		}
		if s.Interval != (s.N >= 6) {
			t.Errorf("%s on %s: n = %d and interval is %v", cell.Label, cell.Network, s.N, s.Interval)
		}
		if cell.MedianLoad < 0 || !slices.Contains(cell.Loads, cell.MedianLoad) || d.Loads[cell.MedianLoad].Waterfall == nil {
			t.Errorf("%s on %s: no median load", cell.Label, cell.Network)
		}
	}
}

func ranksFromTheFastest(t *testing.T, d Data) {
	if len(d.Sections) != 3 {
		t.Fatalf("%d sections, want one for each of 3 networks", len(d.Sections))
	}
	for _, s := range d.Sections {
		if s.Clock != "real" {
			t.Errorf("%s is on clock %q", s.Network, s.Clock)
		}
		if len(s.Answers) != 7 {
			t.Errorf("%s: %d answers, want one for each of 7 page times", s.Network, len(s.Answers))
		}
		for _, a := range s.Answers {
			best := d.Cells[a.Fastest].Summaries[a.Metric].Median
			last := 0.0
			for _, b := range a.Behind {
				got := d.Cells[b.Cell].Summaries[a.Metric].Median
				if diff := got - best; diff < last-1e-9 || b.Diff < 0 {
					t.Errorf("%s %s: not in order", s.Network, a.Metric)
				} else {
					last = diff
				}
				few := d.Cells[b.Cell].Summaries[a.Metric].N < 6 || d.Cells[a.Fastest].Summaries[a.Metric].N < 6
				if b.Interval == few {
					t.Errorf("%s %s: interval is %v with too few loads = %v", s.Network, a.Metric, b.Interval, few)
				}
			}
		}
	}
}

func TestCollectPassesOnWhyAHARCannotBeRead(t *testing.T) {
	st, run := flagStudy.keep(t)
	broken := errors.New("the disk is gone")
	_, err := Collect(st, run, Files{HAR: func(store.Load) (*capture.HAR, error) { return nil, broken }})
	if !errors.Is(err, broken) {
		t.Errorf("error is %v", err)
	}
}

func TestCollectKeepsOnlyMedianWaterfallsOfManyRequests(t *testing.T) {
	many := flagStudy
	many.flags, many.networks, many.repeats = 2_300, flagStudy.networks[:1], 8
	many.requests = 1 // so that only the HARs show how many there are
	st, run := many.keep(t)
	d, err := Collect(st, run, Files{HAR: readSynthetic})
	if err != nil {
		t.Fatal(err)
	}
	if !d.MediansOnly {
		t.Error("73,632 requests were all kept")
	}
	for i, l := range d.Loads {
		if median := d.Cells[l.Cell].MedianLoad == i; median != (l.Waterfall != nil) {
			t.Errorf("load %s: median %v, has a waterfall %v", l.ID, median, l.Waterfall != nil)
		}
	}
}

// TestOnlyShownHARsAreRead: where the loads' figures say that there are too many requests, only median loads are read.
func TestOnlyShownHARsAreRead(t *testing.T) {
	for _, c := range []struct {
		requests float64 // by each load's figures
		want     func(loads, cells int) int
	}{
		{196, func(loads, _ int) int { return loads }},
		{6001, func(_, cells int) int { return cells }},
	} {
		few := clockStudy
		few.repeats, few.networks, few.requests = 3, clockStudy.networks[:1], c.requests
		st, run := few.keep(t)
		var read atomic.Int64
		d, err := Collect(st, run, Files{HAR: func(l store.Load) (*capture.HAR, error) {
			read.Add(1)
			return readSynthetic(l)
		}})
		if err != nil {
			t.Fatal(err)
		}
		if want := c.want(len(d.Loads), len(d.Cells)); int(read.Load()) != want || d.MediansOnly != (want == len(d.Cells)) {
			t.Errorf("of %d loads in %d cells with %v requests each %d HARs were read, want %d; medians only: %v", len(d.Loads), len(d.Cells), c.requests, read.Load(), want, d.MediansOnly)
		}
	}
}

// TestInOrder: what several goroutines read is used in order, and after an error nothing more is read than had begun.
func TestInOrder(t *testing.T) {
	const n = 1000
	var read atomic.Int64
	next := 0
	double := func(i int) (int, error) {
		read.Add(1)
		return 2 * i, nil
	}
	if err := inOrder(n, double, func(i, v int) error {
		if i != next || v != 2*i {
			t.Errorf("got %d for %d, want that for %d", v, i, next)
		}
		next++
		return nil
	}); err != nil || next != n || read.Load() != n {
		t.Errorf("%d of %d were read and %d used, error %v", read.Load(), n, next, err)
	}
	read.Store(0)
	enough := errors.New("enough")
	if err := inOrder(n, double, func(i, _ int) error {
		if i == 10 {
			return enough
		}
		return nil
	}); !errors.Is(err, enough) || read.Load() > int64(11+2*runtime.GOMAXPROCS(0)) {
		t.Errorf("%d were read until the error %v", read.Load(), err)
	}
	if err := inOrder(n, func(i int) (int, error) { return 0, enough }, func(int, int) error { return nil }); !errors.Is(err, enough) {
		t.Errorf("error %v, want that of reading", err)
	}
}

func TestLabelsNameWhatTheStudyVaries(t *testing.T) {
	cell := func(protocol, congestion string, initcwnd int) store.Result {
		return store.Result{Cell: page("n", map[study.Axis]string{study.AxisProtocol: protocol, study.AxisCongestion: congestion, study.AxisInitCwnd: strconv.Itoa(initcwnd)})}
	}
	for _, c := range []struct {
		results []store.Result
		want    []string
	}{
		{[]store.Result{cell("h2", "cubic", 10), cell("h3", "cubic", 10)}, []string{"h2", "h3"}},
		{[]store.Result{cell("h2", "cubic", 10), cell("h2", "bbr", 10)}, []string{"h2 · cubic", "h2 · bbr"}},
		{[]store.Result{cell("h2", "cubic", 3), cell("h3", "cubic", 10)}, []string{"h2 · initcwnd 3", "h3 · initcwnd 10"}},
	} {
		var got []string
		for _, r := range c.results {
			got = append(got, AxesOf(c.results).Label(r.Cell))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("labels are %q, want %q", got, c.want)
		}
	}
}

func TestDescribeNetworkInWords(t *testing.T) {
	for _, c := range []struct{ stored, want string }{
		{`{"access":[{"name":"a","up":{},"down":{"rate":5000000,"delay":50000000,"queue":{"bytes":64000}}}]}`,
			"down: 5 Mbit/s, 50 ms one-way, no random loss, queue 64 kB"},
		{`{"access":[{"name":"a","up":{"rate":512500,"jitter":5000000,"reorder":true,"loss":{"rate":0.005},"queue":{"packets":100}},"down":{}}]}`,
			"up: 512.5 kbit/s, 0 ms one-way, jitter 5 ms (standard deviation), may reorder, random loss 0.5 %, queue 100 packets"},
		{`{"access":[{"name":"a","up":{"loss":{"gilbert_elliott":{"p":0.01,"r":0.25,"good_loss":0,"bad_loss":1}}},"down":{}}]}`,
			"up: no rate limit, 0 ms one-way, loss in bursts (Gilbert-Elliott p 0.01, r 0.25, loss 0 % good, 100 % bad), queue without limit"},
		{`{"access":[{"name":"wlan","up":{},"down":{"trace":{"name":"bus.down"}}},{"name":"lte","up":{},"down":{}}]}`,
			"wlan down: trace bus.down, 0 ms one-way, no random loss, queue without limit"},
		{`{"access":[],"events":[{"at":12500000000,"handover":"lte"}]}`, "at 12.5 s: handover to lte"},
		{`{"access":[],"events":[{"at":3000000000,"direction":"down","rate":64000,"outage":500000000,"outage_drops":true}]}`,
			"at 3000 ms: down: 64 kbit/s, outage of 500 ms (packets are lost)"},
	} {
		var p network.Path
		if err := json.Unmarshal([]byte(c.stored), &p); err != nil {
			t.Fatal(err)
		}
		n := describePath(p)
		var lines []string
		for _, f := range n.Facts {
			lines = append(lines, f.Name+": "+f.Value)
		}
		if !slices.Contains(lines, c.want) {
			t.Errorf("%s reads\n%s\nwithout\n%s", c.stored, strings.Join(lines, "\n"), c.want)
		}
	}
}

func TestDescribeEnvironmentSorted(t *testing.T) {
	facts, err := describeEnvironment(json.RawMessage(`{"kernel":"6.1","cpu":{"cores":2,"model":"x"},"flags":["a",1],"root":false,"gone":null}`))
	want := []Fact{{"cpu.cores", "2"}, {"cpu.model", "x"}, {"flags", "a, 1"}, {"gone", "unknown"}, {"kernel", "6.1"}, {"root", "false"}}
	if err != nil || !slices.Equal(facts, want) {
		t.Errorf("facts are %v (%v), want %v", facts, err, want)
	}
}

func TestWaterfallSplitsHARPhases(t *testing.T) {
	h, err := capture.ParseHAR([]byte(`{"log":{"pages":[{"id":"p","startedDateTime":"2026-01-01T00:00:00Z","pageTimings":{"onContentLoad":30}}],"entries":[
		{"pageref":"p","startedDateTime":"2026-01-01T00:00:03Z","request":{"url":"https://a.test/late"},"response":{"bodySize":-1}},
		{"pageref":"p","startedDateTime":"2026-01-01T00:00:00.0105Z","request":{"method":"POST","url":"https://a.test/x"},"response":{"status":204,"bodySize":10,"headersSize":5},
		 "timings":{"blocked":1,"dns":2,"connect":30,"ssl":12,"send":0.5,"wait":7,"receive":0.25},"_initialPriority":"Low","_priority":"High","connection":"7"},
		{"pageref":"p","startedDateTime":"2026-01-01T00:00:01Z","request":{"url":"data:,"},"timings":{}},
		{"pageref":"q","startedDateTime":"2026-01-01T00:00:02Z","request":{"url":"https://a.test/other-page"},"timings":{}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	words := newVocabulary()
	got, err := json.Marshal(words.waterfall(h))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"dcl":30,"onLoad":-1,"requests":[[1050,100,200,1800,1200,50,700,25,204,15,2,0,3,0,4,0,0,0],[300000,0,0,0,0,0,0,0,0,-1,1,0,0,0,0,0,0,0]]}`
	if string(got) != want {
		t.Errorf("waterfall is\n%s, want\n%s", got, want)
	}
	if want := []string{"", "https://a.test/late", "POST https://a.test/x", "Low > High", "7"}; !slices.Equal(words.words, want) {
		t.Errorf("words are %q, want %q", words.words, want)
	}
}

func TestFillKeepsForeignStringsInside(t *testing.T) {
	page := []byte("<html>" + slot + "</html>")
	const title = "</script><script>alert(1)</script><!-- \u2028 & ' \""
	html, err := fill(page, Data{Study: title})
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(html, []byte("<script")); n != 1 {
		t.Errorf("%d script elements, want the page's one:\n%s", n, html)
	}
	if bytes.ContainsRune(html, '\u2028') || bytes.Contains(html, []byte("<!--")) {
		t.Errorf("not escaped:\n%s", html)
	}
	_, data, _ := bytes.Cut(html, []byte(`id="data">`))
	data, _, _ = bytes.Cut(data, []byte("</script>"))
	var back Data
	if err := json.Unmarshal(data, &back); err != nil || back.Study != title {
		t.Errorf("came back as %q (%v)", back.Study, err)
	}
}

func TestBuiltPageKeepsForeignStringsInside(t *testing.T) {
	page, err := dist.ReadFile(pageFile)
	if err != nil {
		t.Skip(ErrNotBuilt)
	}
	html, err := fill(page, Data{Study: "</script><script>alert(1)</script>"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tag := range []string{"<script", "</script"} {
		if got, want := bytes.Count(html, []byte(tag)), bytes.Count(page, []byte(tag)); got != want {
			t.Errorf("%d times %s, the page alone has %d", got, tag, want)
		}
	}
}

func TestFillRefusesAPageWithoutASlot(t *testing.T) {
	if _, err := fill([]byte("<html></html>"), Data{}); err == nil || !strings.Contains(err.Error(), "make build") {
		t.Errorf("error is %v", err)
	}
}

func isWritten(t *testing.T, d Data) {
	path := filepath.Join(t.TempDir(), "report.html")
	if *keepReport != "" {
		path = *keepReport
	}
	err := Write(path, d)
	if errors.Is(err, ErrNotBuilt) {
		if _, err := os.Stat(path); err == nil {
			t.Error("a report was left behind")
		}
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	html, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(html, []byte(slot)) {
		t.Error("the report holds no data")
	}
	for _, outside := range []string{`src="http`, `href="http`, "url(http", "@import"} {
		if bytes.Contains(html, []byte(outside)) {
			t.Errorf("the report asks the network: %s", outside)
		}
	}
}
