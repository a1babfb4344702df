package site

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// hinted makes a site of two pages in a journey, each with a frame or a script of its own.
// A line holds the URL, the initiator or -, and the kind or content type.
func hinted(t *testing.T) *Site {
	t.Helper()
	const lines = `
		https://a.test/early.css            -                          text/css
		https://a.test/                     -                          redirect
		https://www.a.test/                 -                          text/html;charset=utf-8
		https://www.a.test/main.css         -                          stylesheet
		https://www.a.test/font.woff2       https://www.a.test/main.css  font
		https://b.test/app.js               -                          script
		https://b.test/data                 https://b.test/app.js      xhr
		https://b.test/missing.png          -                          not-found
		https://b.test/frame                https://www.a.test/        document
		https://b.test/frame.css            https://b.test/frame       stylesheet
		https://www.a.test/photo.jpg        -                          image/jpeg
		https://b.test/round                https://b.test/about       image
		https://b.test/about                https://b.test/round       image
		https://www.a.test/second           -                          document
		https://www.a.test/late.css         https://b.test/app.js      stylesheet
		https://www.a.test/second.png       -                          image
		https://www.a.test/lost.png         https://gone.test/         image
		https://www.a.test/video            -                          media`
	s := Site{Name: "hinted", Page: "https://a.test/", Journey: []string{"https://www.a.test/second"}}
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		words := strings.Fields(line)
		r := Resource{Method: "GET", URL: words[0], Status: 200, Body: emptyHash, Kind: words[2]}
		if words[1] != "-" {
			r.Initiator = words[1]
		}
		switch {
		case words[2] == "redirect":
			r.Kind, r.Status, r.Header = "document", 302, []Header{{"location", "//www.a.test/"}}
		case words[2] == "not-found":
			r.Kind, r.Status = "image", 404
		case strings.Contains(words[2], "/"):
			r.Kind, r.Header = "", []Header{{"Content-Type", words[2]}}
		}
		s.Resources = append(s.Resources, r)
	}
	made, err := New(s, map[string][]byte{emptyHash: nil})
	must(t, err)
	return made
}

// hints returns what each document announces, by its URL without https://.
func hints(s *Site, of func(r *Resource) []string) map[string]string {
	all := map[string]string{}
	for i := range s.Resources {
		if list := of(&s.Resources[i]); len(list) > 0 {
			all[short(s.Resources[i].URL)] = short(strings.Join(list, " "))
		}
	}
	return all
}

func short(urls string) string { return strings.ReplaceAll(urls, "https://", "") }

func preloads(r *Resource) []string { return r.Preload }
func pushes(r *Resource) []string   { return r.Push }

func TestHint(t *testing.T) {
	for _, c := range []struct {
		name string
		rule Rule
		of   func(*Resource) []string
		want map[string]string
	}{
		{"everything that can be preloaded", Rule{Do: "preload"}, preloads, map[string]string{
			"www.a.test/":       "a.test/early.css www.a.test/main.css www.a.test/font.woff2 b.test/app.js b.test/data www.a.test/photo.jpg b.test/round b.test/about www.a.test/late.css",
			"b.test/frame":      "b.test/frame.css",
			"www.a.test/second": "www.a.test/second.png www.a.test/lost.png",
		}},
		{"the first two of two kinds", Rule{Do: "early", Kinds: []string{"stylesheet", "font"}, First: 2}, preloads, map[string]string{
			"www.a.test/": "a.test/early.css www.a.test/main.css", "b.test/frame": "b.test/frame.css",
		}},
		{"what a document's own host can push", Rule{Do: "push"}, pushes, map[string]string{
			"www.a.test/":       "www.a.test/main.css www.a.test/font.woff2 www.a.test/photo.jpg www.a.test/late.css",
			"b.test/frame":      "b.test/frame.css",
			"www.a.test/second": "www.a.test/second.png www.a.test/lost.png www.a.test/video",
		}},
		{"what every way can announce of the document's own host, pushed", Rule{Do: Push, OwnHost: true}, pushes, map[string]string{
			"www.a.test/":       "www.a.test/main.css www.a.test/font.woff2 www.a.test/photo.jpg www.a.test/late.css",
			"b.test/frame":      "b.test/frame.css",
			"www.a.test/second": "www.a.test/second.png www.a.test/lost.png",
		}},
		{"and announced", Rule{Do: Subresource, OwnHost: true, First: 2}, preloads, map[string]string{
			"www.a.test/": "www.a.test/main.css www.a.test/font.woff2", "b.test/frame": "b.test/frame.css",
			"www.a.test/second": "www.a.test/second.png www.a.test/lost.png",
		}},
		{"a kind that is not there", Rule{Do: "push", Kinds: []string{"manifest"}}, pushes, map[string]string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := hinted(t)
			s, err := before.Hint(c.rule)
			must(t, err)
			if got := hints(s, c.of); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			for i := range s.Resources {
				if r := &s.Resources[i]; r.Early != (c.rule.Do == "early" && len(r.Preload) > 0) {
					t.Errorf("%s: early is %v", r.URL, r.Early)
				}
			}
			if !reflect.DeepEqual(before.Resources, hinted(t).Resources) {
				t.Error("the site itself was changed")
			}
			must(t, s.build())
		})
	}
}

