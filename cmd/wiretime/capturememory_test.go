package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wiretime/capture"
	"wiretime/store"
)

// shortStudy is a study of the page on some clock, without a browser.
const shortStudy = `name: short
repeats: 2
clock: %s
matrix: {sites: [page], protocols: [h2, h3], networks: [{name: quick, rate: 20mbit, rtt: 20ms, queue: 64kB}], loaders: [builtin]}
options: {late_limit: 10s, taken_limit: 100%%}
`

// TestCapturesGoToTheDiskWhereMemoryIsShort measures with next to no memory for captures. On the virtual clock they are equal
// in every octet to those that were kept in memory; on the real one they say where they were kept. Nothing else is left.
func TestCapturesGoToTheDiskWhereMemoryIsShort(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.addPage(t)
	u.addKernel(t)
	study := u.write(t, "short.yaml", fmt.Sprintf(shortStudy, "virtual"))
	for name, more := range map[string][]string{"memory": nil, "disk": {"--capture-memory", "3"}} {
		if r := u.run(t, append([]string{"run", study, "--store", name}, more...)...); r.code != 0 {
			t.Fatalf("%s: exit code %d: %s", name, r.code, r.errors)
		}
	}
	inMemory, onDisk := captures(t, filepath.Join(u.home, "memory")), captures(t, filepath.Join(u.home, "disk"))
	if len(inMemory) != 4 || !maps.Equal(inMemory, onDisk) {
		t.Errorf("the captures of %d loads in memory and of %d on the disk are not the same", len(inMemory), len(onDisk))
	}

	study = u.write(t, "short.yaml", fmt.Sprintf(shortStudy, "real"))
	if r := u.run(t, "run", study, "--store", "real", "--capture-memory", "3"); r.code != 0 {
		t.Fatalf("exit code %d: %s", r.code, r.errors)
	}
	if v := verdicts(t, filepath.Join(u.home, "real")); v[store.Valid] != 4 {
		t.Errorf("verdicts %v, want 4 valid loads", v)
	}
	loads, err := filepath.Glob(filepath.Join(u.home, "real", "loads", "*"))
	if err != nil || len(loads) != 4 {
		t.Fatalf("%d loads, %v", len(loads), err)
	}
	for _, load := range loads {
		packets, err := capture.ReadPackets(filepath.Join(load, "load.pcapng"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(packets.Comment, "kept on disk") || len(packets.Records) == 0 {
			t.Errorf("%s: %d records, comment %q", load, len(packets.Records), packets.Comment)
		}
		files, err := os.ReadDir(load)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if strings.HasPrefix(f.Name(), "capture-") {
				t.Errorf("%s is left in %s", f.Name(), load)
			}
		}
	}

	r := u.run(t, "run", study, "--store", "none", "--capture-memory", "1")
	if r.code == 0 || !strings.Contains(r.errors, "raise --capture-memory to") {
		t.Errorf("too little memory to read a capture: exit code %d, %s", r.code, r.errors)
	}
}
