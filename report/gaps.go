package report

import (
	"fmt"
	"strings"

	"wiretime/store"
)

// Gaps returns a sentence for each site whose archive lacked something: how many valid loads
// requested a URL that is not in it, or got an inexact answer (metrics misses and inexact).
func Gaps(results []store.Result) []string {
	var sites, sentences []string
	of := map[string]*gap{}
	for _, r := range results {
		g := of[r.Cell.Subject()]
		if g == nil {
			g = &gap{}
			of[r.Cell.Subject()] = g
			sites = append(sites, r.Cell.Subject())
		}
		g.valid += r.Valid
		g.missed.add(r.Values["misses"])
		g.inexact.add(r.Values["inexact"])
	}
	for _, s := range sites {
		if text := of[s].describe(); text != "" {
			sentences = append(sentences, s+": "+text)
		}
	}
	return sentences
}

// gap counts the loads that found a site's archive incomplete.
type gap struct {
	valid           int // loads
	missed, inexact affected
}

// affected counts the loads with at least one request of a kind.
type affected struct {
	loads int
	most  float64 // requests in one of them
}

func (a *affected) add(values []float64) {
	for _, v := range values {
		if v > 0 {
			a.loads++
			a.most = max(a.most, v)
		}
	}
}

func (g *gap) describe() string {
	var words []string
	for _, kind := range []struct {
		name string
		affected
	}{{"misses", g.missed}, {"inexact answers", g.inexact}} {
		if kind.loads > 0 {
			words = append(words, fmt.Sprintf("%s in %d of %d valid loads, at most %.0f", kind.name, kind.loads, g.valid, kind.most))
		}
	}
	return strings.Join(words, "; ")
}
