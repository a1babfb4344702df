package session

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"wiretime/loader/loadertest"
	"wiretime/protocol"
	"wiretime/spdy"
)

// eachSPDY runs a test for every version of SPDY.
func eachSPDY(t *testing.T, test func(t *testing.T, p protocol.Protocol, v spdy.Version)) {
	loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
		if v, ok := spdy.ParseVersion(p.ALPN); ok {
			test(t, p, v)
		}
	})
}

// TestPush uses a server that pushes what the page will request, and something that
// it will not.
func TestPush(t *testing.T) {
	for _, accepted := range []bool{true, false} {
		t.Run(fmt.Sprint("accepted ", accepted), func(t *testing.T) {
			eachSPDY(t, func(t *testing.T, p protocol.Protocol, _ spdy.Version) {
				b := newBench(t, p)
				b.options.Push = accepted
				handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/page" {
						for _, target := range []string{"/style/5000", "/script/70000", "/unused/10"} {
							if err := w.(http.Pusher).Push(target, nil); err != nil && accepted {
								t.Error(err)
							}
						}
					}
					path(w, r)
				})
				b.serveTLS(t, &tls.Config{}, handler)
				s := b.session(t)
				var style, script *answer
				page := &answer{}
				page.onEnd = func() {
					style = get(t, s, b.url(pageHost, "/style/5000"), Highest)
					script = get(t, s, b.url(pageHost, "/script/70000"), Medium)
				}
				fetch(t, t.Context(), s, http.MethodGet, b.url(pageHost, "/page"), Highest, page).wait(t)
				must(t, page.err)
				for _, a := range []*answer{style, script} {
					if must(t, a.wait(t).err); a.record.Pushed != accepted || a.head.StatusCode != 200 {
						t.Errorf("the record is %+v, want it pushed: %v", a.record, accepted)
					}
				}
				if len(style.body) != 5000 || len(script.body) != 70_000 {
					t.Errorf("%d and %d octets", len(style.body), len(script.body))
				}
				again := get(t, s, b.url(pageHost, "/style/5000"), Highest).wait(t)
				if must(t, again.err); again.record.Pushed {
					t.Error("a push answered two requests")
				}
				log := string(s.FrameLog())
				sent, came := count(log, "frame_sent", "syn_stream"), count(log, "frame_received", "syn_stream")
				want := 2 // the page, and the style once more
				if !accepted {
					want = 4
				}
				if sent != want || came != 3 {
					t.Errorf("%d requests were sent and %d responses pushed, want %d and 3", sent, came, want)
				}
			})
		})
	}
}

// TestParkedPushes uses a server that pushes far more than is kept. The rest is cancelled, holds nothing up, and is
// fetched when it is requested.
func TestParkedPushes(t *testing.T) {
	const pushes, size = 100, 1 << 20
	eachSPDY(t, func(t *testing.T, p protocol.Protocol, _ spdy.Version) {
		b := newBench(t, p)
		b.options.Push = true
		target := func(i int) string { return fmt.Sprintf("/%d/%d", i, size) }
		pushed := make(chan struct{})
		b.serveTLS(t, &tls.Config{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/page" {
				for i := range pushes {
					_ = w.(http.Pusher).Push(target(i), nil)
				}
				close(pushed)
			}
			path(w, r)
		}))
		s := b.session(t)
		must(t, get(t, s, b.url(pageHost, "/page"), Highest).wait(t).err)
		<-pushed
		// What is parked by now is on the connection, and so is the end of whatever was cancelled.
		must(t, get(t, s, b.url(pageHost, "/other"), Lowest).wait(t).err)
		taken := 0
		for i := range pushes {
			a := get(t, s, b.url(pageHost, target(i)), Medium).wait(t)
			if must(t, a.err); len(a.body) != size {
				t.Errorf("%s has %d octets", target(i), len(a.body))
			}
			if a.record.Pushed {
				taken++
			}
		}
		if most := 4; taken < 1 || taken > most { // 4 MiB are kept
			t.Errorf("%d of %d pushes were kept, want 1 to %d", taken, pushes, most)
		}
		if got := s.Connections(); got != 1 {
			t.Errorf("%d connections, want 1", got)
		}
	})
}

// count counts lines of a frame log.
func count(log, event, frame string) int {
	n := 0
	for line := range strings.Lines(log) {
		if strings.Contains(line, event) && strings.Contains(line, `"`+frame+`"`) {
			n++
		}
	}
	return n
}
