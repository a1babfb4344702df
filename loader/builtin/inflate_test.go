package builtin

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/binary"
	"hash/crc32"
	"io"
	"testing"
	"testing/iotest"
)

// TestInflateAllKindsOfBlocks decodes stored, fixed and dynamic blocks, of every level of
// compress/flate, octet by octet.
func TestInflateAllKindsOfBlocks(t *testing.T) {
	for _, plain := range [][]byte{nil, []byte("a"), []byte("fixed codes suit a short text"), bytes.Repeat([]byte("run "), 70_000), content(300)} {
		for _, level := range []int{flate.HuffmanOnly, flate.NoCompression, flate.BestSpeed, flate.BestCompression} {
			var b bytes.Buffer
			w, err := gzip.NewWriterLevel(&b, level)
			must(t, err)
			w.Name, w.Comment, w.Extra = "name", "comment", []byte("extra")
			_, err = w.Write(plain)
			must(t, err)
			must(t, w.Close())
			r, err := newGunzip(iotest.OneByteReader(&b))
			must(t, err)
			got, err := io.ReadAll(r)
			if err != nil || !bytes.Equal(got, plain) {
				t.Errorf("level %d, %d octets: got %d, %v", level, len(plain), len(got), err)
			}
		}
	}
}

// FuzzInflate compares the result with compress/flate's for any input.
func FuzzInflate(f *testing.F) {
	for _, plain := range [][]byte{nil, []byte("text"), content(3)} {
		var b bytes.Buffer
		w, err := flate.NewWriter(&b, flate.BestCompression)
		if err != nil {
			f.Fatal(err)
		}
		_, _ = w.Write(plain)
		_ = w.Close()
		f.Add(b.Bytes())
	}
	f.Add([]byte{5, 0xc0, 1, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, deflated []byte) {
		const limit = 1 << 20
		want, wrong := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(deflated)), limit))
		trailer := binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(want))
		d := newInflater(bytes.NewReader(append(bytes.Clone(deflated), append(trailer, 0, 0, 0, 0)...)), crc32.NewIEEE(), binary.LittleEndian, true)
		got, err := io.ReadAll(io.LimitReader(d, limit))
		if wrong == nil && len(want) < limit && !bytes.Equal(got, want) {
			t.Errorf("%d octets, %v; compress/flate says %d", len(got), err, len(want))
		}
	})
}
