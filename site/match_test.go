package site

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"wiretime/costtest"
)

// of makes a site from requests, each "METHOD URL", with empty bodies; the first is the
// page.
func of(t testing.TB, requests ...string) *Site {
	t.Helper()
	s := Site{Name: "of"}
	for _, request := range requests {
		method, rawURL, _ := strings.Cut(request, " ")
		s.Resources = append(s.Resources, Resource{Method: method, URL: rawURL, Status: 200, Body: emptyHash})
	}
	s.Page = s.Resources[0].URL
	made, err := New(s, map[string][]byte{emptyHash: nil})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestMatch covers each sentence of the rule.
func TestMatch(t *testing.T) {
	const host = "https://a.test"
	for _, c := range []struct {
		name     string
		archived string // queries of one path; - means no query
		asked    string
		want     string
	}{
		{"the very query", "a=1 a=2 -", "a=2", "a=2"},
		{"the very query, though others share more names", "b=1&c=1&d=1 b=1", "b=1", "b=1"},
		{"one that changes with time", "id=1&_=1000 id=2&_=1001", "id=2&_=2000", "id=2&_=1001"},
		{"equal parameters in another order", "x=9&y=8 a=1&b=2", "b=2&a=1", "a=1&b=2"},
		{"most equal ones", "a=1&b=0&c=0 a=1&b=2&c=0", "a=1&b=2&c=3", "a=1&b=2&c=0"},
		{"the greatest share, not the greatest number", "a=1&b=2&c=3&d=4&e=5&f=6&g=7 a=1&b=2", "a=1&b=2&z=0", "a=1&b=2"},
		{"a parameter that occurs twice counts twice", "a=1 a=1&a=1", "a=1&a=1&t=5", "a=1&a=1"},
		{"a parameter that is requested once counts once", "a=1&a=1&a=1 a=1&b=1", "a=1&b=2", "a=1&b=1"},
		{"equal names where no value is", "x=1&y=1 t=1", "t=2", "t=1"},
		{"equal names though one has no query at all", "- t=1", "t=2", "t=1"},
		{"the longest beginning where all else is alike", "t=1699 t=1701 t=17", "t=1705", "t=1701"},
		{"the first of equals", "a=1 b=1", "c=2", "a=1"},
		{"none where a query is", "a=1 a=2", "-", "a=1"},
		{"a query where none is", "-", "t=5", "-"},
		{"names without values", "debug&t=1 t=2", "debug&t=3", "debug&t=1"},
		{"empty parameters are none", "&&a=1 b=1", "a=1", "&&a=1"},
		{"percent-encoding in a query is not undone", "q=%41&z=1 q=A", "q=A&z=2", "q=A"},
	} {
		t.Run(c.name, func(t *testing.T) {
			address := func(query string) string {
				if query == "-" {
					return host + "/path"
				}
				return host + "/path?" + query
			}
			requests := []string{"GET https://a.test/", "GET https://a.test/path/more?" + c.asked, "POST " + address("-"), "GET https://b.test/path?" + c.asked}
			for query := range strings.FieldsSeq(c.archived) {
				requests = append(requests, "GET "+address(query))
			}
			s := of(t, requests...)
			r, exact := s.Match("GET", address(c.asked))
			if r == nil || r.Method != "GET" || r.URL != address(c.want) || exact != (c.asked == c.want) {
				t.Errorf("got %+v, exact %v, want %s", r, exact, address(c.want))
			}
		})
	}
}

func TestMatchByMethodHostAndPath(t *testing.T) {
	s := of(t, "GET https://a.test/", "GET https://a.test/get?t=1", "POST https://a.test/post?t=1", "HEAD https://a.test/head?t=1", "GET https://a.test/head?t=2")
	for _, c := range []struct{ method, url, want string }{
		{"GET", "https://a.test/get?t=2", "GET https://a.test/get?t=1"},
		{"GET", "http://A.test:80/%67et?t=2#there", "GET https://a.test/get?t=1"},
		{"HEAD", "https://a.test/get?t=2", "GET https://a.test/get?t=1"},
		{"HEAD", "https://a.test/head?t=3", "HEAD https://a.test/head?t=1"},
		{"HEAD", "https://a.test/head?t=2", "GET https://a.test/head?t=2"},
		{"POST", "https://a.test/post?t=2", "POST https://a.test/post?t=1"},
		{"POST", "https://a.test/get?t=1", ""},
		{"GET", "https://a.test/post?t=1", ""},
		{"GET", "https://b.test/get?t=1", ""},
		{"GET", "https://a.test/gets?t=1", ""},
		{"GET", "/get?t=1", ""},
		{"GET", "https://a.test/%zz", ""},
	} {
		got := ""
		if r, _ := s.Match(c.method, c.url); r != nil {
			got = r.Method + " " + r.URL
		}
		if got != c.want {
			t.Errorf("%s %s: %q, want %q", c.method, c.url, got, c.want)
		}
	}
}

func TestRespond(t *testing.T) {
	s := threeOrigins(t)
	header := [][2]string{{"content-type", "text/javascript"}, {"vary", "a"}, {"vary", "b"}}
	for _, c := range []struct {
		method, host, path string
		want               Answer
	}{
		{"GET", "cdn.three.test", "/x.js?v=1", Answer{Resource: &s.Resources[0], Exact: true, Status: 200, Header: header, Body: []byte("1")}},
		{"GET", "cdn.three.test", "/x.js?v=2", Answer{Resource: &s.Resources[0], Status: 200, Header: header, Body: []byte("1")}},
		{"GET", "cdn.three.test", "/y.js", Answer{}},
		{"GET", "cdn.three.test", "*", Answer{}},
		{"GET", "nobody.test", "/", Answer{}},
	} {
		if got := s.Respond(c.method, c.host, c.path); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %s%s: got %+v, want %+v", c.method, c.host, c.path, got, c.want)
		}
	}
}

