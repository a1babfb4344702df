package ui

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"wiretime/store"
)

// sample is one line of an exposition.
type sample struct {
	name   string
	labels map[string]string
	value  float64
}

var (
	metricName = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*`)
	labelPair  = regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^\\"\n]|\\[\\"n])*)"`)
)

// suffixes are what the names of a family's samples may end in, by its type (OpenMetrics 1.0, "Metric Types").
var suffixes = map[string][]string{"gauge": {""}, "counter": {"_total", "_created"}, "info": {"_info"}, "summary": {"", "_sum", "_count", "_created"}}

// parseOpenMetrics reads an exposition as strictly as OpenMetrics 1.0 describes it: families are whole, described before their samples and not
// interleaved, names end in their unit, no sample is there twice, and # EOF ends it.
func parseOpenMetrics(text string) (families map[string]string, samples []sample, err error) {
	families = map[string]string{}
	body, ok := strings.CutSuffix(text, "# EOF\n")
	if !ok || strings.Contains("\n"+body, "\n# EOF\n") {
		return nil, nil, fmt.Errorf("it does not end with # EOF, once")
	}
	current, seen, sampled := "", map[string]bool{}, false
	for number, line := range strings.Split(strings.TrimSuffix(body, "\n"), "\n") {
		fail := func(format string, values ...any) (map[string]string, []sample, error) {
			return nil, nil, fmt.Errorf("line %d, %q: %s", number+1, line, fmt.Sprintf(format, values...))
		}
		if description, ok := strings.CutPrefix(line, "# "); ok {
			words := strings.SplitN(description, " ", 3)
			if len(words) != 3 {
				return fail("a description has a keyword, a name and a text")
			}
			if words[0] == "TYPE" {
				if _, known := families[words[1]]; known || suffixes[words[2]] == nil {
					return fail("the family is there twice, or of an unknown type")
				}
				current, sampled = words[1], false
				families[current] = words[2]
			}
			switch {
			case words[1] != current || sampled:
				return fail("it is not among the descriptions of its family")
			case words[0] == "UNIT" && !strings.HasSuffix(current, "_"+words[2]):
				return fail("the name does not end in the unit")
			case !slices.Contains([]string{"TYPE", "UNIT", "HELP"}, words[0]):
				return fail("unknown keyword")
			}
			continue
		}
		s := sample{name: metricName.FindString(line), labels: map[string]string{}}
		rest := line[len(s.name):]
		suffix, ok := strings.CutPrefix(s.name, current)
		if !ok || current == "" || !slices.Contains(suffixes[families[current]], suffix) {
			return fail("it is no sample of family %q, a %s", current, families[current])
		}
		sampled = true
		if strings.HasPrefix(rest, "{") {
			rest = rest[1:]
			for !strings.HasPrefix(rest, "}") {
				pair := labelPair.FindStringSubmatch(rest)
				if pair == nil {
					return fail("a label is not NAME=\"VALUE\" with its octets escaped")
				}
				if _, twice := s.labels[pair[1]]; twice {
					return fail("label %s is there twice", pair[1])
				}
				s.labels[pair[1]] = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n").Replace(pair[2])
				if rest = strings.TrimPrefix(rest[len(pair[0]):], ","); rest == "" {
					return fail("the labels do not end")
				}
			}
			rest = rest[1:]
		}
		number, ok := strings.CutPrefix(rest, " ")
		if s.value, err = strconv.ParseFloat(number, 64); !ok || err != nil {
			return fail("the value is not a number after one space")
		}
		if families[current] == "info" && s.value != 1 || families[current] == "counter" && s.value < 0 {
			return fail("the value is not one of a %s", families[current])
		}
		if id := fmt.Sprint(s.name, s.labels); seen[id] {
			return fail("the sample is there twice")
		} else {
			seen[id] = true
		}
		samples = append(samples, s)
	}
	return families, samples, nil
}

// TestParseOpenMetrics: the parser of these tests refuses what is none.
func TestParseOpenMetrics(t *testing.T) {
	for _, wrong := range []string{
		"", "# TYPE a gauge\na 1\n", "# TYPE a gauge\na 1\n# EOF\n# EOF\n", "a 1\n# EOF\n", "# TYPE a counter\na 1\n# EOF\n", "# TYPE a gauge\na one\n# EOF\n", "# TYPE a gauge\na{b=\"1\"x 1\n# EOF\n",
		"# TYPE a gauge\na 1\na 2\n# EOF\n", "# TYPE a gauge\n# TYPE b gauge\na 1\n# EOF\n", "# TYPE a gauge\n# UNIT a seconds\na 1\n# EOF\n", "# TYPE a gauge\na{b=\"\\x\"} 1\n# EOF\n", "# TYPE a info\na_info 2\n# EOF\n",
	} {
		if _, _, err := parseOpenMetrics(wrong); err == nil {
			t.Errorf("%q was taken for OpenMetrics", wrong)
		}
	}
	if _, _, err := parseOpenMetrics("# TYPE a_seconds gauge\n# UNIT a_seconds seconds\n# HELP a_seconds A.\na_seconds{b=\"\\\\ \\\" \\n\"} 1\n# EOF\n"); err != nil {
		t.Error("what is OpenMetrics: ", err)
	}
}

