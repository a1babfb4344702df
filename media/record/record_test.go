package record

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wiretime/costtest"
	"wiretime/media/player"
)

// limit is what Read may take for each octet.
var limit = costtest.Limit{Fixed: 256 << 10, PerOctet: 512, Time: 2 * time.Microsecond}

// TestHostileRecordsCostInProportion reads records that are made to cost much, and things that are not files.
func TestHostileRecordsCostInProportion(t *testing.T) {
	const size = 2 << 20
	path := filepath.Join(t.TempDir(), "stream.json")
	for _, c := range []struct{ before, each, after string }{
		{`{"sessions":[{}`, ",{}", "]}"},
		{`{"sessions":[0`, ",0", "]}"},
		{`{"manager":[{}`, ",{}", "]}"},
		{`{"figures":{"loads":[{}`, ",{}", "]}}"},
		{`{"figures":{"sessions":[{}`, ",{}", "]}}"},
		{`{"figures":{"timeline":[{}`, ",{}", "]}}"},
		{`{"figures":{"timeline":[0`, ",0", "]}}"},
		{`{"figures":{"goodput":[0`, ",0", "]}}"},
	} {
		text := c.before + strings.Repeat(c.each, size/len(c.each)) + c.after
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Run(c.before, func(t *testing.T) {
			costtest.Check(t, len(text), limit, func() { _, _ = Read(path) })
		})
	}
	fifo := filepath.Join(t.TempDir(), "stream.json")
	if err := unix.Mkfifo(fifo, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(fifo); err == nil {
		t.Error("a FIFO was read")
	}
	if err := os.Truncate(path, largest+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("a file past the limit: %v", err)
	}
}

// FuzzRead reads mutated records within bounds; what it accepts reads back as it was written.
func FuzzRead(f *testing.F) {
	dir := f.TempDir()
	path, again := filepath.Join(dir, "stream.json"), filepath.Join(dir, "again.json")
	s := Stream{Media: "file@1MB", Started: time.Unix(1, 0).UTC(), Sessions: []Session{{Resumed: true}},
		Figures: player.Figures{Goodput: []int64{1}, Loads: []player.Load{{}}, Timeline: []player.Entry{{}}}}
	if err := Write(path, &s); err != nil {
		f.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"figures":{"sessions":[{},{},null]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		var first *Stream
		var err error
		costtest.Check(t, len(text), limit, func() { first, err = Read(path) })
		if err != nil || Write(again, first) != nil { // years past 9999 cannot be written
			return
		}
		if second, err := Read(again); err != nil || len(first.Figures.Loads) != len(second.Figures.Loads) {
			t.Errorf("read again: %v", err)
		}
	})
}
