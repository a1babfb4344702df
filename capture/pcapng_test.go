package capture

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"wiretime/costtest"
)

var exampleHeader = Header{
	Application: "wiretime",
	Comment:     "an example",
	Interfaces:  []Interface{{"client.lte"}, {"server.lte"}},
}

// exampleRecords returns a request that arrives and a response that is dropped,
// captured in part.
func exampleRecords() []PacketRecord {
	request := ipv4(TCP, "10.0.0.2", "10.0.1.2", tcp(4000, 80, 1, 1, ACK, 0, "GET / HTTP/1.1\r\n\r\n"))
	answer := ipv4(TCP, "10.0.1.2", "10.0.0.2", tcp(80, 4000, 1, 19, ACK, 0, "HTTP/1.1 200 OK\r\n\r\n"))
	return []PacketRecord{
		{Interface: 0, Time: 1_700_000_000_123_456_789, ID: 1, Length: len(request), Data: request},
		{Interface: 1, Time: 1_700_000_000_223_456_790, Inbound: true, ID: 1, Lateness: 850, HasLateness: true, Length: len(request), Data: request},
		{Interface: 1, Time: 1_700_000_000_223_500_001, ID: 2, Comment: DroppedPrefix + "queue", Length: len(answer), Data: answer[:30]},
	}
}

func exampleFile() []byte {
	b := AppendHeader(nil, exampleHeader)
	for _, p := range exampleRecords() {
		b = AppendPacket(b, &p)
	}
	return b
}

func TestPcapngRoundTrip(t *testing.T) {
	for _, keyLog := range []string{"", "CLIENT_RANDOM 00 11\n"} {
		var file bytes.Buffer
		if err := InsertSecrets(&file, bytes.NewReader(exampleFile()), []byte(keyLog)); err != nil {
			t.Fatal(err)
		}
		got, err := ReadPcapng(&file)
		if err != nil {
			t.Fatal(err)
		}
		want := &Packets{Header: exampleHeader, Secrets: []byte(keyLog), Records: exampleRecords()}
		if keyLog == "" {
			want.Secrets = nil
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("with the key log %q:\ngot  %+v\nwant %+v", keyLog, got, want)
		}
	}
}

// TestPcapngGolden compares a small file with its octets, taken apart by hand
// against the draft.
func TestPcapngGolden(t *testing.T) {
	b := AppendHeader(nil, Header{Application: "w", Interfaces: []Interface{{"c"}}})
	b = AppendPacket(b, &PacketRecord{Time: 0x0102030405060708, Inbound: true, ID: 9, Lateness: -2, HasLateness: true, Data: []byte{0x45}})
	var file bytes.Buffer
	if err := InsertSecrets(&file, bytes.NewReader(b), []byte("key")); err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"0a0d0d0a 28000000 4d3c2b1a 01000000 ffffffffffffffff",  // section header
		"04000100 77000000 00000000 28000000",                   // its user application
		"01000000 28000000 65000000 00000000",                   // interface of LINKTYPE_RAW
		"02000100 63000000 09000100 09000000 00000000 28000000", // its name and nanoseconds
		"0a000000 18000000 4b534c54 03000000 6b657900 18000000", // secrets
		"06000000 4c000000 00000000 04030201 08070605",          // packet, time high and low
		"01000000 01000000 45000000",                            // lengths and data
		"02000400 01000000 05000800 0900000000000000",           // inbound, packet ID
		"ad0b0c00 d97e0000 feffffffffffffff 00000000 4c000000",  // lateness
	}, "")
	if got := hex.EncodeToString(file.Bytes()); got != strings.ReplaceAll(want, " ", "") {
		t.Errorf("got  %s\nwant %s", got, strings.ReplaceAll(want, " ", ""))
	}
}

func TestAppendPacketDoesNotAllocate(t *testing.T) {
	p := PacketRecord{Time: 1, ID: 2, Comment: DroppedPrefix + "queue", HasLateness: true, Data: make([]byte, 1501)}
	buffer := make([]byte, 0, 2000)
	if n := testing.AllocsPerRun(100, func() { AppendPacket(buffer, &p) }); n != 0 {
		t.Errorf("%v allocations a packet, want none", n)
	}
}

