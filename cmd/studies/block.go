package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// block is a table, a claims' table, a quotation, a figure or a picture that a page shows of studies, what a command prints
// of a study's store, or the tables that a script prints.
type block struct {
	line int    // of the page, at which it begins
	kind string // one of kinds
	spec string // the comment, from its kind to before its end
	body string // what stands between the comments
	shows
}

// shows is what a block's comment says, in YAML, after its kind.
type shows struct {
	Study  studyNames `yaml:"study"`  // scripts: the file in scripts/
	Metric string     `yaml:"metric"` // tables, figures: what is shown, by its name in exports; a column or a line may have its own
	Unit   string     `yaml:"unit"`   // tables, figures: s shows times, which are in ms, in seconds; other metrics stay as they are
	For    selection  `yaml:"for"`    // tables, figures: the cells to take
	Rows   []axis     `yaml:"rows"`   // tables: an axis for each of the columns at the row's head
	Across *axis      `yaml:"across"` // tables: a column for each of its values, in which all Columns stand together
	// Columns of tables. With Across they are joined by slashes.
	Columns []column `yaml:"columns"`
	// Statistic of tables and figures: median (the default), mean, min, max or a percentile, as in p95, of the loads of a cell. In a
	// study with sessions it is the median of each session's statistic.
	Statistic string `yaml:"statistic"`
	Form      string `yaml:"form"` // tables: median (the default: the figure alone), interval (of a median) or paper (and in parentheses what the paper printed)
	Digits    *int   `yaml:"digits"`
	Lines     lines  `yaml:"lines"`    // quotes: a regular expression; figures: a list, like Columns
	File      string `yaml:"file"`     // pictures, figures: beside the page
	Query     string `yaml:"query"`    // queries: SQL, which the sqlite3 shell runs on the study's store
	Alt       string `yaml:"alt"`      // pictures, figures: what the picture shows, in words
	Elements  string `yaml:"elements"` // pictures: of the report, a CSS selector; all that it finds is shown
	Width     int    `yaml:"width"`    // pictures, figures: of the window that shows the report or the figure, in pixels
	Height    int    `yaml:"height"`   // pictures: where they are cut off, in pixels; default: not at all
	Cell      int    `yaml:"cell"`     // pictures: which cell the charts of a single cell show, from 1 (the default)
	// Command of outputs: the verb of wiretime and its arguments, without --store.
	Command []string `yaml:"command"`
	// Figures: lines along a number, with the interval of each point and what papers printed for it, or heat maps over two. Their
	// selections take axes and the numbers of cells (report.Choice): rate, rtt, loss, pages, hosts, objects, initcwnd and so on.
	Along   string `yaml:"along"`   // the number on the horizontal axis, or an axis of names, such as site, with bars over each
	Against string `yaml:"against"` // the number on the vertical axis: a heat map for each line, which must be a ratio
	Panels  string `yaml:"panels"`  // an axis or a number, with a chart for each of its values; default: one chart
	X       cut    `yaml:"x"`       // the part of the axis that is shown
	Y       cut    `yaml:"y"`
}

// lines are what a quote or a figure shows.
type lines struct {
	expression string   // quotes: for lines of 'wiretime results'; its first group, if it has one, is shown
	drawn      []column // figures; none: a line for each of what the report compares, such as protocols
}

// cut is a part of an axis; ends that are left out follow from the data.
type cut struct {
	From *float64 `yaml:"from"`
	To   *float64 `yaml:"to"`
	Log  *bool    `yaml:"log"` // whether the axis is logarithmic
}

// studyNames are one name or a list.
type studyNames []string

// selection says which values an axis may have: one or a list, written as in exports.
type selection map[string]any

// axis is an axis of a study, by its name in exports.
type axis struct {
	Axis  string `yaml:"axis"`
	Title string `yaml:"title"` // default: the axis' name
	// Label is a regular expression for the part of the value that is shown: its first group. Values that it
	// does not match are left out.
	Label  string            `yaml:"label"`
	Titles map[string]string `yaml:"titles"` // other words for labels

	expression *regexp.Regexp
}

// column is a figure of the cells that a selection picks, or the ratio of two such.
type column struct {
	Title     string      `yaml:"title"`
	Metric    string      `yaml:"metric"`
	Of        selection   `yaml:"of"`
	Ratio     []selection `yaml:"ratio"` // the second divided by the first
	Statistic string      `yaml:"statistic"`
	Form      string      `yaml:"form"`
	Digits    *int        `yaml:"digits"`
}

func (n *studyNames) UnmarshalYAML(unmarshal func(any) error) error {
	var one string
	if unmarshal(&one) == nil {
		*n = studyNames{one}
		return nil
	}
	return unmarshal((*[]string)(n))
}

func (l *lines) UnmarshalYAML(unmarshal func(any) error) error {
	if unmarshal(&l.expression) == nil {
		return nil
	}
	return unmarshal(&l.drawn)
}

// kinds are the kinds of blocks.
var kinds = []string{"table", "claims", "quote", "query", "figure", "picture", "output", "script"}