func TestRespondToPreflights(t *testing.T) {
	s := of(t, "GET https://a.test/", "POST https://a.test/post?t=1", "GET https://a.test/with", "OPTIONS https://a.test/with?t=1")
	s.Resources[1].Header = []Header{{"Access-Control-Allow-Origin", "https://www.a.test"}, {"Access-Control-Allow-Credentials", "true"}}
	methods, fields := [2]string{"access-control-allow-methods", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"}, [2]string{"access-control-allow-headers", "*, authorization"}
	for _, c := range []struct {
		path string
		want Answer
	}{
		{"/", Answer{Exact: true, Status: 204, Header: [][2]string{{"access-control-allow-origin", "*"}, methods, fields}}},
		{"/?t=1", Answer{Status: 204, Header: [][2]string{{"access-control-allow-origin", "*"}, methods, fields}}},
		{"/post?t=2", Answer{Status: 204, Header: [][2]string{{"access-control-allow-origin", "https://www.a.test"}, methods, fields, {"access-control-allow-credentials", "true"}}}},
		{"/with", Answer{Resource: &s.Resources[3], Status: 200, Header: [][2]string{}, Body: nil}},
		{"/nothing", Answer{}},
	} {
		if got := s.Respond("OPTIONS", "a.test", c.path); fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", c.want) {
			t.Errorf("%s: got %+v, want %+v", c.path, got, c.want)
		}
	}
}

func FuzzMatch(f *testing.F) {
	archived := []string{
		"GET https://a.test/", "GET https://a.test/p", "GET https://a.test/p?a=1", "GET https://a.test/p?a=1&b=2", "POST https://a.test/p?a=1",
		"GET https://a.test/a%2Fb?x", "GET https://a.test/a/b?x", "GET https://b.test/p?a=1",
	}
	f.Add("GET", "https://a.test/p?a=2&b=2")
	f.Add("HEAD", "http://A.TEST:1/%70?&&=&a")
	f.Add("OPTIONS", "https://a.test/a%2fb?%zz")
	f.Add("", "https://a.test?#\xff")
	f.Fuzz(func(t *testing.T, method, rawURL string) {
		s := of(t, archived...)
		var r *Resource
		var exact bool
		costtest.Check(t, len(method)+len(rawURL), cost, func() { r, exact = s.Match(method, rawURL) })
		found, ok := s.Lookup(method, rawURL)
		if exact != ok || exact && r != found || exact && r == nil {
			t.Errorf("match %v, exact %v, but lookup %v", r, exact, found)
		}
		if r == nil {
			return
		}
		if again, _ := of(t, archived...).Match(method, rawURL); again.URL != r.URL {
			t.Errorf("%s, then %s", r.URL, again.URL)
		}
		asked, err := key(r.Method, rawURL)
		if err != nil {
			t.Fatal(err)
		}
		had, _ := key(r.Method, r.URL)
		asked, _, _ = strings.Cut(asked, "?")
		had, _, _ = strings.Cut(had, "?")
		if asked != had || r.Method != method && method != "HEAD" {
			t.Errorf("%s %s was answered by %s %s", method, rawURL, r.Method, r.URL)
		}
	})
}
