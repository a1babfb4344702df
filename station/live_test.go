package station

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"wiretime/capture"
	"wiretime/evidence"
	"wiretime/lab"
	"wiretime/loader/chromium"
	"wiretime/loader/firefox"
	"wiretime/metric"
	"wiretime/protocol"
	"wiretime/workload"
	"wiretime/workload/pageload"
)

// The hosts of a real site: its own, and one of somebody else's.
const (
	ownHost   = "www.live.test"
	otherHost = "img.other.test"
)

// internet is a network of servers on the loopback device of the test's own network namespace.
type internet struct {
	ca    *protocol.Authority
	hosts map[string]netip.Addr
}

func newInternet(t *testing.T) *internet {
	t.Helper()
	lo, err := netlink.LinkByName("lo")
	if err == nil {
		err = netlink.LinkSetUp(lo)
	}
	if err != nil {
		t.Fatal(err)
	}
	ca, err := protocol.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	return &internet{ca, map[string]netip.Addr{ownHost: netip.MustParseAddr("127.0.0.2"), otherHost: netip.MustParseAddr("127.0.0.3")}}
}

// serve has one host served over some protocols, on their own ports.
func (n *internet) serve(t *testing.T, host string, handler http.Handler, rows ...string) {
	t.Helper()
	for _, row := range rows {
		p, err := protocol.Lookup(row)
		if err != nil {
			t.Fatal(err)
		}
		s, err := protocol.Serve(t.Context(), protocol.ServerConfig{
			Protocol: p, Hosts: map[string]netip.Addr{host: n.hosts[host]}, Handler: handler, CA: n.ca,
			Listen: new(net.ListenConfig).Listen, ListenPacket: new(net.ListenConfig).ListenPacket,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// open opens a station of the live clock that finds and trusts these servers.
func (n *internet) open(t *testing.T) *Live {
	t.Helper()
	issuer, err := x509.ParseCertificate(n.ca.Issuer())
	if err != nil {
		t.Fatal(err)
	}
	c := LiveConfig{Trusted: []*x509.Certificate{issuer}, Addresses: n.hosts}
	if c.Chromium, err = chromium.Find(""); err != nil {
		t.Fatal(err)
	}
	if c.Firefox, err = firefox.Find(""); err != nil {
		t.Log(err)
	}
	s, err := OpenLive(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// pictures answers with a page and three images, one of them on somebody else's host.
func pictures(scheme string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<!doctype html><title>live</title><img src=/a.svg><img src=/b.svg><img src=%s://%s/c.svg>", scheme, otherHost)
			return
		}
		w.Header().Set("Content-Type", "image/svg+xml")
		fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"><desc>%s</desc></svg>`, strings.Repeat("x", 30_000))
	})
}

// loadedLive is what a load on the live clock has left.
type loadedLive struct {
	*pageload.Record
	evidence *evidence.Evidence // with the packets, if there is a capture
}

func loadLive(t *testing.T, s *Live, loader, row string) loadedLive {
	t.Helper()
	return carryOut(t, s, &pageload.Order{Loader: loader, Protocol: row, URL: "https://" + ownHost + "/", Visit: "cold", Timeout: 20 * time.Second, Comment: "test"})
}

func carryOut(t *testing.T, s *Live, o *pageload.Order) loadedLive {
	t.Helper()
	dir := t.TempDir()
	outcome, err := o.RunOn(t.Context(), s, nil, dir)
	if err != nil {
		t.Fatal(err)
	}
	l := loadedLive{Record: outcome.(*pageload.Record), evidence: &evidence.Evidence{Protocol: o.Protocol, Visit: "cold", NoServerLog: true, TearDown: o.TearDown}}
	l.Collect(l.evidence)
	if l.Live.Whole() {
		if l.evidence.Packets, err = capture.ReadPackets(filepath.Join(dir, lab.CaptureFile)); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// TestLive loads a page of which one image is on another host, over all protocols by all loaders, and holds what
// each says against the others. The other host has no HTTP/3, and is reached nevertheless.
func TestLive(t *testing.T) {
	for _, c := range []struct {
		row, scheme, elsewhere string
		other                  float64 // requests over another protocol than the one asked for
	}{{"http/1.1", "http", "http/1.1", 0}, {"https/1.1", "https", "https/1.1", 0}, {"h2", "https", "h2", 0}, {"h3", "https", "h2", 1}} {
		t.Run(strings.ReplaceAll(c.row, "/", "-"), func(t *testing.T) {
			n := newInternet(t)
			n.serve(t, ownHost, pictures(c.scheme), c.row)
			n.serve(t, otherHost, pictures(c.scheme), c.elsewhere)
			s := n.open(t)
			for _, loader := range []string{pageload.Builtin, pageload.Chromium, pageload.Firefox} {
				if loader == pageload.Firefox && c.scheme == "http" {
					continue // it takes seconds to start, and is told its protocol in the same way over TLS
				}
				t.Run(loader, func(t *testing.T) { checkLive(t, s, loader, c.row, c.other) })
			}
		})
	}
}

// checkLive loads the page and checks what the load has left.
func checkLive(t *testing.T, s *Live, loader, row string, other float64) {
	if loader == pageload.Firefox && s.config.Firefox == "" {
		t.Skip("no Firefox on this machine")
	}
	l := loadLive(t, s, loader, row)
	if l.LoadError != nil {
		t.Fatal(l.LoadError)
	}
	if !l.Live.Whole() {
		t.Fatalf("the capture is not whole: %+v", *l.Live)
	}
	for _, v := range metric.Pages().Violations(l.evidence) {
		t.Errorf("rule %d: %s", v.Rule, v.Detail)
	}
	values := metric.Pages().Values(l.evidence)
	for name, want := range map[string]float64{"requests": 4, "other_protocol": other, "failed_elsewhere": 0, "capture_lost": 0} {
		if got, ok := values[name]; !ok || got != want {
			t.Errorf("%s is %v (%v), want %v", name, got, ok, want)
		}
	}
	for _, name := range []string{"drops", "retransmissions", "late_p99", "misses"} {
		if got, ok := values[name]; ok {
			t.Errorf("%s is %v, although nothing is known of it", name, got)
		}
	}
	if down := values["bytes_down"]; down < 90_000 || down > 130_000 {
		t.Errorf("%v octets down for three images of 30 kB", down)
	}
	tow, plt := values["tow"], values["plt"]
	if tow <= 0 || tow > plt+100 {
		t.Errorf("ToW %v ms, PLT %v ms", tow, plt)
	}
	if most := largestPacket(l.evidence.Packets); most > 65535 || row != "http/1.1" && len(l.evidence.Packets.Secrets) == 0 {
		t.Errorf("the largest packet has %d octets, TLS secrets %d", most, len(l.evidence.Packets.Secrets))
	}
}

func largestPacket(p *capture.Packets) (most int) {
	for _, r := range p.Records {
		most = max(most, r.Length)
	}
	return most
}

// TestLiveUnsupported: what a site does not offer is unsupported, and the reason says what it does offer.
func TestLiveUnsupported(t *testing.T) {
	redirects := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://"+ownHost+r.URL.Path, http.StatusMovedPermanently)
	})
	for _, c := range []struct {
		serves, loader, row, why string
		handler                  http.Handler
	}{
		{"h2", pageload.Builtin, "h3", "answered over h2, without an Alt-Svc field, and no QUIC handshake succeeded", pictures("https")},
		{"h2", pageload.Chromium, "h3", "no QUIC handshake with www.live.test succeeded, and its answer over TCP has no Alt-Svc field", pictures("https")},
		{"https/1.1", pageload.Builtin, "h2", "refuses h2 by ALPN", pictures("https")},
		{"https/1.1", pageload.Chromium, "h2", "www.live.test chose http/1.1 when the loader chromium offered h2", pictures("https")},
		{"h2", pageload.Chromium, "https/1.1", "and chooses h2 instead", pictures("https")},
		{"h2", pageload.Builtin, "spdy/3.1", "refuses spdy/3.1 by ALPN", pictures("https")},
		{"http/1.1", pageload.Builtin, "http/1.1", "www.live.test answers in the clear only with a redirect to https://www.live.test/", redirects},
		{"http/1.1", pageload.Chromium, "http/1.1", "www.live.test answers in the clear only with a redirect to https://www.live.test/", redirects},
	} {
		t.Run(c.loader+" "+strings.ReplaceAll(c.row+" at "+c.serves, "/", "-"), func(t *testing.T) {
			n := newInternet(t)
			n.serve(t, ownHost, c.handler, c.serves)
			l := loadLive(t, n.open(t), c.loader, c.row)
			lacks, is := errors.AsType[*workload.UnsupportedError](l.LoadError)
			if !is || !strings.Contains(lacks.Why, c.why) {
				t.Errorf("%v, want %q", l.LoadError, c.why)
			}
		})
	}
}

// TestLiveFailures: without a network, a server or a name a load fails, and the station serves the next one.
func TestLiveFailures(t *testing.T) {
	n := newInternet(t)
	s := n.open(t)
	for _, loader := range []string{pageload.Builtin, pageload.Chromium} {
		l := loadLive(t, s, loader, "h2")
		if _, is := errors.AsType[*workload.UnsupportedError](l.LoadError); is || l.LoadError == nil || !strings.Contains(strings.ToLower(l.LoadError.Error()), "refused") {
			t.Errorf("%s, without a server: %v", loader, l.LoadError)
		}
	}
	delete(s.config.Addresses, ownHost)
	l := loadLive(t, s, pageload.Builtin, "h2")
	if l.LoadError == nil || !strings.Contains(l.LoadError.Error(), ownHost) {
		t.Errorf("without a resolver: %v", l.LoadError)
	}
	n.hosts[ownHost] = netip.MustParseAddr("127.0.0.2")
	n.serve(t, ownHost, pictures("https"), "h2")
	n.serve(t, otherHost, pictures("https"), "h2")
	if l := loadLive(t, s, pageload.Builtin, "h2"); l.LoadError != nil {
		t.Error(l.LoadError)
	}
}

// TestLiveTearDown: with tear_down, the capture has the end of each connection.
func TestLiveTearDown(t *testing.T) {
	n := newInternet(t)
	n.serve(t, ownHost, pictures("https"), "h2")
	n.serve(t, otherHost, pictures("https"), "h2")
	l := carryOut(t, n.open(t), &pageload.Order{Loader: pageload.Builtin, Protocol: "h2", URL: "https://" + ownHost + "/", Visit: "cold", Timeout: 20 * time.Second, TearDown: true})
	values := metric.Pages().Values(l.evidence)
	if closed, ok := values["tow_closed"]; l.LoadError != nil || !ok || closed < values["tow"] {
		t.Errorf("ToW to the last packet %v (%v), ToW %v, %v", closed, ok, values["tow"], l.LoadError)
	}
}

// TestLiveInterrupted: a load that is interrupted ends with the cause.
func TestLiveInterrupted(t *testing.T) {
	n := newInternet(t)
	asked := make(chan struct{})
	n.serve(t, ownHost, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}), "h2")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-asked
		cancel(context.DeadlineExceeded)
	}()
	o := &pageload.Order{Loader: pageload.Builtin, Protocol: "h2", URL: "https://" + ownHost + "/", Visit: "cold", Timeout: time.Minute}
	if _, err := o.RunOn(ctx, n.open(t), nil, t.TempDir()); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// TestLiveWithoutRight: without the right to capture, a page is loaded without a capture.
func TestLiveWithoutRight(t *testing.T) {
	n := newInternet(t)
	n.serve(t, ownHost, pictures("https"), "h2")
	n.serve(t, otherHost, pictures("https"), "h2")
	s := n.open(t)

	done := make(chan loadedLive)
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocks: the thread ends without the right
		dropRaw(t)
		if err := CheckTap(); err == nil {
			t.Error("packets can be captured without the right to")
		}
		o := &pageload.Order{Loader: pageload.Builtin, Protocol: "h2", URL: "https://" + ownHost + "/", Visit: "cold", Timeout: time.Minute}
		dir := t.TempDir()
		outcome, err := o.RunOn(t.Context(), s, nil, dir)
		if err != nil {
			t.Error(err)
			return
		}
		done <- loadedLive{Record: outcome.(*pageload.Record)}
	}()
	l, ok := <-done
	if !ok {
		return
	}
	if l.LoadError != nil || l.Live.Captured {
		t.Errorf("%v, %+v", l.LoadError, *l.Live)
	}
	left := &evidence.Evidence{Protocol: "h2", NoServerLog: true}
	l.Collect(left)
	values := metric.Pages().Values(left)
	if _, has := values["tow"]; has || values["requests"] != 4 {
		t.Errorf("values without a capture: %v", values)
	}
	if v := metric.Pages().Violations(left); len(v) > 0 {
		t.Error(v)
	}
}

// dropRaw takes the right to capture packets from this thread.
func dropRaw(t *testing.T) {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	err := unix.Capget(&head, &data[0])
	if err == nil {
		data[0].Effective &^= 1 << unix.CAP_NET_RAW
		err = unix.Capset(&head, &data[0])
	}
	if err != nil {
		t.Error(err)
	}
}
