package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTheDashboard holds the dashboard to the types that Grafana publishes, its queries to Prometheus's grammar, and their
// metrics and labels to those that the documentation describes.
func TestTheDashboard(t *testing.T) {
	t.Parallel()
	dashboard, err := filepath.Abs("../../docs/grafana/wiretime.json")
	if err != nil {
		t.Fatal(err)
	}
	var checked struct {
		Objections []string
		Queries    []struct {
			Where           string
			Metrics, Labels []string
		}
	}
	readBy(t, &checked, "dashboard.mjs", dashboard)
	for _, o := range checked.Objections {
		t.Error(o)
	}
	if len(checked.Queries) < 10 {
		t.Errorf("the dashboard has %d queries", len(checked.Queries))
	}
	described := describedMetrics(t)
	for _, q := range checked.Queries {
		if len(q.Metrics) == 0 {
			t.Errorf("%s asks for no metric", q.Where)
		}
		for _, m := range q.Metrics {
			labels, known := described[m]
			if !known {
				t.Errorf("%s asks for %s, which grafana.md does not describe", q.Where, m)
			}
			for _, l := range q.Labels {
				if !slices.Contains(labels, l) {
					t.Errorf("%s uses the label %q, which %s does not have", q.Where, l, m)
				}
			}
		}
	}
}

var codeWord = regexp.MustCompile("`(\\w+)`")

// describedMetrics returns the samples that docs/grafana.md describes, with their labels.
func describedMetrics(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/grafana.md")
	if err != nil {
		t.Fatal(err)
	}
	suffixes := map[string]string{"counter": "_total", "info": "_info"}
	samples := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		columns := strings.Split(line, "|")
		if len(columns) != 6 || !strings.Contains(columns[1], "`wiretime_") {
			continue
		}
		var labels []string
		for _, l := range codeWord.FindAllStringSubmatch(columns[4], -1) {
			labels = append(labels, l[1])
		}
		for _, family := range codeWord.FindAllStringSubmatch(columns[1], -1) {
			samples[family[1]+suffixes[strings.TrimSpace(columns[2])]] = labels
		}
	}
	if len(samples) < 15 {
		t.Fatalf("grafana.md describes %d metrics", len(samples))
	}
	return samples
}
