package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"wiretime/capture"
	"wiretime/capture/capturetest"
	"wiretime/flowcontrol"
	"wiretime/network"
	"wiretime/report"
	"wiretime/store"
	"wiretime/study"
	"wiretime/study/studyfile"
)

const token = "0123456789abcdef0123456789abcdef"

// hostile is text of a recorded page that wants to become part of the live one.
const hostile = `</script><script>alert(1)</script><img src=x onerror=alert(1)>=1+1`

var testMetrics = []study.Metric{
	{Name: "onload", Unit: "ms", Title: "onLoad", Definition: "When the page had loaded."},
	{Name: "plt", Unit: "ms", Title: "PLT", Definition: "Page load time."},
	{Name: "bytes_down", Unit: "B", Title: "Octets down", Definition: "Octets that arrived."},
	{Name: "requests", Unit: "requests", Title: "Requests", Definition: "Requests."},
	{Name: "late_max", Unit: "ms", Title: "Lateness max", Definition: "How late the latest packet left."},
}

// shop makes stores whose loads are made up.
type shop struct {
	dir     string
	repeats int
}

var protocols = []string{"h2", "h3"}

func (s shop) spec() store.RunSpec {
	spec := store.RunSpec{
		StudyName: "shop", StudyText: "name: shop\ntitle: \"Two protocols\"\n", Seed: 7, Version: "test", Environment: json.RawMessage(`{"kernel": "Linux"}`),
		Started: time.Now(), Metrics: testMetrics,
	}
	for _, n := range []string{"lte", "cable"} {
		link := network.Link{Rate: 5e6, Delay: 10 * time.Millisecond, Queue: network.Queue{Bytes: 64000}}
		path := network.Path{Name: n, Source: hostile, Access: []network.Access{{Name: "a", Up: link, Down: link}}}
		for _, p := range protocols {
			spec.Cells = append(spec.Cells, study.NewCell(study.Pages(), map[study.Axis]string{
				study.AxisSite: "shop", study.AxisNetwork: n, study.AxisProtocol: p, study.AxisLoader: "chromium", study.AxisClock: study.ClockVirtual,
			}, path))
		}
	}
	for i := range s.repeats * len(spec.Cells) {
		spec.Plan = append(spec.Plan, study.PlannedLoad{Cell: spec.Cells[i%len(spec.Cells)], Repeat: i / len(spec.Cells), Seed: uint64(i)})
	}
	spec.Claims = []store.Claim{{Text: "=h2 is faster", Statistic: study.Median, Ratio: "below 1", High: 1, Open: true,
		Pairs: []store.ClaimPair{{Metric: "onload", Cell: spec.Cells[0].Key(), ToMetric: "onload", ToCell: spec.Cells[1].Key()}}}}
	spec.Published = []store.Figure{{Table: 1, Row: 1, Column: 1, Source: "=Table 1", Metric: "onload", Statistic: study.Median, Unit: "s", RowLabel: "lte", ColumnLabel: "h2", Cell: spec.Cells[0].Key(), Printed: "0.1", Value: 100}}
	return spec
}

