// Package papers holds the catalogue of the papers that Wiretime repeats: each experiment, table, figure and claim of
// them, and the built-in studies that measure it. A file per paper has the entries; [Check] holds them to the studies.
package papers

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// Paper is a paper or another study that papers cite, with all that it says and shows.
type Paper struct {
	Name     string `yaml:"name"`
	Authors  string `yaml:"authors"`
	Title    string `yaml:"title"`    // in English
	Year     string `yaml:"year"`     // as printed; "about" if it is worked out
	Language string `yaml:"language"` // of the paper
	Cited    string `yaml:"cited"`    // by which of the papers; empty: it is one of them
	Page     string `yaml:"page"`     // of the documentation, relative to docs/papers
	Items    []Item `yaml:"items"`
}

// Item is an experiment, table, figure or claim of a paper.
type Item struct {
	Kind   string `yaml:"kind"`             // one of Kinds
	Number string `yaml:"number,omitempty"` // as printed, such as "2" of table 2; claims have none
	Where  string `yaml:"where"`            // section
	Says   string `yaml:"says"`             // what it is or claims, in a sentence
	// Measured names the studies that measure the item.
	Measured []Measurement `yaml:"measured,omitempty"`
	// Cannot says why the item, or the part of it that Measured leaves, cannot be measured.
	Cannot string `yaml:"cannot,omitempty"`
	// Open says what of the item could be measured and has not been.
	Open string `yaml:"open,omitempty"`
}

// Measurement is what one study measures of an item.
type Measurement struct {
	Study string `yaml:"study"`
	// Claims and Published pick claims and printed tables of the study by a part of their text or source. A study
	// without either shows its figures alone.
	Claims    []string `yaml:"claims,omitempty"`
	Published []string `yaml:"published,omitempty"`
}

// The kinds of items.
const (
	Experiment = "experiment"
	Table      = "table"
	Figure     = "figure"
	Claim      = "claim"
	Beside     = "beside" // what Wiretime measures beside the paper, such as today's protocols
)

// Kinds returns the kinds of items.
func Kinds() []string { return []string{Experiment, Table, Figure, Claim, Beside} }

// The states of items.
const (
	Measured = "measured"
	InPart   = "measured in part"
	Open     = "open" // it could be measured
	CannotBe = "cannot be measured"
)

// States returns the states of items.
func States() []string { return []string{Measured, InPart, Open, CannotBe} }

// State returns the item's state.
func (i Item) State() string {
	switch {
	case len(i.Measured) > 0 && i.Cannot == "" && i.Open == "":
		return Measured
	case len(i.Measured) > 0:
		return InPart
	case i.Open != "":
		return Open
	}
	return CannotBe
}

// Heading names the item, as in "table 2 (section IV.1)".
func (i Item) Heading() string {
	return strings.TrimSpace(i.Kind+" "+i.Number) + " (" + i.Where + ")"
}

// Reference names the paper, as in "Kim, Yi, Lee: A Research on ... (2013, in Korean)".
func (p Paper) Reference() string {
	return fmt.Sprintf("%s: %s (%s, in %s)", p.Authors, p.Title, p.Year, p.Language)
}

//go:embed *.yaml
var files embed.FS

// All returns the papers: those that the project grew out of, in the order of their years, then those that they cite.
func All() []Paper {
	entries, _ := files.ReadDir(".") // the files are part of the program
	var all []Paper
	for _, e := range entries {
		text, _ := files.ReadFile(e.Name())
		p, err := parse(text)
		if err != nil {
			panic(fmt.Sprintf("%s: %v", e.Name(), err)) // held by TestFiles
		}
		all = append(all, p)
	}
	slices.SortStableFunc(all, func(a, b Paper) int {
		return strings.Compare(a.order(), b.order())
	})
	return all
}

// order is what papers are sorted by.
func (p Paper) order() string {
	cited := "0"
	if p.Cited != "" {
		cited = "1"
	}
	return cited + p.Year[len(p.Year)-4:] + p.Name
}

// parse reads a paper's file.
func parse(text []byte) (Paper, error) {
	var p Paper
	if err := yaml.UnmarshalWithOptions(text, &p, yaml.Strict()); err != nil {
		return Paper{}, err
	}
	if p.Name == "" || p.Authors == "" || p.Title == "" || len(p.Year) < 4 || p.Language == "" || p.Page == "" || len(p.Items) == 0 {
		return Paper{}, fmt.Errorf("a paper needs name, authors, title, year, language, page and items")
	}
	for _, i := range p.Items {
		if err := i.check(); err != nil {
			return Paper{}, fmt.Errorf("%s: %w", i.Heading(), err)
		}
	}
	return p, nil
}

func (i Item) check() error {
	switch {
	case !slices.Contains(Kinds(), i.Kind):
		return fmt.Errorf("unknown kind %q: it must be one of %s", i.Kind, strings.Join(Kinds(), ", "))
	case i.Where == "" || i.Says == "":
		return fmt.Errorf("it needs where and says")
	case i.Number == "" && (i.Kind == Table || i.Kind == Figure):
		return fmt.Errorf("it needs a number")
	case len(i.Measured) == 0 && i.Cannot == "" && i.Open == "":
		return fmt.Errorf("it needs the studies that measure it, or why it cannot be measured, or what is open")
	}
	for _, m := range i.Measured {
		if m.Study == "" {
			return fmt.Errorf("a measurement needs a study")
		}
	}
	return nil
}
