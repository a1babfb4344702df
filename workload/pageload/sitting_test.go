package pageload

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/lab"
	"wiretime/lab/labtest"
	"wiretime/network"
	"wiretime/site"
)

// TestSessionGoesOnAfterFailedLoads makes a session whose first and fourth loads fail. The other loads use the
// same connection, and a failed load leaves nothing in the cache that later loads must find there.
func TestSessionGoesOnAfterFailedLoads(t *testing.T) {
	l := labtest.New(t, labtest.Config(1))
	page, err := site.Objects(1, 100)
	if err != nil {
		t.Fatal(err)
	}
	v := returning{newPlain(l)}
	link := network.Link{Delay: time.Millisecond}
	load := Load{Order: Order{
		Path: network.Path{Name: "short", Access: []network.Access{{Name: "access", Up: link, Down: link}}}, Seed: 7,
		TCP: lab.TCPOptions{Congestion: "cubic", InitCwnd: 10}, Protocol: "http/1.1", Visit: "again", Timeout: 20 * time.Second,
	}, Site: page, Session: v}
	s, err := Sit(t.Context(), l, load)
	if err != nil {
		t.Fatal(err)
	}
	torn := errors.New("the page is torn")
	began := time.Duration(-1)
	for i, test := range []struct{ fails, revisited bool }{{fails: true}, {}, {revisited: true}, {fails: true, revisited: true}, {revisited: true}} {
		load.Place, load.Dir = Place{Load: i + 1, Of: 5}, t.TempDir()
		v.fails = nil
		if test.fails {
			v.fails = torn
		}
		record, err := s.Load(t.Context(), load)
		if err != nil {
			t.Fatal(err)
		}
		if errors.Is(record.LoadError, torn) != test.fails || !test.fails && record.LoadError != nil {
			t.Errorf("load %d: error %v", i+1, record.LoadError)
		}
		if e := record.HAR.Log.Entries[0]; e.Revisited != test.revisited {
			t.Errorf("load %d: the document is marked as revisited: %v, want %v", i+1, e.Revisited, test.revisited)
		}
		if len(record.Server) != 1 || record.Server[0].Connection != 1 {
			t.Errorf("load %d: the server's log is %+v, want one request on connection 1", i+1, record.Server)
		}
		if *record.Began <= began {
			t.Errorf("load %d began at %v, the load before at %v", i+1, *record.Began, began)
		}
		began = *record.Began
		if n := len(labtest.ReadCapture(t, load.Dir).Records); n == 0 {
			t.Errorf("load %d has an empty capture", i+1)
		}
	}
	if len(v.kept) != 4 {
		t.Errorf("the loader came back %d times, want 4", len(v.kept))
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestOnlyWholeResponsesAreRemembered: a later visit need not find in the cache what an earlier one did not receive whole.
func TestOnlyWholeResponsesAreRemembered(t *testing.T) {
	entry := func(url string, change func(*capture.Entry)) capture.Entry {
		e := capture.Entry{Request: capture.Request{Method: http.MethodGet, URL: url}, Response: capture.Response{Status: http.StatusOK}}
		change(&e)
		return e
	}
	har := &capture.HAR{Log: capture.Log{Entries: []capture.Entry{
		entry("whole", func(*capture.Entry) {}),
		entry("posted", func(e *capture.Entry) { e.Request.Method = http.MethodPost }),
		entry("missing", func(e *capture.Entry) { e.Response.Status = http.StatusNotFound }),
		entry("broken off", func(e *capture.Entry) { e.Response.Error = "net::ERR_CONNECTION_RESET" }),
		entry("still streaming", func(e *capture.Entry) { e.Unawaited = "unfinished" }),
	}}}
	var r loading
	r.remember(har)
	r.markRevisited(har)
	for _, e := range har.Log.Entries {
		if e.Revisited != (e.Request.URL == "whole") {
			t.Errorf("%s: revisited %v", e.Request.URL, e.Revisited)
		}
	}
}

// closing counts how often it is closed.
type closing struct {
	*plain
	closed *int
}

func (c closing) Close() error { *c.closed++; return c.plain.Close() }

// TestSessionIsClosedAfterAnError has loads that cannot even start.
func TestSessionIsClosedAfterAnError(t *testing.T) {
	l := labtest.New(t, labtest.Config(1))
	page, err := site.Objects(1, 100)
	if err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]Order{
		"unknown protocol":                        {Protocol: "h4"},
		"2 access links, this lab was built with": {Protocol: "http/1.1", Path: network.Path{Name: "two", Access: make([]network.Access, 2)}},
	} {
		closed := 0
		_, err := Run(t.Context(), l, Load{Order: o, Site: page, Session: closing{newPlain(l), &closed}, Dir: t.TempDir()})
		if err == nil || !strings.Contains(err.Error(), want) || closed != 1 {
			t.Errorf("error %v, and the loader's session was closed %d times; want %q, and once", err, closed, want)
		}
	}
}
