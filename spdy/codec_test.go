package spdy

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

func eachVersion(t *testing.T, test func(t *testing.T, v Version)) {
	for _, v := range Versions() {
		t.Run(strings.ReplaceAll(v.String(), "/", "-"), func(t *testing.T) { test(t, v) })
	}
}

// TestDictionaries compares the dictionaries with their drafts.
func TestDictionaries(t *testing.T) {
	for _, c := range []struct {
		text   string
		length int
		sha1   string
	}{
		{dictionary2, 907, "adbd27d5a84b660fd17654f9dd73b2634ee8dcae"},
		{dictionary3, 1423, "d68ca9b208de9c3754703445a22cf668a5abebb3"},
	} {
		sum := sha1.Sum([]byte(c.text))
		if len(c.text) != c.length || hex.EncodeToString(sum[:]) != c.sha1 {
			t.Errorf("%d octets with the SHA-1 %x, want %d and %s", len(c.text), sum, c.length, c.sha1)
		}
	}
}

// requests returns the fields of n requests as a browser makes them.
func requests(n int) [][]Field {
	var all [][]Field
	for i := range n {
		all = append(all, []Field{
			{":host", "www.example.com"}, {":method", "GET"}, {":path", fmt.Sprintf("/images/flag-%03d.png?v=%d", i, i*i)},
			{":scheme", "https"}, {":version", "HTTP/1.1"},
			{"accept", "image/webp,*/*;q=0.8"}, {"accept-encoding", "gzip,deflate,sdch"}, {"accept-language", "en-US,en;q=0.8"},
			{"cookie", "session=0123456789abcdef; theme=dark"}, {"referer", "https://www.example.com/index.html"},
			{"user-agent", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36"},
		})
	}
	return all
}

// TestHeaderBlocksAreAZlibStream reads our deflater's output with the standard
// library's reader and with our own.
func TestHeaderBlocksAreAZlibStream(t *testing.T) {
	eachVersion(t, func(t *testing.T, v Version) {
		for _, c := range []Compression{CompressSafe, CompressAll, CompressNone} {
			z, own, wire := newDeflater(v, c), newInflater(v), new(bytes.Buffer)
			dictionary := dictionary3
			if v == V2 {
				dictionary = dictionary2
			}
			var reader io.ReadCloser
			total := 0
			for i, fields := range requests(300) {
				pieces, err := appendPieces(v, nil, fields)
				if err != nil {
					t.Fatal(err)
				}
				var want []byte
				for _, p := range pieces {
					want = append(want, p.text...)
				}
				block := z.block(nil, pieces)
				total += len(block)
				wire.Write(block)
				if reader == nil {
					if reader, err = zlib.NewReaderDict(wire, []byte(dictionary)); err != nil {
						t.Fatal(err)
					}
				}
				got := make([]byte, len(want))
				if _, err := io.ReadFull(reader, got); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("compression %d, block %d: compress/zlib reads %q, %v, want %q", c, i, got, err, want)
				}
				if got, err := own.block(block, 1<<16); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("compression %d, block %d: read back as %q, %v, want %q", c, i, got, err, want)
				}
			}
			t.Logf("compression %d: %d octets per request", c, total/300)
			if c == CompressAll && total/300 > 60 || c == CompressSafe && total/300 > 110 {
				t.Errorf("compression %d: %d octets per request", c, total/300)
			}
		}
	})
}

// TestInflaterReadsEveryLevelOfZlib reads other deflaters' output, with their
// own codes, longer matches and larger windows.
func TestInflaterReadsEveryLevelOfZlib(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for level := -2; level <= 9; level++ {
		wire := new(bytes.Buffer)
		w, err := zlib.NewWriterLevelDict(wire, level, []byte(dictionary3))
		if err != nil {
			t.Fatal(err)
		}
		z := newInflater(V3)
		var past []byte
		for i := range 60 {
			want := make([]byte, random.IntN(9000))
			for i := range want {
				want[i] = "abcdefgh 0123456789=;\x00\xff"[random.IntN(21)]
			}
			if n := random.IntN(len(past) + 1); i%2 == 0 && n > 0 {
				want = append(want, past[len(past)-min(n, 30000):]...)
			}
			past = append(past, want...)
			wire.Reset()
			if _, err := w.Write(want); err != nil {
				t.Fatal(err)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if got, err := z.block(wire.Bytes(), 1<<20); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("level %d, block %d: %v", level, i, err)
			}
		}
	}
}

