package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// event is a line of go test -json ("go doc test2json", and "go help buildjson"
// for the output of builds).
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds
	ImportPath, FailedBuild       string  // of what is built
}

// progress follows the packages that are being tested.
type progress struct {
	out     io.Writer
	now     func() time.Time
	running map[string]*pkg
	builds  map[string][]string // what builds have printed
	tally   tally
}

// pkg is a package that is being tested.
type pkg struct {
	began  time.Time
	tests  map[string]time.Time // under way, and since when
	lines  []line
	passed map[string]bool // tests whose output is not shown
	ended  map[string]string
}

// line is a line of output: of a test, or of none.
type line struct{ test, text string }

func newProgress(out io.Writer) *progress {
	return &progress{out: out, now: time.Now, running: map[string]*pkg{}, builds: map[string][]string{},
		tally: tally{skips: map[string][]string{}, took: map[string]time.Duration{}}}
}

// follow reads the events of go test, and prints results as they come and what is under way now and
// then.
func (p *progress) follow(events io.Reader) error {
	read, failed := make(chan event), make(chan error, 1)
	go func() {
		defer close(read)
		lines := bufio.NewReader(events)
		for {
			text, err := lines.ReadBytes('\n')
			if err != nil {
				if err != io.EOF {
					failed <- fmt.Errorf("read its output: %w", err)
				}
				return
			}
			var e event
			if json.Unmarshal(text, &e) != nil {
				e = event{Action: "build-output", Output: string(text)}
			}
			read <- e
		}
	}()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case e, more := <-read:
			if !more {
				close(failed)
				return <-failed
			}
			p.add(e)
		case <-tick.C:
			p.tell()
		}
	}
}

// add takes an event.
func (p *progress) add(e event) {
	if e.Action == "build-output" {
		fmt.Fprint(p.out, e.Output)
		p.builds[e.ImportPath] = append(p.builds[e.ImportPath], e.Output)
		return
	}
	if e.Package == "" {
		return
	}
	k := p.running[e.Package]
	if k == nil {
		k = &pkg{began: p.now(), tests: map[string]time.Time{}, passed: map[string]bool{}, ended: map[string]string{}}
		p.running[e.Package] = k
	}
	switch e.Action {
	case "run":
		k.tests[e.Test] = p.now()
	case "output":
		k.lines = append(k.lines, line{e.Test, e.Output})
	case "pass", "fail", "skip":
		if e.Test == "" {
			delete(p.running, e.Package)
			p.print(k, e.Action == "fail")
			p.count(k, e)
			return
		}
		k.ended[e.Test] = e.Action
		delete(k.tests, e.Test)
		k.passed[e.Test] = e.Action != "fail"
	}
}

// print prints the result of a package. If it failed, this is all that it printed except in tests
// that passed.
func (p *progress) print(k *pkg, failed bool) {
	for _, l := range k.lines {
		result := strings.HasPrefix(l.text, "ok ") || strings.HasPrefix(l.text, "? ")
		marker := strings.HasPrefix(l.text, "=== ")
		if failed && !marker && !k.passed[l.test] || l.test == "" && result {
			fmt.Fprint(p.out, l.text)
		}
	}
}

// count adds the tests of a package that has ended to the tally.
func (p *progress) count(k *pkg, e event) {
	t := &p.tally
	t.took[e.Package] = time.Duration(e.Elapsed * float64(time.Second))
	failed := t.failed
	for _, name := range slices.Sorted(maps.Keys(k.ended)) {
		parent, failedBelow := false, false
		for other, action := range k.ended {
			if strings.HasPrefix(other, name+"/") {
				parent = true
				failedBelow = failedBelow || action == "fail"
			}
		}
		switch action := k.ended[name]; {
		case action == "fail" && !failedBelow:
			t.failed++
			t.failures = append(t.failures, failure{e.Package, name, k.outputOf(name)})
		case parent:
		case action == "skip":
			t.skipped++
			why := reason(k.outputOf(name))
			t.skips[why] = append(t.skips[why], e.Package+" "+name)
		case action == "pass":
			t.passed++
		}
	}
	if e.Action == "fail" && t.failed == failed { // it was not built, or died outside of any test
		t.failed++
		t.failures = append(t.failures, failure{e.Package, "", append(p.builds[e.FailedBuild], k.outputOf("")...)})
	}
}

// outputOf returns what a test printed.
func (k *pkg) outputOf(test string) (all []string) {
	for _, l := range k.lines {
		if l.test == test && !strings.HasPrefix(l.text, "=== ") {
			all = append(all, l.text)
		}
	}
	return all
}

// reason is why a test was skipped: what it printed, without the line of the file that said so.
func reason(lines []string) string {
	for _, l := range lines {
		l = strings.TrimSpace(l)
		if _, after, ok := strings.Cut(l, "_test.go:"); ok {
			_, l, _ = strings.Cut(after, ": ")
		}
		if l != "" && !strings.HasPrefix(l, "--- ") {
			return l
		}
	}
	return "no reason given"
}

// tell prints which test each package is at that has taken long.
func (p *progress) tell() {
	now := p.now()
	for _, name := range slices.Sorted(maps.Keys(p.running)) {
		k := p.running[name]
		if now.Sub(k.began) < every {
			continue
		}
		fmt.Fprintf(p.out, "...\t%s\t%v", name, now.Sub(k.began).Round(time.Second))
		// A test that has subtests under way has begun before them.
		latest := slices.SortedFunc(maps.Keys(k.tests), func(a, b string) int {
			return cmp.Or(k.tests[b].Compare(k.tests[a]), -strings.Compare(a, b))
		})
		if len(latest) > 0 {
			fmt.Fprintf(p.out, "\t%s (%v)", latest[0], now.Sub(k.tests[latest[0]]).Round(time.Second))
		}
		fmt.Fprintln(p.out)
	}
}
