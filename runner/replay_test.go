package runner

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/lab/labtest"
	"wiretime/loader/chromium"
	"wiretime/protocol"
	"wiretime/site"
	"wiretime/station"
	"wiretime/store"
	"wiretime/study"
	"wiretime/workload/pageload"
)

const (
	farHost  = "img.replay.test"
	distance = 40 * time.Millisecond // one-way, of that host beyond the page's
	slow     = 30 * time.Millisecond // of the script's server
)

// pixel is a GIF of 1 by 1.
const pixel = "GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"

// replay is a site as an importer leaves it: from two hosts, of which one was farther away;
// with a server that took its time, hints, pushes, a query that differs in each load and
// an image that was not recorded.
func replay(t *testing.T) *site.Site {
	t.Helper()
	const host, far = "https://www.replay.test", "https://" + farHost
	bodies := map[string][]byte{}
	resource := func(url, kind, body string) site.Resource {
		hash := site.Hash([]byte(body))
		bodies[hash] = []byte(body)
		return site.Resource{Method: "GET", URL: url, Status: 200, Header: []site.Header{{Name: "content-type", Value: kind}}, Body: hash}
	}
	s := site.Site{Name: "replay", Page: host + "/",
		Hosts: []site.Host{{Name: "www.replay.test", RTT: 20}, {Name: farHost, RTT: 100}},
		Resources: []site.Resource{
			resource(host+"/", "text/html", `<!DOCTYPE html><title>replay</title><link rel=stylesheet href=/style.css><script src=/app.js></script><script src=/kept.js></script>`+
				`<link rel=icon href=data:,><img src="`+far+`/1.gif?t=2&size=1"><img src=/lacks.png>`),
			resource(host+"/style.css", "text/css", "body{margin:0}"),
			resource(host+"/unused.css", "text/css", "body{margin:1px}"),
			resource(host+"/app.js", "text/javascript", "var app"),
			resource(host+"/kept.js", "text/javascript", "var kept"),
			resource(far+"/1.gif?t=1&size=1", "image/gif", pixel),
		}}
	s.Resources[0].Push = []string{host + "/style.css", host + "/unused.css"}
	s.Resources[0].Preload, s.Resources[0].Early = []string{host + "/app.js", host + "/kept.js"}, true
	s.Resources[4].Header = append(s.Resources[4].Header, site.Header{Name: "cache-control", Value: "max-age=3600"})
	s.Resources[3].Wait = float64(slow) / float64(time.Millisecond)
	made, err := site.New(s, bodies)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// replayStation is a station on the real clock for the site.
func replayStation(t *testing.T, s *site.Site, browser string) *station.Station {
	t.Helper()
	ca, err := protocol.OpenAuthority(filepath.Join(t.TempDir(), "ca"))
	if err != nil {
		t.Fatal(err)
	}
	opened, err := station.Open(t.Context(), station.Config{Authority: ca, Chromium: browser, ForceQUIC: s.Origins(), Lab: labtest.Config(1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
	return opened
}

// TestReplay loads the site by each loader over each row that it has, and holds what the
// server was to do against the log, the HAR, the figures and the packets.
func TestReplay(t *testing.T) {
	s := replay(t)
	for _, loader := range []string{pageload.Builtin, pageload.Fetch, pageload.Chromium} {
		t.Run(loader, func(t *testing.T) {
			browser := ""
			if loader == pageload.Chromium {
				var err error
				if browser, err = chromium.Find(""); err != nil {
					t.Skip(err)
				}
			}
			at := replayStation(t, s, browser)
			for _, p := range protocol.All() {
				if p.NoBrowser != "" && pageload.IsBrowser(loader) {
					continue
				}
				t.Run(strings.ReplaceAll(p.Name, "/", "-"), func(t *testing.T) { loadReplay(t, at, loader, p, s) })
			}
		})
	}
}

func loadReplay(t *testing.T, at *station.Station, loader string, p protocol.Protocol, s *site.Site) {
	options := study.Options{Timeout: 30 * time.Second, LateLimit: study.Late{P99: 10 * time.Second}, TakenLimit: 1, Fallback: study.FallbackNone, ServerWait: true, OriginRTT: true}
	r := &run{memory: newMemory(1 << 30), Config: Config{Options: options}}
	far := Network(study.Cell{Workload: study.Pages(), Network: path(0, 10*time.Millisecond)}, s, options)
	j := pageJob(t, r, s, far, map[study.Axis]string{study.AxisLoader: loader, study.AxisProtocol: p.Name})
	dir := t.TempDir()
	record, err := j.Order("load").RunOn(t.Context(), at, s, dir)
	if err != nil {
		t.Fatal(err)
	}
	log := record.Common().Server
	read := r.readPackets(dir)
	defer read.release()
	if read.err != nil {
		t.Fatal(read.err)
	}
	var verdict store.LoadRecord
	g := gather(j, record, read.Packets)
	if r.judge(&verdict, g); verdict.Validity != store.Valid {
		t.Errorf("it is %s: %s, %v", verdict.Validity, verdict.Reason, verdict.Violations)
	}
	if testing.Verbose() {
		for _, e := range log {
			t.Logf("%+v", e)
		}
	}
	want := map[string]float64{"requests": 6, "misses": 1, "inexact": 1, "unused": 0}
	spdy := strings.HasPrefix(p.Name, "spdy")
	switch {
	case loader == pageload.Fetch: // of what is in the archive, all and exactly, and never what was pushed
		want = map[string]float64{"requests": 6, "misses": 0, "inexact": 0, "unused": 0}
		if spdy {
			want["unused"] = 2
		}
	case spdy:
		want["unused"] = 1
	case loader == pageload.Chromium && p.Spoken != "http/1.1":
		// It keeps what it fetches on Early Hints in its cache; one of the scripts may not be kept
		// there.
		want["unused"] = 1
	}
	for name, value := range want {
		if got := verdict.Values[name]; got != value {
			t.Errorf("%s is %g, want %g", name, got, value)
		}
	}
	checkLog(t, p, log, loader)
	checkDistances(t, g.evidence.Packets)
}

// checkLog checks what only the server's log tells.
func checkLog(t *testing.T, p protocol.Protocol, log []capture.ServerEntry, loader string) {
	t.Helper()
	spdy := strings.HasPrefix(p.Name, "spdy")
	for _, e := range log {
		_, path, _ := strings.Cut(e.URL, ".test")
		near, unpushed := "", 0
		switch path {
		case "/":
			if !spdy {
				unpushed = 2
			}
		case "/app.js":
			if took := time.Duration(e.End - e.Start); took < slow {
				t.Errorf("the script's server took %v, want %v", took, slow)
			}
		case "/1.gif?t=2&size=1":
			near = "https://" + farHost + "/1.gif?t=1&size=1"
		}
		if e.Near != near || e.Unpushed != unpushed || e.Miss != (path == "/lacks.png") {
			t.Errorf("of %s the log says near %q, %d unpushed, miss %v", path, e.Near, e.Unpushed, e.Miss)
		}
		if pushed := strings.HasSuffix(path, ".css"); e.Pushed && !pushed || spdy && loader == pageload.Builtin && e.Pushed != pushed {
			t.Errorf("of %s the log says pushed: %v", path, e.Pushed)
		}
	}
}

// checkDistances checks of every packet when it was to be at the other end, by the capture:
// to the nanosecond, also on the real clock.
func checkDistances(t *testing.T, packets *capture.Packets) {
	t.Helper()
	far := netip.MustParseAddr("198.19.1.2")
	sent, seen := map[uint64]int64{}, map[bool]int{}
	for _, r := range packets.Records {
		if !r.Inbound {
			sent[r.ID] = r.Time
		}
	}
	for _, r := range packets.Records {
		if !r.Inbound {
			continue
		}
		h, err := capture.Dissect(r.Data)
		if err != nil {
			t.Fatal(err)
		}
		want := 5 * time.Millisecond
		isFar := h.Flow.Source.Addr() == far || h.Flow.Destination.Addr() == far
		if isFar {
			want += distance
		}
		seen[isFar]++
		if took := time.Duration(r.Time - r.Lateness - sent[r.ID]); took != want {
			t.Fatalf("packet %d of %v was due after %v, want %v", r.ID, h.Flow, took, want)
		}
	}
	if seen[true] == 0 || seen[false] == 0 {
		t.Error(fmt.Sprint("packets by whether they were far: ", seen))
	}
}

// TestFreeze has Chromium load a page whose script asks for a URL with the time of day and
// chance in it: another one in each load, or, frozen, the same over every row.
func TestFreeze(t *testing.T) {
	browser, err := chromium.Find("")
	if err != nil {
		t.Skip(err)
	}
	const page = `<!DOCTYPE html><title>page</title><link rel=icon href=data:,><script>document.write("<img src=/1.gif?" + Date.now() + "&" + Math.random() + ">")</script>`
	bodies := map[string][]byte{site.Hash([]byte(page)): []byte(page), site.Hash([]byte(pixel)): []byte(pixel)}
	s, err := site.New(site.Site{Name: "volatile", Page: "https://www.volatile.test/", Recorded: time.UnixMilli(1_600_000_000_123), Resources: []site.Resource{
		{Method: "GET", URL: "https://www.volatile.test/", Status: 200, Header: []site.Header{{Name: "content-type", Value: "text/html"}}, Body: site.Hash([]byte(page))},
		{Method: "GET", URL: "https://www.volatile.test/1.gif", Status: 200, Header: []site.Header{{Name: "content-type", Value: "image/gif"}}, Body: site.Hash([]byte(pixel))},
	}}, bodies)
	if err != nil {
		t.Fatal(err)
	}
	at := replayStation(t, s, browser)
	for _, freeze := range []bool{false, true} {
		asked := map[string]bool{}
		for _, name := range []string{"https/1.1", "h2", "h2"} {
			r := &run{memory: newMemory(1 << 30), Config: Config{Options: study.Options{Timeout: 30 * time.Second, Fallback: study.FallbackNone, Freeze: freeze}}}
			j := pageJob(t, r, s, path(0, 10*time.Millisecond), map[study.Axis]string{study.AxisLoader: pageload.Chromium, study.AxisProtocol: name})
			record, err := j.Order("load").RunOn(t.Context(), at, s, t.TempDir())
			if err != nil || record.Common().LoadError != nil {
				t.Fatal(err, record)
			}
			for _, e := range record.Common().Server {
				if e.Near != "" {
					asked[e.URL] = true
				}
			}
		}
		if want := map[bool]int{false: 3, true: 1}[freeze]; len(asked) != want {
			t.Errorf("frozen: %v, three loads asked for %v", freeze, asked)
		}
		for url := range asked {
			if recorded := strings.Contains(url, "?1600000000123&"); recorded != freeze {
				t.Errorf("frozen: %v, a load asked for %s", freeze, url)
			}
		}
	}
}
