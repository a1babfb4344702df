package protocol

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"
)

// serveQUIC serves HTTP/3 with quic-go.
func serveQUIC(ctx context.Context, s *Server, p Protocol) error {
	config := &quic.Config{Tracer: s.trace, MaxIncomingStreams: concurrentRequests, Allow0RTT: s.config.EarlyData}
	if w := s.config.Windows; w != nil {
		w.SetQUIC(config)
	}
	s.quic = &http3.Server{
		Handler:     advertise(s.log),
		TLSConfig:   http3.ConfigureTLSConfig(s.tls(p)),
		QUICConfig:  config,
		ConnContext: s.accept,
		Logger:      slog.New(slog.DiscardHandler),
	}
	for _, address := range s.addresses(p.Port) {
		socket, err := s.config.ListenPacket(ctx, "udp4", address)
		if err != nil {
			return fmt.Errorf("listen on %s/udp: %w", address, err)
		}
		s.sockets = append(s.sockets, socket)
		s.serving.Go(func() { _ = s.quic.Serve(socket) })
	}
	return nil
}

// advertise makes every response say that the origin speaks HTTP/3 (RFC 7838,
// RFC 9114 section 3.1.1), as HTTP/3 servers do. A browser that was told to use
// HTTP/3 does not need this for the protocol, but only from it does Chromium
// learn that the server obeys priorities. Until then it limits itself to ten
// images at a time, and a page with many images takes up to four times as long.
func advertise(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Alt-Svc", `h3=":443"; ma=86400`)
		h.ServeHTTP(w, r)
	})
}

// accept registers a new connection.
func (s *Server) accept(ctx context.Context, c *quic.Conn) context.Context {
	client := quicClient{c}
	s.clients.came(client)
	context.AfterFunc(c.Context(), func() { s.clients.went(client) })
	return context.WithValue(s.log.number(ctx), traceKey{}, c.QlogTrace())
}

// announcements holds the initial windows in octets that the ends of QUIC connections announced for the streams of
// requests, in the order of the connections.
type announcements struct {
	mu             sync.Mutex
	client, server []int
}

// add adds the window in the transport parameters of one end (RFC 9000 section 18.2). The
// client opens the streams of requests, so they are local to it and remote to the server.
func (a *announcements) add(e qlog.ParametersSet) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e.Initiator == qlog.InitiatorLocal {
		a.server = append(a.server, int(e.InitialMaxStreamDataBidiRemote))
	} else {
		a.client = append(a.client, int(e.InitialMaxStreamDataBidiLocal))
	}
}

// Announced returns the initial stream windows in octets that clients and the server announced over
// HTTP/3, one of each for every connection so far. It returns nothing over other protocols.
func (s *Server) Announced() (client, server []int) {
	s.announced.mu.Lock()
	defer s.announced.mu.Unlock()
	return slices.Clone(s.announced.client), slices.Clone(s.announced.server)
}

// trace subscribes to what quic-go reports about a connection.
func (s *Server) trace(context.Context, bool, quic.ConnectionID) qlogwriter.Trace {
	return &connectionTrace{lost: &s.lost, announced: &s.announced, early: map[quic.StreamID]bool{}}
}

// traceKey is the context key of a connection's trace.
type traceKey struct{}

// connectionTrace holds what a server records about a connection besides its
// requests.
type connectionTrace struct {
	// lost counts the packets that quic-go declares lost (RFC 9002 section 6.1),
	// except probes for the path's MTU, which are meant to be lost.
	lost *atomic.Int64
	// announced receives the windows from both ends' transport parameters.
	announced *announcements

	mu    sync.Mutex
	early map[quic.StreamID]bool // streams that began in a 0-RTT packet
}

func (t *connectionTrace) AddProducer() qlogwriter.Recorder { return t }

func (t *connectionTrace) RecordEvent(e qlogwriter.Event) {
	switch e := e.(type) {
	case qlog.PacketLost:
		if !e.IsMTUProbePacket {
			t.lost.Add(1)
		}
	case qlog.ParametersSet:
		t.announced.add(e)
	case qlog.PacketReceived:
		if e.Header.PacketType == qlog.PacketType0RTT {
			t.began(e.Frames)
		}
	}
}

// began records the streams whose first octets are in frames.
func (t *connectionTrace) began(frames []qlog.Frame) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range frames {
		if s, ok := f.Frame.(*qlog.StreamFrame); ok && s.Offset == 0 {
			t.early[s.StreamID] = true
		}
	}
}

// tookEarly reports whether a stream began as early data. The answer is certain
// only some time after the stream began, because quic-go reports a packet after it
// has delivered its data.
func (t *connectionTrace) tookEarly(stream quic.StreamID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.early[stream]
}

func (*connectionTrace) Close() error { return nil }
