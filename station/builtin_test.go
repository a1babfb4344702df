package station

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/protocol"
	"wiretime/site"
	"wiretime/study"
	"wiretime/workload/pageload"
)

// builtinOrder is a load by the built-in loader over a path without limits.
func builtinOrder(row, visit string) pageload.Order {
	o := order(row, visit)
	o.Loader = pageload.Builtin
	return o
}

const images = 8 // of the page validated

// validated makes a page of some images. All its responses have validators.
func validated(t *testing.T) *site.Site {
	t.Helper()
	page, err := site.Make(site.Spec{
		Name: "validated", Objects: 1 + images, Domains: 1, Total: 5000 * (1 + images), Sizes: site.SizesEqual, Depth: 1,
		Mix: site.Mix{HTML: site.Share{Requests: 1}, Image: site.Share{Requests: images}}, Seed: 1, Validators: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// eachRow runs a test for every protocol there is.
func eachRow(t *testing.T, test func(t *testing.T, p protocol.Protocol)) {
	for _, p := range protocol.All() {
		t.Run(strings.ReplaceAll(p.Name, "/", "-"), func(t *testing.T) { test(t, p) })
	}
}

// TestWhatBuiltinKeepsOfAVisit holds the built-in loader to what the words of visits
// say, over every row, by the server's log, its own HAR and the packets: to what
// Chromium does where that can go (TestWhatChromiumKeepsOfAVisit).
func TestWhatBuiltinKeepsOfAVisit(t *testing.T) {
	page := validated(t)
	s := openWith(t, "", page)
	type outcome struct {
		connections, opened int  // that carried requests; of which the capture holds the beginning
		resumed             bool // the document's is
		early               int  // requests before the handshake was done
		requests            int
		notModified         int
		cached              int // resources from the loader's own cache
		lookups             bool
	}
	eachRow(t, func(t *testing.T, p protocol.Protocol) {
		connections := 1
		if p.Spoken == "http/1.1" {
			connections = 6
		}
		cold := outcome{connections: connections, opened: connections, requests: 1 + images, lookups: true}
		resumed := outcome{connections: connections, opened: connections, requests: 1 + images}
		cached := outcome{connections: 1, opened: 1, requests: 1, notModified: 1, cached: images}
		if p.ALPN != "" {
			resumed.resumed, cached.resumed = true, true
		}
		early := resumed
		early.early = 1
		want := map[string]outcome{
			"cold": cold, "resumed": resumed, "cached": cached, "0rtt": early,
			// Resumed or not is from before.
			"connected": {connections: connections, requests: 1 + images},
			"again":     {connections: 1, requests: 1, notModified: 1, cached: images},
			"reload":    {connections: connections, requests: 1 + images, notModified: 1 + images},
		}
		for _, visit := range capture.Visits() {
			if visit == "0rtt" && p.Transport != "udp" {
				continue
			}
			t.Run(visit, func(t *testing.T) {
				l := load(t, s, builtinOrder(p.Name, visit), page)
				got := outcome{requests: len(l.Server), lookups: l.DNSQueries > 0}
				over, again := map[int64]bool{}, map[int64]bool{}
				for _, e := range l.Server {
					over[e.Connection] = true
					if e.Resumed {
						again[e.Connection] = true
					}
					if e.EarlyData {
						got.early++
					}
					if e.Status == 304 {
						got.notModified++
					}
				}
				got.connections, got.resumed = len(over), l.Server[0].Resumed && !study.KeepsConnections(visit)
				var found int
				// A connection of the visit before may still be closing; no request goes over it.
				if got.opened, found = l.opening(t); got.opened > 0 && found > 0 && got.opened < got.connections {
					t.Errorf("the capture holds %d connections from their beginning and %d that were there before, for requests over %d", got.opened, found, got.connections)
				}
				if p.Name == "https/1.1" && visit == "resumed" && (len(again) < 2 || len(again) == len(over)) {
					t.Errorf("%d of %d connections resumed a session, want some: there are two tickets, each to be used once", len(again), len(over))
				}
				for _, e := range l.HAR.Log.Entries {
					if e.FromCache != "" {
						got.cached++
					}
				}
				if e := l.HAR.Log.Entries[0]; e.FromCache != "" || e.Response.Status != l.Server[0].Status {
					t.Errorf("of the document the loader says status %d, cache %q; the server %d", e.Response.Status, e.FromCache, l.Server[0].Status)
				}
				if len(l.HAR.Log.Entries) != 1+images || l.Timing.OnLoad <= 0 {
					t.Errorf("%d entries, onLoad %g", len(l.HAR.Log.Entries), l.Timing.OnLoad)
				}
				for _, e := range l.HAR.Log.Entries {
					if kept := visit == "cached" || visit == "again" || visit == "reload"; e.Revisited != kept {
						t.Errorf("%s is marked as revisited: %v, want %v", e.Request.URL, e.Revisited, kept)
					}
				}
				want := want[visit]
				if got.connections > 1 && got.connections < want.connections {
					// An answer may come, and its connection take another request, before the sixth connection has carried one.
					want.connections = got.connections
				}
				if got != want {
					t.Errorf("%+v, want %+v", got, want)
				}
			})
		}
	})
}

// TestBuiltinJourney visits the pages of a shop in one session over every row: what they
// share comes from the cache, and connections are kept.
func TestBuiltinJourney(t *testing.T) {
	shop, err := site.Journey()
	if err != nil {
		t.Fatal(err)
	}
	s := openWith(t, "", shop)
	eachRow(t, func(t *testing.T, p protocol.Protocol) {
		o := builtinOrder(p.Name, "cold")
		o.ThinkTime = 20 * time.Millisecond
		l := load(t, s, o, shop)
		pages := l.HAR.Log.Pages
		if len(pages) != 4 || len(l.Server) != len(shop.Resources) {
			t.Fatalf("%d pages and %d requests, want 4 and each of %d resources once", len(pages), len(l.Server), len(shop.Resources))
		}
		var onLoad float64
		for i, page := range pages {
			requests, cached := 0, 0
			for _, e := range l.HAR.Log.Entries {
				if e.Page == page.ID {
					requests++
					if e.FromCache != "" {
						cached++
					}
				}
			}
			if want := map[bool]int{true: 0, false: 3}[i == 0]; page.ID != fmt.Sprint("page_", i+1) || requests != 1+3+17 || cached != want {
				t.Errorf("%s has %d requests, %d of them from the cache; want 21 and %d", page.ID, requests, cached, want)
			}
			if i > 0 {
				between, took := page.Started.Sub(pages[i-1].Started), time.Duration(pages[i-1].Timings.OnLoad*float64(time.Millisecond))
				if between < took+o.ThinkTime {
					t.Errorf("page %d began %v after the one before, which took %v", i, between, took)
				}
			}
			onLoad += page.Timings.OnLoad
		}
		if d := l.Timing.OnLoad - onLoad; d < -0.001 || d > 0.001 {
			t.Errorf("the journey took %g ms, its pages %g ms", l.Timing.OnLoad, onLoad)
		}
		checkConnections(t, p, l)
	})
}

// TestBuiltinTabs opens three pages of results at the same moment over every row.
func TestBuiltinTabs(t *testing.T) {
	results, err := site.Search(3, true)
	if err != nil {
		t.Fatal(err)
	}
	s := openWith(t, "", results)
	eachRow(t, func(t *testing.T, p protocol.Protocol) {
		l := load(t, s, builtinOrder(p.Name, "cold"), results)
		pages := l.HAR.Log.Pages
		if len(pages) != 3 || len(l.Server) != len(results.Resources) || len(l.HAR.Log.Entries) != len(results.Resources) {
			t.Fatalf("%d pages, %d requests, %d entries; want 3 and each of %d resources once", len(pages), len(l.Server), len(l.HAR.Log.Entries), len(results.Resources))
		}
		latest := 0.0
		for i, page := range pages {
			if page.ID != fmt.Sprint("page_", i+1) || !page.Started.Equal(pages[0].Started) {
				t.Errorf("page %d is %s, from %v", i, page.ID, page.Started)
			}
			for _, e := range l.HAR.Log.Entries {
				if number := fmt.Sprint(i + 1); e.Page == page.ID && !strings.Contains(e.Request.URL, "/"+number+"/") && !strings.HasSuffix(e.Request.URL, "q="+number) {
					t.Errorf("%s has %s", page.ID, e.Request.URL)
				}
			}
			latest = max(latest, page.Timings.OnLoad)
		}
		if l.Timing.OnLoad != latest || latest <= 0 {
			t.Errorf("onLoad %g, that of the latest page is %g", l.Timing.OnLoad, latest)
		}
		checkConnections(t, p, l)
	})
}

// checkConnections checks that all that a host was asked went over as many connections
// as a browser has.
func checkConnections(t *testing.T, p protocol.Protocol, l loaded) {
	t.Helper()
	over := map[int64]bool{}
	for _, e := range l.Server {
		over[e.Connection] = true
	}
	most := 1
	if p.Spoken == "http/1.1" {
		most = 6
	}
	if len(over) != most {
		t.Errorf("%d connections, want %d", len(over), most)
	}
}
