// Package study reads study files, which say what to measure, and turns them
// into a plan: every combination of the axes, every repeat, in a seeded order.
// docs/study.md is the reference of the file.
package study

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"wiretime/network"
)

// Study is a study file, read and checked.
type Study struct {
	Name        string // letters, digits, ".", "_" and "-"
	Title       string // empty if the file gives none
	Description string // empty if the file gives none
	Seed        uint64 // of the order of the loads and of everything random in them

	Workload *Workload
	// Matrix has the values of each axis of the workload; their product, but for what Except
	// picks, is the study's cells. No axis is empty and none holds a value twice.
	Matrix   map[Axis][]string
	Networks []network.Path // those on AxisNetwork, valid, told apart by name

	OwnServers []Server // that the study brings along

	Except []Selection // cells that the product holds and the study does not

	Published []Published // tables that papers printed of the same
	Claims    []Claim     // what is said of the cells, to be found true or not

	Repeats int // loads of each cell, at least 1
	Options Options
	Source  []byte // the file, byte for byte
}

// The states of a client before a load. In all but the first it has visited the
// site before.
const (
	VisitCold      = "cold"      // it knows nothing of the site
	VisitResumed   = "resumed"   // it has names and TLS sessions; connections are closed, the cache is empty
	VisitZeroRTT   = "0rtt"      // as resumed, and it sends requests as early data over HTTP/3 (RFC 9001, section 4.6)
	VisitConnected = "connected" // its connections are still open; the cache is empty
	VisitCached    = "cached"    // it has names, TLS sessions and what its cache may keep; connections are closed
)

// StrategyBrowser is the strategy of a browser: over HTTP/1.1 six connections
// per host that are kept alive, over other protocols one connection per origin
// for all requests.
const StrategyBrowser = "browser"

// The clocks that a study may name.
const (
	ClockReal    = "real"    // of this machine's kernel
	ClockVirtual = "virtual" // of a kernel that does not wait: it jumps when all is idle, and processor time counts as zero
	ClockAuto    = "auto"    // one of the two, chosen for each cell before the run begins
)

// Vocabulary is the words a study may use, which other packages own.
type Vocabulary struct {
	Protocols, Loaders, Sites []string
	Metrics                   map[string]string // the names of figures, and their units
	Servers                   []string          // other people's web servers
	Placeholders              []string          // what may stand in braces in the command of a study's own server
	// SiteKnown, if not nil, decides whether a site exists (a reference may
	// carry more than a name, as "world-flags@4" does); Sites then only serves
	// to name the nearest.
	SiteKnown func(reference string) error
	// Strategy gives a strategy's one name, since several words may mean the
	// same, or says why the word means none. Without it (nil) there is
	// StrategyBrowser alone.
	Strategy func(word string) (name string, err error)

	// The words of studies of streams.
	Transports, Players []string
	StreamMetrics       map[string]string
	// Media says how many octets a file has, 0 of a video, or why there is no such thing.
	Media func(reference string) (octets int64, err error)
}

func (v Vocabulary) metrics() []string { return slices.Sorted(maps.Keys(v.Metrics)) }

// congestionControls are the TCP congestion controls of Linux 6.12
// (net/ipv4/tcp_*.c). Whether this machine's kernel has one is for the lab to
// find out.
var congestionControls = []string{"cubic", "reno", "bbr", "bic", "cdg", "dctcp", "highspeed", "htcp", "hybla",
	"illinois", "lp", "nv", "scalable", "vegas", "veno", "westwood", "yeah"}

const (
	maxSource   = 64 << 10 // bytes
	maxLoads    = 1_000_000
	maxInitCwnd = 1000 // segments
)

// Parse reads a study. The name of the file appears in errors, and traces that
// the study names are read relative to its folder. The error is of type Errors
// and names everything that is wrong, each with line and column, the nearest
// valid word, and what to do.
func Parse(file string, src []byte, v Vocabulary) (*Study, error) {
	r := &reader{file: file}
	if body := r.parse(src); body != nil {
		if s := r.study(body, v); len(r.errs) == 0 {
			s.Source = src
			return s, nil
		}
	}
	return nil, r.errs.sorted()
}

