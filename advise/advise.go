package advise

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"wiretime/english"
	"wiretime/network"
	"wiretime/site"
	"wiretime/study"
)

// Builtin is the loader that measures all changes.
const Builtin = "builtin"

// Advice is the answer to a question.
type Advice struct {
	Site        string             `json:"site"`
	Title       string             `json:"title,omitempty"` // of the site, foreign text
	Page        string             `json:"page"`            // its URL, foreign text
	Population  network.Population `json:"population"`
	Networks    []network.Share    `json:"networks"` // what was measured of it
	Protocol    string             `json:"protocol"` // of today
	Metric      string             `json:"metric"`
	MetricTitle string             `json:"metric_title"`
	Loads       int                `json:"loads"` // of each cell
	Seed        uint64             `json:"seed"`
	Quick       bool               `json:"quick,omitempty"`
	Today       float64            `json:"today_median"` // weighted median over the population, ms

	Options []Option `json:"options"` // single changes, the greatest gain first
	Steps   []Step   `json:"steps"`   // of the greedy search, the first with the best single change; empty if none helps
	Browser *Browser `json:"browser,omitempty"`
}

// Option is a change and what it does alone.
type Option struct {
	Change
	Effect Effect `json:"effect"`
}

// Step is one step of the greedy search.
type Step struct {
	Added Option   `json:"added"` // to the steps before, with its effect beside them
	Total Effect   `json:"total"` // of all steps so far, compared with today
	Tried []Option `json:"tried"` // what else could have been added; empty in the first step
}

// Browser says what a real browser makes of the steps.
type Browser struct {
	Name    string   `json:"name"`
	Checked []Option `json:"checked"` // the steps so far, compared with today
	Agrees  bool     `json:"agrees"`  // what helps builtin helps the browser, step by step
}

// maxSteps is how many changes the greedy search combines at most.
const maxSteps = 4

// search is the state of an answer in the making.
type search struct {
	*Question
	*measured
	measure Measure
	rounds  int
	changes []Change
}

// Advise answers a question about a page. All single changes are measured first, then what helps is combined by greedy
// forward selection: the best single change, and to it, step by step, the one that helps most beside what is chosen. At last a browser
// verifies the steps. An error of measure ends it.
func Advise(ctx context.Context, q Question, page *site.Site, measure Measure) (*Advice, error) {
	a := &Advice{Site: q.Site, Title: page.Title, Page: page.Page, Population: q.Population, Networks: q.networks(), Protocol: q.Protocol,
		Metric: q.Metric, MetricTitle: q.MetricTitle, Loads: q.Loads, Seed: q.Seed, Quick: q.Quick, Options: []Option{}, Steps: []Step{}}
	all, err := changes(&q, page)
	if err != nil {
		return nil, err
	}
	s := &search{Question: &q, measured: newMeasured(&q), measure: measure, changes: all}
	if a.Options, err = s.singles(ctx); err != nil {
		return nil, err
	}
	a.Today = s.compare(q.today(), q.today(), Builtin, 1).Before
	if q.Quick {
		return a, nil
	}
	if a.Steps, err = s.combine(ctx, a.Options); err != nil {
		return nil, err
	}
	if q.Browser != "" && len(a.Steps) > 0 {
		a.Browser, err = s.verify(ctx, a.Steps)
	}
	return a, err
}

