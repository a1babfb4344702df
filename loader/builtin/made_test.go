package builtin

import (
	"net/http"
	"strings"
	"testing"

	"wiretime/capture"
	"wiretime/loader/loadertest"
	"wiretime/loader/page"
	"wiretime/protocol"
	"wiretime/site"
)

// TestMadePages loads pages of every shape completely, with each of their objects requested
// once, by the page, style sheets or scripts.
func TestMadePages(t *testing.T) {
	for _, ref := range []string{"page@71x14x2652kB", "page@1x1x870kB", "page@2x2x1kB", "page@300x300x900kB", "nam-page", "lulic-amazon"} {
		t.Run(ref, func(t *testing.T) { loadsMade(t, row(t, "h2"), ref) })
	}
}

// TestPagesOfPapers loads all of the library's pages completely.
func TestPagesOfPapers(t *testing.T) {
	names, err := site.Library{Dir: t.TempDir()}.List()
	must(t, err)
	for _, name := range names {
		if strings.HasPrefix(name, "kim-") || strings.HasPrefix(name, "lulic-") || strings.HasPrefix(name, "nam-") {
			t.Run(name, func(t *testing.T) { loadsMade(t, row(t, "spdy/3"), name) })
		}
	}
}

// TestManyHosts loads 174 objects on 55 hosts over every row, with and without TLS.
func TestManyHosts(t *testing.T) {
	loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) { loadsMade(t, p, "kim-tech-crunch") })
}

func loadsMade(t *testing.T, p protocol.Protocol, ref string) {
	t.Helper()
	s, err := site.Library{Dir: t.TempDir()}.Open(t.Context(), ref)
	must(t, err)
	b := newBench(t, p, protocol.Archive(answers(s)), s.Origins()...)
	for _, r := range s.Resources {
		if r.Initiator != "" {
			b.config.Recorded = append(b.config.Recorded, page.Recorded{URL: r.URL, Initiator: r.Initiator, Kind: page.KindOf(r.Kind)})
		}
	}
	har, timing, err := b.load(t, s.Page)
	must(t, err)
	once(t, har, s)
	if timing.OnLoad <= 0 || timing.LastResource > timing.OnLoad+1000 {
		t.Errorf("timing is %+v", timing)
	}
}

// once checks that a HAR has each resource of a site once, complete, and nothing else.
func once(t *testing.T, har *capture.HAR, s *site.Site) {
	t.Helper()
	left := map[string]bool{}
	for _, r := range s.Resources {
		left[strings.TrimPrefix(r.URL, "https:")] = true
	}
	for _, e := range har.Log.Entries {
		_, url, _ := strings.Cut(e.Request.URL, ":")
		if !left[url] {
			t.Errorf("%s was requested twice, or is not part of the page", e.Request.URL)
		}
		delete(left, url)
		if e.Response.Status != http.StatusOK || e.Response.Error != "" {
			t.Errorf("%s: status %d, %s", e.Request.URL, e.Response.Status, e.Response.Error)
		}
	}
	for url := range left {
		t.Errorf("%s was not requested", url)
	}
}
