package builtin

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// encode applies content codings, the first one first.
func encode(t *testing.T, plain []byte, codings ...string) []byte {
	t.Helper()
	for _, coding := range codings {
		var b bytes.Buffer
		var w io.WriteCloser
		switch coding {
		case "gzip":
			w = gzip.NewWriter(&b)
		case "deflate":
			w = zlib.NewWriter(&b)
		case "br":
			w = brotli.NewWriter(&b)
		case "zstd":
			z, err := zstd.NewWriter(&b)
			if err != nil {
				t.Fatal(err)
			}
			w = z
		}
		if _, err := w.Write(plain); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		plain = b.Bytes()
	}
	return plain
}

func content(kB int) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	for b.Len() < kB*1000 {
		b.WriteString("<p>")
		b.WriteByte(byte('a' + random.IntN(26)))
	}
	return b.Bytes()
}

// decode feeds octets to a decoder in pieces of a given size.
func decode(contentEncoding string, octets []byte, size int) ([]byte, error) {
	var plain []byte
	keep := func(b []byte) error { plain = append(plain, b...); return nil }
	d := newDecoder(context.Background(), contentEncoding, Limits{}.withDefaults())
	defer d.stop()
	for len(octets) > 0 {
		n := min(size, len(octets))
		if err := d.feed(octets[:n], keep); err != nil {
			return plain, err
		}
		octets = octets[n:]
	}
	return plain, d.finish(keep)
}

var codings = [][]string{{"gzip"}, {"deflate"}, {"br"}, {"zstd"}, {"gzip", "br"}}

func TestDecoderUndoesWhatArrivesInPieces(t *testing.T) {
	plain := content(100)
	for _, coding := range codings {
		octets := encode(t, plain, coding...)
		for _, size := range []int{1, 7, 1460, 1 << 20} {
			got, err := decode(strings.Join(coding, ", "), octets, size)
			if err != nil || !bytes.Equal(got, plain) {
				t.Errorf("%v in pieces of %d: %d octets of %d, error %v", coding, size, len(got), len(plain), err)
			}
		}
	}
}

// TestDecoderDoesNotWaitForTheRest checks that half of a body decodes to about half of
// the content, so that a page is parsed while it arrives. This includes short bodies if
// the coding can be decoded octet by octet; zstd's blocks cannot.
func TestDecoderDoesNotWaitForTheRest(t *testing.T) {
	for _, c := range []struct {
		coding string
		kB     int
	}{{"gzip", 20}, {"deflate", 20}, {"br", 20}, {"gzip", 1000}, {"deflate", 1000}, {"br", 1000}, {"zstd", 1000}} {
		coding, plain := c.coding, content(c.kB)
		octets := encode(t, plain, coding)
		var came int
		d := newDecoder(t.Context(), coding, Limits{}.withDefaults())
		if err := d.feed(octets[:len(octets)/2], func(b []byte) error { came += len(b); return nil }); err != nil {
			t.Errorf("%s: %v", coding, err)
		}
		d.stop()
		if came < len(plain)/3 {
			t.Errorf("%s: half of the octets decoded to %d of %d", coding, came, len(plain))
		}
	}
}

func TestDecoderRefusesBodiesThatAreNotWhole(t *testing.T) {
	for _, coding := range codings {
		name := strings.Join(coding, ", ")
		octets := encode(t, content(100), coding...)
		for _, keep := range []int{1, len(octets) / 2, len(octets) - 1} {
			if _, err := decode(name, octets[:keep], 1000); err == nil || !strings.Contains(err.Error(), "ends too early") {
				t.Errorf("%s, %d of %d octets: %v", name, keep, len(octets), err)
			}
		}
		if _, err := decode(name, content(1), 1000); err == nil || !strings.Contains(err.Error(), "decode content coding") {
			t.Errorf("%s, plain text: %v", name, err)
		}
	}
	for _, coding := range []string{"gzip", "zstd"} {
		if got, err := decode(coding, nil, 1); err != nil || got != nil {
			t.Errorf("%s, no body: %d octets, %v", coding, len(got), err)
		}
	}
	if _, err := decode("lzma", []byte("x"), 1); err == nil || !strings.Contains(err.Error(), "unsupported content coding") {
		t.Errorf("an unknown coding: %v", err)
	}
	for _, plain := range []string{"", "identity", " , identity"} {
		if newDecoder(t.Context(), plain, Limits{}) != nil {
			t.Errorf("%q: want nothing to decode", plain)
		}
	}
}
