package site

import (
	"bytes"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"wiretime/coding"
)

func TestClearReferences(t *testing.T) {
	hosts := map[string]bool{"a.test": true, "www.a.test": true, "x-1.a.test": true}
	for _, c := range []struct{ name, text, want string }{
		{"a link", `<a href="https://a.test/x?y#z">`, `<a href="http://a.test/x?y#z">`},
		{"several hosts", `https://a.test https://www.a.test https://b.test https://x-1.a.test`, `http://a.test http://www.a.test https://b.test http://x-1.a.test`},
		{"one directly after the other", `https://a.testhttps://a.test/https://a.test`, `https://a.testhttp://a.test/http://a.test`},
		{"in capitals", `HTTPS://A.Test/`, `HTTP://A.Test/`},
		{"JSON's slashes", `"https:\/\/a.test\/x"`, `"http:\/\/a.test\/x"`},
		{"JSON's slashes as numbers", `"https:\u002F\u002Fa.test\u002fx" "https:\u002f\u002fa.test"`, `"http:\u002F\u002Fa.test\u002fx" "http:\u002f\u002fa.test"`},
		{"HTML's slashes as numbers", `https:&#x2F;&#x2F;a.test&#x2F; https:&#47;&#47;a.test`, `http:&#x2F;&#x2F;a.test&#x2F; http:&#47;&#47;a.test`},
		{"the end of a sentence", `See https://a.test.`, `See http://a.test.`},
		{"a longer name", `https://a.test.evil.example/ https://ba.test/ https://a.tests/ https://a.test-x/ https://a.test_x/`, `https://a.test.evil.example/ https://ba.test/ https://a.tests/ https://a.test-x/ https://a.test_x/`},
		{"the port of https", `https://a.test:443/x https://a.test:443`, `http://a.test/x http://a.test`},
		{"another port", `https://a.test:8443/x https://a.test:4430/`, `https://a.test:8443/x https://a.test:4430/`},
		{"a colon without a port", `"https://a.test":1 https://a.test: x`, `"http://a.test":1 http://a.test: x`},
		{"a user", `https://me@a.test/`, `https://me@a.test/`},
		{"no scheme", `//a.test/ s://a.test ttps://a.test`, `//a.test/ s://a.test ttps://a.test`},
		{"in the clear already", `http://a.test/`, `http://a.test/`},
		{"a half", `https:`, `https:`},
		{"another half", `https:/`, `https:/`},
		{"a query is the request's own", `/?u=https%3A%2F%2Fa.test`, `/?u=https%3A%2F%2Fa.test`},
		{"within a query", `https://b.test/?u=https://a.test/`, `https://b.test/?u=http://a.test/`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := []byte(c.text)
			if got := string(clearReferences(text, hosts)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if string(text) != c.text {
				t.Error("the input was changed in place")
			}
		})
	}
}

func FuzzClearReferences(f *testing.F) {
	f.Add([]byte(`<a href="https://a.test:443/">https:\/\/a.test.</a>`))
	f.Add([]byte("https://a.test\xff:https:https://"))
	hosts := map[string]bool{"a.test": true}
	f.Fuzz(func(t *testing.T, text []byte) {
		got := clearReferences(text, hosts)
		if len(got) > len(text) {
			t.Errorf("%q became longer: %q", text, got)
		}
		if again := clearReferences(got, hosts); !bytes.Equal(again, got) {
			t.Errorf("%q changes once more, to %q", got, again)
		}
		restored := bytes.ReplaceAll(bytes.ToLower(bytes.ReplaceAll(got, []byte(":443"), nil)), []byte("https:"), []byte("http:"))
		if want := bytes.ReplaceAll(bytes.ToLower(bytes.ReplaceAll(text, []byte(":443"), nil)), []byte("https:"), []byte("http:")); !bytes.Equal(restored, want) {
			t.Errorf("%q became %q: an unrelated part was changed", text, got)
		}
	})
}

// coded lists content codings and combinations of them.
var coded = []string{"", "gzip", "x-gzip", "deflate", "br", "zstd", "gzip, br", "identity"}

