package ui

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTheTableOfFamilies: docs/grafana.md lists the families that are served, with their types and labels, in their order.
func TestTheTableOfFamilies(t *testing.T) {
	page, err := os.ReadFile("../docs/grafana.md")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, f := range Families() {
		want = append(want, strings.Join([]string{f.Name, f.Type, strings.Join(f.Labels, " ")}, "; "))
	}
	code := regexp.MustCompile("`([a-z_]+)`")
	for line := range strings.Lines(string(page)) {
		columns := strings.Split(strings.TrimSpace(line), "|")
		if len(columns) != 6 || !strings.HasPrefix(columns[1], " `wiretime_") {
			continue
		}
		var labels []string
		for _, m := range code.FindAllStringSubmatch(columns[4], -1) {
			labels = append(labels, m[1])
		}
		for _, m := range code.FindAllStringSubmatch(columns[1], -1) {
			got = append(got, strings.Join([]string{m[1], strings.TrimSpace(columns[2]), strings.Join(labels, " ")}, "; "))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("docs/grafana.md lists\n%s\nserved is\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
