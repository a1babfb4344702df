package session

import (
	"context"
	"net"
	"sync"
	"sync/atomic"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"
	"golang.org/x/net/ipv4"
)

// controlStream is the first stream that a client opens in one direction: HTTP/3's control stream.
const controlStream quic.StreamID = 2

// earlyGate holds back what a server answers to a connection with 0-RTT until the client's control stream is on its
// way. quic-go opens that stream on a goroutine of its own. If a server rejects 0-RTT before it has, it closes the
// connection (H3_INTERNAL_ERROR), or opens the stream beside that of the client that sends the requests again, which
// the server must treat as an error (H3_STREAM_CREATION_ERROR, RFC 9114 section 6.2.1).
//
// A gate hears of both through the events that quic-go records for qlog. Without 0-RTT it holds nothing back.
type earlyGate struct {
	early  atomic.Bool // 0-RTT is used
	opened chan struct{}
	open   func() // may be called more than once
}

func newEarlyGate() *earlyGate {
	g := &earlyGate{opened: make(chan struct{})}
	g.open = sync.OnceFunc(func() { close(g.opened) })
	return g
}

// trace is a quic.Config's Tracer.
func (g *earlyGate) trace(context.Context, bool, quic.ConnectionID) qlogwriter.Trace { return g }

// AddProducer returns the gate, which hears all events.
func (g *earlyGate) AddProducer() qlogwriter.Recorder { return g }

// Close does nothing: nothing is written.
func (g *earlyGate) Close() error { return nil }

// RecordEvent hears of the key for 0-RTT, which exists before the first packet is sent, and of packets. A control
// stream that the server's limits block counts as on its way, or nothing would ever arrive.
func (g *earlyGate) RecordEvent(event qlogwriter.Event) {
	switch e := event.(type) {
	case qlog.KeyUpdated:
		if e.KeyType == qlog.KeyTypeClient0RTT {
			g.early.Store(true)
		}
	case qlog.PacketSent:
		for _, f := range e.Frames {
			switch f := f.Frame.(type) {
			case *qlog.StreamFrame:
				if f.StreamID == controlStream {
					g.open()
				}
			case *qlog.DataBlockedFrame, *qlog.StreamDataBlockedFrame:
				g.open()
			}
		}
	}
}

// wait returns when what has arrived may be handled.
func (g *earlyGate) wait() {
	if g.early.Load() {
		<-g.opened
	}
}

// socket returns a socket whose packets pass the gate.
func (g *earlyGate) socket(c net.PacketConn) net.PacketConn {
	if udp, ok := c.(*net.UDPConn); ok {
		return gatedUDP{udp, ipv4.NewPacketConn(udp), g}
	}
	return gatedSocket{c, g}
}

type gatedSocket struct {
	net.PacketConn
	gate *earlyGate
}

func (s gatedSocket) ReadFrom(b []byte) (int, net.Addr, error) {
	n, from, err := s.PacketConn.ReadFrom(b)
	s.gate.wait()
	return n, from, err
}

// gatedUDP is a socket that quic-go reads in batches, as it reads every UDP socket.
type gatedUDP struct {
	*net.UDPConn
	batches *ipv4.PacketConn
	gate    *earlyGate
}

func (s gatedUDP) ReadBatch(messages []ipv4.Message, flags int) (int, error) {
	n, err := s.batches.ReadBatch(messages, flags)
	s.gate.wait()
	return n, err
}
