package coding_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"

	"wiretime/coding"
)

var known = []string{"gzip", "deflate", "br", "zstd"}

var text = []byte(strings.Repeat("p { color: green } ", 300))

func encode(t *testing.T, content []byte, names ...string) []byte {
	t.Helper()
	for _, name := range names {
		fastest, _ := coding.Levels(name)
		coded, err := coding.Encode(content, name, fastest)
		must(t, err)
		content = coded
	}
	return content
}

func TestEachLevelIsUndone(t *testing.T) {
	for _, name := range known {
		fastest, hardest := coding.Levels(name)
		for level := fastest; level <= hardest; level++ {
			coded, err := coding.Encode(text, name, level)
			must(t, err)
			if again, err := coding.Encode(text, name, level); err != nil || !bytes.Equal(again, coded) {
				t.Errorf("%s at level %d gives other octets the second time (%v)", name, level, err)
			}
			if got, err := coding.Decode(coded, []string{name}, 1<<20); err != nil || !bytes.Equal(got, text) {
				t.Errorf("%s at level %d: %d octets, %v", name, level, len(got), err)
			}
		}
	}
}

func TestLimits(t *testing.T) {
	for _, name := range known {
		coded := encode(t, text, name)
		if _, err := coding.Decode(coded, []string{name}, int64(len(text))-1); !errors.Is(err, coding.ErrTooLong) {
			t.Errorf("%s, an octet too long: %v", name, err)
		}
		if _, err := coding.Decode(coded[:len(coded)/2], []string{name}, 1<<20); err == nil {
			t.Errorf("%s: half of it is taken for all", name)
		}
	}
	four := []string{"gzip", "gzip", "gzip", "gzip"}
	if _, err := coding.Decode(encode(t, text, four...), four, 1<<20); err == nil || !strings.Contains(err.Error(), "at most 3") {
		t.Errorf("four codings: %v", err)
	}
	var wide bytes.Buffer
	w, err := zstd.NewWriter(&wide, zstd.WithWindowSize(16<<20))
	must(t, err)
	_, err = w.Write(make([]byte, 20<<20))
	must(t, errors.Join(err, w.Close()))
	if _, err := coding.Decode(wide.Bytes(), []string{"zstd"}, 1<<30); err == nil {
		t.Error("zstd with a window of 16 MiB is undone")
	}
}

// TestLimitOfTheDataBetweenCodings checks that a bomb between two codings is an error, and that data
// that just keeps the limit is not.
func TestLimitOfTheDataBetweenCodings(t *testing.T) {
	bomb := encode(t, make([]byte, 1<<20), "gzip", "br")
	between := int64(len(encode(t, make([]byte, 1<<20), "gzip")))
	for _, c := range []struct {
		limit int64
		fails bool
	}{{between, false}, {between - 1, true}} {
		r, err := coding.Open(bomb, []string{"gzip", "br"}, c.limit)
		if err == nil {
			_, err = io.Copy(io.Discard, r)
		}
		if errors.Is(err, coding.ErrTooLong) != c.fails || !c.fails && err != nil {
			t.Errorf("%d octets with a limit of %d: %v", between, c.limit, err)
		}
	}
	if got, err := io.ReadAll(coding.Limit(bytes.NewReader(text), int64(len(text)))); err != nil || !bytes.Equal(got, text) {
		t.Errorf("a body as long as the limit: %d octets, %v", len(got), err)
	}
	got, err := io.ReadAll(coding.Limit(bytes.NewReader(text), 7))
	if !errors.Is(err, coding.ErrTooLong) || !bytes.Equal(got, text[:7]) || !strings.Contains(err.Error(), "more than 7 octets") {
		t.Errorf("a body longer than the limit: %q, %v", got, err)
	}
}

func TestOthers(t *testing.T) {
	names := []string{"gzip", "br"}
	if got, err := coding.Decode(encode(t, text, names...), names, 1<<20); err != nil || !bytes.Equal(got, text) {
		t.Errorf("br over gzip: %d octets, %v", len(got), err)
	}
	var bare bytes.Buffer
	w, err := flate.NewWriter(&bare, 5)
	must(t, err)
	_, err = w.Write(text)
	must(t, errors.Join(err, w.Close()))
	if got, err := coding.Decode(bare.Bytes(), []string{"deflate"}, 1<<20); err != nil || !bytes.Equal(got, text) {
		t.Errorf("bare deflate: %d octets, %v", len(got), err)
	}
	if _, err := coding.Decode(text, []string{"sdch"}, 1<<20); err == nil || !strings.Contains(err.Error(), `"sdch"`) {
		t.Errorf("a coding that is not known: %v", err)
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		field string
		want  []string
	}{
		{"", nil}, {"identity", nil}, {"none", nil}, {"GZIP", []string{"gzip"}}, {"x-gzip", []string{"gzip"}},
		{" gzip ,, br", []string{"gzip", "br"}}, {"sdch", []string{"sdch"}},
	} {
		if got := coding.Names(c.field); !slices.Equal(got, c.want) {
			t.Errorf("%q names %q, want %q", c.field, got, c.want)
		}
	}
}

func FuzzOpen(f *testing.F) {
	for _, name := range known {
		coded, err := coding.Encode(text, name, 1)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(name, coded)
	}
	f.Fuzz(func(t *testing.T, field string, body []byte) {
		const limit = 1 << 16
		decoded, err := coding.Decode(body, coding.Names(field), limit)
		if err == nil && len(coding.Names(field)) > 0 && len(decoded) > limit {
			t.Errorf("%d octets were decoded", len(decoded))
		}
		if r, err := coding.Open(body, coding.Names(field), limit); err == nil {
			_, _ = io.Copy(io.Discard, io.LimitReader(r, limit))
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
