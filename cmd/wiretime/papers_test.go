package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"wiretime/study/papers"
)

// TestCatalogue: the catalogue of papers names only studies, claims and printed tables that there are, and leaves none
// out. It is what keeps 'wiretime papers' true when a study changes.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	contents, err := builtinContents()
	if err != nil {
		t.Fatal(err)
	}
	studies := slices.SortedFunc(maps.Values(contents), func(a, b papers.Study) int { return strings.Compare(a.Name, b.Name) })
	for _, wrong := range papers.Check(papers.All(), studies) {
		t.Error(wrong)
	}
}

// TestPapersPage: the documentation's page is what the command writes.
func TestPapersPage(t *testing.T) {
	t.Parallel()
	contents, err := builtinContents()
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := printPapersPage(&page, listPapers(papers.All(), contents, nil)); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile("../../docs/papers/README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(page.Bytes(), kept) {
		t.Error("docs/papers/README.md is not what the program lists: run 'bin/wiretime papers --markdown > docs/papers/README.md'")
	}
	for _, p := range papers.All() {
		if _, err := os.Stat("../../docs/papers/" + p.Page); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
}

// TestPrintedPapers: a paper is printed with the verdicts that the last run left, and as JSON.
func TestPrintedPapers(t *testing.T) {
	t.Parallel()
	paper := papers.Paper{Name: "a", Authors: "A", Title: "T", Year: "2013", Language: "English", Page: "a.md", Items: []papers.Item{
		{Kind: papers.Table, Number: "2", Where: "section 1", Says: "Times.", Measured: []papers.Measurement{{Study: "s", Claims: []string{"fast"}, Published: []string{"table 2"}}}},
		{Kind: papers.Figure, Number: "1", Where: "section 1", Says: "A map.", Cannot: "It is a map."},
		{Kind: papers.Claim, Where: "section 2", Says: "More.", Open: "No study has it."},
		{Kind: papers.Beside, Where: "section 2", Says: "Today.", Measured: []papers.Measurement{{Study: "s"}}},
	}}
	listed := listPapers([]papers.Paper{paper}, map[string]papers.Study{"s": {Name: "s", Claims: []string{"It is fast.", "It is slow."}, Published: []string{"A, table 2"}}},
		map[string]studyVerdicts{"s": {run: "run 3 of store x", claims: map[string]string{"It is fast.": "held"}, tables: map[string]string{"A, table 2": "1 of 1"}}})
	var text bytes.Buffer
	if err := printPapers(&text, listed, true); err != nil {
		t.Fatal(err)
	}
	const want = `a: A: T (2013, in English)
3 experiments, tables, figures and claims: 1 measured, 1 open, 1 cannot be measured

  table 2 (section 1): Times.
    measured: s (1 printed table, 1 claim)
      s, run 3 of store x
      It is fast.
        held
      A, table 2
        1 of 1

  figure 1 (section 1): A map.
    cannot be measured: It is a map.

  claim (section 2): More.
    open: No study has it.

  beside (section 2): Today.
    measured: s
      s, run 3 of store x
`
	if text.String() != want {
		t.Errorf("printed:\n%s\nwant:\n%s", text.String(), want)
	}
	text.Reset()
	if err := writeJSON(&text, listed); err != nil {
		t.Fatal(err)
	}
	var back []listedPaper
	if err := json.Unmarshal(text.Bytes(), &back); err != nil || len(back) != 1 || back[0].Items[0].Measured[0].Claims[0].Verdict != "held" {
		t.Errorf("JSON is %s (%v)", text.String(), err)
	}
}

func TestChoosePapers(t *testing.T) {
	t.Parallel()
	if all, err := choosePapers(nil); err != nil || len(all) < 6 || all[0].Name != "kolmogortsev" || all[len(all)-1].Cited == "" {
		t.Errorf("all are %d (%v)", len(all), err)
	}
	if one, err := choosePapers([]string{"lulic"}); err != nil || len(one) != 1 {
		t.Errorf("lulic is %d (%v)", len(one), err)
	}
	if _, err := choosePapers([]string{"lulik"}); err == nil || !strings.Contains(err.Error(), `did you mean "lulic"`) {
		t.Error(err)
	}
}
