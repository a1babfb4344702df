package studyfile

import (
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"wiretime/network"
	"wiretime/study"
)

// pages is the kind of studies of page loads.
var pages = kind{
	workload: study.Pages(),
	keys:     []string{"servers", "session"},
	options:  pageDefaults,
	metrics:  func(v Vocabulary) map[string]string { return v.Metrics },
	settings: (*reader).ownServers,
	values: map[study.Axis]func(*reader, ast.Node) string{
		study.AxisSite:         (*reader).site,
		study.AxisProtocol:     func(r *reader, n ast.Node) string { return r.word(n, "protocol", r.words.Protocols) },
		study.AxisNetwork:      (*reader).networkName,
		study.AxisLoader:       func(r *reader, n ast.Node) string { return r.word(n, "loader", r.words.Loaders) },
		study.AxisCongestion:   (*reader).congestion,
		study.AxisInitCwnd:     (*reader).initcwnd,
		study.AxisVisit:        func(r *reader, n ast.Node) string { return r.word(n, "visit", visits) },
		study.AxisStrategy:     (*reader).strategy,
		study.AxisServer:       (*reader).server,
		study.AxisClientWindow: func(r *reader, n ast.Node) string { return r.window(n, study.AxisClientWindow) },
		study.AxisServerWindow: func(r *reader, n ast.Node) string { return r.window(n, study.AxisServerWindow) },
		study.AxisTCPWindow:    func(r *reader, n ast.Node) string { return r.window(n, study.AxisTCPWindow) },
		study.AxisTCPSACK:      (*reader).sack,
		study.AxisHint:         func(r *reader, n ast.Node) string { return r.word(n, "hint", study.Hints()) },
		study.AxisTLS:          func(r *reader, n ast.Node) string { return r.word(n, "TLS version", study.TLSVersions()) },
		study.AxisWithout: func(r *reader, n ast.Node) string {
			return r.word(n, "part of a protocol to do without", study.Withouts())
		},
		study.AxisAt: (*reader).place,
	},
	selected: map[study.Axis]func(*reader, ast.Node) (string, bool){
		study.AxisStrategy:     (*reader).selectedStrategy,
		study.AxisClientWindow: func(r *reader, n ast.Node) (string, bool) { return r.selectedWindow(n, study.AxisClientWindow) },
		study.AxisServerWindow: func(r *reader, n ast.Node) (string, bool) { return r.selectedWindow(n, study.AxisServerWindow) },
		study.AxisTCPWindow:    func(r *reader, n ast.Node) (string, bool) { return r.selectedWindow(n, study.AxisTCPWindow) },
		study.AxisLoad:         (*reader).onLoad,
	},
	check: func(r *reader, matrix ast.Node) {
		r.fitWindows(matrix)
		r.fitPlaces(matrix)
	},
}

var visits = []string{study.VisitCold, study.VisitResumed, study.VisitZeroRTT, study.VisitConnected, study.VisitCached, study.VisitAgain, study.VisitReload}

// pageDefaults returns the options of a study of pages that gives none. The TCP buffers are
// Linux's defaults on a machine with enough memory (Documentation/networking/ip-sysctl.rst),
// so that a small machine measures the same.
func pageDefaults() study.Options {
	return study.Options{
		DNS:        study.DNSEmulated,
		LateLimit:  study.Late{Share: 0.01, P99: time.Millisecond},
		TakenLimit: 0.05,
		Retries:    2,
		Timeout:    120 * time.Second,
		Fallback:   study.FallbackNone,
		TCPRmem:    network.TCPRmem(),
		TCPWmem:    network.TCPWmem(),
	}
}

func (r *reader) site(n ast.Node) string {
	ref, ok := r.text(n, "a site")
	if !ok {
		return ""
	}
	if strings.Contains(ref, "://") {
		r.fail(n, "%.200q is a URL, which only the live clock loads; write clock: live, or record the site ('wiretime site record') and name it", ref)
		return ""
	}
	if err := r.words.SiteKnown(ref); err != nil {
		r.fail(n, "%v", err)
		return ""
	}
	return ref
}

// place reads the name of a place.
func (r *reader) place(n ast.Node) string {
	name, ok := r.text(n, "a place")
	if !ok {
		return ""
	}
	if err := study.CheckPlace(name); err != nil {
		r.fail(n, "%v", err)
		return ""
	}
	return name
}

// fitPlaces refuses places in a study whose cells may be on the virtual clock.
func (r *reader) fitPlaces(matrix ast.Node) {
	if len(r.study.Places()) > 0 && !slices.Equal(r.study.Matrix[study.AxisClock], []string{study.ClockReal}) {
		r.fail(matrix, "at names places, but on the virtual clock a load is the same at every place; write clock: real (or live, with URLs), or remove at")
	}
}

// networkName reads a network, keeps it in the study and returns its name.
func (r *reader) networkName(n ast.Node) string {
	p := r.network(n)
	r.study.Networks = append(r.study.Networks, p)
	return p.Name
}

func (r *reader) strategy(n ast.Node) string {
	if r.words.Strategy == nil {
		return r.word(n, "strategy", []string{study.StrategyBrowser})
	}
	word, ok := r.text(n, "a strategy")
	if !ok {
		return ""
	}
	name, err := r.words.Strategy(word)
	if err != nil {
		r.fail(n, "%v", err)
		return ""
	}
	return name
}

// selectedStrategy returns a strategy's canonical name. It leaves an unknown word as it is,
// since no matrix holds it.
func (r *reader) selectedStrategy(n ast.Node) (string, bool) {
	word, ok := r.text(n, "a strategy")
	if !ok || r.words.Strategy == nil {
		return word, ok
	}
	if name, err := r.words.Strategy(word); err == nil {
		word = name
	}
	return word, true
}