func parseBlock(spec string) (block, error) {
	kind, text, _ := strings.Cut(spec, "\n")
	b := block{kind: strings.TrimSpace(kind), spec: spec}
	if !slices.Contains(kinds, b.kind) {
		return b, fmt.Errorf("unknown kind of block %q: it must be one of %s", b.kind, strings.Join(kinds, ", "))
	}
	if err := yaml.UnmarshalWithOptions([]byte(text), &b.shows, yaml.Strict()); err != nil {
		return b, fmt.Errorf("parse the block's description: %w", err)
	}
	if len(b.Study) == 0 {
		return b, fmt.Errorf("the block names no study")
	}
	axes := make([]*axis, 0, len(b.Rows)+1)
	for i := range b.Rows {
		axes = append(axes, &b.Rows[i])
	}
	if b.Across != nil {
		axes = append(axes, b.Across)
	}
	for _, a := range axes {
		var err error
		if a.expression, err = regexp.Compile(a.Label); err != nil {
			return b, fmt.Errorf("parse the label of %s: %w", a.Axis, err)
		}
	}
	return b, nil
}

func (b *block) studies() []string { return b.Study }

// make gives what stands between the block's comments: the table or picture, and what made it.
func (b *block) make(ctx context.Context, runs []*measuredRun, folder string) (string, error) {
	var shown string
	var err error
	switch b.kind {
	case "table":
		shown, err = b.table(runs)
	case "claims":
		shown, err = claimsTable(runs)
	case "quote":
		shown, err = b.quote(runs)
	case "output":
		shown, err = b.output(ctx, runs[0])
	case "query":
		shown, err = b.query(ctx, runs[0])
	case "script":
		shown = runs[0].results
	case "picture", "figure":
		shown = fmt.Sprintf("![%s](%s)\n", b.Alt, b.File)
		err = b.draw(ctx, runs, filepath.Join(folder, b.File))
	}
	if err != nil {
		return "", err
	}
	return "\n" + shown + "\n" + madeBy(runs) + "\n\n", nil
}

// madeBy says what measured the runs.
func madeBy(runs []*measuredRun) string {
	var commands, with []string
	for _, r := range runs {
		commands = append(commands, "`make studies STUDY="+r.name+"`")
		if w := r.with(); !slices.Contains(with, w) {
			with = append(with, w)
		}
	}
	return fmt.Sprintf("<sub>Made by %s: %s.</sub>", strings.Join(commands, ", "), strings.Join(with, "; "))
}

// output gives a command and what it prints of a run's store, indented as code.
func (b *block) output(ctx context.Context, run *measuredRun) (string, error) {
	if len(b.Command) == 0 {
		return "", errors.New("the block names no command")
	}
	printed, err := output(ctx, wiretime, append(slices.Clone(b.Command), "--store", run.store)...)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "    $ wiretime %s\n", strings.Join(b.Command, " "))
	for line := range strings.Lines(string(printed)) {
		text.WriteString(strings.TrimRight("    "+line, " \n") + "\n")
	}
	return text.String(), nil
}

// quote gives the lines of 'wiretime results' that the block asks for, as a paragraph each.
func (b *block) quote(runs []*measuredRun) (string, error) {
	expression, err := regexp.Compile("(?m)" + b.Lines.expression)
	if err != nil {
		return "", fmt.Errorf("parse lines: %w", err)
	}
	var found []string
	for _, r := range runs {
		for _, m := range expression.FindAllStringSubmatch(r.results, -1) {
			found = append(found, "> "+m[len(m)-1]+"\n")
		}
	}
	if len(found) == 0 {
		return "", fmt.Errorf("no line of the results matches %q", b.Lines.expression)
	}
	return strings.Join(found, ">\n"), nil
}

var trailing = regexp.MustCompile(`(?m) +$`)

// query gives a query of the sqlite3 shell, and what it prints.
func (b *block) query(ctx context.Context, run *measuredRun) (string, error) {
	printed, err := output(ctx, "sqlite3", "-readonly", "-header", "-column", filepath.Join(run.store, "wiretime.db"), b.Query)
	if err != nil {
		return "", err
	}
	if len(printed) == 0 {
		return "", fmt.Errorf("the query finds nothing: %s", b.Query)
	}
	table := trailing.ReplaceAllString(strings.TrimSpace(string(printed)), "")
	return "```sql\n" + strings.TrimSpace(b.Query) + "\n```\n\n```\n" + table + "\n```\n", nil
}

var claimLines = regexp.MustCompile(`(?m)^\d+\. (.+)\n   (.+): (.+)\.$`)

// claimsTable gives the claims of studies with their verdicts, as 'wiretime results' prints them.
func claimsTable(runs []*measuredRun) (string, error) {
	var all strings.Builder
	all.WriteString("| claim | tested as | here |\n| --- | --- | --- |\n")
	for _, r := range runs {
		found := claimLines.FindAllStringSubmatch(r.results, -1)
		if len(found) == 0 {
			return "", fmt.Errorf("'wiretime results' printed no claims of %s", r.name)
		}
		for _, m := range found {
			fmt.Fprintf(&all, "| %s | %s | %s |\n", strings.TrimSuffix(m[1], "."), m[2], m[3])
		}
	}
	return all.String(), nil
}
