package firefox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/evidence"
	"wiretime/lab"
	"wiretime/lab/labtest"
	"wiretime/loader/browser"
	"wiretime/loader/browser/browsertest"
	"wiretime/metric"
	"wiretime/needtest"
	"wiretime/network"
	"wiretime/protocol"
	"wiretime/sandbox/sandboxtest"
	"wiretime/site"
	"wiretime/workload/pageload"
)

func TestMain(m *testing.M) { labtest.Main(m) }

// bench is a lab with a browser in it.
type bench struct {
	lab       *lab.Lab
	authority *protocol.Authority
	browser   *Browser
}

// The hosts of the tests' pages.
const (
	pageHost  = "www.page.test"
	imageHost = "img.page.test"
)

// newBench starts a browser in its own lab. Without Firefox it skips the test,
// unless WIRETIME_NEED_PEERS is 1.
func newBench(t *testing.T, quic bool) *bench {
	t.Helper()
	return newBenchWith(t, quic, pageHost, imageHost)
}

func newBenchWith(t *testing.T, quic bool, hosts ...string) *bench {
	t.Helper()
	binary := needFirefox(t)
	c := labtest.Config(1)
	c.InstantDNS = false
	l := labtest.New(t, c)
	b := &bench{lab: l}
	var err error
	b.authority, err = protocol.OpenAuthority(t.TempDir())
	must(t, err)
	folder := sandboxtest.Folder(t)
	o := Options{Binary: binary, Folder: folder, Enter: l.Client().Command, Contained: true, Dial: l.Dial, Issuer: b.authority.Issuer()}
	if quic {
		o.ForceQUIC = hosts
	}
	b.browser, err = Launch(t.Context(), o)
	must(t, err)
	t.Cleanup(func() {
		must(t, b.browser.Close())
		browsertest.CheckNoProcess(t, folder)
		if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the profile is left behind: %v", err)
		}
	})
	return b
}

// restart starts another browser if the last one has died.
func (b *bench) restart(t *testing.T) {
	t.Helper()
	if b.browser.Alive() {
		return
	}
	o := b.browser.options
	must(t, b.browser.Close())
	must(t, os.Mkdir(o.Folder, 0o700))
	restarted, err := Launch(t.Context(), o)
	must(t, err)
	b.browser = restarted
}

func needFirefox(t *testing.T) string {
	t.Helper()
	binary, err := Find("")
	needtest.Program(t, "Firefox", err)
	return binary
}

// load loads a page over a path.
func (b *bench) load(t *testing.T, p protocol.Protocol, s *site.Site, link network.Link, timeout time.Duration) (*pageload.Record, *capture.Packets) {
	t.Helper()
	visit, err := b.browser.Open(t.Context(), nil)
	must(t, err)
	return b.loadIn(t, visit, p, s, link, timeout)
}

func (b *bench) loadIn(t *testing.T, visit *Visit, p protocol.Protocol, s *site.Site, link network.Link, timeout time.Duration) (*pageload.Record, *capture.Packets) {
	t.Helper()
	dir := t.TempDir()
	record, err := pageload.Run(t.Context(), b.lab, pageload.Load{Order: pageload.Order{
		Path: network.Path{Name: "test", Access: []network.Access{{Name: "access", Up: link, Down: link}}}, Seed: 1,
		TCP: lab.TCPOptions{Congestion: "cubic", InitCwnd: 10}, Protocol: p.Name,
		Timeout: timeout, Comment: t.Name(),
	}, Site: s, Authority: b.authority, Session: visit, Dir: dir})
	must(t, err)
	return record, labtest.ReadCapture(t, dir)
}

// patience is how long a page that should load may take.
const patience = 30 * time.Second

// fast is a path over which pages load in tenths of a second.
var fast = network.Link{Rate: 10_000_000, Delay: 25 * time.Millisecond, Queue: network.Queue{Bytes: 256 << 10}}

