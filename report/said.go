package report

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"wiretime/english"
	"wiretime/stats"
	"wiretime/study"
)

// said says what is best where by the first metric, by how much, and what is not decided; then by which other metrics the answer is another.
func (o Overview) said() string {
	if len(o.Metrics) == 0 {
		return "No cell has a valid load yet, so there is nothing to compare."
	}
	if o.many > mostLabels {
		return fmt.Sprintf("Nothing is ranked, since the run has %d values to compare by %s.", o.many, o.Compared)
	}
	if len(o.Labels) < 2 {
		return fmt.Sprintf("Nothing is ranked, since the run has a single %s.", o.Compared)
	}
	m := o.Metrics[0]
	s := sayer{Overview: o, metric: m}
	winners := make([][]int, len(o.Labels))
	var unclear, few []int
	for i, p := range o.Places {
		standing := p.Standings[0]
		if standing == nil {
			continue
		}
		if _, ok := standing.next(m.More); !ok {
			continue
		}
		s.compared = append(s.compared, i)
		switch {
		case len(standing.Tied) == 0:
			winners[standing.Best] = append(winners[standing.Best], i)
		case standing.Few:
			few = append(few, i)
		default:
			unclear = append(unclear, i)
		}
	}
	if len(s.compared) == 0 {
		return fmt.Sprintf("No two cells can be compared: nowhere does more than one %s have valid loads.", o.Compared)
	}
	sentences := s.wins(winners)
	sentences = append(sentences, s.undecided(unclear, few)...)
	if left := len(o.Places) - len(s.compared); left > 0 {
		sentences = append(sentences, fmt.Sprintf("%s could not be made, since fewer than two cells have valid loads there.", english.Count(left, "comparison")))
	}
	return strings.Join(append(sentences, s.elsewise()...), " ")
}

// sayer words what one metric says.
type sayer struct {
	Overview
	metric   OverviewMetric
	compared []int // the places at which there is something to compare
}

// wins has a sentence for each label that is best somewhere, those first that are best most often.
func (s sayer) wins(winners [][]int) []string {
	order := make([]int, len(winners))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(winners[b]) - len(winners[a]) })
	var sentences []string
	for _, label := range order {
		places := winners[label]
		if len(places) == 0 {
			continue
		}
		sentence := s.Labels[label] + " is " + s.superlative() + s.where(places)
		if len(sentences) == 0 {
			sentence = "By " + s.metric.Title + ", " + sentence
		}
		sentences = append(sentences, sentence+": "+s.lead(places)+".")
	}
	return sentences
}

func (s sayer) superlative() string {
	switch {
	case s.metric.Unit == "ms":
		return "fastest"
	case s.metric.More:
		return "highest"
	}
	return "lowest"
}

// lead says how far the next one is behind at places with one winner.
func (s sayer) lead(places []int) string {
	next, name := -1, ""
	var ratios []float64
	for _, p := range places {
		standing := s.Places[p].Standings[0]
		label, _ := standing.next(s.metric.More)
		if next >= 0 && s.Labels[label] != name {
			name = "the next one"
		} else {
			name = s.Labels[label]
		}
		next = label
		ratios = append(ratios, float64(*standing.Medians[label] / *standing.Medians[standing.Best]))
	}
	if len(ratios) == 1 && len(s.Places[places[0]].Standings[0].Pairs) > 0 {
		low, high := s.Places[places[0]].Standings[0].ratio(next, s.Places[places[0]].Standings[0].Best)
		text := name + " " + s.far(ratios[0], ratios[0])
		if interval := s.amount(low, high); interval != s.amount(ratios[0], ratios[0]) {
			text += " (95 % interval " + interval + ")"
		}
		return text
	}
	least, most := slices.Min(ratios), slices.Max(ratios)
	text := name + " " + s.far(least, most)
	if middle := stats.Statistic(study.Median).Of(ratios); len(ratios) > 4 && least < most {
		text += " (median " + s.amount(middle, middle) + ")"
	}
	return text
}

// ratio returns the ends of the interval of the ratio of two labels' medians. There must be one.
func (s *Standing) ratio(label, to int) (low, high float64) {
	n := len(s.Medians)
	at := func(i, j int) *[2]rounded { return s.Pairs[i*n-i*(i+1)/2+j-i-1] }
	if label < to {
		pair := at(label, to)
		return float64(pair[0]), float64(pair[1])
	}
	pair := at(to, label)
	return 1 / float64(pair[1]), 1 / float64(pair[0])
}

