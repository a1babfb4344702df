package site

import (
	"bytes"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"wiretime/costtest"
)

// minimal is the smallest valid manifest; its body is empty.
const minimal = `{
  "format": 2,
  "name": "tiny",
  "page": "https://www.tiny.test/",
  "resources": [
    {
      "method": "GET",
      "url": "https://www.tiny.test/",
      "status": 200,
      "header": [
        {
          "name": "content-type",
          "value": "text/html"
        }
      ],
      "body": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
      "size": 0
    }
  ]
}
`

const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func TestManifestIsWrittenAsItWasRead(t *testing.T) {
	s, format, err := parseManifest([]byte(minimal))
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.encode()
	if err != nil {
		t.Fatal(err)
	}
	if format != packedFormat {
		t.Errorf("format is %d", format)
	}
	if string(got) != minimal {
		t.Errorf("got %s, want %s", got, minimal)
	}
}

func TestManifestRefuses(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"nonsense", minimal, "no json", "invalid character"},
		{"an unknown word", `"page"`, `"pages"`, `unknown field "pages"`},
		{"trailing data", "  ]\n}", "  ]\n} {}", "after top-level value"},
		{"a newer format", `"format": 2`, `"format": 3`, "upgrade wiretime"},
		{"another file", `"format": 2,`, "", "not a site archive"},
		{"a name with a slash", `"tiny"`, `"../tiny"`, "name"},
		{"a page that is not there", `"page": "https://www.tiny.test/"`, `"page": "https://www.tiny.test/x"`, "not among the resources"},
		{"a journey to nowhere", `"resources"`, `"journey": ["https://www.tiny.test/x"], "resources"`, "journey 0: https://www.tiny.test/x is not among the resources"},
		{"a journey in the clear", `"resources"`, `"journey": ["https://www.tiny.test/", "http://www.tiny.test/"], "resources"`, "journey 1: \"http://www.tiny.test/\": want https"},
		{"a tab of nothing", `"resources"`, `"tabs": [""], "resources"`, "tabs 0"},
		{"journey and tabs", `"resources"`, `"journey": ["https://www.tiny.test/"], "tabs": ["https://www.tiny.test/"], "resources"`, "cannot be combined"},
		{"a page in the clear", `"page": "https`, `"page": "http`, "want https"},
		{"a relative URL", `"url": "https://www.tiny.test/"`, `"url": "/"`, "want https"},
		{"a URL with a user", `"url": "https://`, `"url": "https://me@`, "without user"},
		{"a URL with a port", `"url": "https://www.tiny.test/"`, `"url": "https://www.tiny.test:8443/"`, "leave it out"},
		{"a URL without a path", `"url": "https://www.tiny.test/"`, `"url": "https://www.tiny.test"`, "want https"},
		{"a host in capitals", `"url": "https://www`, `"url": "https://WWW`, "lower case"},
		{"an address as host", `"url": "https://www.tiny.test`, `"url": "https://10.0.0.1`, "full name"},
		{"a method in lower case", `"GET"`, `"get"`, "in capitals"},
		{"an interim status", `200`, `103`, "want 200 to 599"},
		{"a header that splits", `"text/html"`, `"a\r\nb: c"`, "not a valid field"},
		{"a header of a connection", `"content-type"`, `"Transfer-Encoding"`, "not to the page"},
		{"a header that leads to another protocol", `"content-type"`, `"alt-svc"`, "not to the page"},
		{"a body outside the archive", emptyHash, "../../etc/passwd", "not a SHA-256"},
		{"a body in capitals", emptyHash, strings.ToUpper(emptyHash), "not a SHA-256"},
		{"a negative size", `"size": 0`, `"size": -1`, "0 or more"},
		{"a resource twice", `[
    {`, `[
    {"method": "GET", "url": "https://www.tiny.test/", "status": 200, "body": "` + emptyHash + `", "size": 0},
    {`, "duplicate resource"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(minimal, c.old, c.new, 1)
			if text == minimal {
				t.Fatal("the case does not change the manifest")
			}
			_, _, err := parseManifest([]byte(text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want one with %q", err, c.want)
			}
		})
	}
}

