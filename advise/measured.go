package advise

import (
	"context"
	"strings"

	"wiretime/network"
	"wiretime/stats"
	"wiretime/store"
	"wiretime/study"
)

// Measure measures a study, or finds what it has measured before, and returns its results. unsupported
// has the reasons why cells could not be measured, by their keys. what says what the study is about.
type Measure func(ctx context.Context, text []byte, what string) (results []store.Result, unsupported map[string]string, err error)

// measured holds what all rounds so far have measured, by cell.
type measured struct {
	q      *Question
	values map[string][]float64
	why    map[string]string // why a cell has no values
}

func newMeasured(q *Question) *measured {
	return &measured{q, map[string][]float64{}, map[string]string{}}
}

// add adds the results of a round.
func (m *measured) add(results []store.Result, unsupported map[string]string) {
	for _, r := range results {
		at := map[study.Axis]string{}
		for _, a := range axes {
			at[a] = r.Cell.On(a)
		}
		m.values[identify(at)] = r.Values[m.q.Metric]
		switch why := unsupported[r.Cell.Key()]; {
		case why != "":
			m.why[identify(at)] = why
		case len(r.Values[m.q.Metric]) == 0:
			m.why[identify(at)] = "no valid load has a value"
		}
	}
}

// identify names a cell by its values.
func identify(at map[study.Axis]string) string {
	words := make([]string, len(axes))
	for i, a := range axes {
		words[i] = at[a]
	}
	return strings.Join(words, "\n")
}

// has reports whether a setup was measured.
func (m *measured) has(s setup, loader string) bool {
	_, ok := m.values[identify(s.values(m.q, loader, m.q.networks()[0].Network))]
	return ok
}

// of returns the values of a setup on a network.
func (m *measured) of(s setup, loader, network string) []float64 {
	return m.values[identify(s.values(m.q, loader, network))]
}

// lacks returns why a setup could not be measured on one of the networks; "" if it was on all.
func (m *measured) lacks(s setup, loader string) string {
	for _, share := range m.q.networks() {
		if why := m.why[identify(s.values(m.q, loader, share.Network))]; why != "" {
			return why
		}
	}
	return ""
}

// compare returns what a change from one setup to another does to the population, as one of so many comparisons.
func (m *measured) compare(before, after setup, loader string, comparisons int) Effect {
	if why := m.lacks(after, loader); why != "" {
		return Effect{Verdict: Unsupported, Why: why}
	}
	if why := m.lacks(before, loader); why != "" {
		return Effect{Verdict: Unsupported, Why: "what it is compared with: " + why}
	}
	var e Effect
	var strata []stats.Stratum
	for _, share := range m.q.networks() {
		s := stats.Stratum{Weight: share.Weight, Before: m.of(before, loader, share.Network), After: m.of(after, loader, share.Network)}
		strata = append(strata, s)
		e.Networks = append(e.Networks, OnNetwork{share.Network, m.part(share), stats.Median(s.Before).Median, stats.Median(s.After).Median})
	}
	c := stats.NewBootstrap(m.q.Seed).Population(strata, Tolerance, comparisons)
	e.Gain, e.Low, e.High = 1-c.Ratio, 1-c.High, 1-c.Low
	e.Before, e.After, e.Better, e.Worse, e.Interval = c.Before, c.After, c.Better, c.Worse, c.Enough
	e.Verdict = e.verdict()
	if !c.Enough {
		e.Low, e.High = 0, 0
	}
	return e
}

// part returns a share's part of what is measured of the population.
func (m *measured) part(share network.Share) float64 {
	return network.Population{Shares: m.q.networks()}.Part(share)
}

// The limits of what counts.
const (
	Tolerance = 0.05 // a user is better or worse off beyond it
	Margin    = 0.01 // a gain below it is none
)

// The verdicts on a change.
const (
	Helps       = "helps"         // the interval of the gain lies above the margin
	Hurts       = "hurts"         // it lies below minus the margin
	Same        = "no difference" // it lies within the margin
	Undecided   = "not decided"
	Unsupported = "not measured" // it cannot be measured here
)

// Effect is what a change does to a population. Gains are parts of the time saved, below 0 where it takes longer.
type Effect struct {
	Verdict string `json:"verdict"`
	Why     string `json:"why,omitempty"` // it was not measured

	Gain     float64     `json:"gain"`           // weighted geometric mean over the networks, of medians
	Low      float64     `json:"low,omitempty"`  // with High the interval of Gain: 95 % for all changes of the round together
	High     float64     `json:"high,omitempty"` //
	Interval bool        `json:"interval"`       // there were loads enough for Low and High
	Before   float64     `json:"before_median"`  // weighted median over the population, ms
	After    float64     `json:"after_median"`   // likewise
	Better   float64     `json:"better"`         // part of the users who are better off by more than the tolerance, 0 to 1
	Worse    float64     `json:"worse"`          // likewise
	Networks []OnNetwork `json:"networks,omitempty"`
}

// OnNetwork has the medians on one network, in ms.
type OnNetwork struct {
	Network string  `json:"network"`
	Part    float64 `json:"part"` // of the population
	Before  float64 `json:"before"`
	After   float64 `json:"after"`
}

func (e Effect) verdict() string {
	switch {
	case !e.Interval:
		return Undecided
	case e.Low > Margin:
		return Helps
	case e.High < -Margin:
		return Hurts
	case e.Low >= -Margin && e.High <= Margin:
		return Same
	}
	return Undecided
}