// pngHead makes Firefox accept a body as an image; it would withhold others
// from a page of another origin.
const pngHead = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00"

// page returns a site of a document with n images, every second one on another
// host.
func page(t *testing.T, n, size int) *site.Site {
	var html strings.Builder
	html.WriteString("<!DOCTYPE html><title>Page</title><link rel=stylesheet href=/style.css><p>Images</p>")
	files := map[string][]byte{"https://" + pageHost + "/style.css": []byte("p { color: green }")}
	random := rand.NewChaCha8([32]byte{})
	for i := range n {
		url := fmt.Sprintf("https://%s/%d.png", []string{pageHost, imageHost}[i%2], i)
		fmt.Fprintf(&html, "<img src=%s width=1 height=1>", strings.TrimPrefix(url, "https:"))
		body := make([]byte, size)
		_, _ = random.Read(body)
		copy(body, pngHead)
		files[url] = body
	}
	files["https://"+pageHost+"/"] = []byte(html.String())
	return archive(t, files)
}

var types = map[string]string{".png": "image/png", ".css": "text/css", "": "text/html; charset=utf-8"}

// archive builds a site from files by URL; the page is pageHost's root. Files that are
// nil are answered with 204.
func archive(t *testing.T, files map[string][]byte) *site.Site {
	t.Helper()
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "bodies"), 0o755))
	s := site.Site{Name: "page", Page: "https://" + pageHost + "/"}
	for url, body := range files {
		sum := sha256.Sum256(body)
		name := hex.EncodeToString(sum[:])
		must(t, os.WriteFile(filepath.Join(dir, "bodies", name), body, 0o644))
		kind := types[filepath.Ext(strings.TrimPrefix(url, "https://"+pageHost))]
		if url != s.Page && kind == types[""] {
			kind = types[filepath.Ext(url)]
		}
		status := http.StatusOK
		if body == nil {
			status = http.StatusNoContent
		}
		s.Resources = append(s.Resources, site.Resource{Method: "GET", URL: url, Status: status, Body: name, Size: int64(len(body)),
			Header: []site.Header{{Name: "content-type", Value: kind}}})
	}
	text, err := json.Marshal(struct {
		Format int `json:"format"`
		site.Site
	}{1, s})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "site.json"), text, 0o644))
	opened, err := site.Open(dir)
	must(t, err)
	return opened
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestEveryProtocol loads a page from two hosts over every protocol that browsers
// speak, twice in one browser: both loads are complete and cold, according to
// everything that was captured.
func TestEveryProtocol(t *testing.T) {
	for _, quic := range []bool{false, true} {
		b := newBench(t, quic)
		for _, p := range protocol.All() {
			if p.NoBrowser != "" || (p.Transport == "udp") != quic {
				continue
			}
			for _, again := range []string{"first", "second"} {
				t.Run(strings.ReplaceAll(p.Name, "/", "-")+"/"+again, func(t *testing.T) {
					began := time.Now()
					record, packets := b.load(t, p, page(t, 40, 5000), fast, patience)
					must(t, record.LoadError)
					checkRecord(t, p, record, packets, began)
				})
			}
		}
	}
}

