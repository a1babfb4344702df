package firefox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/loader/browser/browsertest"
)

// Times in these tests are ms after an hour of 2024, in the browser's form: ms
// since the Unix epoch.
const hour = 1.72e12

// event returns an event of the browser; fields are members of the request.
func event(id string, redirects int, timings, fields string, more string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"context":"c","redirectCount":%d,"timestamp":%f,"request":{"request":%q,"method":"GET","timings":%s,
		"headers":[{"name":"Priority","value":{"type":"string","value":"u=5, i"}}],%s}%s}`, redirects, hour+500, id, timings, fields, more))
}

// at returns moments by name, in ms after hour.
func at(moments map[string]float64) string {
	all := map[string]float64{}
	for name, ms := range moments {
		all[name] = hour + ms
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return string(text)
}

const image = `"url":"https://www.page.test/a.png?b=c","destination":"image","initiatorType":"img"`

const answer = `,"response":{"url":"","protocol":"h3","status":200,"statusText":"","fromCache":false,"mimeType":"image/png",
	"headers":[{"name":"content-type","value":{"type":"string","value":"image/png"}}],"bytesReceived":5100,"bodySize":5000,"content":{"size":0}}`

// TestPhasesAddUp checks the phases of requests against the moments that the
// browser reports.
func TestPhasesAddUp(t *testing.T) {
	tests := []struct {
		name    string
		moments map[string]float64
		want    capture.Timings
	}{
		{"new connection",
			map[string]float64{"requestTime": 0, "dnsStart": 5, "dnsEnd": 25, "connectStart": 26, "connectEnd": 86, "tlsStart": 46, "tlsEnd": 86, "requestStart": 88, "responseStart": 128, "responseEnd": 200},
			capture.Timings{Blocked: 8, DNS: 20, Connect: 60, SSL: 40, Wait: 40, Receive: 72}},
		{"open connection",
			map[string]float64{"requestTime": 0, "requestStart": 110, "responseStart": 160, "responseEnd": 200},
			capture.Timings{Blocked: 110, DNS: -1, Connect: -1, SSL: -1, Wait: 50, Receive: 40}},
		{"a connection opened for an earlier request",
			map[string]float64{"requestTime": 0, "dnsStart": -50, "dnsEnd": -30, "connectStart": -30, "connectEnd": 30, "tlsStart": -10, "requestStart": 30, "responseStart": 80, "responseEnd": 200},
			capture.Timings{Blocked: 0, DNS: -1, Connect: 30, SSL: 30, Wait: 50, Receive: 120}},
		{"a clock that went back",
			map[string]float64{"requestTime": 0, "requestStart": 90, "responseStart": 80, "responseEnd": 200},
			capture.Timings{Blocked: 80, DNS: -1, Connect: -1, SSL: -1, Receive: 120}},
		{"no moments", map[string]float64{"requestTime": 0, "responseEnd": 200}, capture.Timings{Blocked: 200, DNS: -1, Connect: -1, SSL: -1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := newRequestLog()
			l.note("network.beforeRequestSent", event("1", 0, at(map[string]float64{"requestTime": 0}), image, `,"initiator":{"type":"other"}`))
			l.note("network.responseCompleted", event("1", 0, at(test.moments), image, answer))
			e := l.har("153.0", capture.Timing{}).Log.Entries[0]
			browsertest.CheckPhases(t, e, test.want, 1e-2)
		})
	}
}

// TestHAREntry checks the other fields of a HAR entry, and that it can be written
// and read.
func TestHAREntry(t *testing.T) {
	l := newRequestLog()
	l.note("network.beforeRequestSent", event("0", 0, at(nil), `"url":"data:,","destination":"image"`, ""))
	l.note("network.beforeRequestSent", event("1", 0, at(map[string]float64{"requestTime": 4}), image, `,"initiator":{"type":"other"}`))
	l.note("network.responseCompleted", event("1", 0, at(map[string]float64{"requestTime": 4, "responseEnd": 200}), image, answer))
	l.note("network.beforeRequestSent", event("2", 0, at(map[string]float64{"requestTime": 5}), `"url":"https://www.page.test/gone.css","destination":"style"`, ""))
	l.note("network.fetchError", event("2", 0, at(map[string]float64{"requestTime": 5}), `"url":"https://www.page.test/gone.css","destination":"style"`, `,"errorText":"NS_ERROR_NET_RESET"`))
	l.note("network.beforeRequestSent", event("3", 0, at(map[string]float64{"requestTime": 6}), `"url":"https://www.page.test/slow","destination":"","initiatorType":"fetch"`, ""))
	l.note("network.responseStarted", json.RawMessage(`not JSON`))
	if n := l.underWay(); n != 1 {
		t.Errorf("%d requests are in flight, want 1", n)
	}
	timing := capture.Timing{NavigationStart: l.navigationStart(4), DCL: 100, OnLoad: 250, FCP: -1, LCP: -1}
	name := filepath.Join(t.TempDir(), "load.har")
	must(t, capture.WriteHAR(name, l.har("153.7.0", timing)))
	har, err := capture.ReadHAR(name)
	must(t, err)
	if n := len(har.Log.Entries); n != 3 {
		t.Fatalf("%d entries, want 3: a data: URL is not a request", n)
	}
	e := har.Log.Entries[0]
	if e.Protocol != "h3" || e.Response.TransferSize != 5100 || e.Response.Content.Size != 5000 || e.Response.Content.MimeType != "image/png" ||
		e.ResourceType != "image" || len(e.Request.QueryString) != 1 || e.Request.Headers[0].Value != "u=5, i" || e.FromCache != "" || e.Initiator.Type != "other" {
		t.Errorf("entry %+v", e)
	}
	if failed := har.Log.Entries[1]; failed.Response.Error != "NS_ERROR_NET_RESET" || failed.Response.Status != 0 || failed.ResourceType != "stylesheet" {
		t.Errorf("the failed request is %+v", failed)
	}
	if slow := har.Log.Entries[2]; slow.Response.Error == "" || slow.ResourceType != "fetch" || slow.Time != 0 {
		t.Errorf("the unfinished request is %+v", slow)
	}
	// The document was requested at 4 ms, which is 4 ms after the page's time origin.
	if want := time.UnixMilli(hour); har.Log.Pages[0].Started.Sub(want).Abs() > time.Microsecond {
		t.Errorf("the page started at %v, want %v", har.Log.Pages[0].Started, want)
	}
	if har.Log.Browser != (capture.Program{Name: "Firefox", Version: "153.7.0"}) {
		t.Errorf("browser %+v", har.Log.Browser)
	}
}

// TestRedirectsAreRequestsOfTheirOwn checks that each hop has its entry. Both have
// the same number.
func TestRedirectsAreRequestsOfTheirOwn(t *testing.T) {
	l := newRequestLog()
	l.note("network.beforeRequestSent", event("1", 0, at(map[string]float64{"requestTime": 1}), `"url":"https://www.page.test/old"`, ""))
	l.note("network.responseCompleted", event("1", 0, at(map[string]float64{"requestTime": 1, "responseEnd": 2}), `"url":"https://www.page.test/old"`,
		`,"response":{"status":301,"protocol":"h2","headers":[{"name":"Location","value":{"type":"string","value":"/new"}}]}`))
	l.note("network.beforeRequestSent", event("1", 1, at(map[string]float64{"requestTime": 3}), image, ""))
	if n := l.underWay(); n != 1 {
		t.Errorf("%d requests in flight, want only the second hop", n)
	}
	l.note("network.responseCompleted", event("1", 1, at(map[string]float64{"requestTime": 3, "responseEnd": 9}), image, answer))
	entries := l.har("", capture.Timing{}).Log.Entries
	if len(entries) != 2 || entries[0].Response.Status != 301 || entries[0].Response.RedirectURL != "/new" || entries[1].Response.Status != 200 {
		t.Errorf("entries %+v", entries)
	}
}

// FuzzNote accepts whatever a browser may send, and writes it as HAR.
func FuzzNote(f *testing.F) {
	f.Add("network.beforeRequestSent", []byte(event("1", 0, at(map[string]float64{"requestTime": 4}), image, "")))
	f.Add("network.responseCompleted", []byte(event("1", 0, at(map[string]float64{"requestTime": 4, "responseEnd": -3}), image, answer)))
	f.Add("network.fetchError", []byte(`{"request":{"url":"http://a/"}}`))
	f.Fuzz(func(t *testing.T, method string, params []byte) {
		l := newRequestLog()
		l.note("network.beforeRequestSent", params)
		l.note(method, params)
		for _, e := range l.har("", capture.Timing{}).Log.Entries {
			s := e.Timings
			if e.Time < 0 || s.Blocked < 0 || s.Send < 0 || s.Wait < 0 || s.Receive < 0 || s.SSL > max(0, s.Connect) {
				t.Errorf("entry %+v", e)
			}
		}
	})
}

// TestOutput finds the browser's endpoint in its output, however it is split, and
// keeps the end of the output.
func TestOutput(t *testing.T) {
	o := newOutput()
	for _, piece := range []string{"*** You are running in headless mode.\nWebDriver BiDi list", "ening on ws://127.0.0.1:40", "123\n", "WebDriver BiDi listening on ws://127.0.0.1:1\n"} {
		if n, err := o.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatal(n, err)
		}
	}
	if got := <-o.listening; got != "127.0.0.1:40123" {
		t.Errorf("it listens at %s", got)
	}
	_, _ = o.Write([]byte(strings.Repeat("x", 4000) + " the end"))
	if hint := o.Hint(); !strings.HasSuffix(hint, "x the end") || len(hint) > 2100 {
		t.Errorf("the hint has %d octets and ends with %q", len(hint), hint[len(hint)-10:])
	}
}

// TestFindNamesWhereItLooked searches for a browser that does not exist.
func TestFindNamesWhereItLooked(t *testing.T) {
	_, err := Find("/nonexistent/firefox")
	if !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "/nonexistent/firefox") {
		t.Errorf("error %v, want ErrMissing and where it looked", err)
	}
}

// TestLaunchSaysWhy starts programs that are not browsers.
func TestLaunchSaysWhy(t *testing.T) {
	program := filepath.Join(t.TempDir(), "firefox")
	must(t, os.WriteFile(program, []byte("#!/bin/sh\necho cannot open display >&2\nexit 3\n"), 0o755))
	for _, test := range []struct{ binary, want string }{
		{program, "it exited with exit status 3; the browser's last output: cannot open display"},
		{"/nonexistent/firefox", "no such file"},
	} {
		folder := filepath.Join(t.TempDir(), "profile")
		must(t, os.Mkdir(folder, 0o700))
		_, err := Launch(t.Context(), Options{Binary: test.binary, Folder: folder, Enter: inPlace})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want one with %q", err, test.want)
		}
		if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the profile is left behind: %v", err)
		}
	}
}

// inPlace leaves a program where it is.
func inPlace(*exec.Cmd) {}
