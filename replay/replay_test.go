package replay

import (
	"slices"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/site"
)

// shop returns a page with a script and the script's requests.
func shop(t *testing.T) *site.Site {
	t.Helper()
	bodies := map[string][]byte{site.Hash(nil): {}}
	resource := func(method, address string) site.Resource {
		return site.Resource{Method: method, URL: address, Status: 200, Body: site.Hash(nil)}
	}
	s, err := site.New(site.Site{Name: "shop", Page: "https://www.shop.test/", Resources: []site.Resource{
		resource("GET", "https://www.shop.test/"), resource("GET", "https://cdn.shop.test/a.js"),
		resource("GET", "https://cdn.shop.test/b.png"), resource("POST", "https://www.shop.test/hit?n=1"),
	}}, bodies)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCompare(t *testing.T) {
	server := []capture.ServerEntry{
		{Method: "GET", URL: "http://www.shop.test/"},
		{Method: "HEAD", URL: "http://CDN.shop.test:80/a.js"},
		{Method: "POST", URL: "http://www.shop.test/hit?n=7", Near: "https://www.shop.test/hit?n=1"},
		{Method: "GET", URL: "http://www.shop.test/gone", Miss: true},
		{Method: "GET", URL: "http://www.shop.test/favicon.ico", Miss: true},
	}
	har := &capture.HAR{Log: capture.Log{Entries: []capture.Entry{
		{Request: capture.Request{URL: "http://www.shop.test/"}, Response: capture.Response{Status: 200}},
		{Request: capture.Request{URL: "http://cdn.shop.test/c"}, Response: capture.Response{Error: "net::ERR_FAILED"}},
		{Request: capture.Request{Method: "POST", URL: "http://www.shop.test/hit?n=8"}, Unawaited: "again"},
		{Request: capture.Request{Method: "POST", URL: "http://www.shop.test/hit?n=9"}, Unawaited: "again"},
	}}}
	v := Compare(shop(t), har, server)
	if v.Recorded != 4 || v.Requested != 3 || v.Share() != 0.75 {
		t.Errorf("%d of %d resources were requested, %v, want 3 of 4", v.Requested, v.Recorded, v.Share())
	}
	if want := []string{"https://cdn.shop.test/b.png"}; !slices.Equal(v.Never, want) {
		t.Errorf("never requested: %q, want %q", v.Never, want)
	}
	if want := []string{"https://www.shop.test/gone"}; !slices.Equal(v.Misses, want) {
		t.Errorf("misses: %q, want %q", v.Misses, want)
	}
	if want := []Inexact{{"https://www.shop.test/hit?n=7", "https://www.shop.test/hit?n=1"}}; !slices.Equal(v.Inexact, want) {
		t.Errorf("inexact: %q, want %q", v.Inexact, want)
	}
	if want := []Failure{{"https://cdn.shop.test/c", "net::ERR_FAILED"}}; !slices.Equal(v.Failed, want) {
		t.Errorf("failed: %q, want %q", v.Failed, want)
	}
	if want := []Failure{{"https://www.shop.test/hit?n=1", "again"}}; !slices.Equal(v.Unawaited, want) {
		t.Errorf("not waited for: %q, want %q", v.Unawaited, want)
	}
	if want := []string{"GET https://www.shop.test/", "GET https://www.shop.test/gone", "HEAD https://cdn.shop.test/a.js", "POST https://www.shop.test/hit?n=1"}; !slices.Equal(Requests(server), want) {
		t.Errorf("requests: %q, want %q", Requests(server), want)
	}
}

func TestLearnWhatAsksForWhat(t *testing.T) {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	entry := func(address, kind string, at, took float64, by capture.Initiator) capture.Entry {
		return capture.Entry{
			Request: capture.Request{Method: "GET", URL: address}, Response: capture.Response{Status: 200}, ResourceType: kind,
			Started: began.Add(time.Duration(at * 1e6)), Time: took, Initiator: by,
		}
	}
	script := capture.Initiator{Type: "script", URL: "http://cdn.shop.test/a.js"}
	har := &capture.HAR{Log: capture.Log{Pages: []capture.Page{{Started: began, Timings: capture.PageTimings{OnLoad: 40}}}, Entries: []capture.Entry{
		entry("http://www.shop.test/", "document", 0, 10, capture.Initiator{Type: "other"}),
		entry("http://cdn.shop.test/a.js", "script", 10, 20, capture.Initiator{Type: "parser", URL: "http://www.shop.test/"}),
		entry("http://cdn.shop.test/b.png", "image", 45, 5, script),
		entry("http://www.shop.test/hit?n=1", "ping", 25, 5, capture.Initiator{Type: "script", URL: "http://elsewhere.test/x.js"}),
	}}}
	learned, changed, err := Learn(shop(t), har)
	if err != nil {
		t.Fatal(err)
	}
	image := learned.Resources[2]
	if image.Initiator != "https://cdn.shop.test/a.js" || image.Kind != "image" || image.Delay != 5 || !image.AfterLoad {
		t.Errorf("the image is requested by %q as %q after %v ms, after the load event: %v, want the script, image, 5 ms, true", image.Initiator, image.Kind, image.Delay, image.AfterLoad)
	}
	if changed != 1 {
		t.Errorf("%d resources changed, want only the image: the initiator of the POST is not in the archive", changed)
	}
}
