package outline

import (
	"slices"
	"testing"

	"wiretime/site"
)

func TestOutline(t *testing.T) {
	bodies := map[string][]byte{}
	resource := func(address, mediaType, body string) site.Resource {
		h := site.Hash([]byte(body))
		bodies[h] = []byte(body)
		return site.Resource{Method: "GET", URL: address, Status: 200, Header: []site.Header{{Name: "Content-Type", Value: mediaType}}, Body: h, Size: int64(len(body))}
	}
	const page, style, script = "https://www.a.test/", "https://cdn.a.test/s.css", "https://cdn.a.test/app.js"
	redirect := resource("https://www.a.test/go?a=1&b=2", "text/html", "")
	redirect.Status = 302
	redirect.Header = append(redirect.Header, site.Header{Name: "location", Value: "//cdn.a.test/pixel.gif"})
	beacon := resource("https://t.test/hit", "application/json", "{}")
	beacon.Initiator, beacon.Made = script, true
	s, err := site.New(site.Site{
		Name: "a", Page: page, Hosts: []site.Host{{Name: "cdn.a.test", Address: "192.0.2.7", RTT: 12.5}},
		Resources: []site.Resource{
			resource(page, "text/html; charset=utf-8", `<link rel=stylesheet href="//cdn.a.test/s.css"><script src='https:\/\/cdn.a.test\/app.js'></script><img src="/go?a=1&amp;b=2">`),
			resource(style, "text/css", `@font-face{src:url(f.woff2)} b{background:url("../i.png")}`),
			resource(script, "text/javascript", `1`),
			resource("https://cdn.a.test/f.woff2", "font/woff2", "font"),
			resource("https://cdn.a.test/i.png", "image/png", "a larger image"),
			redirect,
			resource("https://cdn.a.test/pixel.gif", "image/gif", "GIF89a"),
			beacon,
			resource("https://www.a.test/nobody-asks", "text/plain", "x"),
		},
	}, bodies)
	if err != nil {
		t.Fatal(err)
	}
	o, err := Of(s)
	if err != nil {
		t.Fatal(err)
	}
	if o.Resources != 9 || o.Redirects != 1 || o.Made != 1 || o.Depth != 2 {
		t.Errorf("%d resources, %d redirects, %d made, depth %d; want 9, 1, 1, 2", o.Resources, o.Redirects, o.Made, o.Depth)
	}
	if len(o.Deepest) != 3 || o.Deepest[0] != page {
		t.Errorf("the deepest chain is %q, want three from the page on", o.Deepest)
	}
	var octets int64
	types := map[string]int{}
	for _, kind := range o.Types {
		types[kind.Name] = kind.Resources
		octets += kind.Octets
	}
	if octets != o.Octets {
		t.Errorf("the types add up to %d octets, all to %d", octets, o.Octets)
	}
	for name, want := range map[string]int{"document": 1, "style sheet": 1, "script": 1, "font": 1, "image": 2, "redirect": 1, "data": 1, "other": 1} {
		if types[name] != want {
			t.Errorf("%d of type %s, want %d", types[name], name, want)
		}
	}
	var hosts []string
	for _, h := range o.Hosts {
		hosts = append(hosts, h.Name)
	}
	if want := []string{"www.a.test", "cdn.a.test", "t.test"}; !slices.Equal(hosts, want) || o.Hosts[1].RTT != 12.5 || o.Hosts[1].Resources != 5 {
		t.Errorf("hosts %q, the second %+v; want %q, the second with address and 5 resources", hosts, o.Hosts[1], want)
	}
}