// allFrames returns one frame of each type, with everything it may contain.
func allFrames(v Version) []Frame {
	fields := []Field{{"a", "b"}, {"cookie", "secret"}, {"x", "1\x002\x003"}}
	frames := []Frame{
		&SynStream{StreamID: 1, Priority: Highest, Fin: true, Fields: fields},
		&SynStream{StreamID: maxStreamID, AssociatedID: 5, Priority: 6, Unidirectional: true, Fields: fields},
		&SynReply{StreamID: 1, Fields: fields},
		&SynReply{StreamID: 1, Fin: true},
		&RstStream{StreamID: 3, Status: Cancel},
		&Settings{Clear: true, Entries: []Setting{
			{SettingMaxConcurrentStreams, PersistValue, 100}, {SettingInitialWindowSize, Persisted, 1 << 20}, {0xabcdef, 0, 1<<32 - 1},
		}},
		&Settings{},
		&Ping{ID: 1<<32 - 1},
		&GoAway{LastStreamID: 7},
		&Headers{StreamID: 5, Fin: true, Fields: fields},
		&Data{StreamID: 9, Fin: true, Payload: []byte("hello")},
		&Data{StreamID: 9},
		&Unknown{Version: v.wire(), Kind: 77, Flags: 3, Payload: []byte("x")},
		&Unknown{Version: 9, Kind: TypePing, Payload: []byte("else")},
	}
	if v == V2 {
		return append(frames, &Noop{})
	}
	if v == V31 {
		frames = append(frames, &WindowUpdate{StreamID: 0, Delta: 1})
	}
	return append(frames, &WindowUpdate{StreamID: 1, Delta: maxWindow}, &GoAway{LastStreamID: 1, Status: GoAwayInternalError},
		&Credential{Slot: 1, Proof: []byte("proof"), Certificates: [][]byte{[]byte("leaf"), []byte("root")}},
		&SynStream{StreamID: 11, Slot: 4, Priority: 3, Fields: []Field{{"empty", ""}}})
}

func TestFramesComeBackAsTheyWere(t *testing.T) {
	eachVersion(t, func(t *testing.T, v Version) {
		var wire bytes.Buffer
		f := NewFramer(v, &wire, &wire, CompressSafe)
		for _, want := range allFrames(v) {
			if err := f.WriteFrame(want); err != nil {
				t.Fatalf("%s: %v", want.Type(), err)
			}
			got, err := f.ReadFrame()
			if err != nil {
				t.Fatalf("%s: %v", want.Type(), err)
			}
			if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) || reflect.TypeOf(got) != reflect.TypeOf(want) {
				t.Errorf("%s came back as %+v, was %+v", want.Type(), got, want)
			}
		}
		if _, err := f.ReadFrame(); !errors.Is(err, io.EOF) {
			t.Errorf("after the last frame: %v, want EOF", err)
		}
	})
}