// page makes some kB of HTML that names hosts.
func page(hosts ...string) []byte {
	var b bytes.Buffer
	for i := range 200 {
		fmt.Fprintf(&b, "<p id=%d>%s<img src=\"https://%s/%d.png\">\n", i, words[i%len(words)], hosts[i%len(hosts)], i*i)
	}
	return b.Bytes()
}

// compressed applies content codings to a body, at a low or high level.
func compressed(t *testing.T, body []byte, names string, hard bool) []byte {
	t.Helper()
	list, ok := (&Resource{Header: []Header{{"content-encoding", names}}}).codings()
	if !ok {
		t.Fatalf("%q is not known", names)
	}
	for _, name := range list {
		level, hardest := coding.Levels(name)
		if hard {
			level = hardest
		}
		var err error
		body, err = coding.Encode(body, name, level)
		must(t, err)
	}
	return body
}

// TestOver checks that over http each reference is an octet shorter, whatever the content
// coding, and that nothing else differs.
func TestOver(t *testing.T) {
	text := page("www.over.test", "cdn.over.test", "elsewhere.test")
	want := bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("https://www"), []byte("http://www")), []byte("https://cdn"), []byte("http://cdn"))
	for _, names := range coded {
		for _, hard := range []bool{false, true} {
			t.Run(fmt.Sprintf("%q %v", names, hard), func(t *testing.T) {
				body := compressed(t, text, names, hard)
				s := &Site{Name: "over", Page: "https://www.over.test/", bodies: map[string][]byte{}}
				s.addResource(s.Page, []Header{{"Content-Type", "text/html"}, {"Content-Encoding", names}, {"Location", "https://cdn.over.test/"}}, body)
				s.addResource("https://cdn.over.test/same.png", []Header{{"content-type", "image/png"}}, []byte("https://www.over.test/"))
				must(t, s.build())
				before := slices.Clone(s.Resources)
				clear, err := s.Over("http")
				must(t, err)
				a := clear.Respond("GET", "www.over.test", "/")
				list, _ := a.Resource.codings()
				got, err := coding.Decode(a.Body, list, maxDecoded)
				must(t, err)
				if !bytes.Equal(got, want) {
					t.Errorf("got %.200s", got)
				}
				coding, otherCoding := names, strings.Contains(names, "br") || strings.Contains(names, "zstd")
				if otherCoding {
					coding = "gzip"
				}
				if !reflect.DeepEqual(a.Header, [][2]string{{"Content-Type", "text/html"}, {"Content-Encoding", coding}, {"Location", "http://cdn.over.test/"}}) {
					t.Errorf("fields are %q", a.Header)
				}
				// The size stays nearly the same although https and http are now mixed.
				if a.Resource.Size != int64(len(a.Body)) || !otherCoding && math.Abs(float64(len(a.Body))/float64(len(body))-1) > 0.03 {
					t.Errorf("%d octets, size %d; %d over https", len(a.Body), a.Resource.Size, len(body))
				}
				if image := clear.Respond("GET", "cdn.over.test", "/same.png"); string(image.Body) != "https://www.over.test/" {
					t.Errorf("the image is %q", image.Body)
				}
				if r, _ := clear.Lookup("GET", "http://www.over.test/"); r == nil || r.URL != s.Page {
					t.Errorf("found %v", r)
				}
				must(t, clear.Verify(t.Context()))
				must(t, s.Verify(t.Context()))
				if !reflect.DeepEqual(s.Resources, before) {
					t.Error("the site itself was changed")
				}
				again, err := clear.Over("http")
				must(t, err)
				if !reflect.DeepEqual(again.Resources, clear.Resources) {
					t.Error("a second time it changes again")
				}
			})
		}
	}
}

