package check_test

import (
	"errors"
	"slices"
	"testing"

	"wiretime/capture"
	"wiretime/replay"
	"wiretime/site/check"
	"wiretime/workload/pageload"
)

// load is the result of a load over a protocol in which the server was asked for these URLs.
func load(protocol string, urls ...string) check.Result {
	r := check.Result{Protocol: protocol, Record: &pageload.Record{}}
	for _, u := range urls {
		r.Record.Server = append(r.Record.Server, capture.ServerEntry{Method: "GET", URL: u})
	}
	return r
}

// TestComplete: loads are complete if each page loaded with all it requested, and all loads
// requested the same.
func TestComplete(t *testing.T) {
	const page, script = "https://www.a.test/", "https://www.a.test/a.js"
	miss, failure, unloaded := load("h2", page), load("h2", page), load("h2", page)
	miss.Verdict.Misses = []string{script}
	failure.Verdict.Failed = []replay.Failure{{URL: script, Reason: "connection reset"}}
	unloaded.Record.LoadError = errors.New("the page did not finish loading")
	tests := []struct {
		name        string
		results     []check.Result
		complete    bool
		differences []string
	}{
		{"one load", []check.Result{load("h2", page, script)}, true, nil},
		{"the same over both", []check.Result{load("h2", page, script), load("h3", script, page)}, true, nil},
		{"the same in the clear", []check.Result{load("h2", page), load("http/1.1", "http://www.a.test/")}, true, nil},
		{"a miss", []check.Result{miss}, false, nil},
		{"a failure", []check.Result{failure}, false, nil},
		{"a page that did not load", []check.Result{unloaded}, false, nil},
		{"more over one", []check.Result{load("h2", page), load("h3", page, script)}, false, []string{"GET " + script + " (h3)"}},
		{"more over two of three", []check.Result{load("h2", page, script), load("http/1.1", page), load("h3", page, script)}, false, []string{"GET " + script + " (h2, h3)"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := check.Differences(test.results); !slices.Equal(got, test.differences) {
				t.Errorf("Differences returns %q, want %q", got, test.differences)
			}
			if got := check.Complete(test.results); got != test.complete {
				t.Errorf("Complete returns %v, want %v", got, test.complete)
			}
		})
	}
	if got := check.Loaded([]check.Result{unloaded, load("h3", page)}); len(got) != 1 || got[0].Protocol != "h3" {
		t.Errorf("Loaded returns %v, want the load over h3 only", got)
	}
}

func TestProtocols(t *testing.T) {
	tests := []struct {
		loader string
		names  []string
		want   []string // none: an error
	}{
		{pageload.Chromium, []string{"h3", "http/1.1"}, []string{"h3", "http/1.1"}},
		{pageload.Builtin, []string{"spdy/3.1"}, []string{"spdy/3.1"}},
		{pageload.Chromium, []string{"spdy/3.1"}, nil},
		{pageload.Builtin, []string{"h4"}, nil},
		{pageload.Chromium, nil, []string{"http/1.1", "https/1.1", "h2", "h3"}},
	}
	for _, test := range tests {
		rows, err := check.Protocols(test.loader, test.names)
		var names []string
		for _, p := range rows {
			names = append(names, p.Name)
		}
		if !slices.Equal(names, test.want) || (err == nil) != (test.want != nil) {
			t.Errorf("Protocols(%q, %q) returns %q and the error %v, want %q", test.loader, test.names, names, err, test.want)
		}
	}
}