func TestReadTruncated(t *testing.T) {
	whole := exampleFile()
	last := len(AppendPacket(nil, &exampleRecords()[2]))
	for cut := 1; cut < last; cut++ {
		got, err := ReadPcapng(bytes.NewReader(whole[:len(whole)-cut]))
		if !errors.Is(err, ErrTruncated) || len(got.Records) != 2 {
			t.Fatalf("%d octets short: %d records, %v; want 2 and ErrTruncated", cut, len(got.Records), err)
		}
	}
	var file bytes.Buffer
	if err := InsertSecrets(&file, bytes.NewReader(whole[:len(whole)-5]), []byte("key\n")); err != nil {
		t.Fatal(err)
	}
	got, err := ReadPcapng(&file)
	if !errors.Is(err, ErrTruncated) || len(got.Records) != 2 || string(got.Secrets) != "key\n" {
		t.Errorf("after InsertSecrets: %d records, secrets %q, %v", len(got.Records), got.Secrets, err)
	}
}

func TestInsertSecretsWithoutPackets(t *testing.T) {
	var file bytes.Buffer
	if err := InsertSecrets(&file, bytes.NewReader(AppendHeader(nil, exampleHeader)), []byte("key\n")); err != nil {
		t.Fatal(err)
	}
	got, err := ReadPcapng(&file)
	if err != nil || string(got.Secrets) != "key\n" || len(got.Interfaces) != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestReadRefuses(t *testing.T) {
	header := AppendHeader(nil, Header{})
	with := func(blocks ...[]byte) []byte { return bytes.Join(append([][]byte{header}, blocks...), nil) }
	packet := func(change func(b []byte)) []byte {
		b := AppendPacket(nil, &PacketRecord{Data: []byte{0x45}})
		change(b)
		return bytes.Join([][]byte{AppendHeader(nil, exampleHeader), b}, nil)
	}
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"an empty file", nil, "the file is empty"},
		{"a pcap file", binary.LittleEndian.AppendUint32(make([]byte, 0, 24), 0xa1b2c3d4)[:24], "block at offset 0: not a pcapng file"},
		{"a block of no length", with([]byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), "block at offset 32: invalid length 0"},
		{"a block past the limit", with([]byte{1, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0}), "block at offset 32: invalid length 33554432"},
		{"two lengths that differ", with([]byte{1, 0, 0, 0, 12, 0, 0, 0, 16, 0, 0, 0}), "its length is 12 at its start and 16 at its end"},
		{"a packet before its interface", with(AppendPacket(nil, &PacketRecord{})), "packet of interface 0, but the section has only 0 interfaces"},
		{"a packet past its block", packet(func(b []byte) { b[21] = 1 }), "packet of 257 octets in a block with room for"},
		{"more octets than the packet had", packet(func(b []byte) { b[24] = 0 }), "1 octets captured of a packet of 0"},
		{"an option past its block", packet(func(b []byte) { b[34] = 200 }), "option 2 of 200 octets"},
		{"a timestamp out of range", packet(func(b []byte) { b[15] = 0xff }), "packet timestamp out of range"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ReadPcapng(bytes.NewReader(c.file))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v; want one with %q", err, c.want)
			}
		})
	}
}

func TestReadUnknownBlock(t *testing.T) {
	file := AppendHeader(nil, exampleHeader)
	file = append(file, 0xad, 0x0b, 0, 0, 16, 0, 0, 0, 1, 2, 3, 4, 16, 0, 0, 0)
	file = AppendPacket(file, &exampleRecords()[0])
	got, err := ReadPcapng(bytes.NewReader(file))
	if err != nil || len(got.Records) != 1 {
		t.Errorf("%d records, %v; want 1", len(got.Records), err)
	}
}