// TestSubresourceFields checks that the resources in Preload are announced in X-Subresource fields, with their type, and not in
// Link fields.
func TestSubresourceFields(t *testing.T) {
	typed := hinted(t)
	sheet, _ := typed.Lookup("GET", "https://www.a.test/main.css")
	sheet.Header = append(sheet.Header, Header{"content-type", "text/css"})
	s, err := typed.Hint(Rule{Do: Subresource, OwnHost: true, First: 2}) // the second, a font, has no type
	must(t, err)
	var fields [][2]string
	for _, f := range s.Respond("GET", "www.a.test", "/").Header {
		if f[0] == "x-subresource" || f[0] == "link" {
			fields = append(fields, f)
		}
	}
	if want := [][2]string{{"x-subresource", "text/css; https://www.a.test/main.css"}}; !reflect.DeepEqual(fields, want) {
		t.Errorf("fields %q, want %q", fields, want)
	}
}

func TestHintReplacesHintsOfTheSameSort(t *testing.T) {
	s, err := hinted(t).Hint(Rule{Do: "early"})
	must(t, err)
	s, err = s.Hint(Rule{Do: "push", First: 1})
	must(t, err)
	s, err = s.Hint(Rule{Do: "preload", Kinds: []string{"font"}})
	must(t, err)
	page, _ := s.Lookup("GET", "https://www.a.test/")
	if short(strings.Join(page.Preload, " ")) != "www.a.test/font.woff2" || page.Early || short(strings.Join(page.Push, " ")) != "www.a.test/main.css" {
		t.Errorf("preload %q, early %v, push %q", page.Preload, page.Early, page.Push)
	}
}

func TestHintRefusesAnUnknownWay(t *testing.T) {
	if _, err := hinted(t).Hint(Rule{Do: "prefetch"}); err == nil || !strings.Contains(err.Error(), `invalid way "prefetch": want preload, early, push or subresource`) {
		t.Errorf("error is %v", err)
	}
}

// TestLinkFields checks that each preload names its destination, uses the scheme of the
// site and follows the response's own fields.
func TestLinkFields(t *testing.T) {
	s := hinted(t)
	page, _ := s.Lookup("GET", "https://www.a.test/")
	page.Preload = []string{
		"https://www.a.test/main.css", "https://www.a.test/font.woff2", "https://b.test/data", "https://www.a.test/photo.jpg",
		"https://nowhere.test/x.js", "https://www.a.test/video", "https://b.test/frame",
	}
	for scheme, want := range map[string][]string{
		"https": {"<https://www.a.test/main.css>; rel=preload; as=style", "<https://www.a.test/font.woff2>; rel=preload; as=font; crossorigin", "<https://b.test/data>; rel=preload; as=fetch; crossorigin", "<https://www.a.test/photo.jpg>; rel=preload; as=image"},
		"http":  {"<http://www.a.test/main.css>; rel=preload; as=style", "<http://www.a.test/font.woff2>; rel=preload; as=font; crossorigin", "<http://b.test/data>; rel=preload; as=fetch; crossorigin", "<http://www.a.test/photo.jpg>; rel=preload; as=image"},
	} {
		over, err := s.Over(scheme)
		must(t, err)
		header := over.Respond("GET", "www.a.test", "/").Header
		var got []string
		for _, field := range header[1:] {
			got = append(got, field[1])
		}
		if header[0][0] != "Content-Type" || !slices.Equal(got, want) {
			t.Errorf("over %s:\n%q, want\n%q", scheme, header, want)
		}
	}
}