// run measures those setups that have not been measured.
func (s *search) run(ctx context.Context, loader, what string, setups []setup) error {
	var fresh []setup
	for _, o := range setups {
		if !s.has(o, loader) {
			fresh = append(fresh, o)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	s.rounds++
	text, err := round{s.rounds, loader, fresh}.text(s.Question)
	if err != nil {
		return fmt.Errorf("plan round %d: %w", s.rounds, err)
	}
	results, unsupported, err := s.measure(ctx, text, fmt.Sprintf("Round %d: %s.", s.rounds, what))
	if err == nil {
		s.add(results, unsupported)
	}
	return err
}

// base returns the setup that a change is compared with: today's, on a repeat visit if the change is about those.
func (s *search) base(c Change) setup {
	base := s.today()
	if c.Repeat {
		base.visit = study.VisitResumed
	}
	return base
}

// singles measures each change alone, and ranks them.
func (s *search) singles(ctx context.Context) ([]Option, error) {
	setups := []setup{s.today()}
	var alone []Change
	for _, c := range s.changes {
		if base := s.base(c); c.can(base) {
			alone = append(alone, c)
			setups = append(setups, base, c.to(base))
		}
	}
	if err := s.run(ctx, Builtin, english.Count(len(alone), "change")+", each alone", distinct(s.Question, setups)); err != nil {
		return nil, err
	}
	options := make([]Option, len(alone))
	for i, c := range alone {
		options[i] = Option{c, s.compare(s.base(c), c.to(s.base(c)), Builtin, len(alone))}
	}
	rank(options)
	return options, nil
}

// distinct leaves out setups that are there twice.
func distinct(q *Question, setups []setup) (all []setup) {
	seen := map[string]bool{}
	for _, s := range setups {
		id := identify(s.values(q, "", ""))
		if !seen[id] {
			all = append(all, s)
		}
		seen[id] = true
	}
	return all
}

// rank sorts by gain. Changes that are never advised come after all others, and what was not measured comes last.
func rank(options []Option) {
	group := func(o Option) int {
		switch {
		case o.Effect.Verdict == Unsupported:
			return 2
		case o.loses:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(options, func(a, b Option) int {
		return cmp.Or(group(a)-group(b), cmp.Compare(b.Effect.Gain, a.Effect.Gain))
	})
}

// combine adds one change after the other.
func (s *search) combine(ctx context.Context, options []Option) (steps []Step, err error) {
	best, ok := firstHelp(options, func(o Option) bool { return !o.Repeat })
	if !ok {
		return []Step{}, nil
	}
	steps = append(steps, Step{Added: best, Total: best.Effect, Tried: []Option{}})
	used, verdicts := map[string]bool{}, map[string]string{}
	for _, o := range options {
		verdicts[o.Name] = o.Effect.Verdict
	}
	for now := s.today(); ; {
		added := steps[len(steps)-1].Added
		now, used[added.kind] = added.to(now), true
		if added.kind == protocolKind { // which changes what all others do
			clear(verdicts)
		}
		if len(steps) == maxSteps {
			return steps, nil
		}
		tried, err := s.beside(ctx, now, s.candidates(verdicts, used, now), steps)
		if err != nil {
			return nil, err
		}
		if len(tried) == 0 || tried[0].Effect.Verdict != Helps {
			return steps, nil
		}
		for _, o := range tried {
			verdicts[o.Name] = o.Effect.Verdict
		}
		steps = append(steps, Step{Added: tried[0], Total: s.compare(s.today(), tried[0].to(now), Builtin, len(tried)), Tried: tried[1:]})
	}
}

// firstHelp returns the first of the options that helps, may be advised and is eligible.
func firstHelp(options []Option, eligible func(Option) bool) (Option, bool) {
	i := slices.IndexFunc(options, func(o Option) bool { return o.Effect.Verdict == Helps && !o.loses && eligible(o) })
	if i < 0 {
		return Option{}, false
	}
	return options[i], true
}

// candidates returns the changes that may help beside a setup: those that helped when they were last measured, and those that have not
// been measured beside anything like it.
func (s *search) candidates(verdicts map[string]string, used map[string]bool, now setup) (all []Change) {
	for _, c := range s.changes {
		promising := verdicts[c.Name] == "" || verdicts[c.Name] == Helps
		if promising && !c.Repeat && !c.loses && !used[c.kind] && c.can(now) {
			all = append(all, c)
		}
	}
	return all
}

// beside measures changes beside a setup, and ranks them.
func (s *search) beside(ctx context.Context, now setup, candidates []Change, steps []Step) ([]Option, error) {
	var setups []setup
	for _, c := range candidates {
		setups = append(setups, c.to(now))
	}
	what := english.Count(len(candidates), "change") + " beside " + titles(steps)
	if err := s.run(ctx, Builtin, what, setups); err != nil {
		return nil, err
	}
	options := make([]Option, len(candidates))
	for i, c := range candidates {
		options[i] = Option{c, s.compare(now, c.to(now), Builtin, len(candidates))}
	}
	rank(options)
	return options, nil
}

// titles lists what the steps have added.
func titles(steps []Step) string {
	words := each(steps, func(s Step) string { return s.Added.Title })
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// costs lists what the steps take, each thing once.
func costs(steps []Step) string {
	return strings.Join(slices.Compact(each(steps, func(s Step) string { return s.Added.Cost })), "; ")
}

func each(steps []Step, of func(Step) string) []string {
	words := make([]string, len(steps))
	for i, s := range steps {
		words[i] = of(s)
	}
	return words
}

// verify measures the steps with a browser.
func (s *search) verify(ctx context.Context, steps []Step) (*Browser, error) {
	today := s.today()
	setups, now := []setup{today}, today
	for _, step := range steps {
		now = step.Added.to(now)
		setups = append(setups, now)
	}
	if err := s.run(ctx, s.Browser, "what helps most, loaded by "+s.Browser, setups); err != nil {
		return nil, err
	}
	b := &Browser{Name: s.Browser, Agrees: true}
	now = today
	for i, step := range steps {
		now = step.Added.to(now)
		c := step.Added.Change
		c.Title, c.Cost = titles(steps[:i+1]), costs(steps[:i+1])
		e := s.compare(today, now, s.Browser, len(setups)-1)
		b.Agrees = b.Agrees && e.Verdict == Helps
		b.Checked = append(b.Checked, Option{c, e})
	}
	return b, nil
}
