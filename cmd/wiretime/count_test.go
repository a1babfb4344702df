package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"wiretime/counts"
	"wiretime/needtest"
	"wiretime/store"
)

// countedStudy loads the page by whose cost this program is judged.
const countedStudy = `name: counted
seed: 5
repeats: 2
clock: virtual
matrix:
  sites: [objects@40x20kB]
  protocols: [http/1.1, h2, h3]
  networks: [{name: slow, rate: 100kbit, rtt: 500ms}]
  loaders: [builtin]
`

// TestLoadsCostNoMore bounds what a load asks of the guest's kernel. It is the same each time, whatever else the machine
// does. The bounds are 15 % above what was counted when they were set: whoever exceeds one has made every load on the
// virtual clock dearer.
func TestLoadsCostNoMore(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	file := u.write(t, "counted.yaml", countedStudy)
	first, again := u.countLoads(t, file, "first"), u.countLoads(t, file, "again")
	for protocol, most := range map[string]counts.Program{
		"http/1.1": {Rounds: 2420, Faults: 60},
		"h2":       {Rounds: 1870, Faults: 60},
		"h3":       {Rounds: 6740, Faults: 100},
	} {
		got := first[protocol].Programs["init"]
		if got.Rounds == 0 || got.Rounds > most.Rounds || got.Faults > most.Faults {
			t.Errorf("%s: client and servers took %d rounds with %d page faults, want %d with %d at most", protocol, got.Rounds, got.Faults, most.Rounds, most.Faults)
		}
		if emulator := first[protocol].Programs["emulator"]; emulator.Rounds == 0 || emulator.Rounds > 450 {
			t.Errorf("%s: the emulator took %d rounds, want 450 at most", protocol, emulator.Rounds)
		}
		if x, y := withoutTimes(first[protocol]), withoutTimes(again[protocol]); !reflect.DeepEqual(x, y) {
			t.Errorf("%s: %+v, repeated %+v: a load must cost the same each time", protocol, x, y)
		}
	}
}

// withoutTimes leaves the host's processor time out of a load's counts.
func withoutTimes(c counts.Counts) counts.Counts {
	c.Processor, c.Programs = 0, maps.Clone(c.Programs)
	for name, p := range c.Programs {
		p.Processor = 0
		c.Programs[name] = p
	}
	return c
}

// countLoads runs a study with its costs counted and returns those of each protocol's last load.
func (u user) countLoads(t *testing.T, file, kept string) map[string]counts.Counts {
	t.Helper()
	out := u.run(t, "run", file, "--store", kept, "--count")
	if out.code != 0 || !strings.Contains(out.out, "client and servers") {
		t.Fatalf("run --count: status %d\n%s%s", out.code, out.out, out.errors)
	}
	st, err := store.Open(filepath.Join(u.home, kept), store.Read)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	cells, err := readCosts(st, 1)
	if err != nil {
		t.Fatal(err)
	}
	last := map[string]counts.Counts{}
	for _, c := range cells {
		last[c.cell.Over()] = c.counts[len(c.counts)-1]
	}
	return last
}

// TestAPageOfManyRequestsFitsAGuest: guests collect garbage rarely, but before their memory runs out.
func TestAPageOfManyRequestsFitsAGuest(t *testing.T) {
	needtest.Long(t)
	t.Parallel()
	const requests = 9999
	u := self(t)
	u.addKernel(t)
	var page strings.Builder
	for i := range requests {
		name := strconv.Itoa(i) + ".svg"
		fmt.Fprintf(&page, "<img src=%s>", name)
		u.write(t, filepath.Join("many", name), "<svg xmlns='http://www.w3.org/2000/svg'>"+strings.Repeat(" ", 950)+"</svg>")
	}
	u.write(t, filepath.Join("many", "index.html"), "<!doctype html>"+page.String())
	u.ok(t, "site", "add", filepath.Join(u.home, "many"))
	out := u.run(t, "run", u.write(t, "many.yaml", "name: many\nclock: virtual\nrepeats: 1\nmatrix:\n  sites: [many]\n  protocols: [h2]\n"+
		"  networks: [{name: fast, rate: 20mbit, rtt: 20ms}]\n  loaders: [builtin]\n"), "--store", filepath.Join(u.home, "kept"))
	if out.code != 0 || !strings.Contains(out.out, "1 of 1 loads done") {
		t.Errorf("status %d\n%s%s", out.code, out.out, out.errors)
	}
}
