package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"wiretime/network"
	"wiretime/site"
	"wiretime/study"
	"wiretime/study/builtin"
	"wiretime/study/papers"
)

func papersCommand() *cobra.Command {
	var stores []string
	var asJSON, markdown bool
	c := &cobra.Command{
		Use: "papers [PAPER]", Short: "List what the papers claim and show, and the studies that measure it",
		Long: `List each experiment, table, figure and claim of the papers that Wiretime repeats, and of the studies that
they cite, with the built-in study that measures it or the reason why none can. With --store, the verdicts of the
last run of each study in that store stand beside it.`,
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			chosen, err := choosePapers(args)
			if err != nil {
				return err
			}
			contents, err := builtinContents()
			if err != nil {
				return err
			}
			verdicts, err := lastVerdicts(stores)
			if err != nil {
				return err
			}
			listed := listPapers(chosen, contents, verdicts)
			switch {
			case asJSON:
				return writeJSON(forPrograms, listed)
			case markdown:
				return printPapersPage(forPrograms, listed)
			}
			return printPapers(stdout, listed, len(args) > 0 || len(stores) > 0)
		},
	}
	c.Flags().StringArrayVar(&stores, "store", nil, "folder with results whose verdicts to show; may be repeated")
	c.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	c.Flags().BoolVar(&markdown, "markdown", false, "write the documentation's page")
	c.MarkFlagsMutuallyExclusive("json", "markdown")
	c.MarkFlagsMutuallyExclusive("store", "markdown")
	return c
}

// choosePapers returns the named paper, or all.
func choosePapers(args []string) ([]papers.Paper, error) {
	all := papers.All()
	if len(args) == 0 {
		return all, nil
	}
	var names []string
	for _, p := range all {
		if p.Name == args[0] {
			return []papers.Paper{p}, nil
		}
		names = append(names, p.Name)
	}
	if near := network.Nearest(args[0], names); near != "" {
		return nil, input(fmt.Errorf("unknown paper %q; did you mean %q?", args[0], near))
	}
	return nil, input(fmt.Errorf("unknown paper %q; write one of %s", args[0], strings.Join(names, ", ")))
}

// builtinContents returns the claims and printed tables of all built-in studies.
func builtinContents() (map[string]papers.Study, error) {
	contents := map[string]papers.Study{}
	for _, name := range builtin.Names() {
		source, err := builtin.File(name)
		if err != nil {
			return nil, err
		}
		s, err := parseStudy(name, source, site.Library{})
		if err != nil {
			return nil, err
		}
		contents[name] = contentOf(s)
	}
	return contents, nil
}

func contentOf(s *study.Study) papers.Study {
	c := papers.Study{Name: s.Name}
	for _, claim := range s.Claims {
		c.Claims = append(c.Claims, claim.Text)
	}
	for _, p := range s.Published {
		c.Published = append(c.Published, p.Source)
	}
	return c
}

// listedPaper is a paper with what its items say resolved.
type listedPaper struct {
	Name      string       `json:"name"`
	Reference string       `json:"reference"`
	Cited     string       `json:"cited_by,omitempty"`
	Items     []listedItem `json:"items"`

	page string
}

type listedItem struct {
	Kind     string           `json:"kind"`
	Number   string           `json:"number,omitempty"`
	Where    string           `json:"where"`
	Says     string           `json:"says"`
	State    string           `json:"state"`
	Measured []listedMeasured `json:"measured,omitempty"`
	Cannot   string           `json:"cannot,omitempty"`
	Open     string           `json:"open,omitempty"`

	heading string
}

type listedMeasured struct {
	Study string `json:"study"`
	// Run describes the run that the verdicts come from; empty without --store, or if the store has no such run.
	Run       string        `json:"run,omitempty"`
	Claims    []listedClaim `json:"claims,omitempty"`
	Published []listedTable `json:"published,omitempty"`
}

type listedClaim struct {
	Text    string `json:"text"`
	Verdict string `json:"verdict,omitempty"`
}

type listedTable struct {
	Source string `json:"source"`
	Beside string `json:"beside,omitempty"` // how the measured figures compare with the printed ones
}

// listPapers resolves what the papers' items name, and adds the verdicts.
func listPapers(all []papers.Paper, contents map[string]papers.Study, verdicts map[string]studyVerdicts) []listedPaper {
	listed := make([]listedPaper, 0, len(all))
	for _, p := range all {
		l := listedPaper{Name: p.Name, Reference: p.Reference(), Cited: p.Cited, page: p.Page}
		for _, i := range p.Items {
			item := listedItem{Kind: i.Kind, Number: i.Number, Where: i.Where, Says: i.Says, State: i.State(), Cannot: i.Cannot, Open: i.Open, heading: i.Heading()}
			for _, m := range i.Measured {
				v := verdicts[m.Study]
				measured := listedMeasured{Study: m.Study, Run: v.run}
				for _, text := range papers.Pick(contents[m.Study].Claims, m.Claims) {
					measured.Claims = append(measured.Claims, listedClaim{Text: text, Verdict: v.claims[text]})
				}
				for _, source := range papers.Pick(contents[m.Study].Published, m.Published) {
					measured.Published = append(measured.Published, listedTable{Source: source, Beside: v.tables[source]})
				}
				item.Measured = append(item.Measured, measured)
			}
			l.Items = append(l.Items, item)
		}
		listed = append(listed, l)
	}
	return listed
}

func writeJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(value)
}

// printPapers prints the papers' items. detailed adds each claim and printed table, with its verdict if there is one.
func printPapers(w io.Writer, all []listedPaper, detailed bool) error {
	for n, p := range all {
		if n > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s: %s%s\n%s\n", p.Name, p.Reference, citedBy(p), countStates(p.Items))
		for _, i := range p.Items {
			fmt.Fprintf(w, "\n  %s: %s\n", i.heading, i.Says)
			if err := printState(w, i, detailed); err != nil {
				return err
			}
		}
	}
	return nil
}

func printState(w io.Writer, i listedItem, detailed bool) error {
	if len(i.Measured) > 0 {
		fmt.Fprintf(w, "    %s: %s\n", i.State, strings.Join(measuredBy(i, ""), ", "))
	}
	for _, m := range i.Measured {
		if !detailed {
			break
		}
		if m.Run != "" {
			fmt.Fprintf(w, "      %s, %s\n", m.Study, m.Run)
		}
		for _, c := range m.Claims {
			fmt.Fprintf(w, "      %s\n", withVerdict(c.Text, c.Verdict))
		}
		for _, t := range m.Published {
			fmt.Fprintf(w, "      %s\n", withVerdict(t.Source, t.Beside))
		}
	}
	if i.Open != "" {
		fmt.Fprintf(w, "    open: %s\n", i.Open)
	}
	if i.Cannot != "" {
		fmt.Fprintf(w, "    cannot be measured: %s\n", i.Cannot)
	}
	return nil
}

func withVerdict(text, verdict string) string {
	if verdict == "" {
		return text
	}
	return text + "\n        " + verdict
}

func citedBy(p listedPaper) string {
	if p.Cited == "" {
		return ""
	}
	return "; cited by " + p.Cited
}

// countStates says how many of a paper's items are in each state, without what Wiretime measures beside the paper.
func countStates(items []listedItem) string {
	count, all := map[string]int{}, 0
	for _, i := range items {
		if i.Kind != papers.Beside {
			count[i.State]++
			all++
		}
	}
	var words []string
	for _, s := range papers.States() {
		if count[s] > 0 {
			words = append(words, fmt.Sprintf("%d %s", count[s], s))
		}
	}
	return fmt.Sprintf("%d experiments, tables, figures and claims: %s", all, strings.Join(words, ", "))
}

// measuredBy names the studies that measure an item, each between the marks, with how much of each is about it.
func measuredBy(i listedItem, mark string) []string {
	var words []string
	for _, m := range i.Measured {
		var parts []string
		for _, part := range []struct {
			n    int
			noun string
		}{{len(m.Published), "printed table"}, {len(m.Claims), "claim"}} {
			if part.n == 1 {
				parts = append(parts, "1 "+part.noun)
			} else if part.n > 1 {
				parts = append(parts, fmt.Sprintf("%d %ss", part.n, part.noun))
			}
		}
		word := mark + m.Study + mark
		if len(parts) > 0 {
			word += " (" + strings.Join(parts, ", ") + ")"
		}
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words
}

// papersHead begins the documentation's page of papers.
const papersHead = `# What the papers claim and show

Each experiment, table, figure and claim of the papers that Wiretime repeats, and of the studies that they cite. *Open* means that it
could be measured and no built-in study does. "Beside the paper" is what Wiretime measures in addition. The list is
the program's own: ` + "`wiretime papers`" + ` prints it, ` + "`wiretime papers lulic --store results`" + ` with the verdicts of the last runs. The catalogue is
in [study/papers](../../study/papers).
`

// printPapersPage writes the list as a page in Markdown.
func printPapersPage(w io.Writer, all []listedPaper) error {
	if _, err := io.WriteString(w, papersHead); err != nil {
		return err
	}
	cell := strings.NewReplacer("|", `\|`, "\n", " ")
	for _, p := range all {
		fmt.Fprintf(w, "\n## %s\n\n%s%s. %s. Its figures are on [its page](%s).\n\n", p.Name, p.Reference, citedBy(p), countStates(p.Items), p.page)
		fmt.Fprintf(w, "| | where | what it says | state | studies |\n| --- | --- | --- | --- | --- |\n")
		for _, i := range p.Items {
			var why []string
			for _, w := range []string{i.Open, i.Cannot} {
				if w != "" {
					why = append(why, w)
				}
			}
			state := i.State
			if len(why) > 0 {
				state += ": " + strings.Join(why, " ")
			}
			kind := strings.TrimSpace(i.Kind + " " + i.Number)
			if i.Kind == papers.Beside {
				kind = "beside the paper"
			}
			if _, err := fmt.Fprintf(w, "| %s | %s | %s | %s | %s |\n", cell.Replace(kind), cell.Replace(i.Where), cell.Replace(i.Says),
				cell.Replace(state), strings.Join(measuredBy(i, "`"), ", ")); err != nil {
				return err
			}
		}
	}
	return nil
}
