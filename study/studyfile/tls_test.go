package studyfile

import (
	"slices"
	"strings"
	"testing"

	"wiretime/study"
)

// TestTLS reads versions of TLS, which YAML takes for numbers. Keys of cells leave the usual one out.
func TestTLS(t *testing.T) {
	s, err := Parse("s.yaml", []byte(strings.Replace(small, "  loaders:", "  tls: [1.3, 1.2]\n  loaders:", 1)), words)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Matrix[study.AxisTLS]; !slices.Equal(got, []string{study.TLS13, study.TLS12}) {
		t.Errorf("the versions are %q", got)
	}
	usual := 0
	for _, c := range s.Cells(nil) {
		if says := strings.Contains(c.Key(), "tls=1.2"); says != (c.On(study.AxisTLS) == study.TLS12) || strings.Contains(c.Key(), "tls=1.3") {
			t.Errorf("a cell with TLS %s has the key %q", c.On(study.AxisTLS), c.Key())
		}
		if c.On(study.AxisTLS) == study.TLS13 {
			usual++
		}
	}
	if cells := s.Cells(nil); len(cells) == 0 || usual != len(cells)/2 {
		t.Errorf("%d of %d cells have TLS 1.3, want half of them", usual, len(cells))
	}
	_, err = Parse("s.yaml", []byte(strings.Replace(small, "  loaders:", "  tls: [1.1]\n  loaders:", 1)), words)
	if err == nil || !strings.Contains(err.Error(), `unknown TLS version "1.1"; did you mean "1.2"?`) && !strings.Contains(err.Error(), `unknown TLS version "1.1"; did you mean "1.3"?`) {
		t.Errorf("TLS 1.1: %v", err)
	}
}