func TestMetrics(t *testing.T) {
	p := shopServed(t)
	status, header, answer := p.do("GET", "/metrics", "", nil)
	if status != 200 || header.Get("Content-Type") != openMetricsType {
		t.Fatalf("status %d, headers %v: %s", status, header, answer)
	}
	families, samples, err := parseOpenMetrics(string(answer))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, answer)
	}
	for _, f := range Families() {
		if families[f.Name] != f.Type {
			t.Errorf("family %s is a %q, want %q", f.Name, families[f.Name], f.Type)
		}
	}
	if len(families) != len(Families()) {
		t.Errorf("%d families, want %d", len(families), len(Families()))
	}
	value := func(name string, labels ...string) float64 {
		t.Helper()
		found := -1.0
		for _, s := range samples {
			matches := s.name == name
			for i := 0; i < len(labels); i += 2 {
				matches = matches && s.labels[labels[i]] == labels[i+1]
			}
			if matches && found != -1 {
				t.Errorf("several samples %s with %v", name, labels)
			}
			if matches {
				found = s.value
			}
		}
		return found
	}
	h3 := []string{"protocol", "h3", "network", "lte", "metric", "onload", "site", "shop", "loader", "chromium", "server", "wiretime", "clock", "virtual"}
	for _, c := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"wiretime_runs", nil, 1},
		{"wiretime_run_planned_loads", []string{"run", "1", "study", "shop"}, 28},
		{"wiretime_run_done_loads", nil, 28},
		{"wiretime_run_active", nil, 0},
		{"wiretime_run_remaining_seconds", nil, -1},
		{"wiretime_attempts_total", []string{"validity", "valid"}, 24},
		{"wiretime_attempts_total", []string{"validity", "invalid"}, 4},
		{"wiretime_attempts_total", []string{"validity", "unsupported"}, 0},
		{"wiretime_violations_total", []string{"rule", "3"}, 4},
		{"wiretime_violations_total", []string{"rule", "7"}, 0},
		{"wiretime_load_lateness_seconds", []string{"quantile", "0.5"}, 0.0005},
		{"wiretime_load_lateness_seconds", []string{"quantile", "1"}, 0.04},
		{"wiretime_load_lateness_seconds_count", nil, 28},
		{"wiretime_cell_median_seconds", h3, 0.123},
		{"wiretime_cell_median_low_seconds", h3, 0.120},
		{"wiretime_cell_median_high_seconds", h3, 0.126},
		{"wiretime_cell_median_bytes", []string{"protocol", "h2", "network", "lte", "metric", "bytes_down"}, 4000},
		{"wiretime_cell_attempts_total", []string{"protocol", "h2", "network", "lte", "validity", "failed"}, 1},
	} {
		if got := value(c.name, c.labels...); got != c.want {
			t.Errorf("%s with %v is %v, want %v", c.name, c.labels, got, c.want)
		}
	}
}

// TestMetricsOfARun scrapes a run while it is measured.
func TestMetricsOfARun(t *testing.T) {
	s := shop{filepath.Join(t.TempDir(), "store"), 3}
	st := s.open(t)
	defer st.Close()
	run, err := st.BeginRun(s.spec())
	if err != nil {
		t.Fatal(err)
	}
	pending, err := st.Pending(run)
	if err != nil {
		t.Fatal(err)
	}
	for _, planned := range pending[:6] {
		s.keep(t, st, planned)
	}
	p := serve(t, s.dir, t.TempDir())
	_, _, answer := p.do("GET", "/metrics", "", nil)
	if _, _, err := parseOpenMetrics(string(answer)); err != nil {
		t.Error(err)
	}
	for _, want := range []string{`wiretime_run_active{run="1",study="shop"} 1`, `wiretime_run_done_loads{run="1",study="shop"} 6`, `wiretime_run_remaining_seconds{run="1",study="shop"} `} {
		if !strings.Contains(string(answer), want) {
			t.Errorf("there is no %s in:\n%s", want, answer)
		}
	}
	if strings.Contains(string(answer), "wiretime_run_end_time_seconds{") {
		t.Error("a run that goes on has an end")
	}
}

// TestEscapedLabels: names of a stranger's store do no harm to the exposition.
func TestEscapedLabels(t *testing.T) {
	e := newExposition()
	e.add("wiretime_run_active", "", 1, "1", "a\\\"b\nwiretime_runs 9\n# EOF\n\xff")
	_, samples, err := parseOpenMetrics(string(e.text()))
	if err != nil || len(samples) != 1 || samples[0].labels["study"] != "a\\\"b\nwiretime_runs 9\n# EOF\n\uFFFD" {
		t.Errorf("the samples are %+v, error %v", samples, err)
	}
}

// TestPace estimates how long a run takes, by its loads since the process that writes began.
func TestPace(t *testing.T) {
	dir := t.TempDir()
	mustWrite(t, filepath.Join(dir, "lock"), "1\n")
	began := time.Now().Truncate(time.Second)
	if err := os.Chtimes(filepath.Join(dir, "lock"), began, began); err != nil {
		t.Fatal(err)
	}
	loads := func(n int, since time.Time, each time.Duration) (all []store.Load) {
		for i := n; i > 0; i-- {
			all = append(all, store.Load{Started: since.Add(time.Duration(i-1)*each + 1), Wall: each - 1})
		}
		return all
	}
	for name, c := range map[string]struct {
		last []store.Load
		want float64 // ms; -1: unknown
	}{
		"no load yet":                            {nil, -1},
		"one load":                               {loads(1, began, time.Second), -1},
		"four loads of a second":                 {loads(4, began, time.Second), 10_000},
		"loads of an earlier process only":       {loads(4, began.Add(-time.Hour), time.Second), -1},
		"fifty loads, after fifty slower ones":   {loads(pacedLoads, began.Add(time.Hour), time.Second), 10_000},
		"two loads, and some of another process": {append(loads(2, began, time.Second), loads(4, began.Add(-time.Hour), time.Minute)...), 10_000},
	} {
		p := progress{Pending: 10}
		p.estimate(dir, c.last)
		got := -1.0
		if p.Left != nil {
			got = *p.Left
		}
		if got != c.want {
			t.Errorf("%s: %v ms are left, want %v", name, got, c.want)
		}
	}
}