func TestTimeResolution(t *testing.T) {
	for _, c := range []struct {
		resolution byte
		stamp      uint64
		want       int64
	}{
		{9, 1_700_000_000_123_456_789, 1_700_000_000_123_456_789},
		{6, 1_700_000_000_123_456, 1_700_000_000_123_456_000},
		{12, 1_500_000_000_000_700, 1_500_000_000_000},
		{0x80 | 10, 3<<10 | 512, 3_500_000_000},
	} {
		ticks, err := ticksPerSecond(c.resolution)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := nanoseconds(c.stamp, ticks); err != nil || got != c.want {
			t.Errorf("resolution %#x: %d = %d ns, %v; want %d", c.resolution, c.stamp, got, err, c.want)
		}
	}
	if _, err := ticksPerSecond(40); err == nil {
		t.Error("a resolution of 10^-40 s was accepted")
	}
}

// TestTsharkReadsIt reads a written file back with tshark, an independent
// reader.
func TestTsharkReadsIt(t *testing.T) {
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed: apt-get install tshark")
	}
	path := filepath.Join(t.TempDir(), "load.pcapng")
	var file bytes.Buffer
	if err := InsertSecrets(&file, bytes.NewReader(exampleFile()), []byte("CLIENT_RANDOM 00 11\n")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, file.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(tshark, "-r", path, "-T", "fields", "-E", "separator=|",
		"-e", "frame.interface_name", "-e", "frame.time_epoch", "-e", "frame.packet_id", "-e", "frame.p2p_dir",
		"-e", "frame.comment", "-e", "ip.dst", "-e", "tcp.dstport")
	command.Stderr = io.Discard
	out, err := command.Output()
	if err != nil {
		t.Fatalf("tshark: %v", err)
	}
	const want = `client.lte|1700000000.123456789|1|0||10.0.1.2|80
server.lte|1700000000.223456790|1|1||10.0.1.2|80
server.lte|1700000000.223500001|2|0|dropped: queue|10.0.0.2|4000
`
	if string(out) != want {
		t.Errorf("tshark shows\n%swant\n%s", out, want)
	}
}

func FuzzReadPcapng(f *testing.F) {
	var secret bytes.Buffer
	if err := InsertSecrets(&secret, bytes.NewReader(exampleFile()), []byte("CLIENT_RANDOM 00 11\n")); err != nil {
		f.Fatal(err)
	}
	f.Add(secret.Bytes())
	f.Add(exampleFile()[:100])
	f.Add([]byte("\x0a\x0d\x0d\x0a\x00\x00\x00\x1c\x1a\x2b\x3c\x4d\x00\x01\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x1c"))
	f.Fuzz(func(t *testing.T, file []byte) {
		var first *Packets
		var err error
		costtest.Check(t, len(file), pcapngLimit, func() { first, err = ReadPcapng(bytes.NewReader(file)) })
		if err != nil {
			return
		}
		again := AppendHeader(nil, first.Header)
		for i := range first.Records {
			again = AppendPacket(again, &first.Records[i])
		}
		var whole bytes.Buffer
		if err := InsertSecrets(&whole, bytes.NewReader(again), first.Secrets); err != nil {
			t.Fatalf("insert secrets into a file that was read: %v", err)
		}
		second, err := ReadPcapng(&whole)
		if err != nil {
			t.Fatalf("read what was written: %v", err)
		}
		if !reflect.DeepEqual(first.Records, second.Records) || !bytes.Equal(first.Secrets, second.Secrets) {
			t.Errorf("read %+v, after writing %+v", first, second)
		}
	})
}

func FuzzInsertSecrets(f *testing.F) {
	f.Add(exampleFile())
	f.Add(exampleFile()[:40])
	f.Fuzz(func(t *testing.T, file []byte) {
		var out bytes.Buffer
		if err := InsertSecrets(&out, bytes.NewReader(file), nil); err == nil && !bytes.Equal(out.Bytes(), file) {
			t.Error("a capture without secrets was not copied as it is")
		}
	})
}
