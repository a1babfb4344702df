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
}

// progress follows the packages that are being tested.
type progress struct {
	out     io.Writer
	now     func() time.Time
	running map[string]*pkg
}

// pkg is a package that is being tested.
type pkg struct {
	began  time.Time
	tests  map[string]time.Time // under way, and since when
	lines  []line
	passed map[string]bool // tests whose output is not shown
}

// line is a line of output: of a test, or of none.
type line struct{ test, text string }

func newProgress(out io.Writer) *progress {
	return &progress{out: out, now: time.Now, running: map[string]*pkg{}}
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
		return
	}
	if e.Package == "" {
		return
	}
	k := p.running[e.Package]
	if k == nil {
		k = &pkg{began: p.now(), tests: map[string]time.Time{}, passed: map[string]bool{}}
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
			return
		}
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
