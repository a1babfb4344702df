package transport

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"wiretime/media/storage"
)

// TestRequestIsAsDocumented compares the format with the package's documentation.
func TestRequestIsAsDocumented(t *testing.T) {
	r := Request{ID: storage.ID{Item: "clip", Resolution: storage.QHD, Segment: 258}, Offset: 3, Length: 4}
	got, err := r.octets()
	must(t, err)
	want := "\x01" + "\x03" + "\x00\x00\x01\x02" + "\x00\x00\x00\x00\x00\x00\x00\x03" + "\x00\x00\x00\x00\x00\x00\x00\x04" + "\x04clip"
	if string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestResponseIsAsDocumented(t *testing.T) {
	got := header{status: 404, segments: 5, size: 6, length: 7}.octets()
	want := "\x01" + "\x01\x94" + "\x00\x00\x00\x05" + "\x00\x00\x00\x00\x00\x00\x00\x06" + "\x00\x00\x00\x00\x00\x00\x00\x07"
	if string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRequestsThatCannotBe(t *testing.T) {
	for says, r := range map[string]Request{
		"name of 0 octets":   {},
		"name of 256 octets": {ID: storage.ID{Item: strings.Repeat("x", 256)}},
		"octet -1 on":        {ID: storage.ID{Item: "x"}, Offset: -1},
		"-1 octets":          {ID: storage.ID{Item: "x"}, Length: -1},
	} {
		if _, err := r.octets(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

func TestURLsOfRequests(t *testing.T) {
	for want, r := range map[string]Request{
		"media:file":                        wholeFile,
		"media:file?offset=1&length=0":      {ID: storage.ID{Item: "file"}, Offset: 1},
		"media:clip/fhd/7":                  segment(storage.FHD, 7),
		"media:clip/hd/0?offset=0&length=9": {ID: storage.ID{Item: "clip", Resolution: storage.HD}, Length: 9},
	} {
		if got := r.URL(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func FuzzRequest(f *testing.F) {
	for _, r := range []Request{wholeFile, segment(storage.QHD, 258), {ID: storage.ID{Item: "x"}, Offset: 1 << 62, Length: 1}} {
		b, err := r.octets()
		must(f, err)
		f.Add(b)
		f.Add(b[:len(b)-1])
	}
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0xff}, requestHead+longestName))
	f.Add(append([]byte{2}, make([]byte, requestHead)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		from := bytes.NewReader(b)
		r, err := readRequest(from)
		if err != nil {
			if !errors.Is(err, errMalformed) && !errors.Is(err, io.ErrUnexpectedEOF) && (len(b) > 0 || !errors.Is(err, io.EOF)) {
				t.Errorf("%q: %v", b, err)
			}
			return
		}
		again, err := r.octets()
		if err != nil {
			t.Fatalf("%q is read as %+v, which cannot be written: %v", b, r, err)
		}
		if read := b[:len(b)-from.Len()]; !bytes.Equal(again, read) {
			t.Errorf("%q is read as %+v, which is written as %q", read, r, again)
		}
		for _, size := range []int64{0, 1, 1 << 40} {
			if length, ok := r.cut(size); ok && (length < 0 || r.Offset+length > size) {
				t.Errorf("%+v of %d octets: %d", r, size, length)
			}
		}
	})
}

func FuzzResponse(f *testing.F) {
	for _, h := range []header{{200, 1, 10, 10}, {404, 0, 0, 0}, {416, 8, 0, 0}, {200, 1 << 31, 1 << 62, 1}} {
		f.Add(h.octets())
	}
	f.Add([]byte{1, 0, 200})
	f.Add(header{200, 1, 1, 2}.octets())
	f.Add(header{500, 1, 1, 1}.octets())
	f.Add(bytes.Repeat([]byte{0xff}, responseHead))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := readHeader(bytes.NewReader(b))
		if err != nil {
			if !errors.Is(err, errMalformed) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%q: %v", b, err)
			}
			return
		}
		if h.length < 0 || h.length > h.size || (h.status != 200 && h.length != 0) {
			t.Errorf("%q is read as %+v", b, h)
		}
		if again := h.octets(); !bytes.Equal(again, b[:responseHead]) {
			t.Errorf("%q is read as %+v, which is written as %q", b, h, again)
		}
	})
}
