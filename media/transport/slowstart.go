package transport

import (
	"context"
	"sync"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"
)

// slowStart watches the congestion control of a QUIC connection until it leaves slow start for the first time, because packets
// were lost or because the round trip had grown (HyStart, RFC 9406).
type slowStart struct {
	left func(octets int) // is told the congestion window

	mu     sync.Mutex
	window int // the last known
	over   bool
}

// watchSlowStart makes connections tell when they leave slow start.
func watchSlowStart(c *quic.Config, left func(octets int)) {
	c.Tracer = func(context.Context, bool, quic.ConnectionID) qlogwriter.Trace { return &slowStart{left: left} }
}

// AddProducer implements qlogwriter.Trace.
func (s *slowStart) AddProducer() qlogwriter.Recorder { return s }

// RecordEvent implements qlogwriter.Recorder.
func (s *slowStart) RecordEvent(e qlogwriter.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	switch e := e.(type) {
	case qlog.MetricsUpdated:
		s.window = e.CongestionWindow
	case qlog.CongestionStateUpdated:
		if e.State == qlog.CongestionStateCongestionAvoidance || e.State == qlog.CongestionStateRecovery {
			s.over = true
			s.left(s.window)
		}
	}
}

// Close implements qlogwriter.Recorder.
func (*slowStart) Close() error { return nil }