func checkRecord(t *testing.T, p protocol.Protocol, r *pageload.Record, packets *capture.Packets, began time.Time) {
	t.Helper()
	load := &evidence.Evidence{Protocol: p.Name, HAR: r.HAR, Server: r.Server, Packets: packets, Timing: r.Timing, ServerLost: r.ServerLost}
	for _, v := range metric.Pages().Violations(load) {
		t.Errorf("rule %d is broken: %s", v.Rule, v.Detail)
	}
	kinds := map[string]int{}
	for i, e := range r.HAR.Log.Entries {
		kinds[e.ResourceType]++
		s := e.Timings
		if sum := s.Blocked + max(0, s.DNS) + max(0, s.Connect) + s.Send + s.Wait + s.Receive; math.Abs(sum-e.Time) > 1e-3 || e.Time <= 0 {
			t.Errorf("entry %d: phases %+v add up to %v ms of %v", i, s, sum, e.Time)
		}
		if e.Response.Status != 200 || e.Protocol != p.Spoken || e.Response.BodySize <= 0 || e.Response.TransferSize <= e.Response.BodySize {
			t.Errorf("entry %d is %+v", i, e)
		}
		// A round trip takes 50 ms, but a busy browser records late what it has
		// sent.
		if s.Wait <= 0 {
			t.Errorf("entry %d waited %v ms for its answer", i, s.Wait)
		}
	}
	if fmt.Sprint(kinds) != "map[document:1 image:40 stylesheet:1]" {
		t.Errorf("the page consists of %v", kinds)
	}
	first := r.HAR.Log.Entries[0].Timings
	if first.Connect <= 0 || (first.SSL >= 0) != (p.Scheme == "https") || first.SSL > first.Connect {
		t.Errorf("the document's phases are %+v", first)
	}
	timing, start := r.Timing, time.Unix(0, r.Timing.NavigationStart)
	answered := time.Unix(0, r.Server[0].Start)
	if start.Before(began) || answered.Before(start) || answered.Sub(start).Seconds()*1e3 > timing.TTFB {
		t.Errorf("the page began at %v, the server answered at %v, the first byte came %v ms after the beginning; the test began at %v", start, answered, timing.TTFB, began)
	}
	if timing.TTFB <= 0 || timing.DCL < timing.TTFB || timing.OnLoad < timing.LastResource || timing.LastResource < timing.TTFB || timing.FCP < timing.TTFB || timing.LCP < timing.FCP {
		t.Errorf("timing is %+v", timing)
	}
	connections := map[string]map[int64]bool{}
	for _, e := range r.Server {
		if connections[e.Server] == nil {
			connections[e.Server] = map[int64]bool{}
		}
		connections[e.Server][e.Connection] = true
	}
	// Six connections at most: a busy machine answers some requests before the sixth is opened.
	least, most := 1, 1
	if p.Spoken == "http/1.1" {
		least, most = 2, 6
	}
	for server, used := range connections {
		if len(used) < least || len(used) > most {
			t.Errorf("%d connections to %s were used, want %d to %d", len(used), server, least, most)
		}
	}
	t.Logf("%+v, %d DNS queries", timing, r.DNSQueries)
}

// TestHTTP3IsNotRaced loads a page over a path on which QUIC takes longer than
// Firefox waits before it tries TCP beside it.
func TestHTTP3IsNotRaced(t *testing.T) {
	p := row(t, "h3")
	b := newBench(t, true)
	record, packets := b.load(t, p, page(t, 4, 5000), network.Link{Rate: 10_000_000, Delay: 300 * time.Millisecond, Queue: network.Queue{Bytes: 256 << 10}}, patience)
	must(t, record.LoadError)
	for i := range packets.Records {
		if h, err := capture.Dissect(packets.Records[i].Data); err == nil && h.Flow.Protocol == capture.TCP {
			t.Fatalf("packet %d is TCP's: %v", i, h.Flow)
		}
	}
}

// TestPageThatNeverEnds requests an image that takes hours: the visit ends with the
// timeout, and what was seen until then is kept. The next load is unaffected.
func TestPageThatNeverEnds(t *testing.T) {
	needtest.Long(t)
	b := newBench(t, false)
	endless := fast
	endless.Rate = 20_000
	record, _ := b.load(t, row(t, "h2"), page(t, 1, 1_000_000), endless, 6*time.Second)
	if record.LoadError == nil || !strings.Contains(record.LoadError.Error(), "had not loaded after 6s") {
		t.Errorf("the error is %v", record.LoadError)
	}
	entries := record.HAR.Log.Entries
	if len(entries) != 3 || entries[0].Response.Status != 200 || entries[2].Response.Error == "" || record.Timing.OnLoad != -1 || record.Timing.NavigationStart == 0 {
		t.Errorf("the timing is %+v, the entries are %+v", record.Timing, entries)
	}
	record, _ = b.load(t, row(t, "h2"), page(t, 2, 1000), fast, patience)
	must(t, record.LoadError)
}

