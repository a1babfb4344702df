package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wiretime/capture"
)

// TestFindTakesProgramsOnly skips a folder and a file that is not executable.
func TestFindTakesProgramsOnly(t *testing.T) {
	dir := t.TempDir()
	program, text := filepath.Join(dir, "program"), filepath.Join(dir, "text")
	for name, mode := range map[string]os.FileMode{program: 0o755, text: 0o644} {
		if err := os.WriteFile(name, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	missing := filepath.Join(dir, "missing")
	for _, tt := range []struct {
		chosen, binary, looked string
		candidates             []string
	}{
		{"", program, "", []string{missing, dir, text, program}},
		{program, program, "", []string{missing}},
		{text, "", text, []string{program}},
		{"", "", missing + ", " + text, []string{missing, text}},
	} {
		if binary, looked := Find(tt.chosen, tt.candidates); binary != tt.binary || looked != tt.looked {
			t.Errorf("chosen %q of %q: %q, looked for %q", tt.chosen, tt.candidates, binary, looked)
		}
	}
}

func TestOutputKeepsItsEnd(t *testing.T) {
	var o Output
	if hint := o.Hint(); hint != "" {
		t.Errorf("before a word: %q", hint)
	}
	for range 100 {
		if n, err := o.Write([]byte(strings.Repeat("x", 100))); n != 100 || err != nil {
			t.Fatal(n, err)
		}
	}
	_, _ = o.Write([]byte(" the end\n"))
	if hint := o.Hint(); !strings.HasPrefix(hint, "; the browser's last output: x") || !strings.HasSuffix(hint, "x the end") || len(hint) > keptOutput+100 {
		t.Errorf("%d octets: %q", len(hint), hint)
	}
}

func TestQueryIsSorted(t *testing.T) {
	got := Query("https://h/p?b=2&a=1&b=1#f")
	want := []capture.Pair{{Name: "a", Value: "1"}, {Name: "b", Value: "2"}, {Name: "b", Value: "1"}}
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("%v, want %v", got, want)
	}
	if got := Query("http://[::1"); got != nil {
		t.Errorf("without a URL: %v", got)
	}
}

func TestReadClock(t *testing.T) {
	timing, fetchStart, err := ReadClock(`{"dcl":2,"onLoad":3.5,"ttfb":1,"fetchStart":0.5,"fcp":-1,"lcp":-1,"lastResource":3}`)
	if err != nil || timing.DCL != 2 || timing.OnLoad != 3.5 || timing.TTFB != 1 || timing.FCP != -1 || timing.LastResource != 3 || fetchStart != 0.5 {
		t.Errorf("%+v, %v, %v", timing, fetchStart, err)
	}
	if _, _, err := ReadClock("undefined"); err == nil || !strings.Contains(err.Error(), "read the page's timing") {
		t.Errorf("without a clock: %v", err)
	}
}

func TestEmpty(t *testing.T) {
	for _, test := range []struct {
		method string
		status int64
		want   bool
	}{
		{"GET", 200, false}, {"GET", 204, true}, {"POST", 205, true}, {"GET", 304, true}, {"HEAD", 200, true}, {"GET", 404, false}, {"GET", 0, false},
	} {
		if got := Empty(test.method, test.status); got != test.want {
			t.Errorf("%s answered with %d: %t, want %t", test.method, test.status, got, test.want)
		}
	}
}
