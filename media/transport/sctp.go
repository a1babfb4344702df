package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"sync"

	"wiretime/media/storage"
	"wiretime/panics"
)

// These are the payload protocol identifiers of our SCTP messages (RFC 9260 section 3.3.1):
// "WTM" and a digit.
const (
	ppidMedia  uint32 = 0x57544d31 // a request, or a part of a response
	ppidCancel uint32 = 0x57544d32 // from the client: send no more of the response; from the server: what was sent is all
	ppidFailed uint32 = 0x57544d33 // from the server: what was sent is all, as the rest cannot be read
)

// messageSize is the largest message in octets.
const messageSize = 1 << 16

// StreamsPerResolution is how many requests for one resolution can be pending in a session
// of a transport with streams.
const StreamsPerResolution = 4

// concurrentStreams is the number of streams of a session.
const concurrentStreams = int(storage.QHD+1) * StreamsPerResolution

// association is the part of SCTP that we need, from the kernel or in user space.
type association interface {
	// stream returns a stream by its number, which both sides share.
	stream(number uint16) (messages, error)
	// accept waits for the next stream on which the peer speaks first.
	accept() (messages, error)
	local() netip.AddrPort
	// Close aborts the association at once and notifies the peer.
	io.Closer
}

// messages sends and receives on one stream. Only one goroutine may receive; any may send.
type messages interface {
	// receive reads the next message, or a part of one, of at most messageSize octets into p,
	// which must be large enough.
	receive(p []byte) (n int, ppid uint32, err error)
	send(p []byte, ppid uint32) error
	// portion returns how many octets to send per message, at most messageSize.
	portion() int
	// interrupt makes receive fail from now on; resume makes it work again.
	interrupt()
	resume()
}

// sctpLink is a session over SCTP. Each resolution has streams of its own, as in
// Nam et al., 2021, section 4.2.
type sctpLink struct {
	association association
	free        [storage.QHD + 1]chan uint16 // streams, by resolution
	tidy        panics.Group
	end
}

func newSCTPLink(a association) *sctpLink {
	l := &sctpLink{association: a, end: newEnd()}
	for r := range l.free {
		l.free[r] = make(chan uint16, StreamsPerResolution)
		for i := range StreamsPerResolution {
			l.free[r] <- uint16(r*StreamsPerResolution + i)
		}
	}
	return l
}

