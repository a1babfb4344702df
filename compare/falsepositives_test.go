package compare

import (
	"encoding/csv"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"wiretime/needtest"
	"wiretime/stats"
	"wiretime/study"
)

// noise holds the onLoads of six cells, 72 loads each, measured on the real clock of a machine with two processors that
// other programs kept busy: testdata/noise.yaml is the study. Their upper quartiles are up to four times their medians.
func noise(t *testing.T) [][]float64 {
	t.Helper()
	file, err := os.Open("testdata/noise.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	cells := map[string][]float64{}
	for _, row := range rows[1:] {
		ms, err := strconv.ParseFloat(row[4], 64)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.Join(row[:3], " ")
		cells[name] = append(cells[name], ms)
	}
	var all [][]float64
	for _, name := range slices.Sorted(maps.Keys(cells)) {
		all = append(all, cells[name])
	}
	if len(all) != 6 || len(all[0]) != 72 {
		t.Fatalf("the record has %d cells", len(all))
	}
	return all
}

// source draws values of a cell, times a factor, with replacement.
type source struct {
	from   []float64
	factor float64
	random *rand.Rand
}

func (s source) draw(n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = s.factor * s.from[s.random.IntN(len(s.from))]
	}
	return values
}

// drawnPairs returns pairs of samples of so many values. Those of a pair come from the same cell; those of y are times a factor.
func drawnPairs(cells [][]float64, pairs, n int, factor float64, of stats.Statistic, random *rand.Rand) []Pair {
	all := make([]Pair, pairs)
	for i := range all {
		from := cells[i%len(cells)]
		all[i] = Pair{Figure: Figure{"onload", of}, Unit: "ms", x: source{from, 1, random}.draw(n), y: source{from, factor, random}.draw(n)}
	}
	return all
}

// judged gives the verdicts of pairs that are compared together, at a level.
func judged(bootstrap *stats.Bootstrap, pairs []Pair, margin, alpha float64) []Pair {
	j := &judge{config: Config{Margin: margin, Alpha: alpha}, bootstrap: bootstrap}
	for i := range pairs {
		pairs[i].Level = 1 - alpha
		j.test(&pairs[i])
	}
	j.decide(pairs)
	return pairs
}

func isDifferent(p Pair) bool { return p.Verdict == Faster || p.Verdict == Slower }

// long says that every rate is counted over 1,000 comparisons. Otherwise only the first two are, which cost little.
var long = needtest.IsLong()

// TestFalsePositives draws pairs of samples of one cell each, and counts the comparisons in which any pair is called faster or
// slower. The rates are those of docs/compare.md; make compare-false-positives writes them there.
func TestFalsePositives(t *testing.T) {
	cells, random := noise(t), rand.New(rand.NewPCG(1, 0))
	bootstrap := stats.NewBootstrap(1)
	for _, c := range []struct {
		name     string
		n        int
		of       stats.Statistic
		together int
		quick    int // comparisons, unless the test is a long one
	}{
		{"one pair", 6, study.Median, 1, 1000},
		{"one pair", 10, study.Median, 1, 1000},
		{"one pair", 30, study.Median, 1, 200},
		{"one pair, means", 10, study.Mean, 1, 300},
		{"20 pairs together", 10, study.Median, 20, 60},
		{"20 pairs together", 30, study.Median, 20, 0},
	} {
		comparisons, wrong := c.quick, 0
		if long {
			comparisons = 1000
		}
		for i := range comparisons {
			if slices.ContainsFunc(judged(bootstrap, drawnPairs(slices.Concat(cells[i%len(cells):], cells), c.together, c.n, 1, c.of, random), 0, Alpha), isDifferent) {
				wrong++
			}
		}
		count(t, c.name, c.n, wrong, comparisons, true)
	}
}

