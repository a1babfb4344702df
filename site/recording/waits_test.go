package recording_test

import (
	"testing"

	"wiretime/site/recording"
)

// TestWaits checks what a script's wait counts from, so that it excludes network time.
func TestWaits(t *testing.T) {
	const page, first, second = "https://a.test/", "https://a.test/1.js", "https://a.test/2.js"
	took := func(ms float64) func(*recording.Exchange) {
		return func(e *recording.Exchange) { e.Took = ms }
	}
	for _, c := range []struct {
		name      string
		others    []recording.Exchange
		entry     recording.Exchange
		loaded    float64
		busy      []recording.Span
		initiator string
		delay     float64
		afterLoad bool
	}{
		{name: "the script itself", entry: entry("https://b.test/x", "image/gif", by(first, "script"), at(27)), initiator: first, delay: 7},
		{name: "a script that comes later in the document", entry: entry("https://b.test/x", "image/gif", by(first, "script"), at(107)), initiator: second, delay: 7},
		{name: "a script before it", entry: entry("https://b.test/x", "image/gif", by(second, "script"), at(107)), initiator: second, delay: 7},
		{
			name:   "what the script had asked for",
			others: []recording.Exchange{entry("https://b.test/data", "", by(first, "script"), as("xhr"), at(20), took(180))},
			entry:  entry("https://b.test/x", "image/gif", by(first, "script"), at(203)), initiator: "https://b.test/data", delay: 3,
		},
		{
			name:   "not what another script had asked for",
			others: []recording.Exchange{entry("https://b.test/data", "", by(second, "script"), as("xhr"), at(100), took(100))},
			entry:  entry("https://b.test/x", "image/gif", by(first, "script"), at(203)), initiator: second, delay: 103,
		},
		{
			name:   "not an image",
			others: []recording.Exchange{entry("https://b.test/i", "image/png", by(first, "script"), at(20), took(180))},
			entry:  entry("https://b.test/x", "image/gif", by(first, "script"), at(203)), initiator: second, delay: 103,
		},
		{name: "the load event", loaded: 300, entry: entry("https://b.test/x", "image/gif", by(first, "script"), at(340)), initiator: second, delay: 40, afterLoad: true},
		{name: "work is part of what a made script does", busy: []recording.Span{{From: 20, To: 26}}, entry: entry("https://b.test/x", "image/gif", by(first, "script"), at(27)), initiator: first, delay: 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &recording.Recording{Loaded: c.loaded, Busy: c.busy, Exchanges: append(append([]recording.Exchange{
				entry(page, "text/html", at(0)), entry(first, "text/javascript", by(page, "parser"), at(10), took(10)), entry(second, "text/javascript", by(page, "parser"), at(11), took(89)),
			}, c.others...), c.entry)}
			s, _, err := r.Site("x", recording.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got, ok := s.Lookup("GET", c.entry.URL)
			if !ok || got.Initiator != c.initiator || got.Delay != c.delay || got.AfterLoad != c.afterLoad {
				t.Errorf("%+v, want it requested by %s after %v ms", got, c.initiator, c.delay)
			}
			crawl(t, s)
		})
	}
}

// TestWaitsWithoutWork covers a recorded script, which runs again in the replay and takes
// its own time.
func TestWaitsWithoutWork(t *testing.T) {
	body := func(text string) func(*recording.Exchange) {
		return func(e *recording.Exchange) { e.Body, e.HasBody, e.Size = []byte(text), true, int64(len(text)) }
	}
	r := &recording.Recording{
		Busy: recording.Unite([]recording.Span{{From: 50, To: 60}, {From: 16, To: 20}, {From: 18, To: 30}, {From: 90, To: 200}}),
		Exchanges: []recording.Exchange{
			entry("https://a.test/", "text/html", at(0), body("<script src=s.js></script>")), entry("https://a.test/s.js", "text/javascript", at(10), body("go()")),
			entry("https://b.test/x", "image/gif", by("https://a.test/s.js", "script"), at(100), body("GIF89a")),
		},
	}
	s, _, err := r.Site("x", recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// The script arrived 85 ms earlier and worked for 14, 10 and 10 ms of them.
	if got, ok := s.Lookup("GET", "https://b.test/x"); !ok || got.Delay != 51 {
		t.Errorf("%+v, want it requested after 51 ms", got)
	}
}
