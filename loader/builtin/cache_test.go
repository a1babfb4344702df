package builtin

import (
	"net/http"
	"testing"
	"time"
)

func TestCacheKeepsWhatMayBeKept(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	day := at.Add(-24 * time.Hour).Format(http.TimeFormat)
	tests := []struct {
		name   string
		status int
		header http.Header
		after  time.Duration
		kept   bool
		fresh  bool
	}{
		{"fresh for a minute, half a minute later", 200, http.Header{"Cache-Control": {"max-age=60"}}, 30 * time.Second, true, true},
		{"fresh for a minute, a minute later", 200, http.Header{"Cache-Control": {"max-age=60"}}, time.Minute, true, false},
		{"old on arrival", 200, http.Header{"Cache-Control": {"max-age=60"}, "Age": {"50"}}, 20 * time.Second, true, false},
		{"with other directives", 200, http.Header{"Cache-Control": {"public, Max-Age=60", "immutable"}}, 0, true, true},
		{"not to be stored", 200, http.Header{"Cache-Control": {"no-store, max-age=60"}}, 0, false, false},
		{"to be revalidated", 200, http.Header{"Cache-Control": {"no-cache"}, "Etag": {`"1"`}}, 0, true, false},
		{"to be revalidated, without a validator", 200, http.Header{"Cache-Control": {"no-cache"}}, 0, false, false},
		{"nothing said", 200, http.Header{}, 0, false, false},
		{"an invalid age", 200, http.Header{"Cache-Control": {"max-age=soon"}, "Etag": {`"1"`}}, 0, true, false},
		{"expires in an hour", 200, http.Header{"Date": {at.Format(http.TimeFormat)}, "Expires": {at.Add(time.Hour).Format(http.TimeFormat)}}, 59 * time.Minute, true, true},
		{"has expired", 200, http.Header{"Expires": {"0"}, "Last-Modified": {day}}, 0, true, false},
		{"a day old: a tenth of it", 200, http.Header{"Last-Modified": {day}}, 2 * time.Hour, true, true},
		{"a day old: more than a tenth", 200, http.Header{"Last-Modified": {day}}, 3 * time.Hour, true, false},
		{"varies by everything", 200, http.Header{"Cache-Control": {"max-age=60"}, "Vary": {"*"}}, 0, false, false},
		{"a redirect", 302, http.Header{"Cache-Control": {"max-age=60"}}, 0, false, false},
		{"a miss", 404, http.Header{"Cache-Control": {"max-age=60"}}, 0, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var c cache
			c.keep(&answer{url: "u", status: tt.status, header: tt.header, at: at})
			kept, fresh := c.find("u", http.Header{}, at.Add(tt.after))
			if (kept != nil) != tt.kept || fresh != tt.fresh {
				t.Errorf("kept %v, fresh %v; want %v, %v", kept != nil, fresh, tt.kept, tt.fresh)
			}
		})
	}
}

func TestCacheTellsVariantsApart(t *testing.T) {
	var c cache
	c.keep(&answer{
		url: "u", status: 200, request: http.Header{"Accept": {"image/*"}},
		header: http.Header{"Cache-Control": {"max-age=60"}, "Vary": {"accept, Cookie"}},
	})
	for _, tt := range []struct {
		request http.Header
		found   bool
	}{
		{http.Header{"Accept": {"image/*"}}, true},
		{http.Header{"Accept": {"image/*"}, "Referer": {"r"}}, true},
		{http.Header{"Accept": {"text/css"}}, false},
		{http.Header{"Accept": {"image/*"}, "Cookie": {"a=b"}}, false},
	} {
		if kept, _ := c.find("u", tt.request, time.Time{}); (kept != nil) != tt.found {
			t.Errorf("%v: found %v", tt.request, kept != nil)
		}
	}
}

// TestCacheRefreshes checks that after a 304 the stored body is fresh again, with
// the new fields.
func TestCacheRefreshes(t *testing.T) {
	var c cache
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c.keep(&answer{url: "u", status: 200, at: began, body: []byte("body"), header: http.Header{
		"Cache-Control": {"max-age=1"}, "Etag": {`"1"`}, "Last-Modified": {"then"}, "Content-Length": {"4"},
	}})
	later := began.Add(time.Hour)
	kept, fresh := c.find("u", http.Header{}, later)
	if kept == nil || fresh {
		t.Fatalf("kept %v, fresh %v", kept, fresh)
	}
	request := http.Header{}
	kept.ask(request)
	if request.Get("If-None-Match") != `"1"` || request.Get("If-Modified-Since") != "then" {
		t.Errorf("the conditions are %v", request)
	}
	c.refreshed(kept, http.Header{"Cache-Control": {"max-age=60"}, "Content-Length": {"0"}}, later)
	kept, fresh = c.find("u", http.Header{}, later.Add(59*time.Second))
	if kept == nil || !fresh || string(kept.body) != "body" || kept.header.Get("Content-Length") != "4" || kept.header.Get("Etag") != `"1"` {
		t.Errorf("after 304: %+v, fresh %v", kept, fresh)
	}
}