// open opens the store for writing, and makes it first if it is missing.
func (s shop) open(t testing.TB) *store.Store {
	t.Helper()
	st, err := store.Open(s.dir, store.Create)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// keep commits a planned load: over h3 a page takes 20 ms longer than over h2. The third load of each cell breaks rule 3 at its first
// attempt, and the fourth one fails.
func (s shop) keep(t testing.TB, st *store.Store, p store.Planned) {
	t.Helper()
	attempt := p.Attempts + 1
	r := store.LoadRecord{Planned: p, Attempt: attempt, Started: time.Now(), Wall: time.Millisecond, Validity: store.Valid}
	onload := 100 + float64(p.Repeat)
	if p.Cell.Over() == "h3" {
		onload += 20
	}
	r.Values = map[string]float64{"onload": onload, "plt": onload + 5, "bytes_down": 4000, "requests": 2, "late_max": 0.5}
	switch {
	case p.Repeat == 2 && attempt == 1:
		r.Validity, r.Reason = store.Invalid, "rule 3: late"
		r.Values["late_max"] = 40
		r.Violations = []study.Violation{{Rule: 3, Detail: "a packet left 40 ms late"}}
	case p.Repeat == 3:
		r.Validity, r.Reason, r.Values, r.Final = store.Failed, "timeout at "+hostile, nil, true
	}
	if p.Repeat == 0 {
		staged, err := st.StageDir(r.ID())
		if err != nil {
			t.Fatal(err)
		}
		leave(t, staged)
	}
	if err := st.Commit(r); err != nil {
		t.Fatal(err)
	}
	if r.Validity == store.Invalid {
		p.Attempts++
		s.keep(t, st, p)
	}
}

// leave writes what a load leaves: a page with a hostile address, whose second request is lost and sent again.
func leave(t testing.TB, dir string) {
	t.Helper()
	began := time.Unix(1_700_000_000, 0)
	entry := func(url string, after time.Duration) capture.Entry {
		return capture.Entry{Page: "p", Started: began.Add(after), Time: 20, Request: capture.Request{Method: "GET", URL: url},
			Response: capture.Response{Status: 200, HTTPVersion: "h2", TransferSize: 2000}, Timings: capture.Timings{Blocked: -1, DNS: -1, Connect: -1, SSL: -1, Send: 1, Wait: 10, Receive: 9}}
	}
	har := &capture.HAR{Log: capture.Log{Version: "1.2", Pages: []capture.Page{{ID: "p", Title: hostile, Started: began, Timings: capture.PageTimings{OnContentLoad: 30, OnLoad: 60}}},
		Entries: []capture.Entry{entry("https://shop.test/", 0), entry("https://shop.test/"+hostile, 30*time.Millisecond)}}}
	if err := capture.WriteHAR(filepath.Join(dir, "load.har"), har); err != nil {
		t.Fatal(err)
	}
	file := capture.AppendHeader(nil, capture.Header{Interfaces: []capture.Interface{{Name: "client.0"}, {Name: "server.0"}}})
	for i, sent := range []time.Duration{time.Millisecond, 31 * time.Millisecond, 40 * time.Millisecond} {
		data := capturetest.Segment("198.18.0.2:4000", "198.18.1.2:443", []uint32{100, 101, 101}[i], 0, []capture.TCPFlags{capture.SYN, capture.ACK, capture.ACK}[i], nil, make([]byte, []int{0, 50, 50}[i]))
		p := capture.PacketRecord{Interface: 0, Time: began.Add(sent).UnixNano(), ID: uint64(i + 1), Length: len(data), Data: data}
		if i == 1 {
			p.Comment = capture.DroppedPrefix + "random loss"
		}
		file = capture.AppendPacket(file, &p)
		if i != 1 {
			p.Interface, p.Inbound, p.Time = 1, true, p.Time+5e6
			file = capture.AppendPacket(file, &p)
		}
	}
	var whole bytes.Buffer
	if err := capture.InsertSecrets(&whole, bytes.NewReader(file), []byte("CLIENT_RANDOM aa bb\n")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "load.pcapng"), whole.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "page.html"), []byte(hostile), 0o644); err != nil {
		t.Fatal(err)
	}
}

// fill makes a store with a run that is measured whole.
func (s shop) fill(t testing.TB) {
	t.Helper()
	st := s.open(t)
	defer st.Close()
	run, err := st.BeginRun(s.spec())
	if err != nil {
		t.Fatal(err)
	}
	pending, err := st.Pending(run)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pending {
		s.keep(t, st, p)
	}
	if err := st.FinishRun(run, time.Now()); err != nil {
		t.Fatal(err)
	}
}

