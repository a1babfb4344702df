package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"wiretime/capture"
	"wiretime/loader/chromium"
	"wiretime/needtest"
)

// TestHARsOpenInOtherViewers has other people's programs open the HARs of pages and journeys over every protocol. Those of
// Chromium and Firefox are opened by the tests that load pages with them.
func TestHARsOpenInOtherViewers(t *testing.T) {
	t.Parallel()
	readersFolder(t)
	needChromium(t)
	u := self(t)
	u.addKernel(t)
	u.runs(t, 0, "run", u.write(t, "study.yaml", `name: viewers
repeats: 1
clock: virtual
matrix:
  sites: [objects@6x5kB, search@2]
  protocols: [http/1.1, https/1.1, spdy/2, spdy/3, spdy/3.1, h2, h3]
  networks: [{name: quick, rate: 10mbit, rtt: 20ms}]
  loaders: [builtin]
`), "--store", "kept")
	opensElsewhere(t, filepath.Join(u.home, "kept"))
}

// readersFolder returns the folder in which testdata/readers/install has put other people's programs that read what
// Wiretime writes.
func readersFolder(t *testing.T) string {
	t.Helper()
	folder, err := filepath.Abs("../../.cache/readers")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "done")); err != nil {
		needtest.Program(t, "readers", fmt.Errorf("other people's readers are not installed: run cmd/wiretime/testdata/readers/install .cache/readers (it needs node and npm): %w", err))
	}
	return folder
}

// readBy runs a program of testdata/readers and parses the JSON that it prints.
func readBy(t *testing.T, said any, program string, args ...string) {
	t.Helper()
	args = append([]string{filepath.Join("testdata", "readers", program), readersFolder(t)}, args...)
	var errs bytes.Buffer
	c := exec.CommandContext(t.Context(), "node", args...)
	c.Stderr = &errs
	out, err := c.Output()
	if err == nil {
		err = json.Unmarshal(out, said)
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", program, err, errs.String(), out)
	}
}

// opensElsewhere checks that the HARs of a store follow the schemas of two validators, and that two viewers show a row
// for each of their entries: perf-cascade page by page, network-viewer all at once.
func opensElsewhere(t *testing.T, kept string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(kept, "loads", "*", "load.har"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the store holds %d HARs (error %v)", len(files), err)
	}
	page := filepath.Join(t.TempDir(), "viewers.html")
	var objections []string
	readBy(t, &objections, "har.mjs", append([]string{page}, files...)...)
	for _, o := range objections {
		t.Errorf("a validator objects: %.2000s", o)
	}
	seen := viewed(t, page)
	for _, p := range seen.Problems {
		t.Errorf("a viewer said: %s", p)
	}
	if len(seen.Shown) != len(files) {
		t.Fatalf("the viewers opened %d of %d HARs", len(seen.Shown), len(files))
	}
	for i, file := range files {
		har, err := capture.ReadHAR(file)
		if err != nil {
			t.Fatal(err)
		}
		of := map[string]int{}
		for _, e := range har.Log.Entries {
			of[e.Page]++
		}
		if n := seen.Shown[i].Network; n != len(har.Log.Entries) {
			t.Errorf("%s: network-viewer shows %d entries of %d", file, n, len(har.Log.Entries))
		}
		for j, p := range har.Log.Pages {
			if n := seen.Shown[i].Cascade[j]; n != of[p.ID] {
				t.Errorf("%s: perf-cascade shows %d entries of page %d, want %d", file, n, j+1, of[p.ID])
			}
		}
	}
}

// viewedHARs is what the page that har.mjs writes says of the viewers on it.
type viewedHARs struct {
	Shown []struct {
		Cascade []int // rows of each page
		Network int   // rows
	}
	Problems []string
}

var viewedResult = regexp.MustCompile(`<pre id="result">([^<]*)</pre>`)

// viewed opens the page in Chromium.
func viewed(t *testing.T, page string) (seen viewedHARs) {
	t.Helper()
	browser, err := chromium.Find("")
	if err != nil {
		t.Fatal(err)
	}
	// The budget is virtual time: the browser waits for the page's timers, and for nothing longer than it has to.
	c := exec.CommandContext(t.Context(), browser, "--no-sandbox", "--allow-file-access-from-files", "--virtual-time-budget=3600000",
		"--user-data-dir="+t.TempDir(), "--dump-dom", "file://"+page)
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err == nil {
		if found := viewedResult.FindSubmatch(out); found == nil {
			err = errors.New("the page has no result")
		} else {
			err = json.Unmarshal([]byte(html.UnescapeString(string(found[1]))), &seen)
		}
	}
	if err != nil {
		t.Fatalf("open %s: %v\n%s", page, err, errs.String())
	}
	return seen
}
