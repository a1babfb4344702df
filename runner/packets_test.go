package runner

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"wiretime/capture"
)

// someCapture is a capture of so many packets, each at both ends.
func someCapture(packets int) []byte {
	b := capture.AppendHeader(nil, capture.Header{Interfaces: []capture.Interface{{Name: "client.lte"}, {Name: "server.lte"}}})
	for id := range uint64(packets) {
		data := bytes.Repeat([]byte{byte(id)}, 1500)
		b = capture.AppendPacket(b, &capture.PacketRecord{Interface: 1, Time: int64(id), ID: id, Data: data})
		b = capture.AppendPacket(b, &capture.PacketRecord{Interface: 0, Time: int64(id) + 1, Inbound: true, ID: id, Data: data})
	}
	return b
}

// TestCapturesAreReadWhileCopied copies captures, some of which cannot be read. Each is copied whole.
func TestCapturesAreReadWhileCopied(t *testing.T) {
	sound := someCapture(200)
	damaged := bytes.Clone(sound)
	damaged[len(damaged)/2] ^= 0xff // in a packet's data; its length follows
	for i := range damaged[len(damaged)/2:] {
		damaged[len(damaged)/2+i] ^= 0xff
	}
	for _, c := range []struct {
		name    string
		file    []byte
		memory  int64
		packets int
		err     string
	}{
		{"a sound one", sound, 1 << 30, 400, ""},
		{"a damaged one", damaged, 1 << 30, 0, "the file is damaged"},
		{"a truncated one", sound[:len(sound)-1], 1 << 30, 0, capture.ErrTruncated.Error()},
		{"one that is none", []byte(strings.Repeat("no capture", 1000)), 1 << 30, 0, "not a pcapng file"},
		{"one for which there is no memory", sound, 1 << 10, 0, "raise --capture-memory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &run{memory: newMemory(c.memory)}
			path := filepath.Join(t.TempDir(), "load.pcapng")
			to, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			defer to.Close()
			read, err := r.copyPackets(to, bytes.NewReader(c.file), int64(len(c.file)))
			if err != nil {
				t.Fatal(err)
			}
			defer read.release()
			if copied, err := os.ReadFile(path); err != nil || !bytes.Equal(copied, c.file) {
				t.Errorf("%d of %d octets were copied, or others, %v", len(copied), len(c.file), err)
			}
			if c.err == "" && (read.err != nil || len(read.Records) != c.packets) {
				t.Errorf("it was read as %+v", read)
			}
			if c.err != "" && (read.err == nil || !strings.Contains(read.err.Error(), c.err)) {
				t.Errorf("the error is %v, want %s", read.err, c.err)
			}
		})
	}
}

// TestCapturesThatCannotBeWritten copies a capture to a full disk.
func TestCapturesThatCannotBeWritten(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	r, file := &run{memory: newMemory(1 << 30)}, someCapture(200)
	if _, err := r.copyPackets(full, bytes.NewReader(file), int64(len(file))); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the error is %v, want that the disk is full", err)
	}
	if !r.memory.reading.TryAcquire(r.memory.half) {
		t.Error("the memory for reading was not given back")
	}
}

// BenchmarkCopyPackets copies and reads a capture of 2,000 packets, which is 6 MB.
func BenchmarkCopyPackets(b *testing.B) {
	r, file := &run{memory: newMemory(1 << 30)}, someCapture(2000)
	to, err := os.Create(filepath.Join(b.TempDir(), "load.pcapng"))
	if err != nil {
		b.Fatal(err)
	}
	defer to.Close()
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := to.Seek(0, 0); err != nil {
			b.Fatal(err)
		}
		read, err := r.copyPackets(to, bytes.NewReader(file), int64(len(file)))
		if err != nil || read.err != nil {
			b.Fatal(err, read.err)
		}
		read.release()
	}
}
