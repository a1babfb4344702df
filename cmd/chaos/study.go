package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"wiretime/loader/chromium"
	"wiretime/store"
	"wiretime/study"
)

// trial is a study whose runs are harmed.
type trial struct {
	name    string
	text    string // of the study file
	virtual bool   // its values must be those of an undisturbed run
}

// options that forgive what harm does to loads: a load is attempted until one attempt is valid.
const lenient = "options: {retries: 100, late_limit: 10s, taken_limit: 100%}\n"

// trials are the studies. They are short: what is under way when time is up must be finished.
func trials() []trial {
	loaders, browsers := "builtin", 0
	if _, err := chromium.Find(""); err == nil {
		loaders, browsers = "builtin, chromium", 1
	}
	return []trial{
		{"pages, virtual clock", `name: pages-virtual
repeats: 10
clock: virtual
keep: median
matrix:
  sites: [objects@10x5kB]
  protocols: [http/1.1, spdy/3.1, h2, h3]
  networks: [{name: lossy, rate: 10mbit, rtt: 20ms, queue: 64kB, loss: 1%}]
  loaders: [fetch, builtin]
options: {retries: 100}
`, true},
		{"streams, virtual clock", `name: streams-virtual
repeats: 4
clock: virtual
keep: none
stream: {rate: 5 Mbit/s, duration: 4s, seeks: 30%, window: 2s}
matrix:
  media: [clip]
  transports: [tcp, sctp, quic]
  players: [throughput]
  link_delays: [10ms]
  reconnections: [0, 1]
options: {retries: 100}
`, true},
		{"pages, real clock", `name: pages-real
repeats: ` + fmt.Sprint(4-3*browsers) + `
clock: real
matrix:
  sites: [objects@10x5kB]
  protocols: [https/1.1, h2, h3]
  networks: [{name: lossy, rate: 10mbit, rtt: 20ms, queue: 64kB, loss: 1%}]
  loaders: [` + loaders + `]
  servers: [wiretime` + installed("nginx", "caddy") + `]
` + lenient, false},
		{"streams, real clock", `name: streams-real
repeats: 3
clock: real
stream: {rate: 5 Mbit/s, duration: 3s, seeks: 30%, window: 2s}
matrix:
  media: [clip]
  transports: [tcp, quic]
  players: [throughput]
  link_delays: [10ms]
  reconnections: [0, 1]
` + lenient, false},
	}
}

// installed lists the programs that this machine has, each after a comma.
func installed(names ...string) (list string) {
	for _, name := range names {
		for _, dir := range []string{"/usr/sbin", "/usr/bin"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				list += ", " + name
				break
			}
		}
	}
	return list
}

// measured is what a store holds of a run.
type measured struct {
	values  map[int]map[string]float64 // of valid loads, by their place in the plan
	files   map[int][]store.File       // their artefacts, where they are kept
	reasons map[int][]string           // why earlier attempts were not valid
}

// open reads a store and notes whether each planned load is there exactly once.
func (w *world) open(name, dir string) (m measured, err error) {
	st, err := store.Open(dir, store.Read)
	if err != nil {
		return m, err
	}
	defer st.Close()
	runs, err := st.Runs()
	if err != nil {
		return m, err
	}
	if len(runs) != 1 {
		w.wrong("%s: the store has %d runs, want 1", name, len(runs))
		return m, nil
	}
	plan, err := st.Plan(runs[0].ID)
	if err != nil {
		return m, err
	}
	loads, err := st.Loads(runs[0].ID)
	if err != nil {
		return m, err
	}
	kept, cells := 0, map[string]bool{} // valid loads with artefacts; cells with valid loads
	m = measured{values: map[int]map[string]float64{}, files: map[int][]store.File{}, reasons: map[int][]string{}}
	attempts := map[int][]int{}
	folders, unsupported := map[string]bool{}, map[int]bool{}
	for _, l := range loads {
		attempts[l.Index] = append(attempts[l.Index], l.Attempt)
		if l.Artefacts != "" {
			folders[filepath.Base(l.Artefacts)] = true
		}
		if l.Validity == store.Unsupported {
			unsupported[l.Index] = true
			continue
		}
		if l.Validity != store.Valid {
			m.reasons[l.Index] = append(m.reasons[l.Index], l.Reason)
			continue
		}
		cells[l.Cell.Key()] = true
		if l.Artefacts != "" {
			kept++
		}
		if m.values[l.Index] != nil {
			w.wrong("%s: planned load %d has two valid loads", name, l.Index)
		}
		m.values[l.Index] = l.Values
		if m.files[l.Index], err = st.Files(l); err != nil {
			return m, err
		}
	}
	for _, p := range plan {
		slices.Sort(attempts[p.Index])
		for i, number := range attempts[p.Index] {
			if number != i+1 {
				w.wrong("%s: planned load %d has the attempts %v", name, p.Index, attempts[p.Index])
				break
			}
		}
		if !p.Done || (m.values[p.Index] == nil) == !unsupported[p.Index] {
			w.wrong("%s: planned load %d has no valid load after %d attempts", name, p.Index, p.Attempts)
		}
	}
	if want := map[string]int{study.KeepMedian: len(cells), study.KeepNone: 0}; runs[0].Keep != study.KeepAll && kept != want[runs[0].Keep] {
		w.wrong("%s: %d valid loads have artefacts, want %d (keep: %s)", name, kept, want[runs[0].Keep], runs[0].Keep)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "loads"))
	if err != nil {
		return m, err
	}
	for _, e := range entries {
		if !folders[e.Name()] {
			w.wrong("%s: the store has a folder %s of no load", name, e.Name())
		}
		delete(folders, e.Name())
	}
	if len(folders) > 0 {
		w.wrong("%s: loads lack the folders %q", name, slices.Sorted(maps.Keys(folders)))
	}
	w.counts.add(loadsKept, name, len(m.values))
	w.counts.add(cannotRun, name, len(unsupported))
	w.counts.add(attemptsKept, name, len(loads))
	return m, nil
}

// compare notes loads whose values or artefacts differ from those of an undisturbed run.
func (w *world) compare(name string, got, want measured) {
	different := []string{}
	for index, values := range want.values {
		if !maps.Equal(got.values[index], values) || !slices.Equal(got.files[index], want.files[index]) {
			different = append(different, fmt.Sprintf("%d (after %q)", index, got.reasons[index]))
		}
	}
	if len(different) > 0 {
		w.wrong("%s: loads %s differ from those of an undisturbed run", name, strings.Join(different, ", "))
	}
}

// reference measures a study undisturbed.
func (w *world) reference(ctx context.Context, t trial) (m measured, err error) {
	dir := w.path("disk", "reference")
	w.say("%s: measuring what an undisturbed run measures", t.name)
	file, err := w.write(t)
	if err != nil {
		return m, err
	}
	if err := w.undisturbed(ctx, "run", file, "--store", dir, "--wait", "0"); err != nil {
		return m, err
	}
	if m, err = w.open(t.name, dir); err != nil {
		return m, err
	}
	return m, os.RemoveAll(dir)
}

// longer is a study with so many times the repeats.
func longer(text string, times int) string {
	before, after, _ := strings.Cut(text, "repeats: ")
	var repeats int
	if _, err := fmt.Sscan(after, &repeats); err != nil {
		return text
	}
	_, after, _ = strings.Cut(after, "\n")
	return fmt.Sprintf("%srepeats: %d\n%s", before, times*repeats, after)
}

// write writes the study file.
func (w *world) write(t trial) (string, error) {
	file := w.path("home", "study.yaml")
	return file, os.WriteFile(file, []byte(t.text), 0o644)
}
