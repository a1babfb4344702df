package studyfile

import (
	"fmt"
	"strconv"
	"time"

	"github.com/goccy/go-yaml/ast"

	"wiretime/media/manager"
	"wiretime/network"
	"wiretime/study"
)

// streams is the kind of studies of media streams.
var streams = kind{
	workload: study.Streams(),
	mark:     "stream",
	keys:     []string{"stream"},
	options:  streamDefaults,
	metrics:  func(v Vocabulary) map[string]string { return v.StreamMetrics },
	settings: (*reader).streamSettings,
	values: map[study.Axis]func(*reader, ast.Node) string{
		study.AxisMedia:         (*reader).medium,
		study.AxisLinkDelay:     (*reader).linkDelay,
		study.AxisLoss:          (*reader).linkLoss,
		study.AxisReconnections: (*reader).reconnections,
		study.AxisLossDirection: func(r *reader, n ast.Node) string {
			return r.word(n, "direction of loss", []string{study.LossBoth, study.LossDown})
		},
		study.AxisDelayVariation: func(r *reader, n ast.Node) string {
			return r.word(n, "variation of the delay", []string{study.VariationDrawn, study.VariationNone})
		},
		study.AxisParallel:   (*reader).parallel,
		study.AxisTCPSACK:    (*reader).sack,
		study.AxisPlayer:     func(r *reader, n ast.Node) string { return r.word(n, "player", r.words.Players) },
		study.AxisCongestion: (*reader).congestion,
		study.AxisInitCwnd:   (*reader).initcwnd,
		study.AxisTransport:  func(r *reader, n ast.Node) string { return r.word(n, "transport", r.words.Transports) },
		study.AxisStrategy:   (*reader).handoverStrategy,
		study.AxisRebinding:  (*reader).rebinding,
		study.AxisManager: func(r *reader, n ast.Node) string {
			return r.word(n, "manager", []string{study.ManagerPlanned, study.ManagerNode})
		},
	},
	selected: map[study.Axis]func(*reader, ast.Node) (string, bool){
		study.AxisLinkDelay: (*reader).selectedDelay,
		study.AxisLoss:      (*reader).selectedLoss,
		study.AxisRebinding: func(r *reader, n ast.Node) (string, bool) { word := r.rebinding(n); return word, word != "" },
	},
	check: (*reader).plannable,
	refused: map[string]string{
		"sites":     "streams have media, as in media: [file@1GB]",
		"protocols": "streams have transports, as in transports: [tcp, quic]",
		"networks":  "streams have link_delays, losses and reconnections",
		"loaders":   "streams have players, as in players: [download]",
		"visits":    "every stream is cold",
		"servers":   "Wiretime's own server serves all streams",
		"session":   "each stream has a client of its own",
		"hints":     "a stream has no resources to announce",
		"at":        "only pages are loaded at places",

		"tls":            "transports use TLS 1.3, or none",
		"tcp_windows":    "set the buffers in options, as in options: {tcp_rmem: [4096, 131072, 6291456]}",
		"client_windows": "transports use their own windows",
		"server_windows": "transports use their own windows",

		"dns":         "a stream's client knows the server's address",
		"think_time":  "a stream has no pages",
		"fallback":    "a stream has a single transport",
		"server_wait": "media are not recordings",
		"origin_rtt":  "media have a single server",
		"tear_down":   "a stream has no metric that counts it",
		"freeze":      "a stream has no scripts that ask for the time",
		"cpu":         "a player costs no processor time",
	},
	noOnLoad: "a stream has no onLoad to take a share of",
}

// streamDefaults returns the options of a study of streams that gives none. StartAt, ResumeAt,
// Ahead and GiveUp are the player's defaults, Patience is the transports'. A stream that makes
// no progress ends after GiveUp, long before the timeout.
func streamDefaults() study.Options {
	o := pageDefaults()
	o.Timeout, o.LateLimit.Share = time.Hour, 0
	o.Stream = &study.Stream{
		Access: manager.AccessPoints(), Rate: manager.DefaultRate, Period: time.Second, Duration: time.Minute,
		StartAt: 1, ResumeAt: 2, Ahead: 10, Patience: 30 * time.Second, GiveUp: time.Minute,
		Capture: study.Capture{Octets: 128, Packets: 100_000},
	}
	return o
}

var handoverStrategies = []string{study.StrategyReconnect, study.StrategyZeroRTT, study.StrategyMigrate, study.StrategyMultihome}

// medium reads a media reference.
func (r *reader) medium(n ast.Node) string {
	reference, ok := r.text(n, "a medium")
	if !ok {
		return ""
	}
	octets, err := r.words.Media(reference)
	if err != nil {
		r.fail(n, "%v", err)
		return ""
	}
	r.fits(n, reference, octets)
	return reference
}

