package guest

import (
	"os"
	"strings"
	"testing"
	"time"

	"wiretime/needtest"
	"wiretime/network"
	"wiretime/site"
	"wiretime/workload/pageload"
)

// TestPagesThatDoNotEndByThemselves makes Chromium load pages on the virtual clock that
// request without end, wait for a visitor, or are on an HSTS-preloaded host: all of them
// load, and the HAR says what was done about it.
func TestPagesThatDoNotEndByThemselves(t *testing.T) {
	needtest.Long(t)
	const binary = "/usr/lib/chromium/chromium-headless-shell" // Debian's
	_, err := os.Stat(binary)
	needtest.Program(t, "Chromium", err)
	page := func(name, host, script string) *site.Site {
		html := []byte("<!DOCTYPE html><p>Hello<script>addEventListener('load', () => setTimeout(() => { " + script + " }));</script>")
		resource := func(path, kind string, body []byte) site.Resource {
			return site.Resource{Method: "GET", URL: "https://" + host + path, Status: 200, Header: []site.Header{{Name: "content-type", Value: kind}}, Body: site.Hash(body)}
		}
		s, err := site.New(site.Site{Name: name, Page: "https://" + host + "/", Resources: []site.Resource{
			resource("/", "text/html", html), resource("/again.json", "application/json", []byte("{}")),
		}}, map[string][]byte{site.Hash(html): html, site.Hash([]byte("{}")): []byte("{}")})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	restless := page("restless", "www.page.test", "const ask = () => fetch('/again.json?' + Math.random()).then((r) => r.text()).then(ask); ask()")
	dialogs := page("dialogs", "www.page.test", "alert(1); confirm(2); prompt(3); print(); open('/')")
	preloaded := page("preloaded", "accounts.google.com", "fetch('/again.json')")
	b := Batch{Station: stationConfig(1), Programs: true}
	b.Station.Chromium, b.Station.Lab.Unblocked = binary, false
	for _, c := range []struct{ site, row string }{
		{restless.Name, "h2"}, {dialogs.Name, "https/1.1"}, {preloaded.Name, "http/1.1"}, {preloaded.Name, "h2"},
	} {
		o := order(c.row, oneLink(network.Link{Delay: 20 * time.Millisecond}), 1)
		o.Loader, o.Timeout = pageload.Chromium, 20*time.Second
		b.Loads = append(b.Loads, Load{ID: c.site + "-" + name(c.row), Site: c.site, Order: o})
	}
	m := machine(1)
	m.Memory = 1 << 30
	loads := run(t, recordedHost(t, restless, dialogs, preloaded), m, b)
	for id, want := range map[string]string{
		"restless-h2":        "requests GET https://www.page.test/again.json: the page asks for it again and again",
		"dialogs-https-1.1":  `the page's prompt dialog "3" was answered with no; the page was refused another window`,
		"preloaded-http-1.1": "", "preloaded-h2": "",
	} {
		r := loads[id].record.(*pageload.Record)
		if r == nil || r.LoadError != nil || r.Timing.OnLoad <= 0 {
			t.Fatalf("%s: %+v", id, r)
		}
		if got := r.HAR.Log.Pages[0].Comment; !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: the page's comment is %q, want %q", id, got, want)
		}
	}
	clear := loads["preloaded-http-1.1"].record.(*pageload.Record)
	if to := clear.HAR.Log.RenamedDomains["google.com"]; to != "google.zzz" || len(clear.Server) != 2 || clear.Server[0].URL != "http://accounts.google.zzz/" {
		t.Errorf("google.com was renamed to %q, the server's log is %+v", to, clear.Server)
	}
	if over := loads["preloaded-h2"].record.(*pageload.Record); len(over.HAR.Log.RenamedDomains) > 0 || over.Server[0].URL != "https://accounts.google.com/" {
		t.Errorf("over TLS renamed were %v, the server's log is %+v", over.HAR.Log.RenamedDomains, over.Server)
	}
}
