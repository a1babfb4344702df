package capture

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wiretime/costtest"
)

// TestReadRealHARs reads HARs that browsers and other tools of 2015 to 2022
// wrote.
func TestReadRealHARs(t *testing.T) {
	const folder = "../../shared/data/har"
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("the HARs of other tools are not here: %v", err)
	}
	for _, c := range []struct {
		file           string
		entries, pages int
		onLoad         float64
		first          string
		version        string
	}{
		{"nytimes-2015.har", 328, 2, 2797, "http://www.nytimes.com/", "1.1"},
		{"ferguson-2022-h2-h3.har", 174, 1, 5386.001, "https://www.ferguson.com/", "h2"},
		{"spdy-chrome.har", 19, 1, 741.610999990371, "https://www.wikipedia.org/", "spdy/3.1"},
		{"spdy-firefox.har", 18, 1, 712, "https://www.wikipedia.org/", "HTTP/1.1"},
		{"enorm-magazin-with-bodies.har", 65, 1, 7167.734999999993, "http://enorm-magazin.de/", "HTTP/1.1"},
		{"h2o-examp1e-with-bodies.har", 16, 1, 1350.8640000072774, "https://h2o.examp1e.net/", "unknown"},
	} {
		t.Run(c.file, func(t *testing.T) {
			h, err := ReadHAR(filepath.Join(folder, c.file))
			if err != nil {
				t.Fatal(err)
			}
			if len(h.Log.Entries) != c.entries || len(h.Log.Pages) != c.pages {
				t.Fatalf("%d entries of %d pages, want %d of %d", len(h.Log.Entries), len(h.Log.Pages), c.entries, c.pages)
			}
			if got := h.Log.Pages[0].Timings.OnLoad; got != c.onLoad {
				t.Errorf("onLoad %v ms, want %v", got, c.onLoad)
			}
			e := h.Log.Entries[0]
			if e.Request.URL != c.first || e.Request.HTTPVersion != c.version || e.Started.IsZero() {
				t.Errorf("first entry %s over %s at %s, want %s over %s", e.Request.URL, e.Request.HTTPVersion, e.Started, c.first, c.version)
			}
			path := filepath.Join(t.TempDir(), "again.har")
			if err := WriteHAR(path, h); err != nil {
				t.Fatal(err)
			}
			again, err := ReadHAR(path)
			if err != nil {
				t.Fatal(err)
			}
			for i := range h.Log.Entries {
				e, f := h.Log.Entries[i], again.Log.Entries[i]
				if !e.Started.Equal(f.Started) || e.Timings != f.Timings || e.Initiator != f.Initiator || e.Request.URL != f.Request.URL {
					t.Fatalf("entry %d reads %+v after writing, was %+v", i, f, e)
				}
			}
		})
	}
}

func TestParseHAR(t *testing.T) {
	h, err := ParseHAR([]byte("\xef\xbb\xbf" + `{"log": {"version": "1.2", "pages": [{"id": "p", "pageTimings": {"onLoad": 12.5}}], "entries": [
		{"startedDateTime": "2026-01-02T03:04:05.000000006Z", "time": 2.000001, "timings": {"send": 1, "wait": 1, "receive": 0},
		 "_initiator": {"type": "parser", "url": "https://a.test/", "lineNumber": 7.0}, "_fromCache": "memory"},
		{"_initiator": "https://a.test/x.css"}, {"_initiator": null}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := h.Log.Pages[0].Timings, (PageTimings{-1, 12.5, -1, -1}); got != want {
		t.Errorf("page timings %v, want %v", got, want)
	}
	e := h.Log.Entries[0]
	if want := (Timings{Blocked: -1, DNS: -1, Connect: -1, SSL: -1, Send: 1, Wait: 1}); e.Timings != want {
		t.Errorf("timings %v, want %v", e.Timings, want)
	}
	if want := (Initiator{"parser", "https://a.test/", 7}); e.Initiator != want || e.FromCache != "memory" {
		t.Errorf("initiator %v, cache %q", e.Initiator, e.FromCache)
	}
	if want := time.Date(2026, 1, 2, 3, 4, 5, 2_000_007, time.UTC); !e.End().Equal(want) {
		t.Errorf("end %v, want %v", e.End(), want)
	}
	if want := (Initiator{URL: "https://a.test/x.css"}); h.Log.Entries[1].Initiator != want {
		t.Errorf("initiator %v, want %v", h.Log.Entries[1].Initiator, want)
	}
	for source, want := range map[string]string{
		`{"entries": []}`:                  `no "log"`,
		`{"log": {"entries": 1}}`:          "entries",
		`{"log": {"entries": [{"time": ""`: "unexpected end",
		`{"log": {"pages": [{"id": "a"}, {"id": "b"}, {"id": "a"}]}}`:         `pages[2] has the ID "a" of pages[0]`,
		`{"log": {"pages": [{}` + strings.Repeat(`, {}`, 256) + `], "x": 1}}`: "257 pages, want at most 256",
	} {
		if _, err := ParseHAR([]byte(source)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v; want one with %q", source, err, want)
		}
	}
}

func TestWriteHARWholeOrNotAtAll(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "load.har")
	if err := WriteHAR(path, &HAR{Log: Log{Version: "1.2", Entries: []Entry{{Time: 1}}}}); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(before); strings.Contains(text, "null") || strings.Contains(text, "_initiator") {
		t.Errorf("the HAR has nulls or empty fields:\n%s", text)
	}
	tooLate := time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC) // RFC 3339 ends at the year 9999
	if err := WriteHAR(path, &HAR{Log: Log{Entries: []Entry{{Started: tooLate}}}}); err == nil {
		t.Fatal("a time that JSON cannot represent was written")
	}
	after, err := os.ReadFile(path)
	if err != nil || string(after) != string(before) {
		t.Errorf("the file changed although writing failed: %v", err)
	}
	if files, _ := os.ReadDir(folder); len(files) != 1 {
		t.Errorf("writing left %d files, want 1", len(files))
	}
	if err := WriteHAR(filepath.Join(folder, "absent", "load.har"), &HAR{}); err == nil {
		t.Error("a HAR was written into a folder that does not exist")
	}
}

func FuzzParseHAR(f *testing.F) {
	f.Add([]byte(`{"log": {"pages": [{"pageTimings": {}}], "entries": [{"_initiator": "x", "timings": {}}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		costtest.Check(t, len(data), harLimit, func() {
			if h, err := ParseHAR(data); err == nil && h == nil {
				t.Error("neither a HAR nor an error")
			}
		})
	})
}
