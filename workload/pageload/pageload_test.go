package pageload

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/lab"
	"wiretime/lab/labtest"
	"wiretime/network"
	"wiretime/site"
)

// plain is a loader of documents, in the clear, that tells what was asked of it.
type plain struct {
	client http.Client
	asked  []string
	kept   []capture.Warm
	fails  error // every load
}

func newPlain(l *lab.Lab) *plain {
	p := &plain{}
	p.client.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return l.Dial(ctx, "tcp4", lab.ServerAddress(0).String()+":80")
	}}
	return p
}

func (p *plain) Load(ctx context.Context, url string) (*capture.HAR, capture.Timing, error) {
	p.asked = append(p.asked, url)
	began := time.Now()
	t := capture.Timing{NavigationStart: began.UnixNano(), DCL: 1, OnLoad: 2, TTFB: 3, FCP: 4, LCP: float64(len(p.asked)) - 2, LastResource: 6}
	har := &capture.HAR{Log: capture.Log{
		Pages: []capture.Page{{ID: "page_1", Title: url, Started: began}}, Entries: []capture.Entry{{
			Page: "page_1", Started: began, Request: capture.Request{Method: http.MethodGet, URL: url}, Response: capture.Response{Status: http.StatusOK},
		}},
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return har, t, err
	}
	response, err := p.client.Do(request)
	if err == nil {
		_, err = io.Copy(io.Discard, response.Body)
		err = errors.Join(err, response.Body.Close(), p.fails)
	}
	return har, t, err
}

func (p *plain) Close() error { p.client.CloseIdleConnections(); return nil }

// returning is a plain loader that can come back.
type returning struct{ *plain }

func (r returning) Forget(_ context.Context, keep capture.Warm) error {
	r.kept = append(r.kept, keep)
	return nil
}

// tabbed is one that has tabs.
type tabbed struct{ *plain }

func (b tabbed) LoadTogether(_ context.Context, urls []string) (*capture.HAR, capture.Timing, error) {
	b.asked = append(b.asked, urls...)
	return &capture.HAR{}, capture.Timing{OnLoad: 9}, nil
}

// visit runs a load of the site over http/1.1, and returns the folder with its artefacts too.
func visit(t *testing.T, l *lab.Lab, page *site.Site, s Session, change func(*Load)) (record *Record, folder string) {
	t.Helper()
	link := network.Link{Delay: time.Millisecond}
	load := Load{Order: Order{
		Path: network.Path{Name: "short", Access: []network.Access{{Name: "access", Up: link, Down: link}}}, Seed: 7,
		TCP: lab.TCPOptions{Congestion: "cubic", InitCwnd: 10}, Protocol: "http/1.1", Timeout: 20 * time.Second,
	}, Site: page, Session: s, Dir: t.TempDir()}
	if change != nil {
		change(&load)
	}
	record, err := Run(t.Context(), l, load)
	if err != nil {
		t.Fatal(err)
	}
	return record, load.Dir
}

// TestEarlierVisitIsNotMeasured comes back to a page, with the connection still open
// and with none, and looks for traces of the earlier visit.
func TestEarlierVisitIsNotMeasured(t *testing.T) {
	l := labtest.New(t, labtest.Config(1))
	page, err := site.Objects(1, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		visit       string
		handshakes  int
		connections int64 // number of the connection that is measured
	}{
		{"cold", 1, 1},
		{"resumed", 1, 2},
		{"connected", 0, 1},
	} {
		warm, err := capture.ParseVisit(test.visit)
		if err != nil {
			t.Fatal(err)
		}
		v := returning{newPlain(l)}
		record, folder := visit(t, l, page, v, func(load *Load) { load.Visit = test.visit })
		if record.LoadError != nil {
			t.Fatal(record.LoadError)
		}
		handshakes, others := 0, 0
		flows := map[capture.Flow]bool{}
		for _, p := range labtest.ReadCapture(t, folder).Records {
			h, err := capture.Dissect(p.Data)
			if err != nil {
				t.Fatal(err)
			}
			if flow := h.Flow; flow.Destination.Port() == 80 && !flows[flow] {
				flows[flow] = true
			} else if flow.Source.Port() != 80 && flow.Destination.Port() != 80 {
				others++
			}
			if h.Flags.Has(capture.SYN) && !h.Flags.Has(capture.ACK) && p.Inbound {
				handshakes++
			}
		}
		if handshakes != test.handshakes || len(flows) != 1 || others > 0 {
			t.Errorf("%s: the capture has %d handshakes, %d connections and %d other packets; want %d, 1 and 0", test.visit, handshakes, len(flows), others, test.handshakes)
		}
		if len(record.Server) != 1 || record.Server[0].Connection != test.connections {
			t.Errorf("%s: the server's log is %+v, want one request on connection %d", test.visit, record.Server, test.connections)
		}
		if len(v.kept) > 0 && v.kept[0] != warm || len(v.kept) != len(v.asked)-1 {
			t.Errorf("the loader was asked for %v and told to keep %v, want %v", v.asked, v.kept, warm)
		}
	}
}

// TestWhatTheEarlierVisitGotIsMarked comes back with and without a cache.
func TestWhatTheEarlierVisitGotIsMarked(t *testing.T) {
	l := labtest.New(t, labtest.Config(1))
	page, err := site.Objects(1, 100)
	if err != nil {
		t.Fatal(err)
	}
	for visited, want := range map[string]bool{"connected": false, "cached": true, "again": true, "reload": true} {
		record, _ := visit(t, l, page, returning{newPlain(l)}, func(load *Load) { load.Visit = visited })
		if record.LoadError != nil {
			t.Fatal(record.LoadError)
		}
		if e := record.HAR.Log.Entries[0]; e.Revisited != want {
			t.Errorf("%s: the document is marked as revisited: %v, want %v", visited, e.Revisited, want)
		}
	}
}

// TestEarlierVisitFails has the earlier visit go wrong: the load has failed, and its
// error says where.
func TestEarlierVisitFails(t *testing.T) {
	l := labtest.New(t, labtest.Config(1))
	page, err := site.Objects(1, 100)
	if err != nil {
		t.Fatal(err)
	}
	broken := newPlain(l)
	broken.fails = errors.New("the page is torn")
	record, _ := visit(t, l, page, returning{broken}, func(load *Load) { load.Visit = "resumed" })
	if record.LoadError == nil || !strings.Contains(record.LoadError.Error(), "earlier visit") || !errors.Is(record.LoadError, broken.fails) || len(broken.asked) != 1 {
		t.Errorf("error %v after %d loads, want the earlier visit's after one", record.LoadError, len(broken.asked))
	}
	cold := newPlain(l)
	record, _ = visit(t, l, page, cold, func(load *Load) { load.Visit = "resumed" })
	if record.LoadError == nil || !strings.Contains(record.LoadError.Error(), "cold visits only") || len(cold.asked) != 1 {
		t.Errorf("error %v after %d loads, want that the loader makes cold visits only", record.LoadError, len(cold.asked))
	}
}

// TestPagesOfAJourneyAreOneLoad visits a site's pages one after the other.
func TestPagesOfAJourneyAreOneLoad(t *testing.T) {
	l := labtest.New(t, labtest.Config(1))
	shop, err := site.Journey()
	if err != nil {
		t.Fatal(err)
	}
	const think = 30 * time.Millisecond
	v := newPlain(l)
	record, _ := visit(t, l, shop, v, func(load *Load) { load.ThinkTime = think })
	if record.LoadError != nil {
		t.Fatal(record.LoadError)
	}
	var want []string
	for _, url := range append([]string{shop.Page}, shop.Journey...) {
		want = append(want, strings.Replace(url, "https", "http", 1))
	}
	if !slices.Equal(v.asked, want) || len(record.Server) != 4 {
		t.Errorf("the loader was asked for %v and the server for %d, want %v", v.asked, len(record.Server), want)
	}
	pages, entries := record.HAR.Log.Pages, record.HAR.Log.Entries
	if len(pages) != 4 || len(entries) != 4 {
		t.Fatalf("%d pages and %d entries, want 4 and 4", len(pages), len(entries))
	}
	for i, id := range []string{"page_1", "page_2", "page_3", "page_4"} {
		if pages[i].ID != id || entries[i].Page != id || pages[i].Title != want[i] {
			t.Errorf("page %d is %+v with entry of %s", i, pages[i], entries[i].Page)
		}
		if i > 0 && pages[i].Started.Sub(pages[i-1].Started) < think {
			t.Errorf("page %d began %v after the one before, want %v to think", i, pages[i].Started.Sub(pages[i-1].Started), think)
		}
	}
	// The first page has no LCP, so the journey has none.
	sums := capture.Timing{NavigationStart: pages[0].Started.UnixNano(), DCL: 4, OnLoad: 8, TTFB: 12, FCP: 16, LCP: -1, LastResource: 24}
	if record.Timing != sums {
		t.Errorf("the journey's timing is %+v, want %+v", record.Timing, sums)
	}
}

// TestTabsNeedALoaderThatHasThem opens pages at once.
func TestTabsNeedALoaderThatHasThem(t *testing.T) {
	l := labtest.New(t, labtest.Config(1))
	made, err := site.Journey()
	if err != nil {
		t.Fatal(err)
	}
	shop := *made
	shop.Tabs, shop.Journey = made.Journey, nil
	record, _ := visit(t, l, &shop, newPlain(l), nil)
	if record.LoadError == nil || !strings.Contains(record.LoadError.Error(), "4 pages at the same moment") {
		t.Errorf("error %v, want that the loader cannot open four pages at once", record.LoadError)
	}
	v := tabbed{newPlain(l)}
	record, _ = visit(t, l, &shop, v, nil)
	if record.LoadError != nil || len(v.asked) != 4 || record.Timing.OnLoad != 9 {
		t.Errorf("the loader was asked for %v, error %v, timing %+v", v.asked, record.LoadError, record.Timing)
	}
}
