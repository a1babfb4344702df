package study

import (
	"fmt"
	"slices"
	"time"

	"github.com/goccy/go-yaml/ast"

	"wiretime/media/manager"
)

// Keys of the matrix: what only studies of pages have, what only studies of streams
// have, what both have.
var (
	pageKeys   = []string{"sites", "protocols", "networks", "loaders", "visits", "servers"}
	streamKeys = []string{"media", "transports", "players", "link_delays", "losses", "reconnections"}
	bothKeys   = []string{"congestion", "initcwnd", "strategies", "except"}
)

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
		if key := each.Key().String(); slices.Contains(streamKeys, key) {
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

// streamMatrix reads the axes of a study of streams. Its options must have been read.
func (r *reader) streamMatrix(n ast.Node, s *Study, v Vocabulary) {
	m, ok := r.mapping(n, "the matrix", slices.Concat(streamKeys, bothKeys, pageKeys)...)
	if !ok {
		return
	}
	m.refuse()
	files := map[string]int64{} // sizes in octets, 0 for a video
	s.Sites = axis(m, "media", func(n ast.Node) (string, string) {
		reference, ok := r.text(n, "a medium")
		if !ok {
			return "", ""
		}
		octets, err := v.Media(reference)
		if err != nil {
			r.fail(n, "%v", err)
			return "", ""
		}
		files[reference] = octets
		r.fits(n, reference, octets, s.Options)
		return reference, reference
	})
	s.Protocols = axis(m, "transports", r.wordOf("transport", v.Transports))
	s.Loaders = axis(m, "players", r.wordOf("player", v.Players))
	r.links(m, s, files)
	r.tcp(m, s)
	if m.has("strategies") {
		s.Strategies = axis(m, "strategies", func(n ast.Node) (string, string) {
			word := r.word(n, "strategy", handoverWords)
			if word == StrategyMultihome && len(s.Options.Stream.Access) < 2 {
				r.fail(n, "multihome needs two access links, and the study has one; name another one in access")
			}
			return word, word
		})
	}
	if n, ok := m.get("except"); ok && len(r.errs) == 0 {
		r.except(n, s, v)
	}
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

// links reads the three axes of the network, and makes their product the networks. Each
// value is tried in a plan, so that what cannot be is found now.
func (r *reader) links(m mapping, s *Study, files map[string]int64) {
	delays := axis(m, "link_delays", func(n ast.Node) (time.Duration, string) {
		d, ok := r.duration(n, "link_delays")
		if !ok || !r.tried(n, s, files, Link{Delay: d}) {
			return 0, ""
		}
		return d, delayWord(d)
	})
	var first time.Duration
	if len(delays) > 0 {
		first = delays[0]
	}
	losses := []float64{0}
	if m.has("losses") {
		losses = axis(m, "losses", func(n ast.Node) (float64, string) {
			errs := len(r.errs)
			loss := r.share(n, "losses", "packets")
			if len(r.errs) > errs || !r.tried(n, s, files, Link{Delay: first, Loss: loss}) {
				return 0, ""
			}
			return loss, lossWord(loss)
		})
	}
	reconnections := []int{0}
	if m.has("reconnections") {
		reconnections = axis(m, "reconnections", func(n ast.Node) (int, string) {
			count, ok := r.integer(n, "reconnections", 0, maxLoads)
			if !ok || !r.tried(n, s, files, Link{Delay: first, Reconnections: count}) {
				return 0, ""
			}
			return count, fmt.Sprint(count)
		})
	}
	if len(r.errs) > 0 {
		return
	}
	for _, delay := range delays {
		for _, loss := range losses {
			for _, count := range reconnections {
				l := Link{delay, loss, count}
				path, err := s.Options.network(l)
				if err != nil {
					r.fail(m.node, "%v", err)
					return
				}
				s.Links = append(s.Links, l)
				s.Networks = append(s.Networks, path)
			}
		}
	}
}

// tried plans the network of each of the media over a link, and says what is wrong. After
// an error in what all networks share, there is nothing to be tried.
func (r *reader) tried(n ast.Node, s *Study, files map[string]int64, l Link) bool {
	if len(r.errs) > 0 {
		return true
	}
	for _, reference := range s.Sites {
		c := s.Options.Manager(l, files[reference], s.Seed)
		if l.Reconnections > 0 && c.Window == 0 && files[reference] > 0 {
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
