package studyfile

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"wiretime/network"
	"wiretime/study"
)

// Reasons why studies on the live clock lack keys.
const (
	someoneElses = "the servers are somebody else's"
	ownNetwork   = "this machine's own network is measured as it is"
	notRecorded  = "a real site is loaded, not a recording"
)

// live is the kind of studies that load real sites over this machine's own network. It is not in kinds, because it is
// told by its clock and not by a key of its own.
var live = kind{
	name:     "studies on the live clock",
	workload: study.Pages(),
	options:  pageDefaults,
	metrics:  pages.metrics,
	settings: func(*reader, mapping) {},
	values:   liveValues(),
	selected: map[study.Axis]func(*reader, ast.Node) (string, bool){
		study.AxisSite:     (*reader).selectedURL,
		study.AxisStrategy: (*reader).selectedStrategy,
	},
	check: (*reader).fitURLs,
	given: map[study.Axis]string{study.AxisNetwork: network.Live, study.AxisCongestion: study.System, study.AxisInitCwnd: study.System},
	refused: map[string]string{
		"servers": someoneElses, "server_windows": someoneElses, "hints": someoneElses,
		"congestion": ownNetwork, "initcwnd": ownNetwork, "tcp_windows": ownNetwork, "tcp_sack": ownNetwork, "tls": "servers and clients choose the newest version that both have", "client_windows": "its clients have windows of their own",
		"visits": "each load is a first visit", "session": "each load is a first visit",
		"dns": ownNetwork, "late_limit": "no packet is emulated, so none is late", "tcp_rmem": ownNetwork, "tcp_wmem": ownNetwork,
		"think_time": "a URL is one page", "server_wait": notRecorded, "origin_rtt": notRecorded, "freeze": notRecorded,
		"fallback": "what the page's own host does not offer is unsupported, and other hosts may use what they offer",
	},
}

// liveValues has what pages have, but for the values that mean something else on the live clock.
func liveValues() map[study.Axis]func(*reader, ast.Node) string {
	values := maps.Clone(pages.values)
	values[study.AxisSite] = (*reader).siteURL
	values[study.AxisNetwork] = (*reader).liveNetwork
	values[study.AxisLoader] = (*reader).liveLoader
	return values
}

// onLiveClock reports whether a study of pages names the live clock, and refuses it in other studies. r.clocks reads
// the clock itself.
func (r *reader) onLiveClock(file mapping) bool {
	n, ok := file.get("clock")
	if !ok {
		return false
	}
	if list, ok := n.(*ast.SequenceNode); ok {
		if len(list.Values) != 1 {
			return false
		}
		n = list.Values[0]
	}
	if n.GetToken().Value != study.ClockLive {
		return false
	}
	if r.kind != &pages {
		r.fail(n, "only studies of pages have the live clock; write another clock, or remove %s", r.kind.mark)
		return false
	}
	r.study.Networks = []network.Path{network.LivePath()}
	return true
}

// siteURL reads the URL of a real page.
func (r *reader) siteURL(n ast.Node) string {
	text, ok := r.text(n, "a site")
	if !ok {
		return ""
	}
	address, why := pageURL(text)
	if why != "" {
		r.fail(n, "invalid site %.200q: %s; on the live clock, sites are URLs such as https://www.example.com/", text, why)
	}
	return address
}

// pageURL returns a page's URL as the store has it, with a path. why says what is wrong with it.
func pageURL(text string) (address, why string) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "", "it is not a URL"
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "", "want http or https and a host"
	case u.User != nil:
		return "", "a store would keep its password"
	case u.Fragment != "":
		return "", "the fragment behind # is not sent to servers; remove it"
	case strings.ContainsAny(u.Host, " \t,;*"):
		return "", "its host is not a name"
	}
	u.Host = strings.ToLower(u.Host)
	if u.Path == "" {
		u.Path = "/"
	}
	return u.String(), ""
}

// selectedURL reads a site of a selection. It leaves an invalid URL as it is, since no matrix holds it.
func (r *reader) selectedURL(n ast.Node) (string, bool) {
	text, ok := r.text(n, "a site")
	if address, why := pageURL(text); ok && why == "" {
		return address, true
	}
	return text, ok
}

// liveNetwork reads the only network that the live clock has.
func (r *reader) liveNetwork(n ast.Node) string {
	if text, is := n.(*ast.StringNode); is && text.Value == network.Live {
		return network.Live
	}
	r.fail(n, "on the live clock no network is emulated: remove networks, or write networks: [%s]", network.Live)
	return ""
}

// liveLoader reads a loader that can load a page of which nothing is known.
func (r *reader) liveLoader(n ast.Node) string {
	const lists = "fetch"
	word := r.word(n, "loader", r.words.Loaders)
	if word == lists {
		r.fail(n, "the loader %s fetches what a recording lists, and a URL has none; use builtin or a browser", lists)
		return ""
	}
	return word
}

// fitURLs refuses URLs with a port over protocols of the other scheme, which have another port that is not known.
func (r *reader) fitURLs(matrix ast.Node) {
	for _, site := range r.study.Matrix[study.AxisSite] {
		u, err := url.Parse(site)
		if err != nil || u.Port() == "" {
			continue
		}
		other := slices.IndexFunc(r.study.Matrix[study.AxisProtocol], func(name string) bool { return (name == "http/1.1") != (u.Scheme == "http") })
		if other >= 0 {
			r.fail(matrix, "%s names a port, on which %s is not to be expected; remove the port, or put the protocols without TLS and those with it into studies of their own",
				site, r.study.Matrix[study.AxisProtocol][other])
		}
	}
}
