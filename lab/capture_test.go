package lab

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestWhereACaptureIsKept keeps the captures of the same task in memory, on a disk, and in too little memory.
// The lab serves the next task whatever became of the capture.
func TestWhereACaptureIsKept(t *testing.T) {
	l := newLab(t)
	for _, c := range []struct {
		name  string
		place CapturePlace
		want  error
	}{
		{"in memory", CapturePlace{}, nil},
		{"in memory, within the limit", CapturePlace{Most: 1 << 20}, nil},
		{"in memory, past the limit", CapturePlace{Most: 10_000}, ErrOutgrown},
		{"on disk", CapturePlace{Disk: t.TempDir()}, nil},
		{"in a folder that is not there", CapturePlace{Disk: filepath.Join(t.TempDir(), "absent")}, os.ErrNotExist},
		{"in memory again", CapturePlace{}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			l.KeepCapture(c.place)
			h, err := l.Prepare(oneLink("ten", 10_000_000, 5*time.Millisecond), renoTen)
			if err != nil {
				t.Fatal(err)
			}
			var dir string
			for range 2 { // the second visit overwrites the first one's
				_, err = h.Run(t.Context(), Task{Seed: 1, Comment: "a task", Do: func(ctx context.Context, _ Progress) error { return bring(ctx, h) }})
				if !errors.Is(err, c.want) {
					t.Fatalf("Run: %v, want %v", err, c.want)
				}
			}
			if err == nil {
				dir = t.TempDir()
				err = h.SaveCapture(dir)
			}
			if err := h.Close(); err != nil {
				t.Error(err)
			}
			if entries, _ := os.ReadDir(c.place.Disk); len(entries) > 0 {
				t.Errorf("%s is left", entries[0].Name())
			}
			if c.want != nil {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			packets := readCapture(t, dir)
			if onDisk := strings.Contains(packets.Comment, "on disk"); len(packets.Records) < 40 || onDisk != (c.place.Disk != "") {
				t.Errorf("%d records, comment %q", len(packets.Records), packets.Comment)
			}
		})
	}
}

// TestASlowDiskDoesNotHoldTheEmulator writes as much as the emulator may while the disk takes nothing: writing does not
// wait. Once the disk works again, everything is on it.
func TestASlowDiskDoesNotHoldTheEmulator(t *testing.T) {
	disk, stalled, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	s, into, err := newSpool(stalled)
	if err != nil {
		t.Fatal(err)
	}
	want := bytes.Repeat([]byte("capture."), (SpoolMemory-4*spoolPiece)/8)
	if _, err := into.Write(want); err != nil { // nobody reads what it is written to
		t.Fatal(err)
	}
	if err := into.Close(); err != nil {
		t.Fatal(err)
	}
	got := make(chan []byte)
	go func() {
		all, _ := io.ReadAll(disk)
		got <- all
	}()
	if err := s.finish(t.Context()); err != nil {
		t.Error(err)
	}
	if err := stalled.Close(); err != nil {
		t.Error(err)
	}
	if all := <-got; !bytes.Equal(all, want) {
		t.Errorf("%d of %d octets are on the disk, or others", len(all), len(want))
	}
}

// TestASpoolTellsOfItsDisk writes to a disk that fails, and ends a spool before its writer does.
func TestASpoolTellsOfItsDisk(t *testing.T) {
	file, err := os.Open(os.DevNull) // for reading only
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s, into, err := newSpool(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := into.Write(make([]byte, 3*spoolPiece)); err != nil {
		t.Error(err)
	}
	_ = into.Close()
	if err := s.finish(t.Context()); err == nil {
		t.Error("the error of the disk is lost")
	}
	s, into, err = newSpool(file)
	if err != nil {
		t.Fatal(err)
	}
	s.abandon() // which would never end if it waited for the writer
	_ = into.Close()
}