// fits refuses streams that cannot end before the timeout.
func (r *reader) fits(n ast.Node, reference string, octets int64) {
	o := r.study.Options
	if least := o.Stream.Fastest(octets); least >= o.Timeout {
		r.fail(n, "%s takes at least %v at the links' rate of %v, but the timeout is %v; set a longer timeout in options", reference, least, o.Stream.Rate, o.Timeout)
	}
	if octets == 0 && o.Stream.Duration >= o.Timeout {
		r.fail(n, "a viewing of %s takes %v, but the timeout is %v; set a longer timeout in options", reference, o.Stream.Duration, o.Timeout)
	}
}

// handoverStrategy reads what a client does at handovers.
func (r *reader) handoverStrategy(n ast.Node) string {
	word := r.word(n, "strategy", handoverStrategies)
	if word == study.StrategyMultihome && len(r.study.Options.Stream.Access) < 2 {
		r.fail(n, "multihome needs two access links, but the study has one; add another to access")
	}
	return word
}

// rebinding reads what a NAT changes and when.
func (r *reader) rebinding(n ast.Node) string {
	text, ok := r.text(n, "a rebinding")
	if !ok || text == study.RebindingNone {
		return text
	}
	rebinding, err := network.ParseRebinding(text)
	if err != nil {
		r.fail(n, "%v; or %s", err, study.RebindingNone)
		return ""
	}
	return rebinding.String()
}

func (r *reader) linkDelay(n ast.Node) string {
	errs := len(r.errs)
	delay, _ := r.duration(n, "link_delays")
	return r.onLink(n, study.AxisLinkDelay, study.Link{Delay: delay}, len(r.errs) == errs)
}

func (r *reader) linkLoss(n ast.Node) string {
	errs := len(r.errs)
	loss := r.share(n, "losses", "packets")
	return r.onLink(n, study.AxisLoss, study.Link{Delay: r.someDelay(), Loss: loss}, len(r.errs) == errs)
}

func (r *reader) reconnections(n ast.Node) string {
	count, ok := r.integer(n, "reconnections", 0, maxLoads)
	return r.onLink(n, study.AxisReconnections, study.Link{Delay: r.someDelay(), Reconnections: count}, ok)
}

// maxParallel is the number of streams that SCTP and QUIC have for each resolution
// (transport.StreamsPerResolution).
const maxParallel = 4

func (r *reader) parallel(n ast.Node) string {
	requests, ok := r.integer(n, "number of requests at once", 1, maxParallel)
	if !ok {
		return ""
	}
	return strconv.Itoa(requests)
}

// someDelay returns the first link delay of the matrix.
func (r *reader) someDelay() time.Duration {
	delays := r.study.Matrix[study.AxisLinkDelay]
	if len(delays) == 0 {
		return 0
	}
	delay, _ := time.ParseDuration(delays[0])
	return delay
}

// onLink returns the word for a value on one of the link's axes, if it was read and works.
func (r *reader) onLink(n ast.Node, axis study.Axis, l study.Link, ok bool) string {
	if !ok || !r.works(n, l) {
		return ""
	}
	return l.Values()[axis]
}

// works plans the network of each of the media over a link, and reports a network that cannot
// be planned. After any error it plans nothing, because all networks may suffer from the same
// mistake.
func (r *reader) works(n ast.Node, l study.Link) bool {
	if len(r.errs) > 0 {
		return true
	}
	for _, reference := range r.study.Matrix[study.AxisMedia] {
		octets, err := r.words.Media(reference)
		if err != nil {
			continue // reported already, by medium
		}
		c := r.study.Options.Manager(l, octets, r.study.Seed)
		if l.Reconnections > 0 && c.Window == 0 && octets > 0 {
			r.fail(n, "reconnections during a download of %s need a window, because the links' rate is unlimited; set one under stream, as in window: 20s", reference)
			return false
		}
		if _, _, err := manager.Plan(c); err != nil {
			window := ""
			if l.Reconnections > 0 && c.Window > 0 {
				window = fmt.Sprintf(" (the window of %s is %v)", reference, c.Window)
			}
			r.fail(n, "%v%s", err, window)
			return false
		}
	}
	return true
}

// plannable checks that every combination of the link's axes can be planned.
func (r *reader) plannable(matrix ast.Node) {
	for _, c := range r.study.Cells(nil) {
		if _, err := r.study.Options.AveragePath(c.Link()); err != nil {
			r.fail(matrix, "%v", err)
			return
		}
	}
}

func (r *reader) selectedDelay(n ast.Node) (string, bool) {
	delay, ok := r.duration(n, string(study.AxisLinkDelay))
	return study.Link{Delay: delay}.Values()[study.AxisLinkDelay], ok
}

func (r *reader) selectedLoss(n ast.Node) (string, bool) {
	errs := len(r.errs)
	loss := r.share(n, string(study.AxisLoss), "packets")
	return study.Link{Loss: loss}.Values()[study.AxisLoss], len(r.errs) == errs
}
