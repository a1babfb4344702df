package site

import (
	"bytes"
	"compress/gzip"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sharded makes a page whose style sheet, font and images are on other hosts of its domain, and a script of another domain.
func sharded(t *testing.T) *Site {
	t.Helper()
	bodies := map[string][]byte{}
	var all []Resource
	add := func(address, mime, body string) {
		bodies[Hash([]byte(body))] = []byte(body)
		all = append(all, Resource{Method: "GET", URL: address, Status: 200, Body: Hash([]byte(body)), Header: []Header{{"content-type", mime}}})
	}
	add("https://www.shop.test/", "text/html", strings.Repeat(`<link rel=stylesheet href="https://css.shop.test/a.css"><img src="//img.shop.test/a.png"><script src="https://ads.test/a.js"></script>`, 20))
	add("https://css.shop.test/a.css", "text/css", "@font-face { src: url(https://css.shop.test/f.woff2) }")
	add("https://css.shop.test/f.woff2", "font/woff2", "a font")
	add("https://img.shop.test/a.png", "image/png", "an image")
	add("https://old.shop.test/", "text/html", "another page under the same path")
	add("https://ads.test/a.js", "text/javascript", strings.Repeat("// an ad\n", 200))
	s, err := New(Site{Name: "sharded", Page: "https://www.shop.test/", Resources: all,
		Hosts: []Host{{Name: "www.shop.test", RTT: 10}, {Name: "img.shop.test", RTT: 30}}}, bodies)
	must(t, err)
	return s
}

func TestOneHost(t *testing.T) {
	one, merged, err := sharded(t).OneHost()
	must(t, err)
	if want := []string{"www.shop.test", "old.shop.test", "ads.test"}; !slices.Equal(one.Origins(), want) || merged != 2 {
		t.Errorf("%d hosts are gone, left are %q, want %q", merged, one.Origins(), want)
	}
	page, _ := one.Lookup("GET", one.Page)
	text, err := one.Content(page)
	must(t, err)
	if !bytes.Contains(text, []byte(`href="https://www.shop.test/a.css"`)) || !bytes.Contains(text, []byte(`src="//www.shop.test/a.png"`)) || !bytes.Contains(text, []byte("https://ads.test/a.js")) {
		t.Errorf("the page names other hosts: %.200s", text)
	}
	if font, ok := one.Lookup("GET", "https://www.shop.test/f.woff2"); !ok || font.Size != 6 {
		t.Errorf("the font has not moved: %+v", font)
	}
	if len(one.Hosts) != 1 || one.Hosts[0].Name != "www.shop.test" || one.Hosts[0].RTT != 10 {
		t.Errorf("servers are %+v, want that of the page alone", one.Hosts)
	}
	again, merged, err := one.OneHost()
	must(t, err)
	if merged != 0 || !slices.Equal(again.Origins(), one.Origins()) {
		t.Errorf("%d more hosts are gone, left are %q", merged, again.Origins())
	}
}

func TestGzip(t *testing.T) {
	s := sharded(t)
	short, n, err := s.Gzip()
	must(t, err)
	if n != 2 {
		t.Errorf("%d resources are compressed, want the page and the script", n)
	}
	for i := range short.Resources {
		r, before := &short.Resources[i], &s.Resources[i]
		if long := before.Size >= gzipLeast; (r.Size < before.Size) != long {
			t.Errorf("%s has %d octets, before %d", r.URL, r.Size, before.Size)
		}
		was, err := s.Content(before)
		must(t, err)
		is, err := short.Content(r)
		must(t, err)
		if !bytes.Equal(was, is) {
			t.Errorf("%s has another content", r.URL)
		}
	}
	page, _ := short.Lookup("GET", short.Page)
	body, err := short.Body(page)
	must(t, err)
	plain, err := gzip.NewReader(bytes.NewReader(body))
	must(t, err)
	if _, err := io.Copy(io.Discard, plain); err != nil {
		t.Error(err)
	}
	if _, n, err := short.Gzip(); n != 0 || err != nil {
		t.Errorf("%d resources are compressed twice, %v", n, err)
	}
}

func TestPreloadFonts(t *testing.T) {
	s, err := sharded(t).Edit(func(s *Site) error {
		s.Resources[0].Preload, s.Resources[0].Early = []string{"https://img.shop.test/a.png"}, true
		return nil
	})
	must(t, err)
	hinted, added, err := s.PreloadFonts()
	must(t, err)
	page, _ := hinted.Lookup("GET", hinted.Page)
	if want := []string{"https://img.shop.test/a.png", "https://css.shop.test/f.woff2"}; !slices.Equal(page.Preload, want) || added != 1 || !page.Early {
		t.Errorf("the page announces %q (%d new, early %t), want %q", page.Preload, added, page.Early, want)
	}
	if _, added, err = hinted.PreloadFonts(); added != 0 || err != nil {
		t.Errorf("%d fonts are announced twice, %v", added, err)
	}
}

func TestReferencesWithChanges(t *testing.T) {
	l := Library{Dir: filepath.Join(t.TempDir(), "sites")}
	must(t, l.Keep(sharded(t)))
	must(t, l.KnownRef("sharded+one-host+gzip"))
	s, err := l.Open(t.Context(), "sharded+one-host+gzip+preload-fonts")
	must(t, err)
	must(t, s.Verify(t.Context()))
	page, _ := s.Lookup("GET", s.Page)
	if coding, _ := page.field("content-encoding"); len(s.Origins()) != 3 || coding != "gzip" || len(page.Preload) != 1 || s.Name != "sharded" {
		t.Errorf("%s has the hosts %q, its page the coding %q and the preloads %q", s.Name, s.Origins(), coding, page.Preload)
	}
	must(t, s.Close())
	made, err := l.Open(t.Context(), "objects@3x2kB+gzip")
	must(t, err)
	if made.Resources[1].Size >= 2000 {
		t.Errorf("an image has %d octets", made.Resources[1].Size)
	}
	for ref, want := range map[string]string{
		"sharded+gzp":       `site "sharded+gzp": unknown change "gzp"; after + comes one of one-host, gzip, preload-fonts`,
		"sharded+":          `site "sharded+": unknown change ""; after + comes one of one-host, gzip, preload-fonts`,
		"sharded+gzip+gzip": `site "sharded+gzip+gzip": it names the change gzip twice`,
		"+gzip":             "",
	} {
		_, err := l.Open(t.Context(), ref)
		if known := l.KnownRef(ref); err == nil || known == nil || err.Error() != known.Error() || want != "" && err.Error() != want {
			t.Errorf("%s: %v and %v, want %s", ref, err, known, want)
		}
	}
}
