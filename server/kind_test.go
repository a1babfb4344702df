package server

import (
	"errors"
	"strings"
	"testing"

	"wiretime/protocol"
	"wiretime/site"
)

func TestLookup(t *testing.T) {
	for _, name := range Names() {
		if k, err := Lookup(name); err != nil || k.Name != name {
			t.Error(name, err)
		}
	}
	if _, err := Lookup("ngnix"); err == nil || !strings.Contains(err.Error(), `did you mean "nginx"?`) {
		t.Error(err)
	}
}

func TestFindSaysWhatToInstall(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	k, err := Lookup("caddy")
	if err != nil {
		t.Fatal(err)
	}
	_, err = k.Find()
	if !errors.Is(err, ErrMissing) || err.Error() != "caddy: caddy is not installed: install Debian's package caddy" {
		t.Error(err)
	}
}

func TestSupports(t *testing.T) {
	own := Template{Name: "own", Command: []string{"own"}, Protocols: []string{"http/1.1", "h2"}}.Kind()
	page := site.Resource{Method: "GET", URL: "https://a.test/", Status: 200}
	with := func(change func(r *site.Resource)) []site.Resource {
		r := page
		r.URL += "x"
		change(&r)
		return []site.Resource{page, r}
	}
	for _, c := range []struct {
		kind, row string
		resources []site.Resource
		want      string // empty: it can
	}{
		{"nginx", "h2", []site.Resource{page}, ""},
		{"nginx", "h3", []site.Resource{page}, "nginx does not support h3, only http/1.1, https/1.1, h2"},
		{"netty", "spdy/3", []site.Resource{page}, "netty does not support spdy/3, only spdy/3.1"},
		{"nginx", "h2", with(func(r *site.Resource) { r.Method = "POST" }), ""},
		{"apache2", "h2", with(func(r *site.Resource) { r.Method = "POST" }), "apache2 supports only GET on files, and the site has POST https://a.test/x"},
		{"caddy", "h2", with(func(r *site.Resource) { r.Early = true }), "caddy does not support 103 Early Hints, which the site sends with https://a.test/x"},
		{"netty", "spdy/3.1", with(func(r *site.Resource) { r.Early = true }), ""},
		{"caddy", "h2", with(func(r *site.Resource) { r.Push = []string{"https://a.test/"} }), "caddy is not configured to push, and the site pushes with https://a.test/x"},
		{"caddy", "h3", with(func(r *site.Resource) { r.Push = []string{"https://a.test/"} }), ""},
		{"h2o", "h2", with(func(r *site.Resource) { r.Header = []site.Header{{Name: "x", Value: "\xff"}} }),
			`h2o cannot send x of https://a.test/x, whose value "\xff" is not plain text`},
		{"nginx", "h2", with(func(r *site.Resource) { r.Header = []site.Header{{Name: "x", Value: "\xff"}} }), ""},
		{"own", "h2", []site.Resource{page}, ""},
		{"own", "https/1.1", []site.Resource{page}, "own does not support https/1.1, only http/1.1, h2"},
		{"own", "h2", with(func(r *site.Resource) { r.Method = "POST" }), "own supports only GET on files, and the site has POST https://a.test/x"},
		{"own", "h2", with(func(r *site.Resource) { r.Status = 301 }), "own serves only plain files: https://a.test/x has status 301"},
		{"own", "h2", with(func(r *site.Resource) { r.Header = []site.Header{{Name: "Content-Encoding", Value: "br"}} }), "own serves only plain files: https://a.test/x has a content coding"},
		{"own", "h2", with(func(r *site.Resource) { r.URL = "https://a.test/?b"; r.Body = "other" }), "own serves only plain files: https://a.test/ and https://a.test/?b map to one file with two contents"},
		{"own", "h2", with(func(r *site.Resource) { r.URL = "https://a.test/index.html" }), ""},
		{"own", "h2", with(func(r *site.Resource) { r.URL = "https://a.test/index.html/b" }), "own serves only plain files: https://a.test/ is a file, and https://a.test/index.html/b is in a folder of that name"},
		{"own", "h2", with(func(r *site.Resource) { r.URL = "https://a.test/a%2F..%2F..%2Fb" }), "own serves only plain files: https://a.test/a%2F..%2F..%2Fb: its path is not a valid file path"},
		{"own", "h2", with(func(r *site.Resource) { r.URL = "https://a.test//b" }), "own serves only plain files: https://a.test//b: its path is not a valid file path"},
	} {
		k := own
		if c.kind != own.Name {
			var err error
			if k, err = Lookup(c.kind); err != nil {
				t.Fatal(err)
			}
		}
		p, err := protocol.Lookup(c.row)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := k.Supports(&site.Site{Resources: c.resources}, p); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
}
