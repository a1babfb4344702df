package page

import (
	"math"
	"slices"
)

// systemFonts are the families that a Linux machine has, by their names or as
// fontconfig's metric-compatible substitutes. Text that finds one of them needs
// no later font of its list.
var systemFonts = map[string]bool{
	"serif": true, "sans-serif": true, "monospace": true, "cursive": true, "fantasy": true, "system-ui": true,
	"ui-serif": true, "ui-sans-serif": true, "ui-monospace": true, "ui-rounded": true, "math": true, "emoji": true,
	"arial": true, "helvetica": true, "times": true, "times new roman": true, "courier": true, "courier new": true,
}

// askFonts requests the fonts that text needs: for each letter the matching
// face of the first family that has it.
func (d *document) askFonts(text *letters, st *style) {
	if len(d.style.faces) == 0 || st.families == nil {
		return
	}
	wanted := d.style.fresh(text, st)
	for _, family := range st.families.names {
		faces := d.style.faces[family]
		if len(wanted) == 0 || len(faces) == 0 && systemFonts[family] {
			return
		}
		if d.page.matching += len(faces); d.page.matching > maxMatching {
			return
		}
		faces = nearest(faces, st.weight, st.italic)
		// If several faces cover a letter, the last one counts.
		for i := len(faces) - 1; i >= 0 && len(wanted) > 0; i-- {
			face := faces[i]
			before := len(wanted)
			d.page.matching += len(face.ranges) * len(wanted) / rangesPerElement
			wanted = slices.DeleteFunc(wanted, face.covers)
			if len(wanted) == before {
				continue
			}
			if source, ok := face.source(); ok && source != "" {
				if url, ok := resolve(face.base, source); ok {
					d.ask(want{url: url, kind: Font, initiator: face.origin, priority: d.priority(Font, urgency{})})
				}
			}
		}
	}
}

// rangesPerElement is how many comparisons of a letter with a range take as long as the matching of an element.
const rangesPerElement = 64

// lettering is how text looks, as far as fonts depend on it.
type lettering struct {
	families string // families.key
	weight   float64
	italic   bool
}

// fresh returns the letters of a text for which no earlier text needed a font
// in the same style.
func (s *styling) fresh(text *letters, st *style) []rune {
	key := lettering{st.families.key, st.weight, st.italic}
	seen := s.lettered[key]
	if seen == nil {
		seen = &letters{}
		s.lettered[key] = seen
	}
	return seen.merge(text)
}

// nearest returns the faces of a family whose style and weight are closest to
// the wanted ones (CSS Fonts 4, section 5.2).
func nearest(faces []*fontFace, weight float64, italic bool) []*fontFace {
	distance := func(f *fontFace) float64 {
		away := weightDistance(f.weight, weight)
		if f.italic != italic {
			away += 1e6
		}
		return away
	}
	best := math.Inf(1)
	for _, face := range faces {
		best = min(best, distance(face))
	}
	var out []*fontFace
	for _, face := range faces {
		if distance(face) == best {
			out = append(out, face)
		}
	}
	return out
}

// weightDistance ranks the weights of faces other than the wanted one: those on
// the wrong side come after all on the right side.
func weightDistance(have [2]float64, want float64) float64 {
	const wrong = 1e4
	below, above := want-have[1], have[0]-want
	switch {
	case below <= 0 && above <= 0:
		return 0
	case want >= 400 && want <= 500:
		if above > 0 && have[0] <= 500 {
			return above
		}
		if below > 0 {
			return wrong/10 + below
		}
		return wrong + above
	case want < 400:
		if below > 0 {
			return below
		}
		return wrong + above
	}
	if above > 0 {
		return above
	}
	return wrong + below
}