// TestAnswersWithoutContent loads a page with images without content, among others, as
// used to count visitors: nothing counts as failed.
func TestAnswersWithoutContent(t *testing.T) {
	needtest.Long(t)
	const root = "https://" + pageHost
	pages := map[string][]byte{
		root + "/": []byte("<!DOCTYPE html><title>Page</title><img src=/none.png><img src=/empty.png><img src=//" + imageHost + "/none.png><img src=//" + imageHost + "/empty.png>" +
			"<link rel=stylesheet href=/none.css><script src=/none.js></script><script>fetch('/none').then(r => r.text())</script>"),
		root + "/none.png": nil, root + "/empty.png": {}, "https://" + imageHost + "/none.png": nil, "https://" + imageHost + "/empty.png": {}, root + "/none.css": nil, root + "/none.js": nil, root + "/none": nil,
	}
	b := newBench(t, false)
	for _, name := range []string{"http/1.1", "https/1.1", "h2"} {
		p := row(t, name)
		s, err := archive(t, pages).Over(p.Scheme)
		must(t, err)
		record, packets := b.load(t, p, s, fast, patience)
		must(t, record.LoadError)
		load := &evidence.Evidence{Protocol: p.Name, HAR: record.HAR, Server: record.Server, Packets: packets, Timing: record.Timing, ServerLost: record.ServerLost}
		for _, v := range metric.Pages().Violations(load) {
			t.Errorf("%s: rule %d is broken: %s", name, v.Rule, v.Detail)
		}
		if n := len(record.HAR.Log.Entries); n != len(pages) {
			t.Errorf("%s: %d requests, want %d", name, n, len(pages))
		}
	}
}

// TestTheStudyDecidesOnTheScheme loads a page without TLS from HSTS-preloaded hosts.
func TestTheStudyDecidesOnTheScheme(t *testing.T) {
	needtest.Long(t)
	s, err := archive(t, map[string][]byte{
		"https://" + pageHost + "/":              []byte("<!DOCTYPE html><title>Page</title><iframe src=https://www.paypal.com/></iframe>"),
		"https://www.paypal.com/":                []byte("<!DOCTYPE html><title>Frame</title><img src=https://www.google-analytics.com/a.png>"),
		"https://www.google-analytics.com/a.png": []byte(pngHead),
	}).Over("http")
	must(t, err)
	record, _ := newBench(t, false).load(t, row(t, "http/1.1"), s, fast, patience)
	must(t, record.LoadError)
	for _, e := range record.HAR.Log.Entries {
		if !strings.HasPrefix(e.Request.URL, "http://") || e.Response.Status != 200 {
			t.Errorf("%s has status %d, %s", e.Request.URL, e.Response.Status, e.Response.Error)
		}
	}
	if n := len(record.HAR.Log.Entries); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
}

// TestPageThatSpins loads a page whose script never ends, so that its tab cannot be
// closed normally.
func TestPageThatSpins(t *testing.T) {
	needtest.Long(t)
	b := newBench(t, false)
	spinning := archive(t, map[string][]byte{"https://" + pageHost + "/": []byte("<!DOCTYPE html><script>for (;;);</script>")})
	record, _ := b.load(t, row(t, "http/1.1"), spinning, fast, 2*time.Second)
	if record.LoadError == nil || !strings.Contains(record.LoadError.Error(), "had not loaded after 2s") {
		t.Errorf("the error is %v", record.LoadError)
	}
}

