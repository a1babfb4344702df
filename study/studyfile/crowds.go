package studyfile

import (
	"strconv"
	"time"

	"github.com/goccy/go-yaml/ast"

	"wiretime/study"
)

// crowds is the kind of studies of many clients against one server.
var crowds = kind{
	workload: study.Crowds(),
	mark:     "crowd",
	keys:     []string{"crowd"},
	options:  crowdDefaults,
	metrics:  func(v Vocabulary) map[string]string { return v.CrowdMetrics },
	settings: (*reader).crowdSettings,
	values: map[study.Axis]func(*reader, ast.Node) string{
		study.AxisClients:    (*reader).clients,
		study.AxisSite:       (*reader).site,
		study.AxisActivity:   func(r *reader, n ast.Node) string { return r.word(n, "activity", activities) },
		study.AxisProtocol:   func(r *reader, n ast.Node) string { return r.word(n, "protocol", r.words.Protocols) },
		study.AxisCongestion: (*reader).congestion,
		study.AxisInitCwnd:   (*reader).initcwnd,
		study.AxisServer:     (*reader).server,
	},
	refused: map[string]string{
		"networks":   "crowds use the loopback device",
		"loaders":    "crowds have activities, as in activities: [idle, active]",
		"visits":     "the clients of a crowd always make full handshakes",
		"strategies": "clients have six connections to each host over HTTP/1.1, and one over other protocols",
		"session":    "the clients of a crowd always make full handshakes",
		"hints":      "the clients of a crowd know all resources beforehand",
		"at":         "only pages are loaded at places",

		"tls":            "the clients of a crowd speak TLS 1.3 alone",
		"tcp_windows":    "set the buffers in options, as in options: {tcp_rmem: [4096, 131072, 6291456]}",
		"client_windows": "the clients of a crowd use the default windows of their stack",
		"server_windows": "the servers of a crowd use their own windows",

		"dns":         "the clients of a crowd know the server's address",
		"late_limit":  "a crowd's packets cross no emulator",
		"taken_limit": "a crowd is measured in the server's own processor time",
		"think_time":  "a crowd loads a single page",
		"fallback":    "a crowd has a single protocol",
		"server_wait": "a server that waits uses no processor time",
		"origin_rtt":  "crowds use the loopback device",
		"tear_down":   "a crowd has no capture",
		"freeze":      "a crowd's clients run no scripts",
		"cpu":         "a crowd's clients parse nothing",
	},
	noOnLoad: "a crowd has no onLoad to take a share of",
}

var activities = []string{study.ActivityIdle, study.ActivityActive}

// crowdDefaults returns the options of a study of crowds that sets none.
func crowdDefaults() study.Options {
	o := pageDefaults()
	o.Timeout, o.LateLimit.Share, o.Retries = 10*time.Minute, 0, 1
	o.Crowd = &study.Crowd{Pages: 500, Rest: 2 * time.Second}
	return o
}

const (
	maxClients = 1_000_000 // each has an address of its own on the loopback device
	maxPages   = 10_000_000
)

// crowdSettings reads the settings for every crowd, and the servers that the study defines.
func (r *reader) crowdSettings(file mapping) {
	r.ownServers(file)
	n, ok := file.get("crowd")
	if !ok {
		return
	}
	m, ok := r.mapping(n, "crowd", "pages", "rest")
	if !ok {
		return
	}
	s := r.study.Options.Crowd
	if n, ok := m.get("pages"); ok {
		s.Pages, _ = r.integer(n, "pages", 1, maxPages)
	}
	m.limit("rest", &s.Rest)
}

// clients reads a number of clients.
func (r *reader) clients(n ast.Node) string {
	count, ok := r.integer(n, "clients", 1, maxClients)
	if !ok {
		return ""
	}
	return strconv.Itoa(count)
}
