package papers

import (
	"slices"
	"strings"
	"testing"
)

// TestFiles: each file is well formed, names are unique, and tables and figures of a paper are listed once each.
func TestFiles(t *testing.T) {
	entries, err := files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, e := range entries {
		text, err := files.ReadFile(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		p, err := parse(text)
		if err != nil {
			t.Errorf("%s: %v", e.Name(), err)
			continue
		}
		if names[p.Name] || p.Name+".yaml" != e.Name() {
			t.Errorf("%s is named %q", e.Name(), p.Name)
		}
		names[p.Name] = true
		seen := map[string]bool{}
		for _, i := range p.Items {
			if i.Kind != Claim && i.Kind != Beside && seen[i.Kind+i.Number] {
				t.Errorf("%s lists %s %s twice", p.Name, i.Kind, i.Number)
			}
			seen[i.Kind+i.Number] = true
		}
	}
}

// TestWhole: the tables and figures that the papers print are all listed.
func TestWhole(t *testing.T) {
	for name, want := range map[string]struct{ tables, figures int }{
		"kim": {10, 7}, "lulic": {11, 13}, "kolmogortsev": {2, 5}, "nam": {1, 13},
	} {
		i := slices.IndexFunc(All(), func(p Paper) bool { return p.Name == name })
		if i < 0 {
			t.Errorf("there is no paper %s", name)
			continue
		}
		count := map[string]int{}
		for _, item := range All()[i].Items {
			count[item.Kind]++
		}
		if count[Table] != want.tables || count[Figure] != want.figures {
			t.Errorf("%s lists %d tables and %d figures, want %d and %d", name, count[Table], count[Figure], want.tables, want.figures)
		}
	}
}

func TestParse(t *testing.T) {
	const head = "name: a\nauthors: A\ntitle: T\nyear: \"2013\"\nlanguage: English\npage: a.md\nitems:\n"
	for name, test := range map[string]struct{ items, want string }{
		"kind":        {"  - {kind: tabel, where: section 1, says: x, cannot: y}\n", "unknown kind"},
		"number":      {"  - {kind: table, where: section 1, says: x, cannot: y}\n", "needs a number"},
		"state":       {"  - {kind: claim, where: section 1, says: x}\n", "needs the studies"},
		"says":        {"  - {kind: claim, where: section 1, cannot: y}\n", "needs where and says"},
		"study":       {"  - {kind: claim, where: section 1, says: x, measured: [{claims: [y]}]}\n", "needs a study"},
		"unknown key": {"  - {kind: claim, where: section 1, says: x, canot: y}\n", "canot"},
		"nothing":     {"  []\n", "needs name"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parse([]byte(head + test.items)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestState(t *testing.T) {
	measured := []Measurement{{Study: "a"}}
	for _, test := range []struct {
		item Item
		want string
	}{
		{Item{Measured: measured}, Measured},
		{Item{Measured: measured, Cannot: "why"}, InPart},
		{Item{Measured: measured, Open: "what"}, InPart},
		{Item{Open: "what"}, Open},
		{Item{Cannot: "why"}, CannotBe},
	} {
		if got := test.item.State(); got != test.want {
			t.Errorf("%+v is %q, want %q", test.item, got, test.want)
		}
	}
}

// TestCheck: each way in which catalogue and studies can drift apart is found.
func TestCheck(t *testing.T) {
	studies := []Study{{Name: "kim-tables", Claims: []string{"one (table 2)", "two (table 3)"}, Published: []string{"Kim, table 2"}}}
	item := func(m ...Measurement) []Paper {
		return []Paper{{Name: "kim", Items: []Item{{Kind: Table, Number: "2", Where: "section IV", Measured: m}}}}
	}
	for name, test := range map[string]struct {
		papers []Paper
		want   []string
	}{
		"whole":         {item(Measurement{"kim-tables", []string{"table 2", "table 3"}, []string{"table 2"}}), nil},
		"unknown study": {item(Measurement{"kim-tables", []string{"table"}, []string{"table"}}, Measurement{Study: "kim-chairs"}), []string{"no built-in study kim-chairs"}},
		"lost claim":    {item(Measurement{"kim-tables", []string{"table", "table 4"}, []string{"table"}}), []string{`no claim that contains "table 4"`}},
		"lost table":    {item(Measurement{"kim-tables", []string{"table"}, []string{"table", "table 9"}}), []string{`no printed table that contains "table 9"`}},
		"new claim":     {item(Measurement{"kim-tables", []string{"table 2"}, []string{"table 2"}}), []string{`no paper lists the claim "two (table 3)"`}},
		"new table":     {item(Measurement{"kim-tables", []string{"table"}, nil}), []string{`no paper lists the printed table "Kim, table 2"`}},
	} {
		t.Run(name, func(t *testing.T) {
			wrong := Check(test.papers, studies)
			if len(wrong) != len(test.want) {
				t.Fatalf("found %q, want %q", wrong, test.want)
			}
			for i, w := range wrong {
				if !strings.Contains(w.Error(), test.want[i]) {
					t.Errorf("found %q, want %q", w, test.want[i])
				}
			}
		})
	}
}