// twice is the ratio from which on people say times instead of per cent.
const twice = 2

// far says how far medians at the given ratios to the best one are behind it.
func (s sayer) far(low, high float64) string {
	verb, more, times := "is", "higher", "as high"
	switch {
	case s.metric.More:
		more = "lower"
	case s.metric.Unit == "ms":
		verb, more, times = "takes", "longer", "as long"
	}
	switch amount := s.amount(low, high); {
	case s.metric.More || high < twice:
		return verb + " " + amount + " " + more
	case low >= twice:
		return verb + " " + amount + " " + times
	}
	return verb + " from " + shareOf(low-1) + " " + more + " to " + timesOf(high) + " times " + times
}

// amount writes by how much medians at the given ratios to the best one are behind it.
func (s sayer) amount(low, high float64) string {
	switch {
	case s.metric.More: // the ratios are below 1
		return span(1-high, 1-low, shareOf)
	case high < twice:
		return span(low-1, high-1, shareOf)
	case low >= twice:
		return span(low, high, timesOf) + " times"
	}
	return shareOf(low-1) + " to " + timesOf(high) + " times"
}

func timesOf(ratio float64) string { return strconv.FormatFloat(ratio, 'f', 1, 64) }

// span writes a range, or one figure if both ends look the same.
func span(low, high float64, write func(float64) string) string {
	switch write(low) {
	case write(high):
		return write(high)
	case shareOf(0):
		return "up to " + write(high)
	}
	return strings.TrimSuffix(write(low), " %") + " to " + write(high)
}

// shareOf writes a share: with one decimal below ten per cent.
func shareOf(share float64) string {
	decimals := 0
	if math.Abs(share) < 0.0995 {
		decimals = 1
	}
	return strconv.FormatFloat(100*share, 'f', decimals, 64) + " %"
}

// undecided says where nothing is best for certain.
func (s sayer) undecided(unclear, few []int) []string {
	var sentences []string
	if len(unclear) > 0 {
		sentences = append(sentences, upper(fmt.Sprintf("%s no %s is clearly %s%s.", s.in(unclear), s.Compared, s.superlative(), s.ties(unclear))))
	}
	if len(few) > 0 {
		sentences = append(sentences, upper(s.in(few)+" there are too few loads to tell: it takes six valid ones on each side."))
	}
	if sentences == nil && len(s.compared) > 1 {
		sentences = append(sentences, "No comparison is left undecided.")
	}
	return sentences
}

// ties names the labels between which the first of few places does not decide.
func (s sayer) ties(places []int) string {
	if len(places) > 1 || len(s.Labels) > mostNames {
		return ""
	}
	standing := s.Places[places[0]].Standings[0]
	labels := []string{s.Labels[standing.Best]}
	for _, l := range standing.Tied {
		labels = append(labels, s.Labels[l])
	}
	return ": the intervals do not tell " + listed(labels) + " apart"
}

// in begins a sentence about some of the comparisons.
func (s sayer) in(places []int) string {
	if len(s.compared) == 1 {
		return "here"
	}
	return strings.TrimSpace(s.where(places))
}

func upper(sentence string) string { return strings.ToUpper(sentence[:1]) + sentence[1:] }

// mostPlaces is the number of places up to which a sentence names them.
const mostPlaces = 3

// where says at which places something holds: by one facet if that tells them apart, by their names if they are few, or how many there are.
func (s sayer) where(places []int) string {
	count := fmt.Sprintf(" in %d of %d comparisons", len(places), len(s.compared))
	switch {
	case len(s.compared) == 1:
		return ""
	case len(places) == len(s.compared):
		return fmt.Sprintf(" in all %d comparisons", len(s.compared))
	}
	if words, exact := s.condition(places); exact && len(s.Facets) == 1 {
		return " " + words
	} else if exact {
		return " " + words + " (" + strings.TrimPrefix(count, " in ") + ")"
	} else if words != "" && len(places) > mostPlaces {
		return count + ", mostly " + words
	}
	if len(places) > mostPlaces || len(s.Facets) > 2 {
		return count
	}
	var names []string
	for _, p := range places {
		names = append(names, s.named(s.Places[p]))
	}
	return " for " + listed(names)
}

