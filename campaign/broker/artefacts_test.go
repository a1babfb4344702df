package broker

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// TestArtefacts: what a worker puts a coordinator gets, whatever else was put by the same name, and both object stores
// and PutArtefact speak of the same objects.
func TestArtefacts(t *testing.T) {
	c := underWay(t)
	ctx := t.Context()
	for _, content := range []string{"", "short", strings.Repeat("one chunk", 1) + strings.Repeat("x", chunkOctets-9), strings.Repeat("long", 100_000)} {
		name, err := PutArtefact(ctx, c.js, strings.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		if text, err := c.get(t, name, int64(len(content))); err != nil || text != content {
			t.Errorf("%d octets come back as %d, %v", len(content), len(text), err)
		}
		objects, err := c.coordinator.ObjectStore(ctx, ArtefactBucket)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := objects.GetString(ctx, name); err != nil || text != content {
			t.Errorf("%d octets come back as %d from the object store, %v", len(content), len(text), err)
		}
		if content == "" {
			continue
		}
		if _, err := c.get(t, name, int64(len(content))-1); !errors.Is(err, ErrNoArtefact) {
			t.Errorf("an object that is too large: %v", err)
		}
		// A hostile worker puts others in its place, the worst last.
		for _, hostile := range []string{
			`{"name":"` + name + `","bucket":"` + ArtefactBucket + `","nuid":"absent","size":5,"chunks":1}`,
			`{"name":"` + name + `","nuid":">"}`,
			`{"name":"` + name + `","options":{"link":{"bucket":"` + ArtefactBucket + `","name":"` + name + `"}}}`,
			`{}`, `[`, ``,
		} {
			if _, err := c.js.Publish(ctx, metaSubject(name), []byte(hostile)); err != nil {
				t.Fatal(err)
			}
		}
		if text, err := c.get(t, name, int64(len(content))); err != nil || text != content {
			t.Errorf("behind hostile ones, %d octets come back as %d, %v", len(content), len(text), err)
		}
		for range 2 {
			if err := DeleteArtefact(ctx, c.coordinator, name); err != nil {
				t.Error(err)
			}
		}
		if _, err := c.get(t, name, int64(len(content))); !errors.Is(err, ErrNoArtefact) {
			t.Errorf("an object that was deleted: %v", err)
		}
	}
}

// get gets an object as the coordinator.
func (c *campaign) get(t *testing.T, name string, most int64) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "object")
	if err := os.WriteFile(file, []byte("of before"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := GetArtefact(t.Context(), c.coordinator, name, f, most); err != nil {
		return "", err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), nil
}

// TestFullBucket: a full bucket refuses an object and keeps what it has. Once there is room it takes the object.
func TestFullBucket(t *testing.T) {
	c := underWay(t)
	ctx := t.Context()
	first, err := PutArtefact(ctx, c.js, bytes.NewReader(bytes.Repeat([]byte("a"), 700_000)))
	if err != nil {
		t.Fatal(err)
	}
	second := bytes.Repeat([]byte("b"), 600_000) // more than the rest of 1 MiB
	if _, err = PutArtefact(ctx, c.js, bytes.NewReader(second)); !IsFull(err) {
		t.Fatalf("a full bucket says %v", err)
	}
	if text, err := c.get(t, first, 1<<20); err != nil || len(text) != 700_000 {
		t.Errorf("the first object comes back with %d octets, %v", len(text), err)
	}
	if err := DeleteArtefact(ctx, c.coordinator, first); err != nil {
		t.Fatal(err)
	}
	if n, err := SweepArtefacts(ctx, c.coordinator, time.Hour); err != nil || n != 0 {
		t.Errorf("swept %d young uploads, %v", n, err)
	}
	if n, err := SweepArtefacts(ctx, c.coordinator, 0); err != nil || n != 1 {
		t.Errorf("swept %d uploads, %v", n, err)
	}
	name, err := PutArtefact(ctx, c.js, bytes.NewReader(second))
	if err != nil {
		t.Fatal("with room again: ", err)
	}
	if n, err := SweepArtefacts(ctx, c.coordinator, 0); err != nil || n != 0 {
		t.Errorf("swept %d whole objects, %v", n, err)
	}
	if text, err := c.get(t, name, 1<<20); err != nil || text != string(second) {
		t.Errorf("the second object comes back with %d octets, %v", len(text), err)
	}
	if IsFull(nil) || IsFull(context.Canceled) || IsFull(jetstream.ErrStreamNotFound) {
		t.Error("other errors are taken for a full bucket")
	}
}
