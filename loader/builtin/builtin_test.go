package builtin

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"wiretime/loader/loadertest"
	"wiretime/loader/page"
	"wiretime/protocol"
	"wiretime/site"
	"wiretime/spdy"
)

// magazine returns the generated page with one of everything, and its scripts'
// requests.
func magazine(t *testing.T) (*site.Site, []page.Recorded) {
	t.Helper()
	s, err := site.Magazine()
	must(t, err)
	var recorded []page.Recorded
	for _, r := range s.Resources {
		if r.Initiator != "" {
			recorded = append(recorded, page.Recorded{URL: r.URL, Initiator: r.Initiator, Kind: page.KindOf(r.Kind)})
		}
	}
	return s, recorded
}

// notLoaded reports whether a browser ignores a resource of the magazine: it is
// unused, for other screens, or too far down.
func notLoaded(url string) bool {
	for _, part := range []string{"/backgrounds/none.svg", "/fonts/unused.woff2", "-640.svg", "/archive/4.svg", "/archive/5.svg", "/archive/6.svg", "/archive/7.svg"} {
		if strings.HasSuffix(url, part) {
			return true
		}
	}
	return false
}

// answers returns a lookup that answers from a site.
func answers(s *site.Site) func(method, host, path string) protocol.Answer {
	return func(method, host, path string) protocol.Answer {
		a := s.Respond(method, host, path)
		return protocol.Answer{Status: a.Status, Header: a.Header, Body: a.Body, Miss: a.Status == 0}
	}
}

// TestMagazine loads the page over every row: each of its resources exactly once and
// nothing else, with its events in order.
func TestMagazine(t *testing.T) {
	s, recorded := magazine(t)
	var want []string
	for _, r := range s.Resources {
		if !notLoaded(r.URL) {
			want = append(want, strings.TrimPrefix(r.URL, "https:"))
		}
	}
	slices.Sort(want)
	loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
		b := newBench(t, p, protocol.Archive(answers(s)), s.Origins()...)
		b.config.Recorded = recorded
		har, timing, err := b.load(t, s.Page)
		must(t, err)
		var got []string
		for _, e := range har.Log.Entries {
			_, address, _ := strings.Cut(e.Request.URL, ":")
			got = append(got, address)
			if e.Response.Status != http.StatusOK || e.Response.Error != "" || e.Protocol != p.Spoken {
				t.Errorf("%s: status %d, %s, over %q", e.Request.URL, e.Response.Status, e.Response.Error, e.Protocol)
			}
		}
		if !slices.Equal(sorted(got), want) {
			t.Errorf("requested\n%s\nwant\n%s", strings.Join(sorted(got), "\n"), strings.Join(want, "\n"))
		}
		if timing.TTFB <= 0 || timing.DCL < timing.TTFB || timing.OnLoad < timing.DCL || timing.LastResource < timing.DCL {
			t.Errorf("timing is %+v", timing)
		}
		for _, e := range b.server.Log() {
			if e.Miss || e.Protocol != p.Spoken {
				t.Errorf("the server saw %+v", e)
			}
		}
	})
}

// TestPageThatHasNoURL loads nothing, in no other tab either, and invents no figures.
func TestPageThatHasNoURL(t *testing.T) {
	b := newBench(t, row(t, "h2"), files(nil), pageHost)
	har, timing, err := b.open(t).LoadTogether(t.Context(), []string{"https://" + pageHost + "/", "nowhere"})
	if har != nil || timing != unknownTiming || err == nil || !strings.Contains(err.Error(), "load nowhere over h2") {
		t.Errorf("%v, %+v, %v", har, timing, err)
	}
	if log := b.server.Log(); len(log) != 0 {
		t.Errorf("the server saw %+v", log)
	}
}

// TestHints checks that resources which a server announces before its page, or with its
// head, are requested at once and only once.
func TestHints(t *testing.T) {
	const style = "body { color: red }"
	loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
		asked := make(chan struct{})
		_, isSPDY := spdy.ParseVersion(p.ALPN)
		b := newBench(t, p, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/early.css" {
				close(asked)
				w.Header().Set("Content-Type", "text/css")
				_, _ = io.WriteString(w, style)
				return
			}
			w.Header().Set("Content-Type", "text/html")
			if isSPDY {
				spdy.AddHint(w.Header(), spdy.Hint{URL: "/early.css", Type: "text/css"})
				_ = http.NewResponseController(w).Flush()
			} else {
				w.Header().Set("Link", "</early.css>; rel=preload; as=style")
				w.WriteHeader(http.StatusEarlyHints)
			}
			select {
			case <-asked:
			case <-r.Context().Done():
				t.Error("the hint was not followed")
			}
			_, _ = io.WriteString(w, "<!DOCTYPE html><link rel=stylesheet href=/early.css>")
		}), pageHost)
		har, _, err := b.load(t, "https://"+pageHost+"/")
		must(t, err)
		if got := paths(har); !slices.Equal(got, []string{"/", "/early.css"}) {
			t.Errorf("requested %q", got)
		}
	})
}