func readHAR(l store.Load) (*capture.HAR, error) {
	har, err := capture.ReadHAR(filepath.Join(l.Artefacts, "load.har"))
	if l.Artefacts == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return har, err
}

func readPackets(l store.Load) (*capture.Packets, error) {
	packets, err := capture.ReadPackets(filepath.Join(l.Artefacts, "load.pcapng"))
	if l.Artefacts == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return packets, err
}

// page is a live page's server under test, and a client that has its token.
type live struct {
	*Server
	t    testing.TB
	host string
	stop func() error
}

// serve serves a store and a folder of studies until the test ends.
func serve(t testing.TB, dir, studies string) *live {
	t.Helper()
	s := New(Config{
		Store: dir, Studies: studies, Version: "test", Token: token, Program: []string{"/nonexistent/wiretime"},
		App:     fstest.MapFS{"index.html": {Data: []byte("<!doctype html><title>page</title>")}, "app.js": {Data: []byte("0")}},
		Files:   report.Files{HAR: readHAR, Connections: func(store.Load) ([]*flowcontrol.Connection, error) { return nil, nil }},
		Packets: readPackets,
		Began: func(l store.Load) (time.Time, error) {
			har, err := readHAR(l)
			if err != nil || har == nil {
				return time.Time{}, err
			}
			return har.Log.Pages[0].Started, nil
		},
		Return: func(*store.Store, store.Load) string { return "reproduce it" },
		Parse: func(name string, text []byte) (*study.Study, error) {
			return studyfile.Parse(name, text, studyfile.Vocabulary{Protocols: protocols, Loaders: []string{"chromium"}, SiteKnown: func(string) error { return nil }, Metrics: map[string]string{"onload": "ms"}})
		},
		Difference: func(_ *store.Store, a, b store.Load) (any, error) {
			if a.Artefacts == "" || b.Artefacts == "" {
				return nil, errors.New("one has no files")
			}
			return b.Values["onload"] - a.Values["onload"], nil
		},
		Papers: func(string) (any, error) { return []string{"a paper"}, nil },
	})
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	stopped := false
	p := &live{Server: s, t: t, host: l.Addr().String(), stop: func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-done
	}}
	t.Cleanup(func() {
		if err := p.stop(); err != nil {
			t.Error("the server ended with ", err)
		}
	})
	return p
}

// do sends a request as the page would, changed by change if that is not nil.
func (p *live) do(method, path, body string, change func(*http.Request)) (status int, header http.Header, answer []byte) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, "http://"+p.host+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	r.AddCookie(&http.Cookie{Name: "wiretime-" + p.host[strings.LastIndex(p.host, ":")+1:], Value: token})
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if method != http.MethodGet {
		r.Header.Set("Origin", "http://"+p.host)
		r.Header.Set("Content-Type", "application/json")
	}
	if change != nil {
		change(r)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	got, err := client.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer got.Body.Close()
	answer, err = io.ReadAll(got.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return got.StatusCode, got.Header, answer
}

// get decodes an answer that must be there.
func (p *live) get(path string, into any) {
	p.t.Helper()
	p.ask(http.MethodGet, path, "", http.StatusOK, into)
}

// ask sends a request, checks the status of the answer, and decodes it unless into is nil.
func (p *live) ask(method, path, body string, want int, into any) {
	p.t.Helper()
	status, header, answer := p.do(method, path, body, nil)
	if status != want {
		p.t.Fatalf("%s %s: status %d, want %d: %s", method, path, status, want, answer)
	}
	if kind := header.Get("Content-Type"); kind != "application/json" {
		p.t.Errorf("%s %s is of type %q", method, path, kind)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(answer, into); err != nil {
		p.t.Fatalf("%s %s: %v in %.200s", method, path, err, answer)
	}
}

// shopServed is a store with a whole run of seven loads in each of four cells, which is served.
func shopServed(t testing.TB) *live {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	shop{dir, 7}.fill(t)
	return serve(t, dir, t.TempDir())
}

func mustWrite(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