// TestFramesOnTheWire compares frames with the drafts, octet by octet.
func TestFramesOnTheWire(t *testing.T) {
	for _, c := range []struct {
		v    Version
		f    Frame
		want string
	}{
		{V2, &Settings{Entries: []Setting{{SettingMaxConcurrentStreams, PersistValue, 100}}}, "80020004 0000000c 00000001 04000001 00000064"},
		{V3, &Settings{Entries: []Setting{{SettingMaxConcurrentStreams, PersistValue, 100}}}, "80030004 0000000c 00000001 01000004 00000064"},
		{V2, &GoAway{LastStreamID: 3, Status: 1}, "80020007 00000004 00000003"},
		{V31, &GoAway{LastStreamID: 3, Status: 1}, "80030007 00000008 00000003 00000001"},
		{V2, &Noop{}, "80020005 00000000"},
		{V3, &Ping{ID: 2}, "80030006 00000004 00000002"},
		{V3, &RstStream{StreamID: 1, Status: Cancel}, "80030003 00000008 00000001 00000005"},
		{V31, &WindowUpdate{Delta: 65536}, "80030009 00000008 00000000 00010000"},
		{V31, &Data{StreamID: 1, Fin: true, Payload: []byte{0xaa}}, "00000001 01000001 aa"},
	} {
		got, err := newEncoder(c.v, CompressSafe).append(nil, c.f)
		if want := strings.ReplaceAll(c.want, " ", ""); err != nil || hex.EncodeToString(got) != want {
			t.Errorf("%s %s: %x, %v, want %s", c.v, c.f.Type(), got, err, want)
		}
	}
	// The first octets of a SYN_STREAM: stream IDs, then the priority.
	for v, want := range map[Version]string{V2: "00000001 00000000 8000", V3: "00000001 00000000 4000"} {
		got, _ := newEncoder(v, CompressSafe).append(nil, &SynStream{StreamID: 1, Priority: 2})
		if want = strings.ReplaceAll(want, " ", ""); hex.EncodeToString(got[8:18]) != want {
			t.Errorf("%s SYN_STREAM: %x, want %s", v, got[8:18], want)
		}
	}
}

// TestBrokenFramesNameTheRule breaks each rule of the framing, and expects an
// error that names it.
func TestBrokenFramesNameTheRule(t *testing.T) {
	for _, c := range []struct {
		v         Version
		hex, want string
	}{
		{V3, "80030001 00000004 00000001", "section 2.6.1"},
		{V3, "80030001 0000000a 00000000 00000000 0000", "section 2.3.2"},
		{V3, "80030002 00000000", "section 2.6.2"},
		{V3, "80030003 00000004 00000001", "section 2.6.3"},
		{V3, "80030003 00000008 00000000 00000001", "section 2.3.2"},
		{V3, "80030004 00000000", "section 2.6.4"},
		{V3, "80030004 00000004 00000001", "section 2.6.4"},
		{V2, "80020004 00000004 ffffffff", `"SETTINGS"`},
		{V3, "80030006 00000005 0000000100", "section 2.6.5"},
		{V2, "80020007 00000008 00000000 00000000", `"GOAWAY"`},
		{V31, "80030007 00000004 00000000", "draft 3.1 section 2.6.6"},
		{V3, "80030008 00000002 0000", "section 2.6.7"},
		{V3, "80030009 00000004 00000000", "section 2.6.8"},
		{V3, "80030009 00000008 00000000 00000001", "section 2.6.8"},
		{V31, "80030009 00000008 00000000 00000000", "section 2.6.8"},
		{V3, "80030009 00000008 00000001 00000000", "section 2.6.8"},
		{V3, "8003000a 00000006 0000 00000000", "section 2.6.9"},
		{V3, "8003000a 00000006 0001 00000001", "section 2.6.9"},
		{V2, "80020005 00000001 00", "draft 2"},
		{V3, "00000000 00000000", "section 2.3.2"},
		{V3, "80030002 00000006 00000001 ffff", "section 2.6.10.1"},
	} {
		wire, err := hex.DecodeString(strings.ReplaceAll(c.hex, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		_, err = NewFramer(c.v, nil, bytes.NewReader(wire), CompressSafe).ReadFrame()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want an error that names %s", c.v, c.hex, err, c.want)
		}
	}
}

// rawBlock builds a block that appendPieces would refuse.
func rawBlock(v Version, z *deflater, pairs ...string) []byte {
	b := v.appendCount(nil, len(pairs)/2)
	for _, s := range pairs {
		b = append(v.appendCount(b, len(s)), s...)
	}
	return z.block(nil, []piece{{text: string(b)}})
}

// TestBadFieldsCostTheirStream checks that an invalid header block resets its
// stream, and that the next block can be read.
func TestBadFieldsCostTheirStream(t *testing.T) {
	many := make([]string, 2*(DefaultMaxHeaderFields+1))
	for i := range many {
		many[i] = fmt.Sprint("n", i)
	}
	eachVersion(t, func(t *testing.T, v Version) {
		cases := map[string][]string{
			"is empty":                     {"", "x"},
			"lower-case":                   {"Upper", "x"},
			"does not separate two values": {"a", "b\x00\x00c"},
			"duplicate name":               {"a", "b", "a", "c"},
			"the limit of":                 many,
			"exceeds the limit of 65536":   {"a", strings.Repeat("x", 60000), "b", strings.Repeat("x", 60000)},
		}
		if v != V2 {
			cases["NUL"] = []string{"a", "\x00b"}
		} else {
			cases["value of"] = []string{"a", ""}
		}
		z, d := newDeflater(v, CompressNone), newDecoder(v, frameLimits{DefaultMaxHeaderBytes, DefaultMaxHeaderFields})
		for want, pairs := range cases {
			payload := append([]byte{0, 0, 0, 5}, make([]byte, map[bool]int{true: 2}[v == V2])...)
			f, err := d.control(frameHeader{control: true, version: v.wire(), kind: TypeSynReply}, append(payload, rawBlock(v, z, pairs...)...))
			var stream *StreamError
			if !errors.As(err, &stream) || stream.StreamID != 5 || stream.Status != ProtocolError || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want a stream's error", want, err)
			}
			if f == nil {
				t.Errorf("%s: no frame", want)
			}
			if f, err := d.control(frameHeader{control: true, version: v.wire(), kind: TypeSynReply}, append(payload, rawBlock(v, z, "a", "b")...)); err != nil || len(f.(*SynReply).Fields) != 1 {
				t.Errorf("the block after %q: %v", want, err)
			}
		}
	})
}