// TestPageThatIsNotThere requests a host without an address.
func TestPageThatIsNotThere(t *testing.T) {
	needtest.Long(t)
	b := newBench(t, false)
	visit, err := b.browser.Open(t.Context(), nil)
	must(t, err)
	_, timing, err := visit.Load(t.Context(), "https://nowhere.test/")
	if err == nil || !strings.Contains(err.Error(), "NS_ERROR_") || timing.OnLoad != -1 {
		t.Errorf("the error is %v, the timing %+v", err, timing)
	}
	must(t, visit.Close())
}

// TestBrowserDies kills the browser in the middle of a load.
func TestBrowserDies(t *testing.T) {
	b := newBench(t, false)
	visit, err := b.browser.Open(t.Context(), nil)
	must(t, err)
	must(t, syscall.Kill(b.browser.process.PID(), syscall.SIGKILL))
	_, _, err = visit.Load(t.Context(), "http://"+pageHost+"/")
	if err == nil || !strings.Contains(err.Error(), "the browser died") || !strings.Contains(err.Error(), "last output: ") {
		t.Errorf("the error is %v", err)
	}
	if b.browser.Alive() {
		t.Error("the browser counts as alive")
	}
	must(t, visit.Close())
}

func row(t *testing.T, name string) protocol.Protocol {
	t.Helper()
	p, err := protocol.Lookup(name)
	must(t, err)
	return p
}

// TestFrozenPageAsksForTheSameAgain loads a page whose frames make URLs from the time of
// day and random numbers. Frozen, it requests the same ones again; with another seed or
// unfrozen it requests others.
func TestFrozenPageAsksForTheSameAgain(t *testing.T) {
	needtest.Long(t)
	document := func(who, more string) []byte {
		return fmt.Appendf(nil, `<!DOCTYPE html><title>Page</title><script>fetch('https://%s/pixel?' + [%q, Date.now(), new Date().getTime(), Date(), Math.random(),
			Math.random(), crypto.getRandomValues(new Uint16Array(3)), crypto.randomUUID()].map(encodeURIComponent).join('&'), {mode: 'no-cors'})</script>%s`, pageHost, who, more)
	}
	page := archive(t, map[string][]byte{
		"https://" + pageHost + "/":           document("page", "<iframe src=/frame.html></iframe><iframe src=https://"+imageHost+"/></iframe>"),
		"https://" + pageHost + "/frame.html": document("frame", ""),
		"https://" + imageHost + "/":          document("other", ""),
	})
	b := newBench(t, false)
	asked := func(freeze *browser.Freeze) map[string]string {
		visit, err := b.browser.Open(t.Context(), freeze)
		must(t, err)
		record, _ := b.loadIn(t, visit, row(t, "h2"), page, fast, patience)
		must(t, record.LoadError)
		urls := map[string]string{}
		for _, e := range record.HAR.Log.Entries {
			if _, query, is := strings.Cut(e.Request.URL, "pixel?"); is {
				who, rest, _ := strings.Cut(query, "&")
				urls[who] = rest
			}
		}
		return urls
	}
	freeze := &browser.Freeze{At: time.Date(2020, 2, 29, 12, 0, 0, 5e6, time.UTC), Seed: 1}
	first, again, alone, seeded := asked(freeze), asked(freeze), asked(nil), asked(&browser.Freeze{At: freeze.At, Seed: 2})
	for _, who := range []string{"page", "frame", "other"} {
		if first[who] == "" || first[who] != again[who] || first[who] == alone[who] || first[who] == seeded[who] || !strings.HasPrefix(first[who], "1582977600005&1582977600005&Sat%20Feb%2029%202020") {
			t.Errorf("%s requested %s and %s when frozen, %s with another seed, %s when left alone", who, first[who], again[who], seeded[who], alone[who])
		}
	}
}

// TestBrowserIsContained: its first process is, whose rights the others inherit.
func TestBrowserIsContained(t *testing.T) {
	t.Setenv(sandboxtest.Secret, "1")
	sandboxtest.Check(t, newBench(t, false).browser.process.PID())
}