// count logs a rate of wrong comparisons as docs/compare.md has it, and checks whether it is at most Alpha; over fewer than 1,000
// comparisons, no more than two standard deviations above it.
func count(t *testing.T, name string, loads, wrong, comparisons int, holds bool) {
	t.Helper()
	rate := float64(wrong) / float64(max(1, comparisons))
	t.Logf("| %s | %d | %d | %d | %.1f %% |", name, loads, comparisons, wrong, 100*rate)
	most := Alpha
	if holds && comparisons > 0 && comparisons < 1000 {
		most += 2 * math.Sqrt(Alpha*(1-Alpha)/float64(comparisons))
	}
	if holds != (rate <= most) {
		t.Errorf("%s, %d loads: %d of %d comparisons call identical cells different; at most %.0f %% of them: want %v", name, loads, wrong, comparisons, 100*Alpha, holds)
	}
}

// TestFalsePositivesOfLooks: whoever looks again and again at growing samples and stops at the first difference is wrong no more often than
// stated. Without the levels of the looks they would be: then the test could not fail.
func TestFalsePositivesOfLooks(t *testing.T) {
	cells, bootstrap := noise(t), stats.NewBootstrap(1)
	const most = 60
	looks := Looks(most, []Figure{{"onload", study.Median}})
	comparisons := 250
	if long {
		comparisons = 1000
	}
	for _, c := range []struct {
		name  string
		alpha func(Look) float64
		holds bool
	}{
		{"one pair, 6 looks at 8 to 60 loads", func(l Look) float64 { return l.Alpha }, true},
		{"the same without the levels of the looks, 5 % each", func(Look) float64 { return Alpha }, false},
	} {
		random := rand.New(rand.NewPCG(2, 0))
		wrong := 0
		for i := range comparisons {
			whole := drawnPairs(cells[i%len(cells):], 1, most, 1, study.Median, random)[0]
			for _, l := range looks {
				p := whole
				p.x, p.y = whole.x[:l.Repeats], whole.y[:l.Repeats]
				if isDifferent(judged(bootstrap, []Pair{p}, 0, c.alpha(l))[0]) {
					wrong++
					break
				}
			}
		}
		count(t, c.name, most, wrong, comparisons, c.holds)
	}
}

// TestRatesOfOtherErrors: cells that differ by exactly the margin are seldom called the same, and large differences are found.
func TestRatesOfOtherErrors(t *testing.T) {
	cells, bootstrap, random := noise(t), stats.NewBootstrap(1), rand.New(rand.NewPCG(3, 0))
	const pairs = 150
	for _, c := range []struct {
		name           string
		factor, margin float64
		n              int
		verdict        string
		least, most    float64
	}{
		{"10 % slower and a margin of 10 %", 1.1, 0.1, 60, Same, 0, Alpha},
		{"as slow and a margin of 300 %", 1, 3, 40, Same, 0.6, 1},
		{"three times as slow", 3, 0.01, 40, Slower, 0.8, 1},
		{"three times as fast", 1.0 / 3, 0.01, 40, Faster, 0.8, 1},
	} {
		count := 0
		for i := range pairs {
			if judged(bootstrap, drawnPairs(cells[i%len(cells):], 1, c.n, c.factor, study.Median, random), c.margin, Alpha)[0].Verdict == c.verdict {
				count++
			}
		}
		if rate := float64(count) / pairs; rate < c.least || rate > c.most {
			t.Errorf("%s: called %s in %.3f of the pairs, want %v to %v", c.name, c.verdict, rate, c.least, c.most)
		}
	}
}

func TestLooks(t *testing.T) {
	median := []Figure{{"onload", study.Median}}
	for _, c := range []struct {
		most    int
		figures []Figure
		want    string
	}{
		{60, median, "8 12 18 27 40 60"},
		{20, nil, "8 12 18 20"},
		{5, median, "5"},
		{200, []Figure{{"onload", "p95"}}, "72 108 162 200"},
	} {
		var sizes []string
		spent := 0.0
		for _, l := range Looks(c.most, c.figures) {
			sizes, spent = append(sizes, fmt.Sprint(l.Repeats)), spent+l.Alpha
		}
		if got := strings.Join(sizes, " "); got != c.want || spent >= Alpha {
			t.Errorf("looks at %s, which spend %v; want %s and less than %v", got, spent, c.want, Alpha)
		}
	}
}
