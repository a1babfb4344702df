package capture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wiretime/artefact"
	"wiretime/costtest"
)

// labCapture is a capture as the lab writes it, of at least size octets: each packet at both ends, two with data for each
// acknowledgement.
func labCapture(size int) []byte {
	b := AppendHeader(make([]byte, 0, size+4096), exampleHeader)
	full, ack := make([]byte, 1500), make([]byte, 52)
	for id := uint64(1); len(b) < size; id++ {
		data, from := full, 1
		if id%3 == 0 {
			data, from = ack, 0
		}
		binary.BigEndian.PutUint64(data[8:], id)
		b = AppendPacket(b, &PacketRecord{Interface: from, Time: int64(id), ID: id, Data: data})
		b = AppendPacket(b, &PacketRecord{Interface: 1 - from, Time: int64(id) + 1, Inbound: true, ID: id, HasLateness: true, Data: data})
	}
	return b
}

// TestAReadCaptureTakesLessThanItsFile holds what reading a capture of the lab allocates, in all, to less than the file's
// size.
func TestAReadCaptureTakesLessThanItsFile(t *testing.T) {
	const size = 32 << 20
	path := filepath.Join(t.TempDir(), "load.pcapng")
	if err := os.WriteFile(path, labCapture(size), 0o644); err != nil {
		t.Fatal(err)
	}
	costtest.Check(t, size, costtest.Limit{Fixed: 1 << 20, PerOctet: 1, Time: 40 * time.Nanosecond}, func() {
		if _, err := ReadPackets(path); err != nil {
			t.Error(err)
		}
	})
}

// Limits of what readers may take for each octet.
var (
	pcapngLimit = costtest.Limit{Fixed: 256 << 10, PerOctet: 32, Time: 400 * time.Nanosecond}
	harLimit    = costtest.Limit{Fixed: 512 << 10, PerOctet: 128, Time: 2 * time.Microsecond}
	logLimit    = costtest.Limit{Fixed: 64 << 10, PerOctet: 64, Time: time.Microsecond}
)

// TestLargestFiles refuses files that would fill the machine's memory in proportion; they are sparse.
func TestLargestFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "load")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, largest+1); err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]func(string) error{"HAR": readsHAR, "log": readsLog} {
		costtest.Check(t, 0, costtest.Limit{Fixed: 64 << 10}, func() {
			if err := read(path); !errors.Is(err, artefact.ErrUnfit) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// TestHostileFilesCostInProportion reads files that are made to be dear.
func TestHostileFilesCostInProportion(t *testing.T) {
	const size = 4 << 20
	repeated := func(before, each, after string) []byte {
		return []byte(before + strings.Repeat(each, size/len(each)) + after)
	}
	comments := AppendHeader(nil, exampleHeader)
	comments, start := beginBlock(comments, blockPacket)
	comments = append(comments, make([]byte, 20)...)
	for range size / 8 {
		comments = appendOption(comments, optionComment, "x")
	}
	comments = endBlock(comments, start)
	sections := bytes.Repeat(AppendHeader(nil, Header{Comment: "x"}), size/40)
	blocks := func(p PacketRecord) []byte {
		b := AppendHeader(nil, exampleHeader)
		for id := uint64(0); len(b) < size; id++ {
			p.ID = id
			b = AppendPacket(b, &p)
		}
		return b
	}
	bare := AppendHeader(nil, exampleHeader)
	for len(bare) < size { // the shortest blocks
		bare, start = beginBlock(bare, blockPacket)
		bare = endBlock(append(bare, make([]byte, 20)...), start)
	}
	for _, c := range []struct {
		name  string
		file  []byte
		limit costtest.Limit
		read  func(string) error
	}{
		{"a packet with half a million comments", comments, pcapngLimit, readsPackets},
		{"a hundred thousand sections", sections, pcapngLimit, readsPackets},
		{"empty packets that never arrive", blocks(PacketRecord{}), pcapngLimit, readsPackets},
		{"packets of no options", bare, pcapngLimit, readsPackets},
		{"a block that is announced only", append(AppendHeader(nil, exampleHeader), 6, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0), pcapngLimit, readsPackets},
		{"HAR: empty entries", repeated(`{"log":{"entries":[{}`, ",{}", `]}}`), harLimit, readsHAR},
		{"HAR: no entries", repeated(`{"log":{"entries":[0`, ",0", `]}}`), harLimit, readsHAR},
		{"HAR: null", repeated(`{"log":{"entries":[null`, ",null", `]}}`), harLimit, readsHAR},
		{"HAR: empty pages", repeated(`{"log":{"pages":[{}`, ",{}", `]}}`), harLimit, readsHAR},
		{"HAR: empty headers", repeated(`{"log":{"entries":[{"request":{"headers":[{}`, ",{}", `]}}]}}`), harLimit, readsHAR},
		{"HAR: very many pages", repeated(`{"log":{"pages":[{"id":"a"}`, `,{"id":"b"}`, `]}}`), harLimit, readsHAR},
		{"log: empty entries", repeated("", "{}\n", ""), logLimit, readsLog},
		{"log: null", repeated("", "null\n", ""), logLimit, readsLog},
		{"log: one long line", repeated(`{"early":[""`, `,""`, "]}"), logLimit, readsLog},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(path, c.file, 0o644); err != nil {
				t.Fatal(err)
			}
			costtest.Check(t, len(c.file), c.limit, func() { _ = c.read(path) })
		})
	}
}

// TestCostOfManyPieces puts a ClientHello of pieces of one octet together.
func TestCostOfManyPieces(t *testing.T) {
	const n = 200_000
	b := beginning{crypto: map[uint64][]byte{}}
	for i := range uint64(n) {
		b.crypto[i] = []byte{0xff}
	}
	b.crypto[0] = []byte{1} // a ClientHello of 16 MiB
	costtest.Check(t, n*3, costtest.Limit{Fixed: 1 << 20, PerOctet: 64, Time: time.Microsecond}, func() {
		if b.hello() != nil {
			t.Error("the message is not complete")
		}
	})
}

func readsPackets(path string) error { _, err := ReadPackets(path); return err }
func readsHAR(path string) error     { _, err := ReadHAR(path); return err }
func readsLog(path string) error     { _, err := ReadServerLog(path); return err }

// FuzzReadServerLog reads mutated logs within bounds; what it accepts reads back as it was written.
func FuzzReadServerLog(f *testing.F) {
	f.Add([]byte(`{"start":1700000000000000001,"end":2,"protocol":"h2","tls":"TLS 1.3","cipher":"","resumed":false,"earlyData":false,"method":"GET","url":"https://a.test/","status":200,"bodyBytes":12,"client":"10.0.0.2:4000","server":"10.0.1.2:443","connection":1,"miss":false}` + "\n"))
	f.Add([]byte("{}\n{}\n"))
	f.Add([]byte(`{"early":["<a>; rel=preload"],"pushed":true}`))
	dir := f.TempDir()
	path, again := filepath.Join(dir, "server.jsonl"), filepath.Join(dir, "again.jsonl")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		var entries []ServerEntry
		var err error
		costtest.Check(t, len(text), logLimit, func() { entries, err = ReadServerLog(path) })
		if err != nil {
			return
		}
		if err := WriteServerLog(again, entries); err != nil {
			t.Fatal(err)
		}
		if second, err := ReadServerLog(again); err != nil || len(second) != len(entries) {
			t.Errorf("%d entries, read again %d, %v", len(entries), len(second), err)
		}
	})
}
