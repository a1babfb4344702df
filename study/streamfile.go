package study

import (
	"fmt"
	"slices"
	"time"

	"github.com/goccy/go-yaml/ast"

	"wiretime/media/manager"
)

// required are the keys of the matrix that every study of the workload has.
func (w *Workload) required() []string {
	var keys []string
	for _, axis := range w.KeyOrder {
		if info := w.Info(axis); info.Usual == "" {
			keys = append(keys, info.Key)
		}
	}
	return keys
}

// accepted are the keys that the matrix may have, and those that have an error of their own.
func (w *Workload) accepted() []string {
	keys := append(w.keys(), "except")
	if w == Streams() {
		keys = append(keys, Pages().keys()...)
	}
	return keys
}

// keys are those of the workload's axes in the matrix.
func (w *Workload) keys() []string {
	keys := w.required()
	for _, a := range w.Axes {
		if a.Axis != AxisClock && a.Usual != "" {
			keys = append(keys, a.Key)
		}
	}
	return keys
}

// notOfStreams says why streams have no such key.
var notOfStreams = map[string]string{
	"sites":     "streams have media, as in media: [file@1GB]",
	"protocols": "streams have transports, as in transports: [tcp, quic]",
	"networks":  "the networks of streams are made of link_delays, losses and reconnections",
	"loaders":   "streams have players, as in players: [download]",
	"visits":    "every stream is cold: its client knows nothing of the server",
	"servers":   "streams are served by Wiretime's own server",

	"dns":         "a stream's client knows the server's address",
	"think_time":  "a stream has no pages between which to think",
	"fallback":    "a stream has one transport",
	"server_wait": "media were not recorded, so nobody waited for them",
	"origin_rtt":  "media were not recorded, and have one server",
	"freeze":      "a stream has no scripts that ask for the time",
	"cpu":         "a player does no work that costs time",
}

// refuse says of each key that studies of streams do not have why that is so.
func (m mapping) refuse() {
	for key := range m.values {
		if n, ok := m.get(key); ok && notOfStreams[key] != "" {
			m.r.fail(n, "%s is for studies of pages: %s; remove it", key, notOfStreams[key])
		}
	}
}

// misplaced finds what only studies of streams have in the matrix of a study that
// does not say that it is one.
func (r *reader) misplaced(matrix ast.Node) bool {
	fields, ok := matrix.(ast.MapNode)
	if !ok {
		return false
	}
	for each := fields.MapRange(); each.Next(); {
		if key := each.Key().String(); slices.Contains(Streams().keys(), key) && !slices.Contains(Pages().keys(), key) {
			r.fail(each.Key(), "%s is for studies of streams; write stream: {} above the matrix to make this one, or remove it", key)
			return true
		}
	}
	return false
}

// stream reads what holds for every stream.
func (r *reader) stream(n ast.Node, s *Stream) {
	m, ok := r.mapping(n, "stream", "rate", "period", "duration", "window", "seeks", "start_at", "resume_at", "ahead",
		"patience", "give_up", "access", "capture")
	if !ok {
		return
	}
	if n, ok := m.get("rate"); ok {
		s.Rate = r.rate(n)
	}
	if n, ok := m.get("period"); ok {
		s.Period, _ = r.duration(n, "period")
	}
	m.limit("duration", &s.Duration)
	if m.has("window") {
		s.Window = 20 * time.Second // what the error of a window of zero gives as an example
		m.limit("window", &s.Window)
	}
	if n, ok := m.get("seeks"); ok {
		s.Seeks = r.share(n, "seeks", "seconds")
	}
	r.buffer(m, s)
	m.limit("patience", &s.Patience)
	m.limit("give_up", &s.GiveUp)
	if m.has("access") {
		s.Access = axis(m, "access", func(n ast.Node) (string, string) {
			name := r.name(n, "the access link's name")
			return name, name
		})
	}
	if n, ok := m.get("capture"); ok {
		r.capture(n, &s.Capture)
	}
	// What is wrong with the whole is wrong with the simplest network.
	if len(r.errs) == 0 {
		simplest := Options{Stream: s}.Manager(Link{}, 0, 0)
		simplest.Name = "stream"
		if _, _, err := manager.Plan(simplest); err != nil {
			r.fail(n, "%v", err)
		}
	}
}

// maxAhead is a buffer of ten minutes.
const maxAhead = 600

// buffer reads how many segments are buffered. With two at least, every player has
// something to go by.
func (r *reader) buffer(m mapping, s *Stream) {
	if n, ok := m.get("ahead"); ok {
		if s.Ahead, ok = r.integer(n, "ahead", 2, maxAhead); !ok {
			return
		}
	}
	if n, ok := m.get("start_at"); ok {
		s.StartAt, _ = r.integer(n, "start_at", 1, s.Ahead)
	}
	if n, ok := m.get("resume_at"); ok {
		s.ResumeAt, _ = r.integer(n, "resume_at", 1, s.Ahead)
	}
}