func (l *sctpLink) open(ctx context.Context, r Request) (exchange, error) {
	if int(r.Resolution) >= len(l.free) {
		return nil, fmt.Errorf("%v: %w", r.Resolution, storage.ErrNotFound)
	}
	if err := l.cause(); err != nil {
		return nil, err
	}
	select {
	case <-l.came:
		return nil, l.cause()
	case number := <-l.free[r.Resolution]:
		m, err := l.association.stream(number)
		if err != nil {
			l.free[r.Resolution] <- number
			return nil, l.breaks(err)
		}
		return &sctpExchange{link: l, messages: m, release: func() { l.free[r.Resolution] <- number }}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// breaks ends the session with a cause and returns the cause.
func (l *sctpLink) breaks(why error) error {
	_, err := l.comes(why)
	return err
}

func (*sctpLink) again(context.Context, error) bool         { return false }
func (*sctpLink) migrate(context.Context, netip.Addr) error { return ErrUnsupported }
func (l *sctpLink) state() State                            { return State{Local: l.association.local()} }

func (l *sctpLink) close() error {
	_ = l.breaks(errors.New("closed by this side"))
	err := l.association.Close()
	l.tidy.Wait()
	return err
}

// sctpExchange owns its stream until the server has finished its response.
type sctpExchange struct {
	link     *sctpLink
	messages messages
	release  func() // gives the stream back
	buffer   []byte // for messages that are longer than what Read is given
	rest     []byte // unread part of the message in buffer
	failed   bool   // the server has aborted the response

	mu      sync.Mutex
	done    bool
	failing bool
}

func (x *sctpExchange) Write(p []byte) (int, error) {
	if err := x.messages.send(p, ppidMedia); err != nil {
		return 0, x.link.breaks(err)
	}
	return len(p), nil
}

func (x *sctpExchange) Read(p []byte) (int, error) {
	if len(x.rest) > 0 {
		n := copy(p, x.rest)
		x.rest = x.rest[n:]
		return n, nil
	}
	into := p
	if len(p) < messageSize {
		if x.buffer == nil {
			x.buffer = make([]byte, messageSize)
		}
		into = x.buffer
	}
	n, ppid, err := x.messages.receive(into)
	if err != nil {
		return 0, x.broken(err)
	}
	if ppid != ppidMedia {
		x.failed = true
		return 0, ErrFailed
	}
	if len(p) < messageSize {
		x.rest = into[:n]
		n = copy(p, x.rest)
		x.rest = x.rest[n:]
	}
	return n, nil
}

// broken ends the session with an error of its association, unless this side caused the
// error by an abort.
func (x *sctpExchange) broken(err error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.failing {
		return err
	}
	return x.link.breaks(err)
}

func (x *sctpExchange) abort() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.done {
		x.failing = true
		x.messages.interrupt()
	}
}

// finish returns the stream to the pool; if the response is incomplete, only after the
// server has confirmed its cancellation.
func (x *sctpExchange) finish(left int64) {
	x.mu.Lock()
	x.done = true
	x.mu.Unlock()
	if x.failing {
		x.messages.resume()
	}
	if left == 0 || x.failed || x.link.cause() != nil {
		x.release()
		return
	}
	x.link.tidy.Go(func() {
		if err := x.messages.send(nothing, ppidCancel); err != nil {
			_ = x.link.breaks(err)
		}
		if x.buffer == nil {
			x.buffer = make([]byte, messageSize)
		}
		for x.link.cause() == nil {
			_, ppid, err := x.messages.receive(x.buffer)
			if err != nil {
				_ = x.link.breaks(err)
			}
			if ppid == ppidCancel {
				break
			}
		}
		x.release()
	})
}

// nothing is the content of a message that consists only of its identifier, since a message
// must not be empty (RFC 9260 section 3.3.1).
var nothing = []byte{0}

// serveAssociation serves one client over SCTP, each request on the stream that it
// comes on.
func (s *Server) serveAssociation(a association, p peer) {
	streams := panics.Group{Guard: s.serving.Guard}
	defer streams.Wait()
	rest := s.newRest(a)
	defer rest.stop()
	for {
		m, err := a.accept()
		if err != nil {
			return
		}
		streams.Go(func() { s.serveStream(a, m, p, rest) })
	}
}

// serveStream answers the requests of one stream in order. An invalid message ends the
// association.
func (s *Server) serveStream(a association, m messages, p peer, rest *rest) {
	answering := panics.Group{Guard: s.serving.Guard}
	stop := func() {}
	defer func() {
		stop()
		_ = a.Close()
		answering.Wait()
	}()
	buffer := make([]byte, messageSize)
	for {
		n, ppid, err := m.receive(buffer)
		if err != nil {
			return
		}
		if ppid == ppidCancel {
			stop()
			answering.Wait()
			if m.send(nothing, ppidCancel) != nil {
				return
			}
			continue
		}
		answering.Wait()
		message := bytes.NewReader(buffer[:n])
		r, err := readRequest(message)
		if err != nil || message.Len() > 0 || ppid != ppidMedia {
			_ = m.send(refusal, ppidMedia)
			return
		}
		ctx, cancel := context.WithCancel(s.ctx)
		stop = cancel
		answering.Go(func() {
			defer cancel()
			rest.begins()
			defer rest.ends()
			s.answerStream(ctx, a, m, p, r)
		})
	}
}

func (s *Server) answerStream(ctx context.Context, a association, m messages, p peer, r Request) {
	err := s.answer(ctx, p, r, &messageWriter{m, firstMessage}, a)
	if err != nil && ctx.Err() == nil {
		_ = m.send(nothing, ppidFailed)
	}
}

// firstMessage is the size limit of a response's first message in octets; the limit doubles
// with each message.
const firstMessage = 512

// messageWriter cuts a response into messages. A message is delivered as a whole, so the
// first ones are short. Otherwise the first octets over a new association, whose congestion
// window begins with 4,380 octets, would be delivered some round trips later than over a
// byte-stream transport.
type messageWriter struct {
	to   messages
	next int // size limit of the next message
}

func (w *messageWriter) Write(p []byte) (n int, err error) {
	for n < len(p) {
		part := p[n:min(n+w.next, len(p))]
		if err := w.to.send(part, ppidMedia); err != nil {
			return n, err
		}
		n += len(part)
		w.next = min(2*w.next, w.to.portion())
	}
	return n, nil
}
