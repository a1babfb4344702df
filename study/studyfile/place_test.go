package studyfile

import (
	"slices"
	"strings"
	"testing"

	"wiretime/study"
)

// TestPlaces: places are an axis of pages on the real and the live clock, by which claims compare. A study without places has
// the keys, and so the seeds, that it had before there were any.
func TestPlaces(t *testing.T) {
	at := strings.Replace(small, "matrix:", "clock: real\nmatrix:\n  at: [frankfurt, home-dsl]", 1) + `claims:
  - text: It is faster in Frankfurt.
    metric: plt
    compare: {at: frankfurt}
    to: {at: home-dsl}
    ratio: below 1
`
	for _, text := range []string{at, strings.Replace(liveStudy, "matrix:", "matrix:\n  at: [frankfurt, home-dsl]", 1)} {
		s, err := Parse("study.yaml", []byte(text), liveWords())
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(s.Places(), []string{"frankfurt", "home-dsl"}) {
			t.Errorf("the places are %q", s.Places())
		}
		cells, here := s.Cells(nil), 0
		for _, c := range cells {
			if c.On(study.AxisAt) == "frankfurt" && strings.Contains(c.Key(), " at=frankfurt") {
				here++
			}
		}
		if here != len(cells)/2 {
			t.Errorf("%d of %d cells are at frankfurt", here, len(cells))
		}
		for _, clock := range []string{study.ClockVirtual, study.ClockAuto} {
			if err := s.UseClock(clock); err == nil {
				t.Errorf("the %s clock is accepted", clock)
			}
		}
		for _, claim := range s.Claims {
			if pairs := claim.Pairs(cells); len(pairs) != len(cells)/2 {
				t.Errorf("the claim compares %d pairs, want %d", len(pairs), len(cells)/2)
			}
		}
	}
	s, err := Parse("study.yaml", []byte(small), words)
	if err != nil {
		t.Fatal(err)
	}
	if c := s.Cells(nil)[0]; s.Places() != nil || strings.Contains(c.Key(), "at=") || c.On(study.AxisAt) != study.PlaceAny {
		t.Errorf("without places: %q, cell %s", s.Places(), c.Key())
	}
}
