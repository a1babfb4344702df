package studyfile

import (
	"time"

	"github.com/goccy/go-yaml/ast"

	"wiretime/media/manager"
	"wiretime/study"
)

// streamSettings reads the settings for every stream.
func (r *reader) streamSettings(file mapping) {
	n, ok := file.get("stream")
	if !ok {
		return
	}
	s := r.study.Options.Stream
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
	if n, ok := m.get("window"); ok {
		r.aboveZero(n, "window", 20*time.Second, &s.Window)
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
	// Settings that do not fit together fail even without delay, loss and reconnections.
	if len(r.errs) == 0 {
		simplest := study.Options{Stream: s}.Manager(study.Link{}, 0, 0)
		simplest.Name = "stream"
		if _, _, err := manager.Plan(simplest); err != nil {
			r.fail(n, "%v", err)
		}
	}
}

// maxAhead allows a buffer of ten minutes.
const maxAhead = 600

// buffer reads the numbers of buffered segments. Every player works with a buffer of two or
// more.
func (r *reader) buffer(m mapping, s *study.Stream) {
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

// leastOctets is the size of IPv4's and TCP's headers with all options.
const leastOctets = 120

// capture reads how much of the packets to keep.
func (r *reader) capture(n ast.Node, c *study.Capture) {
	m, ok := r.mapping(n, "capture", "octets", "packets")
	if !ok {
		return
	}
	if n, ok := m.get("octets"); ok {
		c.Octets, _ = r.integer(n, "octets", 0, 65535)
		if c.Octets > 0 && c.Octets < leastOctets {
			r.fail(n, "invalid octets %d: would cut headers; want at least %d, or 0 to keep whole packets", c.Octets, leastOctets)
		}
	}
	if n, ok := m.get("packets"); ok {
		c.Packets, _ = r.integer(n, "packets", 0, 1_000_000_000)
	}
}