// TestOverMappedBodies checks that unchanged mapped bodies are shared, and that the result
// can be saved.
func TestOverMappedBodies(t *testing.T) {
	made := threeOrigins(t)
	made.addResource("https://www.three.test/link", []Header{{"content-type", "text/html"}}, []byte("https://cdn.three.test/"))
	must(t, made.build())
	dir := filepath.Join(t.TempDir(), "three")
	must(t, made.Save(dir))
	s := reopen(t, dir)
	if same, err := s.Over("https"); err != nil || same != s {
		t.Errorf("over https it is another site, %v", err)
	}
	clear, err := s.Over("http")
	must(t, err)
	shared, err := clear.Body(&clear.Resources[1])
	must(t, err)
	if mapped, err := s.Body(&s.Resources[1]); err != nil || &mapped[0] != &shared[0] {
		t.Error("an unchanged body was copied")
	}
	again := filepath.Join(t.TempDir(), "again")
	must(t, clear.Save(again))
	if got := contents(t, reopen(t, again))["https://www.three.test/link"]; got != "http://cdn.three.test/" {
		t.Errorf("after saving and opening the body is %q", got)
	}
}

func TestOverLeavesWhatItCannotRead(t *testing.T) {
	body := page("www.over.test")
	for _, c := range []struct {
		name   string
		header []Header
		body   []byte
	}{
		{"no content type", nil, body},
		{"a type that is no text", []Header{{"content-type", "application/octet-stream"}}, body},
		{"a damaged coding", []Header{{"content-type", "text/html"}, {"content-encoding", "gzip"}}, compressed(t, body, "gzip", true)[:200]},
		{"a wrong coding", []Header{{"content-type", "text/html"}, {"content-encoding", "zstd"}}, body},
		{"an unknown coding", []Header{{"content-type", "text/html"}, {"content-encoding", "compress"}}, body},
		{"no reference, and a coding that is not what would be made", []Header{{"content-type", "text/html"}, {"content-encoding", "gzip"}}, compressed(t, page("b.test"), "gzip", false)},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &Site{Name: "over", Page: "https://www.over.test/", bodies: map[string][]byte{}}
			s.addResource(s.Page, c.header, c.body)
			must(t, s.build())
			clear, err := s.Over("http")
			must(t, err)
			if a := clear.Respond("GET", "www.over.test", "/"); !bytes.Equal(a.Body, c.body) {
				t.Errorf("%d octets became %d others", len(c.body), len(a.Body))
			}
		})
	}
	if _, err := threeOrigins(t).Over("ftp"); err == nil || !strings.Contains(err.Error(), `"ftp": unsupported scheme: want http or https`) {
		t.Errorf("error is %v", err)
	}
}

// TestOverFields checks that only fields that browsers follow or compare are changed.
func TestOverFields(t *testing.T) {
	s := threeOrigins(t)
	s.Resources[1].Header = []Header{
		{"Access-Control-Allow-Origin", "https://www.three.test"}, {"content-security-policy", "img-src https://img.three.test https://b.test"},
		{"link", "<https://cdn.three.test/x.js?v=1>; rel=preload; as=script"}, {"refresh", "5; url=https://www.three.test/a%20page"}, {"x-other", "https://www.three.test/"},
	}
	clear, err := s.Over("http")
	must(t, err)
	want := []Header{
		{"Access-Control-Allow-Origin", "http://www.three.test"}, {"content-security-policy", "img-src http://img.three.test https://b.test"},
		{"link", "<http://cdn.three.test/x.js?v=1>; rel=preload; as=script"}, {"refresh", "5; url=http://www.three.test/a%20page"}, {"x-other", "https://www.three.test/"},
	}
	if !reflect.DeepEqual(clear.Resources[1].Header, want) {
		t.Errorf("got %q", clear.Resources[1].Header)
	}
	if s.Resources[1].Header[0].Value != "https://www.three.test" {
		t.Error("the site itself was changed")
	}
}

