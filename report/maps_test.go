package report

import (
	"fmt"
	"strings"
	"testing"

	"wiretime/study"
)

// mapped writes maps as their numbers, then each panel's ratios.
func mapped(all []Map) string {
	var words []string
	for _, m := range all {
		words = append(words, m.Along.Name+" x "+m.Against.Name+":")
		for _, p := range m.Panels {
			words = append(words, "["+p.Name+"]")
			for _, s := range p.Spots {
				words = append(words, fmt.Sprintf("%v,%v %s/%s %.4g", s.At, s.Against, m.Labels[s.Label], m.Labels[s.To], s.Ratio))
			}
		}
	}
	return strings.Join(words, " ")
}

func TestMaps(t *testing.T) {
	results := gridRun()
	for _, r := range results {
		r.Values["plt"] = r.Values["onload"]
	}
	lossy := gridRun()
	for i := range lossy { // another panel of the same cells
		lossy[i].Cell = lossy[i].Cell.With(study.AxisSite, "other")
	}
	want := "rate x RTT: [page]"
	for _, at := range []string{"1,100", "1,50", "1,200", "0.25,100", "0.25,50", "0.25,200"} {
		want += fmt.Sprintf(" %s h2/h3 2 %s h2/h3 2", at, at) // PLT and onLoad
	}
	want += " [other]"
	for _, at := range []string{"1,100", "1,50", "1,200", "0.25,100", "0.25,50", "0.25,200"} {
		want += fmt.Sprintf(" %s h2/h3 2", at)
	}
	got := collectMaps(append(results, lossy...), 1)
	if mapped(got) != want {
		t.Errorf("\n got %s\nwant %s", mapped(got), want)
	}
	s := got[0].Panels[0].Spots[0]
	if !s.Interval || s.Low >= 2 || s.High <= 2 || s.N != 6 {
		t.Errorf("the first ratio has the interval %+v, want one around 2 of 6 loads", s)
	}
	if got := collectMaps(gridRun()[:6], 1); got != nil {
		t.Errorf("a single protocol has the ratios %s", mapped(got))
	}
	var diagonal = gridRun()
	diagonal = append(diagonal[:1], diagonal[4], diagonal[6], diagonal[10])
	if got := collectMaps(diagonal, 1); got != nil {
		t.Errorf("two places are no map, got %s", mapped(got))
	}
}