// condition says by the values of one facet at which places something holds. exact tells that it holds nowhere else; otherwise it holds at
// most places with such values, and at few others. Without such a facet it says nothing.
func (s sayer) condition(places []int) (words string, exact bool) {
	best := 0.0
	chosen := map[int]bool{}
	for _, p := range places {
		chosen[p] = true
	}
	for i, f := range s.Facets {
		if f.Number && len(f.Values) > mostValues {
			continue
		}
		inside, all := make([]int, len(f.Values)), make([]int, len(f.Values))
		for _, p := range s.compared {
			value := s.Places[p].At[i]
			all[value]++
			if chosen[p] {
				inside[value]++
			}
		}
		for _, c := range f.conditions(inside, all) {
			hits, size := 0, 0
			for _, v := range c.values {
				hits, size = hits+inside[v], size+all[v]
			}
			if size == 0 || size == len(s.compared) {
				continue
			}
			precision, recall := float64(hits)/float64(size), float64(hits)/float64(len(places))
			if min(precision, recall) < mostly || precision*recall <= best {
				continue
			}
			best, words, exact = precision*recall, c.words, hits == size && hits == len(places)
		}
	}
	return words, exact
}

// mostValues is the number of a facet's numbers above which a sentence does not look for those that matter.
const mostValues = 100

// mostly is the share from which on a condition is worth naming although it does not tell exactly where something holds.
const mostly = 0.75

// condition is a set of values of a facet.
type condition struct {
	values []int
	words  string
}

// conditions returns the simple conditions on a facet's values: one number, numbers up to one or from one on; or the names at which
// something holds more often than not, if they are few. inside and all count the places at each value, and those of them where it holds.
func (f Facet) conditions(inside, all []int) []condition {
	var conditions []condition
	if f.Number {
		for v := range f.Values {
			upTo, from := []int{}, []int{}
			for w := range f.Values {
				if w <= v {
					upTo = append(upTo, w)
				}
				if w >= v {
					from = append(from, w)
				}
			}
			conditions = append(conditions, condition{[]int{v}, "where the " + f.Name + " is " + f.say(v)},
				condition{upTo, "where the " + f.Name + " is at most " + f.say(v)}, condition{from, "where the " + f.Name + " is at least " + f.say(v)})
		}
		return conditions
	}
	var names []string
	var often condition
	for v, name := range f.Values {
		if 2*inside[v] > all[v] {
			often.values, names = append(often.values, v), append(names, name)
		}
	}
	if len(names) == 0 || len(names) > mostPlaces {
		return nil
	}
	often.words = "for " + f.Name + " " + names[0]
	if len(names) > 1 {
		often.words = "for " + f.plural + " " + listed(names)
	}
	if f.axis == study.AxisNetwork {
		often.words = "on " + listed(names)
	}
	return []condition{often}
}

// unitIn finds the unit in the label of an axis.
var unitIn = regexp.MustCompile(`\(([^)]*)\)$`)

// say writes a value with its unit.
func (f Facet) say(value int) string {
	if m := unitIn.FindStringSubmatch(f.Label); f.Number && m != nil {
		return f.Values[value] + " " + m[1]
	}
	return f.Values[value]
}

// named names a place by its values.
func (s sayer) named(p Place) string {
	var words []string
	for i, f := range s.Facets {
		word := f.say(p.At[i])
		if f.axis != study.AxisNetwork && f.axis != study.AxisSite || f.Number {
			word = f.Name + " " + word
		}
		words = append(words, word)
	}
	return strings.Join(words, " with ")
}

// elsewise says by which other metrics other labels are best.
func (s sayer) elsewise() []string {
	var words []string
	for m, metric := range s.Metrics {
		if m == 0 || metric.Unit != s.metric.Unit {
			continue
		}
		others := 0
		for _, p := range s.Places {
			a, b := p.Standings[0], p.Standings[m]
			if a != nil && b != nil && len(a.Tied) == 0 && len(b.Tied) == 0 && a.Best != b.Best {
				others++
			}
		}
		if others > 0 {
			words = append(words, fmt.Sprintf("by %s in %d", metric.Title, others))
		}
	}
	if words == nil {
		return nil
	}
	return []string{fmt.Sprintf("By other metrics another %s is %s in some of them: %s.", s.Compared, s.superlative(), listed(words))}
}