func FuzzParseManifest(f *testing.F) {
	f.Add([]byte(minimal))
	f.Add([]byte(strings.Replace(minimal, `test/"`, `test/%41/%2f?q=%zz#"`, 2)))
	f.Add([]byte(`{"format":1,"name":"a","page":"https://a.b/","resources":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s *Site
		var err error
		costtest.Check(t, len(data), cost, func() { s, _, err = parseManifest(data) })
		if err != nil {
			return
		}
		for _, r := range s.Resources {
			if found, ok := s.Lookup(r.Method, r.URL); !ok || found.URL != r.URL {
				t.Errorf("%s %s is not found by its own URL", r.Method, r.URL)
			}
			if filepath.Base(r.Body) != r.Body || len(r.Body) != 64 {
				t.Errorf("body %q is not a hash", r.Body)
			}
		}
		if origins := s.Origins(); len(origins) == 0 || strings.Contains(strings.Join(origins, ""), ":") {
			t.Errorf("origins are %q", origins)
		}
		first, err := s.encode()
		if err != nil {
			t.Fatal(err)
		}
		again, _, err := parseManifest(first)
		if err != nil {
			t.Fatalf("the written manifest cannot be read: %v\n%s", err, first)
		}
		if second, _ := again.encode(); !bytes.Equal(first, second) {
			t.Errorf("written again it differs:\n%s\n%s", first, second)
		}
	})
}

// threeOrigins makes a site in memory.
func threeOrigins(t *testing.T) *Site {
	t.Helper()
	s := &Site{Name: "three", Page: "https://www.three.test/a%20page", bodies: map[string][]byte{}}
	s.addResource("https://cdn.three.test/x.js?v=1", []Header{{"content-type", "text/javascript"}, {"vary", "a"}, {"vary", "b"}}, []byte("1"))
	s.addResource("https://www.three.test/a%20page", nil, []byte("page"))
	s.addResource("https://img.three.test/a%2Fb", nil, []byte("encoded slash"))
	s.addResource("https://img.three.test/a/b", nil, nil)
	if err := s.build(); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestLookup(t *testing.T) {
	s := threeOrigins(t)
	for _, c := range []struct{ method, url, want string }{
		{"GET", "https://www.three.test/a%20page", "https://www.three.test/a%20page"},
		{"GET", "http://www.three.test/a%20page", "https://www.three.test/a%20page"},
		{"GET", "https://WWW.three.test:8443/%61%20page#there", "https://www.three.test/a%20page"},
		{"HEAD", "https://www.three.test/a%20page", "https://www.three.test/a%20page"},
		{"POST", "https://www.three.test/a%20page", ""},
		{"GET", "https://cdn.three.test/x.js?v=1", "https://cdn.three.test/x.js?v=1"},
		{"GET", "https://cdn.three.test/x.js", ""},
		{"GET", "https://cdn.three.test/x.js?v=2", ""},
		{"GET", "https://img.three.test/a/b", "https://img.three.test/a/b"},
		{"GET", "https://img.three.test/a%2fb", "https://img.three.test/a%2Fb"},
		{"GET", "https://other.test/", ""},
		{"GET", "/a%20page", ""},
		{"GET", "https://www.three.test/%zz", ""},
	} {
		r, ok := s.Lookup(c.method, c.url)
		if ok != (c.want != "") || ok && r.URL != c.want {
			t.Errorf("%s %s: %v, want %q", c.method, c.url, r, c.want)
		}
	}
}

func TestOriginsBeginWithThePage(t *testing.T) {
	want := []string{"www.three.test", "cdn.three.test", "img.three.test"}
	if got := threeOrigins(t).Origins(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestNewRefuses covers what neither site.json nor a message can hold.
func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(s *Site, r *Resource)
		want   string
	}{
		{"a field in Latin-1", func(_ *Site, r *Resource) { r.Header = []Header{{"location", "/caf\xe9"}} }, "is not valid UTF-8"},
		{"a URL in Latin-1", func(_ *Site, r *Resource) { r.URL += "caf\xe9" }, "percent-encode it"},
		{"a kind in Latin-1", func(_ *Site, r *Resource) { r.Kind = "\xe9" }, "must be UTF-8"},
		{"a title in Latin-1", func(s *Site, _ *Resource) { s.Title = "caf\xe9" }, "title and source"},
		{"a wait that is no number", func(_ *Site, r *Resource) { r.Wait = math.NaN() }, "want 0 or more"},
		{"an endless delay", func(_ *Site, r *Resource) { r.Delay = math.Inf(1) }, "want 0 or more"},
		{"a negative wait", func(_ *Site, r *Resource) { r.Wait = -1 }, "want 0 or more"},
		{"a preload in the clear", func(_ *Site, r *Resource) { r.Preload = []string{"http://a.test/"} }, "preload and push"},
		{"a push of a path", func(_ *Site, r *Resource) { r.Push = []string{"/x"} }, "preload and push"},
		{"an initiator that is no URL", func(_ *Site, r *Resource) { r.Initiator = "script" }, "initiator"},
		{"a host that is none", func(s *Site, _ *Resource) { s.Hosts = []Host{{Name: "a"}} }, `hosts 0: host "a"`},
		{"a host without an address", func(s *Site, _ *Resource) { s.Hosts = []Host{{Name: "a.test", Address: "a.test"}} }, "hosts 0: a.test: address"},
		{"a host at a negative distance", func(s *Site, _ *Resource) { s.Hosts = []Host{{Name: "a.test", RTT: -1}} }, "rtt is -1 ms"},
		{"a body that is not there", func(_ *Site, r *Resource) { r.Body = Hash([]byte("x")) }, "has no body"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Site{Name: "new", Page: "https://a.test/", Resources: []Resource{
				{Method: "GET", URL: "https://a.test/", Status: 200, Body: emptyHash}, {Method: "GET", URL: "https://a_b.test/x", Status: 200, Body: emptyHash},
			}}
			if _, err := New(s, map[string][]byte{emptyHash: nil}); err != nil {
				t.Fatal(err)
			}
			c.change(&s, &s.Resources[1])
			if _, err := New(s, map[string][]byte{emptyHash: nil}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want one with %q", err, c.want)
			}
		})
	}
}