// TestOverKeepsIntegrity checks that a page's digests of its scripts follow the scripts'
// changes.
func TestOverKeepsIntegrity(t *testing.T) {
	sum := func(body string) string {
		s := sha512.Sum384([]byte(body))
		return "sha384-" + base64.StdEncoding.EncodeToString(s[:])
	}
	script, plain := "fetch('https://www.over.test/data')", "alert(1)"
	s := &Site{Name: "over", Page: "https://www.over.test/", bodies: map[string][]byte{}}
	html := []Header{{"content-type", "text/html"}}
	js := []Header{{"content-type", "application/javascript; charset=utf-8"}, {"content-encoding", "br"}}
	s.addResource(s.Page, html, []byte("<script integrity=\""+sum(script)+"\"></script><script integrity=\""+sum(plain)+"\"></script>"))
	s.addResource("https://cdn.over.test/a.js", js, compressed(t, []byte(script), "br", true))
	s.addResource("https://cdn.over.test/b.js", js, compressed(t, []byte(plain), "br", true))
	must(t, s.build())
	clear, err := s.Over("http")
	must(t, err)
	want := "<script integrity=\"" + sum("fetch('http://www.over.test/data')") + "\"></script><script integrity=\"" + sum(plain) + "\"></script>"
	if got := clear.Respond("GET", "www.over.test", "/").Body; string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestEncodeLikeBefore checks that recoding keeps the size nearly the same, also where a
// lower level compresses better than a higher one.
func TestEncodeLikeBefore(t *testing.T) {
	text := page("www.over.test", "cdn.over.test")
	for _, name := range []string{"gzip", "deflate", "br", "zstd"} {
		fastest, hardest := coding.Levels(name)
		for level := fastest; level <= hardest; level++ {
			body, err := coding.Encode(text, name, level)
			must(t, err)
			again, err := encodeLike(text, text, body, []string{name})
			must(t, err)
			if math.Abs(float64(len(again))/float64(len(body))-1) > 0.015 {
				t.Errorf("%s, level %d: %d octets became %d", name, level, len(body), len(again))
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, name := range []string{"gzip", "deflate", "br", "zstd"} {
		f.Add(name, []byte{})
		_, hardest := coding.Levels(name)
		b, err := coding.Encode(page("a.test"), name, hardest)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(name, b)
	}
	f.Fuzz(func(t *testing.T, names string, body []byte) {
		r := Resource{Header: []Header{{"content-encoding", names}}}
		list, ok := r.codings()
		if !ok || len(list) > 2 {
			return
		}
		plain, err := coding.Decode(body, list, maxDecoded)
		if err != nil || len(plain) > 1<<20 {
			return
		}
		again, err := encodeLike(plain, plain, body, list)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := coding.Decode(again, list, maxDecoded); err != nil || !bytes.Equal(back, plain) {
			t.Errorf("after another round trip it has %d octets, want %d: %v", len(back), len(plain), err)
		}
	})
}

func TestOverHTTPBrotliAndZstdBecomeGzip(t *testing.T) {
	text := []byte(strings.Repeat("Neither is accepted without TLS. ", 100))
	bodies := map[string][]byte{}
	var resources []Resource
	for _, name := range []string{"br", "zstd", "gzip"} {
		_, hardest := coding.Levels(name)
		body, err := coding.Encode(text, name, hardest)
		if err != nil {
			t.Fatal(err)
		}
		bodies[Hash(body)] = body
		resources = append(resources, Resource{
			Method: "GET", URL: "https://www.coded.test/" + name, Status: 200, Body: Hash(body),
			Header: []Header{{"Content-Encoding", name}, {"content-type", "font/otf"}},
		})
	}
	s, err := New(Site{Name: "coded", Page: resources[0].URL, Resources: resources}, bodies)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Over("http")
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Resources {
		r := &c.Resources[i]
		if coding, _ := r.field("content-encoding"); coding != "gzip" {
			t.Errorf("%s has the content coding %q, want gzip", r.URL, coding)
		}
		if content, err := c.Content(r); err != nil || string(content) != string(text) {
			t.Errorf("%s changed: %v", r.URL, err)
		}
	}
	if coding, _ := s.Resources[0].field("content-encoding"); coding != "br" {
		t.Errorf("the site itself has changed: %q", coding)
	}
}
