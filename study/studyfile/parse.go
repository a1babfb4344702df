// Package studyfile reads study files, which say what to measure, in YAML. docs/study.md is
// their reference.
package studyfile

import (
	"strings"

	"github.com/goccy/go-yaml/ast"

	"wiretime/study"
)

// Vocabulary lists the words that a study file may use and that other packages define.
type Vocabulary struct {
	// Words of studies of pages.
	Protocols, Loaders []string
	Metrics            map[string]string // units of metrics by name
	Servers            []string          // third-party web servers
	Placeholders       []string          // allowed in braces in the command of a study's own server
	// SiteKnown returns an error for an unknown site, which suggests another. A reference may
	// hold more than a name, as in "world-flags@4".
	SiteKnown func(reference string) error
	// Strategy returns a strategy's canonical name, because a strategy may have several, or
	// an error for an unknown word. If it is nil, StrategyBrowser is the only strategy.
	Strategy func(word string) (name string, err error)
	// Windows reads the values of the axes of windows. With the zero value, only
	// study.WindowDefault is known.
	Windows Windows

	// Words of studies of uploads, beside those of pages.
	UploadMetrics map[string]string // units of metrics by name
	// Upload returns the size of an upload in octets, or an error for an invalid reference.
	Upload func(reference string) (octets int64, err error)

	// Words of studies of streams.
	Transports, Players []string
	StreamMetrics       map[string]string // units of metrics by name
	// Media returns the size of a file, 0 for a video, or an error for an unknown medium.
	Media func(reference string) (octets int64, err error)

	CrowdMetrics map[string]string // units of metrics of crowds by name
}

// MaxSource is the size in bytes of the longest study file.
const MaxSource = 64 << 10

const (
	maxLoads = study.MostLoads
	// maxPicks limits how often a cell is held against a selection: a study of many cells may
	// have few selections.
	maxPicks = 100_000_000
)

// Parse reads a study. Errors name the file, and paths of traces are relative to its folder.
// The error is of type Errors and lists every mistake, each with its line and column, the
// nearest valid word, and what to do.
func Parse(file string, src []byte, v Vocabulary) (*study.Study, error) {
	r := &reader{file: file, of: "study", parts: "a name, repeats and a matrix", words: v, study: &study.Study{Seed: 1, Keep: study.KeepAll, Source: src}}
	if body := r.parse(src); body != nil {
		if r.top(body); len(r.errs) == 0 {
			return r.study, nil
		}
	}
	return nil, r.errs.sorted()
}

// reader reads the YAML nodes of a study file into a study and collects the mistakes. A
// method that returns ok = false has recorded why.
type reader struct {
	file    string
	of      string // what the file holds: a study or a schedule
	parts   string // that it must have, for people
	words   Vocabulary
	kind    *kind             // set before anything that depends on it is read
	metrics map[string]string // units of the kind's metrics by name
	study   *study.Study
	errs    Errors
	picks   int // how often a cell was held against a selection
}

// top reads the mapping at the top of the file.
func (r *reader) top(body ast.Node) {
	keys := []string{"name", "title", "description", "seed", "repeats", "clock", "keep"}
	for _, k := range kinds {
		keys = append(keys, k.keys...)
	}
	keys = append(keys, "matrix", "options", "quick", "published", "claims")
	m, ok := r.mapping(body, "the study", keys...)
	if !ok {
		return
	}
	s := r.study
	r.setKind(m)
	if n, ok := m.need("name", "name it, as in name: first-look"); ok {
		s.Name = r.name(n, "the study's name")
	}
	if n, ok := m.get("title"); ok {
		s.Title, _ = r.text(n, "title")
	}
	if n, ok := m.get("description"); ok {
		s.Description, _ = r.text(n, "description")
	}
	if n, ok := m.get("seed"); ok {
		s.Seed = r.seed(n)
	}
	repeatsAt, ok := m.need("repeats", "say how often to load each cell, as in repeats: 3")
	if ok {
		s.Repeats, _ = r.integer(repeatsAt, "repeats", 1, maxLoads)
	}
	if n, ok := m.get("clock"); ok {
		s.Matrix[study.AxisClock] = r.clocks(m, n)
	}
	if n, ok := m.get("keep"); ok {
		s.Keep = r.word(n, "value of keep", study.Keeps())
	}
	m.refuse()
	r.kind.settings(r, m)
	if n, ok := m.get("options"); ok {
		r.options(n, &s.Options)
	}
	if n, ok := m.need("matrix", "say what to combine: "+strings.Join(r.kind.required(), ", ")); ok {
		r.matrix(n)
	}
	if n, ok := m.get("session"); ok && len(r.errs) == 0 {
		r.session(n)
	}
	s.Quick.Repeats = 1
	if n, ok := m.get("quick"); ok && len(r.errs) == 0 {
		r.quick(n)
	}
	// Tables and claims refer to cells, which are known only if there is no error so far.
	known := len(r.errs) == 0
	if n, ok := m.get("published"); ok && known {
		r.published(n)
	}
	if n, ok := m.get("claims"); ok && known {
		r.claims(n)
	}
	if len(r.errs) == 0 && len(s.Cells(nil)) > maxLoads/s.Repeats {
		r.fail(repeatsAt, "%d cells with %d repeats each exceed the limit of %d loads; reduce the matrix or the repeats", len(s.Cells(nil)), s.Repeats, maxLoads)
	}
}

// clocks reads one clock, or a list of clocks.
func (r *reader) clocks(m mapping, n ast.Node) []string {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		return []string{r.word(n, "clock", study.Clocks())}
	}
	for _, item := range list.Values {
		switch word := item.GetToken().Value; {
		case len(list.Values) < 2:
		case word == study.ClockAuto:
			r.fail(item, "auto cannot be combined with other clocks; write clock: auto, or clock: [real, virtual] for both")
		case word == study.ClockLive:
			r.fail(item, "live cannot be combined with other clocks, which cannot load a URL; write clock: live")
		}
	}
	return axis(m, "clock", r.wordOf("clock", study.Clocks()))
}
