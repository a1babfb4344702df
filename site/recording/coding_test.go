package recording

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"errors"
	"strings"
	"testing"

	"wiretime/coding"
)

func TestCodings(t *testing.T) {
	text := []byte(strings.Repeat("as it was said before ", 1000))
	coded := map[string][]byte{"": text, "identity": text}
	for _, name := range []string{"gzip", "br", "zstd"} {
		b, err := new(coder).encode(text, name)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := new(coder).encode(text, name); !bytes.Equal(b, again) {
			t.Errorf("%s: encoding the same text twice gives different octets", name)
		}
		coded[name] = b
	}
	coded["X-GZIP"] = coded["gzip"]
	var z, raw bytes.Buffer
	zw := zlib.NewWriter(&z)
	fw, _ := flate.NewWriter(&raw, 6)
	for _, err := range []error{write(zw, text), write(fw, text)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	coded["deflate"], coded[" Deflate "] = z.Bytes(), raw.Bytes()
	twice, err := new(coder).encode(coded["gzip"], "br")
	if err != nil {
		t.Fatal(err)
	}
	coded["gzip, br"] = twice
	for codings, b := range coded {
		got, err := coding.Decode(b, coding.Names(codings), 1<<20)
		if err != nil || !bytes.Equal(got, text) {
			t.Errorf("%q: %d octets, %v", codings, len(got), err)
		}
		if _, err := coding.Decode(b, coding.Names(codings), 100); strings.TrimSpace(codings) != "" && codings != "identity" && !errors.Is(err, coding.ErrTooLong) {
			t.Errorf("%q, at most 100 octets: %v", codings, err)
		}
		if codings != "" && codings != "identity" && strings.TrimSpace(codings) == codings {
			if _, err := coding.Decode(b[:len(b)/2], coding.Names(codings), 1<<20); err == nil {
				t.Errorf("%q: half a body was accepted", codings)
			}
		}
	}
	if _, err := coding.Decode(text, coding.Names("sdch"), 1<<20); err == nil || !strings.Contains(err.Error(), `"sdch"`) {
		t.Errorf("an unknown coding: %v", err)
	}
}

func write(w interface {
	Write([]byte) (int, error)
	Close() error
}, b []byte) error {
	_, err := w.Write(b)
	return errors.Join(err, w.Close())
}

func TestRecode(t *testing.T) {
	for codings, want := range map[string]string{"": "", "identity": "", "gzip": "gzip", "x-gzip": "gzip", "deflate": "gzip", "BR": "br", "zstd": "zstd", "gzip, br": "br", "dcb": "gzip"} {
		if got := recode(codings); got != want {
			t.Errorf("%q is kept as %q, want %q", codings, got, want)
		}
	}
}

// TestTune makes bodies of every size and compressibility.
func TestTune(t *testing.T) {
	stub := &skeleton{pieces: []string{"!function(d){}(document);", ""}, open: "/*", close: "*/", pad: "\n"}
	parts := &skeleton{pieces: []string{"<html>", `<img src="a">`, `<img src="b">`, "</html>"}, open: "<!--", close: "-->", pad: "\n"}
	for _, s := range []*skeleton{stub, parts} {
		for _, name := range []string{"gzip", "br", "zstd"} {
			for _, c := range []struct{ size, wire int64 }{
				{200_000, 50_000}, {200_000, 5_000}, {200_000, 150_000}, {200_000, 190_000}, {20_000, 20_000}, {3_000, 900}, {500, 350}, {100, 100}, {1_000, 4_000}, {100_000, 300},
			} {
				content, sent, err := s.tune(c.size, c.wire, name, 1, new(coder))
				if err != nil {
					t.Fatal(err)
				}
				if away(sent, c.wire) > 40+c.wire/50 && int64(len(sent)) < c.wire {
					t.Errorf("%d octets that are %d by %s: %d on the wire", c.size, c.wire, name, len(sent))
				}
				if c.wire <= c.size*9/10 && int64(len(content)) != c.size && c.size > 400 {
					t.Errorf("%d octets that are %d by %s: %d octets", c.size, c.wire, name, len(content))
				}
				if back, err := coding.Decode(sent, []string{name}, 1<<20); err != nil || !bytes.Equal(back, content) {
					t.Errorf("%d octets by %s: the encoded form does not decode to the content, %v", c.size, name, err)
				}
			}
		}
	}
}

// TestRender checks that bodies have exactly the given size, contain their pieces in order,
// and are inert in between.
func TestRender(t *testing.T) {
	s := &skeleton{pieces: []string{"<html>", "<img>", "</html>"}, open: "<!--", close: "-->", pad: "\n"}
	for _, level := range []float64{0, .5, 1, 1.5, 2} {
		for size := range int64(1000) {
			body := string(s.render(size, level, 7))
			if want := max(size, int64(len("<html><img></html>"))); int64(len(body)) != want {
				t.Fatalf("level %v: %d octets, want %d", level, len(body), want)
			}
			for _, piece := range s.pieces {
				_, rest, ok := strings.Cut(body, piece)
				if !ok {
					t.Fatalf("level %v, %d octets: %s is missing", level, size, piece)
				}
				body = rest
			}
		}
	}
	for _, c := range []string{"-", ">", "<", "*", "/", `"`, "'", `\`, "&"} {
		if strings.Contains(octets, c) || strings.Contains(letters, c) {
			t.Errorf("filler may hold %s, which can terminate it", c)
		}
	}
}