// TestInflationIsBounded checks that a block that inflates without end stops at
// a fixed size and ends the session.
func TestInflationIsBounded(t *testing.T) {
	bomb := new(bytes.Buffer)
	w, _ := zlib.NewWriterLevelDict(bomb, 9, []byte(dictionary3))
	_, _ = w.Write(make([]byte, 1<<24))
	_ = w.Flush()
	d := newDecoder(V31, frameLimits{DefaultMaxHeaderBytes, DefaultMaxHeaderFields})
	_, err := d.control(frameHeader{control: true, version: 3, kind: TypeSynReply}, append([]byte{0, 0, 0, 1}, bomb.Bytes()...))
	var session *SessionError
	if !errors.As(err, &session) || !strings.Contains(err.Error(), "inflates to more") {
		t.Errorf("16 MB of zeros in %d octets: %v", bomb.Len(), err)
	}
	if held := cap(d.z.window); held > 8*DefaultMaxHeaderBytes {
		t.Errorf("the decoder holds %d octets after it", held)
	}
	// The ratio stops this one before the size does.
	bomb.Reset()
	w, _ = zlib.NewWriterLevelDict(bomb, 9, []byte(dictionary3))
	_, _ = w.Write(make([]byte, 50000))
	_ = w.Flush()
	z := newInflater(V31)
	if _, err := z.block(bomb.Bytes(), 1<<20); !errors.Is(err, errInflated) {
		t.Errorf("%d octets that inflate to 50000: %v", bomb.Len(), err)
	}
}

// TestSecretsDoNotShowInLengths checks against CRIME: with a guess in the path,
// the length of a request must not depend on whether the cookie matches the
// guess.
func TestSecretsDoNotShowInLengths(t *testing.T) {
	length := func(c Compression, guess string) int {
		e, n := newEncoder(V31, c), 0
		for range 4 {
			b, err := e.append(nil, &SynStream{StreamID: 1, Fields: []Field{
				{":path", "/?cookie=session=" + guess}, {"authorization", "Basic c2VjcmV0"}, {"cookie", "session=7f3a9c"}, {"x", "session=" + guess},
			}})
			if err != nil {
				t.Fatal(err)
			}
			n += len(b)
		}
		return n
	}
	right, wrong := "7f3a9c", "b280e1"
	if a, b := length(CompressAll, right), length(CompressAll, wrong); a >= b {
		t.Fatalf("with CompressAll: %d octets for the right guess, %d for a wrong one: the test cannot fail", a, b)
	}
	for _, c := range []Compression{CompressSafe, CompressNone} {
		if a, b := length(c, right), length(c, wrong); a != b {
			t.Errorf("compression %d: %d octets for the right guess, %d for a wrong one", c, a, b)
		}
	}
}
