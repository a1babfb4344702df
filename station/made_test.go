package station

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"wiretime/needtest"
	"wiretime/site"
)

// TestChromiumLoadsMadePages: the real browser asks for each object of a made page once, and
// for nothing else, in the clear as well; before onLoad it has them all.
func TestChromiumLoadsMadePages(t *testing.T) {
	needtest.Long(t)
	tests := map[string][]string{
		"kim-tech-crunch":   {"http/1.1", "https/1.1", "h2", "h3"}, // 174 objects on 55 hosts
		"kim-site-4":        {"h2"},                                // two images of 20 MB
		"kim-site-3":        {"https/1.1"},                         // HTML of 18 MB
		"nam-page":          {"h3"},
		"page@300x40x900kB": {"h2"},
		"page@12x12x100kB":  {"https/1.1"},
		"lulic-bing":        {"h2"},
	}
	pages := map[string]*site.Site{}
	for ref := range tests {
		page, err := site.Library{Dir: t.TempDir()}.Open(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		pages[ref] = page
	}
	s := open(t, slices.Collect(maps.Values(pages))...)
	for ref, rows := range tests {
		t.Run(ref, func(t *testing.T) {
			page := pages[ref]
			var want []string
			for _, r := range page.Resources {
				want = append(want, strings.TrimPrefix(r.URL, "https:"))
			}
			slices.Sort(want)
			for _, row := range rows {
				t.Run(strings.ReplaceAll(row, "/", "-"), func(t *testing.T) {
					l := load(t, s, order(row, "cold"), page)
					var got []string
					for _, e := range l.HAR.Log.Entries {
						_, url, _ := strings.Cut(e.Request.URL, ":")
						got = append(got, url)
						if e.Response.Status != 200 || e.Response.Error != "" {
							t.Errorf("%s: status %d, %s", url, e.Response.Status, e.Response.Error)
						}
					}
					slices.Sort(got)
					if !slices.Equal(got, want) {
						t.Errorf("asked for %d objects\n%q\nwant %d\n%q", len(got), got, len(want), want)
					}
					if len(l.Server) != len(want) {
						t.Errorf("the server saw %d requests, want %d", len(l.Server), len(want))
					}
					if l.Timing.LastResource > l.Timing.OnLoad {
						t.Errorf("the last resource came at %g ms, after onLoad at %g ms", l.Timing.LastResource, l.Timing.OnLoad)
					}
				})
			}
		})
	}
}
