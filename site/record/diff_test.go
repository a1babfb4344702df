package record_test

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"wiretime/site"
	"wiretime/site/record"
)

// archive makes a site of objects as the shop would serve them.
func archive(t *testing.T, name string, objects map[string]object) *site.Site {
	t.Helper()
	s := site.Site{Name: name, Page: "https://www.p.test/"}
	bodies := map[string][]byte{}
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		o := objects[key]
		method, url, _ := strings.Cut(key, " ")
		r := site.Resource{Method: method, URL: url, Status: max(o.status, 200)}
		coding := ""
		for line := range strings.Lines(o.header) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			r.Header = append(r.Header, site.Header{Name: strings.ToLower(name), Value: value})
			if name == "Content-Encoding" {
				coding = value
			}
		}
		body := bytes.Clone(coded(coding, o.body))
		r.Body = site.Hash(body)
		bodies[r.Body] = body
		s.Resources = append(s.Resources, r)
	}
	made, err := site.New(s, bodies)
	must(t, err)
	return made
}

func TestDiff(t *testing.T) {
	page := object{header: html, body: "<p>A page"}
	one := map[string]object{
		"GET https://www.p.test/":           page,
		"GET https://www.p.test/coded.js":   {header: js + "\nContent-Encoding: gzip", body: "run()"},
		"GET https://www.p.test/gone.png":   {header: png, body: "1"},
		"GET https://www.p.test/was":        {header: plain, body: "12"},
		"GET https://www.p.test/grew":       {header: plain, body: "12"},
		"GET https://www.p.test/changed":    {header: plain, body: "12"},
		"GET https://www.p.test/ad?t=1&s=a": {header: png, body: "a"},
		"GET https://www.p.test/ad?t=1&s=b": {header: png, body: "b"},
		"GET https://www.p.test/stamp?t=1":  {header: png, body: "a"},
		"POST https://www.p.test/log":       {status: 204},
	}
	other := map[string]object{
		"GET https://www.p.test/":             {header: "Content-Type: text/html", body: page.body},
		"GET https://www.p.test/coded.js":     {header: js + "\nContent-Encoding: br", body: "run()"},
		"GET https://www.p.test/was":          {status: 404, header: html, body: "12"},
		"GET https://www.p.test/grew":         {header: plain, body: "123"},
		"GET https://www.p.test/changed":      {header: plain, body: "21"},
		"GET https://www.p.test/ad?t=2&s=b":   {header: png, body: "b"},
		"GET https://www.p.test/ad?t=2&s=a":   {header: png, body: "a"},
		"GET https://www.p.test/stamp?t=2&u=": {header: png, body: "ab"},
		"GET https://www.p.test/log":          {status: 204},
	}
	want := `https://www.p.test/ad?t=1&s=a: other query in two: t=2
https://www.p.test/ad?t=1&s=b: other query in two: t=2
https://www.p.test/changed: another body of the same size, 2 octets
https://www.p.test/gone.png: only in one
https://www.p.test/grew: size 2 octets, then 3
https://www.p.test/log: only in two
POST https://www.p.test/log: only in one
https://www.p.test/stamp?t=1: other query in two: t=2, with u=; size 1 octets, then 2
https://www.p.test/was: status 200, then 404; type text/plain, then text/html
`
	a, b := archive(t, "one", one), archive(t, "two", other)
	if got := record.Diff(a, b).String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for _, s := range []*site.Site{a, b} {
		if got := record.Diff(s, s).String(); got != "The two are the same.\n" {
			t.Errorf("a site compared with itself: %s", got)
		}
	}
}