// leastOctets are those of IPv4's and TCP's headers with all their options.
const leastOctets = 120

// capture reads how much of the packets is kept.
func (r *reader) capture(n ast.Node, c *Capture) {
	m, ok := r.mapping(n, "capture", "octets", "packets")
	if !ok {
		return
	}
	if n, ok := m.get("octets"); ok {
		c.Octets, _ = r.integer(n, "octets", 0, 65535)
		if c.Octets > 0 && c.Octets < leastOctets {
			r.fail(n, "octets is %d, which may cut a header; write %d or more, or 0 to keep whole packets", c.Octets, leastOctets)
		}
	}
	if n, ok := m.get("packets"); ok {
		c.Packets, _ = r.integer(n, "packets", 0, 1_000_000_000)
	}
}

// medium reads what is streamed.
func (r *reader) medium(n ast.Node, s *Study, v Vocabulary) string {
	reference, ok := r.text(n, "a medium")
	if !ok {
		return ""
	}
	octets, err := v.Media(reference)
	if err != nil {
		r.fail(n, "%v", err)
		return ""
	}
	r.fits(n, reference, octets, s.Options)
	return reference
}

// handoverStrategy reads what a client does at handovers.
func (r *reader) handoverStrategy(n ast.Node, s *Study) string {
	word := r.word(n, "strategy", handoverWords)
	if word == StrategyMultihome && len(s.Options.Stream.Access) < 2 {
		r.fail(n, "multihome needs two access links, and the study has one; name another one in access")
	}
	return word
}

// fits refuses streams that the timeout always ends.
func (r *reader) fits(n ast.Node, reference string, octets int64, o Options) {
	if least := o.Stream.fastest(octets); least >= o.Timeout {
		r.fail(n, "%s takes %v at least, at the links' rate of %v, and the timeout is %v; write a longer one in options", reference, least, o.Stream.Rate, o.Timeout)
	}
	if octets == 0 && o.Stream.Duration >= o.Timeout {
		r.fail(n, "a viewing of %s takes %v, and the timeout is %v; write a longer one in options", reference, o.Stream.Duration, o.Timeout)
	}
}

// onLink reads a value on one of the three axes of the network. Each is tried in a plan, so
// that what cannot be is found now.
func (r *reader) onLink(n ast.Node, axis Axis, s *Study, v Vocabulary) string {
	l, word := Link{}, ""
	if delays := s.Matrix[AxisLinkDelay]; axis != AxisLinkDelay && len(delays) > 0 {
		l.Delay, _ = time.ParseDuration(delays[0])
	}
	errs := len(r.errs)
	switch axis {
	case AxisLinkDelay:
		l.Delay, _ = r.duration(n, "link_delays")
		word = delayWord(l.Delay)
	case AxisLoss:
		l.Loss = r.share(n, "losses", "packets")
		word = lossWord(l.Loss)
	default:
		l.Reconnections, _ = r.integer(n, "reconnections", 0, maxLoads)
		word = fmt.Sprint(l.Reconnections)
	}
	if len(r.errs) > errs || !r.tried(n, s, v, l) {
		return ""
	}
	return word
}

// plannable plans the network of every combination of the three axes.
func (r *reader) plannable(n ast.Node, s *Study) {
	for _, c := range s.Cells(nil) {
		if _, err := s.Options.network(c.Link()); err != nil {
			r.fail(n, "%v", err)
			return
		}
	}
}

// tried plans the network of each of the media over a link, and says what is wrong. After
// an error in what all networks share, there is nothing to be tried.
func (r *reader) tried(n ast.Node, s *Study, v Vocabulary, l Link) bool {
	if len(r.errs) > 0 {
		return true
	}
	for _, reference := range s.Matrix[AxisMedia] {
		octets, err := v.Media(reference)
		if err != nil {
			continue // which was said when it was read
		}
		c := s.Options.Manager(l, octets, s.Seed)
		if l.Reconnections > 0 && c.Window == 0 && octets > 0 {
			r.fail(n, "reconnections while %s is downloaded over links without a limit to their rate need a window in which they lie; write one under stream, as in window: 20s", reference)
			return false
		}
		if _, _, err := manager.Plan(c); err != nil {
			within := ""
			if l.Reconnections > 0 && c.Window > 0 {
				within = fmt.Sprintf(" (within the %v that are %s's window)", c.Window, reference)
			}
			r.fail(n, "%v%s", err, within)
			return false
		}
	}
	return true
}
