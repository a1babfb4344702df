package site

import (
	"slices"
	"testing"
)

func TestProblems(t *testing.T) {
	const page = "GET https://a.test/"
	to := func(status int, location string) func(*Site) {
		return func(s *Site) { s.Resources[1].Status, s.Resources[1].Header = status, []Header{{"Location", location}} }
	}
	for _, c := range []struct {
		name     string
		requests []string
		change   func(*Site)
		want     []string
	}{
		{"a site as it should be", []string{page}, func(*Site) {}, nil},
		{"a page without a content type", []string{page}, func(s *Site) { s.Resources[0].Header = nil }, []string{"The document https://a.test/ has no content type: browsers guess one."}},
		{"a frame without a content type", []string{page, "GET https://a.test/frame"}, func(s *Site) { s.Resources[1].Kind = "document" }, []string{"The document https://a.test/frame has no content type: browsers guess one."}},
		{"an image without a content type", []string{page, "GET https://a.test/x.png"}, func(*Site) {}, nil},
		{"a redirect that leads to the page", []string{page, "GET https://a.test/r"}, to(301, "/"), nil},
		{"a redirect in the clear", []string{page, "GET https://a.test/r"}, to(302, "http://a.test/#there"), nil},
		{"a redirect to a query that is not there, of a path that is", []string{page, "GET https://a.test/r"}, to(303, "?t=1"), []string{
			"Redirect loop: https://a.test/r -> https://a.test/r.",
		}},
		{"a redirect to nothing", []string{page, "GET https://a.test/r"}, to(308, "//b.test/x"), []string{"The redirect https://a.test/r leads to https://b.test/x, which the archive lacks."}},
		{"a redirect without a location", []string{page, "GET https://a.test/r"}, func(s *Site) { s.Resources[1].Status = 307 }, []string{"The redirect https://a.test/r has no location."}},
		{"a redirect to nonsense", []string{page, "GET https://a.test/r"}, to(302, "https://a.test:x/"), []string{`The redirect https://a.test/r leads to "https://a.test:x/", which is not a valid URL.`}},
		{"a POST that becomes a GET", []string{page, "POST https://a.test/r"}, to(303, "/"), nil},
		{"a POST that stays one", []string{page, "POST https://a.test/r"}, to(307, "/"), []string{"The redirect https://a.test/r leads to https://a.test/, which the archive lacks."}},
		{"no redirect at all", []string{page, "GET https://a.test/r"}, to(304, "/nowhere"), nil},
		{"redirects in a circle, and one that leads there", []string{page, "GET https://a.test/r", "GET https://a.test/x", "GET https://a.test/y"}, func(s *Site) {
			for i, location := range []string{"/x", "/y", "/x"} {
				s.Resources[i+1].Status, s.Resources[i+1].Header = 302, []Header{{"location", location}}
			}
		}, []string{"Redirect loop: https://a.test/x -> https://a.test/y -> https://a.test/x."}},
		{"hints that cannot be", []string{page, "GET https://b.test/x"}, func(s *Site) {
			s.Resources[0].Preload = []string{"https://b.test/x", "https://b.test/y"}
			s.Resources[0].Push = []string{"https://a.test/z", "https://b.test/x"}
		}, []string{
			"https://a.test/ hints at https://b.test/y, which the archive lacks.", "https://a.test/ hints at https://a.test/z, which the archive lacks.",
			"https://a.test/ pushes https://b.test/x, which is on another host: the push is skipped.",
		}},
		{"hosts that are not known", []string{page, "GET https://b.test/", "GET https://c.test/"}, func(s *Site) {
			s.Hosts = []Host{{Name: "a.test", RTT: 12.5}, {Name: "b.test", Address: "192.0.2.1"}}
		}, []string{"The RTT of the server of b.test is unknown.", "The server of c.test is unknown: it is not among the hosts."}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := of(t, c.requests...)
			s.Resources[0].Header = []Header{{"content-type", "text/html"}}
			c.change(s)
			must(t, s.build())
			if got := s.Problems(); !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}
