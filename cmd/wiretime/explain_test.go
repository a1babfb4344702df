package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wiretime/capture"
)

// rareLoss is a study in which a load loses a packet or two.
const rareLoss = `name: one-loss
repeats: 15
clock: virtual
matrix:
  sites: [objects@20x10kB]
  protocols: [h2, h3]
  networks: [{name: rare, rate: 10mbit, rtt: 50ms, queue: unlimited, loss: 0.4%}]
  loaders: [fetch]
`

// explanation is what 'wiretime explain --json' writes.
type explanation struct {
	Cell  string
	Pages []struct {
		OnLoad int64
		Kinds  map[string]int64
		Steps  []struct {
			From, To int64
			Kind     string
			URL      string
			Seen     bool
		}
	}
}

// TestExplainTellsTheProtocolsApart runs loads that lose a single packet. Over h2 it
// holds up other responses than its own, over h3 never.
func TestExplainTellsTheProtocolsApart(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	if r := u.run(t, "run", u.write(t, "study.yaml", rareLoss), "--store", "kept"); r.code != 0 {
		t.Fatalf("exit code %d: %s", r.code, r.errors)
	}
	blocked, recovered := map[string]int{}, map[string]int{} // loads with one loss, by protocol
	files, err := filepath.Glob(filepath.Join(u.home, "kept", "loads", "*", "load.pcapng"))
	if err != nil || len(files) != 30 {
		t.Fatalf("%d captures, want 30: %v", len(files), err)
	}
	for _, file := range files {
		load := filepath.Base(filepath.Dir(file))
		e := u.explain(t, load)
		protocol := "h2"
		if strings.Contains(e.Cell, "protocol=h3 ") {
			protocol = "h3"
		}
		kinds := e.Pages[0].Kinds
		if protocol == "h3" && kinds["head-of-line blocking"] > 0 {
			t.Errorf("load %s: streams of QUIC block each other for %d ns", load, kinds["head-of-line blocking"])
		}
		if lost(t, file) != 1 {
			continue
		}
		if kinds["head-of-line blocking"] > 0 {
			blocked[protocol]++
		}
		if kinds["loss recovery"] > 0 {
			recovered[protocol]++
		}
	}
	table := u.run(t, "explain", filepath.Base(filepath.Dir(files[0])), "--store", "kept")
	for _, want := range []string{"page_1: onLoad after ", "from, ms", "path delay  ", "onLoad ", "100.0 %", "\nThe biggest cause is "} {
		if !strings.Contains(table.out, want) {
			t.Errorf("without --json there is no %q in:\n%s%s", want, table.out, table.errors)
		}
	}
	if blocked["h2"] == 0 || recovered["h3"] == 0 {
		t.Errorf("of the loads with one loss %v name head-of-line blocking and %v loss recovery; want some of h2, and some of h3", blocked, recovered)
	}
}

// explain reads what is said of a load, and makes sure that it adds up.
func (u user) explain(t *testing.T, load string) explanation {
	t.Helper()
	r := u.run(t, "explain", load, "--store", "kept", "--json")
	var e explanation
	if err := json.Unmarshal([]byte(r.out), &e); err != nil || r.code != 0 || len(e.Pages) != 1 {
		t.Fatalf("explain %s: exit code %d, %v: %s", load, r.code, err, r.errors)
	}
	page, sum, end := e.Pages[0], int64(0), int64(0)
	for _, ns := range page.Kinds {
		sum += ns
	}
	for _, s := range page.Steps {
		if s.From != end || !s.Seen {
			t.Fatalf("load %s: step %+v follows one that ended at %d", load, s, end)
		}
		end = s.To
	}
	if sum != page.OnLoad || end != page.OnLoad {
		t.Errorf("load %s: kinds add up to %d and steps end at %d, want onLoad, %d", load, sum, end, page.OnLoad)
	}
	return e
}

// lost counts the packets that a capture says were dropped.
func lost(t *testing.T, name string) int {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	packets, err := capture.ReadPcapng(file)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, r := range packets.Records {
		if strings.HasPrefix(r.Comment, capture.DroppedPrefix) {
			n++
		}
	}
	return n
}

func TestExplainSaysWhyItCannot(t *testing.T) {
	t.Parallel()
	u := self(t)
	kept(t, filepath.Join(u.home, "kept"), "real")
	for load, want := range map[string]string{"r9-0000-a1": "export csv", "r1-0000-a1": "has no onLoad"} {
		if r := u.run(t, "explain", load, "--store", "kept"); r.code == 0 || !strings.Contains(r.errors, want) {
			t.Errorf("explain %s: exit code %d, %q; want it to say %q", load, r.code, r.errors, want)
		}
	}
}