var visitWords = []string{VisitCold, VisitResumed, VisitZeroRTT, VisitConnected, VisitCached}

// clockWords are what a study may say.
var clockWords = []string{ClockReal, ClockVirtual, ClockAuto}

// UseClock measures the whole study on one clock, whatever its file says. The
// error of an unknown word names the words there are.
func (s *Study) UseClock(clock string) error {
	if !slices.Contains(clockWords, clock) {
		return fmt.Errorf("use the clock %q: there are %s", clock, strings.Join(clockWords, ", "))
	}
	s.Matrix[AxisClock] = []string{clock}
	return nil
}

func (r *reader) study(body ast.Node, v Vocabulary) *Study {
	s := &Study{Seed: 1, Workload: Pages(), Matrix: map[Axis][]string{AxisClock: {ClockAuto}}, Options: defaults}
	m, ok := r.mapping(body, "the study", "name", "title", "description", "seed", "repeats", "clock", "servers", "stream", "matrix", "options", "published", "claims")
	if !ok {
		return s
	}
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
	repeatsAt, ok := m.need("repeats", "say how often each cell is loaded, as in repeats: 3")
	if ok {
		s.Repeats, _ = r.integer(repeatsAt, "repeats", 1, maxLoads)
	}
	if n, ok := m.get("clock"); ok {
		s.Matrix[AxisClock] = r.clocks(m, n)
	}
	if n, ok := m.get("stream"); ok {
		m.refuse()
		s.Workload, s.Options.Timeout, s.Options.Stream = Streams(), streamTimeout, defaultStream()
		s.Options.LateLimit.Share = 0
		v.Strategy, v.Metrics = nil, v.StreamMetrics
		r.stream(n, s.Options.Stream)
	} else if n, ok := m.get("servers"); ok {
		s.OwnServers = r.servers(n, v)
	}
	if n, ok := m.get("options"); ok {
		r.options(n, &s.Options)
	}
	if n, ok := m.need("matrix", "say what to combine: "+strings.Join(s.Workload.required(), ", ")); ok {
		r.matrix(n, s, v)
	}
	// What these say is about cells, of which there are none after an error.
	if n, ok := m.get("published"); ok && len(r.errs) == 0 {
		r.published(n, s, v)
	}
	if n, ok := m.get("claims"); ok && len(r.errs) == 0 {
		r.claims(n, s, v)
	}
	if len(r.errs) == 0 && len(s.Cells(nil)) > maxLoads/s.Repeats {
		r.fail(repeatsAt, "%d cells, %d times each, are more than %d loads; make the matrix or the repeats smaller", len(s.Cells(nil)), s.Repeats, maxLoads)
	}
	return s
}

// matrix reads the axes. The options of streams must have been read.
func (r *reader) matrix(n ast.Node, s *Study, v Vocabulary) {
	if s.Workload != Streams() && r.misplaced(n) {
		return
	}
	m, ok := r.mapping(n, "the matrix", s.Workload.accepted()...)
	if !ok {
		return
	}
	if s.Workload == Streams() {
		m.refuse()
	}
	for _, a := range s.Workload.Axes {
		switch {
		case a.Axis == AxisClock: // beside the matrix
		case a.Usual != "" && !m.has(a.Key):
			s.Matrix[a.Axis] = []string{a.Usual}
		default:
			s.Matrix[a.Axis] = axis(m, a.Key, func(n ast.Node) (string, string) {
				word := r.value(n, a.Axis, s, v)
				return word, word
			})
		}
	}
	if s.Workload == Streams() && len(r.errs) == 0 {
		r.plannable(m.node, s)
	}
	if n, ok := m.get("except"); ok && len(r.errs) == 0 {
		r.except(n, s, v)
	}
}

// value reads a value on an axis; "" after an error.
func (r *reader) value(n ast.Node, axis Axis, s *Study, v Vocabulary) string {
	switch axis {
	case AxisSite:
		return r.site(n, v)
	case AxisProtocol:
		return r.word(n, "protocol", v.Protocols)
	case AxisNetwork:
		p := r.network(n)
		s.Networks = append(s.Networks, p)
		return p.Name
	case AxisLoader:
		return r.word(n, "loader", v.Loaders)
	case AxisVisit:
		return r.word(n, "visit", visitWords)
	case AxisServer:
		return r.server(n, s, v)
	case AxisMedia:
		return r.medium(n, s, v)
	case AxisTransport:
		return r.word(n, "transport", v.Transports)
	case AxisPlayer:
		return r.word(n, "player", v.Players)
	case AxisLinkDelay, AxisLoss, AxisReconnections:
		return r.onLink(n, axis, s, v)
	case AxisCongestion:
		return r.word(n, "congestion control", congestionControls)
	case AxisInitCwnd:
		if segments, ok := r.integer(n, "initcwnd", 1, maxInitCwnd); ok {
			return fmt.Sprint(segments)
		}
		return ""
	}
	if s.Workload == Streams() {
		return r.handoverStrategy(n, s)
	}
	return r.strategy(n, v)
}

func (r *reader) strategy(n ast.Node, v Vocabulary) string {
	if v.Strategy == nil {
		return r.word(n, "strategy", []string{StrategyBrowser})
	}
	word, ok := r.text(n, "a strategy")
	if !ok {
		return ""
	}
	name, err := v.Strategy(word)
	if err != nil {
		r.fail(n, "%v", err)
		return ""
	}
	return name
}

// clocks reads one clock, or a list of them.
func (r *reader) clocks(m mapping, n ast.Node) []string {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		return []string{r.word(n, "clock", clockWords)}
	}
	for _, item := range list.Values {
		if len(list.Values) > 1 && item.GetToken().Value == ClockAuto {
			r.fail(item, "auto stands beside other clocks, between which it would choose; write clock: auto, or clock: [real, virtual] for both")
		}
	}
	return axis(m, "clock", r.wordOf("clock", clockWords))
}

// axis reads the list under a key. read gives a value and what
// tells it apart from others, or "" after an error.
func axis[T any](m mapping, key string, read func(ast.Node) (T, string)) []T {
	n, ok := m.need(key, "name at least one, or the study holds no cell")
	if !ok {
		return nil
	}
	items, ok := m.r.list(n, key)
	if !ok {
		return nil
	}
	if len(items) == 0 {
		m.r.fail(n, "%s is empty, so the study holds no cell; name at least one", key)
	}
	var values []T
	first := map[string]int{}
	for _, item := range items {
		value, identity := read(item)
		if identity == "" {
			continue
		}
		line, _ := position(item)
		if before, twice := first[identity]; twice {
			m.r.fail(item, "%s is in %s twice (first on line %d), which makes cells twice; remove one, and raise repeats to load it more often", identity, key, before)
			continue
		}
		first[identity] = line
		values = append(values, value)
	}
	return values
}

func (r *reader) site(n ast.Node, v Vocabulary) string {
	if v.SiteKnown == nil {
		return r.word(n, "site", v.Sites)
	}
	ref, ok := r.text(n, "a site")
	if !ok {
		return ""
	}
	if err := v.SiteKnown(ref); err != nil {
		r.fail(n, "%v; %s", err, nearest(ref, v.Sites))
		return ""
	}
	return ref
}

var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// name reads a name that may become part of a file's name; "" after an error.
func (r *reader) name(n ast.Node, what string) string {
	name, ok := r.text(n, what)
	if ok && !validName.MatchString(name) {
		r.fail(n, "%s %.40q is not a name; write up to 64 letters, digits, \".\", \"_\" and \"-\", beginning with a letter or digit", what, name)
		return ""
	}
	return name
}

// word reads one of words; "" after an error.
func (r *reader) word(n ast.Node, what string, words []string) string {
	word, ok := r.text(n, "a "+what)
	if ok && !slices.Contains(words, word) {
		r.fail(n, "unknown %s %.40q; %s", what, word, nearest(word, words))
		return ""
	}
	return word
}

// wordOf reads one of words on an axis.
func (r *reader) wordOf(what string, words []string) func(ast.Node) (string, string) {
	return func(n ast.Node) (string, string) {
		word := r.word(n, what, words)
		return word, word
	}
}

// nearest says what to write instead of a word that is none of words.
func nearest(word string, words []string) string {
	if near := network.Nearest(word, words); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "write one of " + strings.Join(words, ", ")
}
