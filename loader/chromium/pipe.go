package chromium

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"

	"wiretime/panics"
)

// connection speaks the Chrome DevTools Protocol over the pipes of a browser started
// with --remote-debugging-pipe: JSON messages, each terminated by a zero octet. It has a
// session with the browser and one with each attached target.
//
// Messages in sessions that the browser opened by itself, those of frames and
// workers, count as much as the rest. Libraries ignore them.
type connection struct {
	in, out *os.File
	largest int           // octets of a message
	done    chan struct{} // closed when the browser has hung up

	writing sync.Mutex

	mu       sync.Mutex
	last     int64
	waiting  map[int64]chan<- *cdproto.Message
	hearings map[target.SessionID]hearing
	cause    error // of the end
}

// hearing receives a session's events in order, with the number of octets that each came in. It must not wait for
// a response.
type hearing func(s session, event any, octets int)

// session is a connection's way to one target; without an ID it addresses the browser.
type session struct {
	*connection
	id target.SessionID
}

// tolerant accepts messages with invalid UTF-8, which pages may contain.
var tolerant = jsonv2.JoinOptions(jsonv2.DefaultOptionsV2(), jsonv2.AllowInvalidUTF8(true))

// newConnection returns a connection that ends if the browser sends a message of more than largest octets.
func newConnection(in, out *os.File, largest int) *connection {
	c := &connection{
		in: in, out: out, largest: largest, done: make(chan struct{}),
		waiting: map[int64]chan<- *cdproto.Message{}, hearings: map[target.SessionID]hearing{},
	}
	go c.read()
	return c
}

func (c *connection) read() {
	defer close(c.done)
	err := panics.Do(func() error { return c.receive(c.in) })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cause = fmt.Errorf("the connection to the browser ended: %w", err)
}

// receive passes messages on until there are none.
func (c *connection) receive(in io.Reader) error {
	messages := bufio.NewReaderSize(in, 64<<10)
	for {
		text, err := c.next(messages)
		m := new(cdproto.Message)
		if err == nil {
			err = jsonv2.Unmarshal(text, m, tolerant)
		}
		if err != nil {
			return err
		}
		c.mu.Lock()
		answer, hear := c.waiting[m.ID], c.hearings[m.SessionID]
		delete(c.waiting, m.ID)
		c.mu.Unlock()
		switch {
		case m.Method == "" && answer != nil:
			answer <- m
		case m.Method != "" && hear != nil:
			if event, ok := ParseEvent(m); ok {
				hear(session{c, m.SessionID}, event, len(text))
			}
		}
	}
}

// next reads a message, without the zero octet that ends it.
func (c *connection) next(messages *bufio.Reader) ([]byte, error) {
	var text []byte
	for {
		part, err := messages.ReadSlice(0)
		if len(text)+len(part) > c.largest+1 {
			return nil, fmt.Errorf("the browser sent a message of more than %d octets", c.largest)
		}
		text = append(text, part...)
		if err == nil {
			return text[:len(text)-1], nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}

// ParseEvent returns the event of a message. It reports false for events that this version of the protocol does not
// know, which nobody here needs, and for those that are not complete.
func ParseEvent(m *cdproto.Message) (event any, ok bool) {
	event, err := cdproto.UnmarshalMessage(m, tolerant)
	return event, err == nil && complete(event)
}

// complete reports whether an event has what its readers rely on. The protocol requires those parts, but a page
// may have taken the browser over.
func complete(event any) bool {
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		return e.Request != nil
	case *network.EventResponseReceived:
		return e.Response != nil
	case *network.EventWebSocketWillSendHandshakeRequest:
		return e.Request != nil
	case *network.EventWebSocketHandshakeResponseReceived:
		return e.Response != nil
	case *page.EventFrameNavigated:
		return e.Frame != nil
	case *target.EventAttachedToTarget:
		return e.TargetInfo != nil
	}
	return true
}

// hear sends a session's events to h, or to nobody if h is nil.
func (c *connection) hear(id target.SessionID, h hearing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h == nil {
		delete(c.hearings, id)
		return
	}
	c.hearings[id] = h
}

// ended returns why the browser has hung up; call it after done is closed.
func (c *connection) ended() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// close hangs up. The browser then exits.
func (c *connection) close() {
	_ = c.out.Close() // either may have been closed at the other end
	_ = c.in.Close()
	<-c.done
}

// send writes a command and returns its number; the response goes to answer, which may be
// nil. Chromium reads its pipe in a separate thread, so this never waits for long.
func (s session) send(method string, params any, answer chan<- *cdproto.Message) (int64, error) {
	text, err := jsonv2.Marshal(params, tolerant)
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	s.last++
	id := s.last
	if answer != nil {
		s.waiting[id] = answer
	}
	s.mu.Unlock()
	text, err = jsonv2.Marshal(cdproto.Message{ID: id, SessionID: s.id, Method: cdproto.MethodType(method), Params: text}, tolerant)
	if err != nil {
		return id, err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	_, err = s.out.Write(append(text, 0))
	return id, err
}

// call sends a command and waits for its result.
func call[P, R any](ctx context.Context, s session, command cdp.Command[P, R], params P) (result R, err error) {
	answer := make(chan *cdproto.Message, 1)
	id, err := s.send(command.Method, params, answer)
	defer func() {
		s.mu.Lock()
		delete(s.waiting, id)
		s.mu.Unlock()
	}()
	if err != nil {
		return result, fmt.Errorf("%s: %w", command.Method, err)
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			return result, fmt.Errorf("%s: %w", command.Method, m.Error)
		}
		if err := jsonv2.Unmarshal(m.Result, &result, tolerant); err != nil {
			return result, fmt.Errorf("%s: parse the response: %w", command.Method, err)
		}
		return result, nil
	case <-ctx.Done():
		return result, context.Cause(ctx)
	case <-s.done:
		return result, fmt.Errorf("%s: %w", command.Method, s.ended())
	}
}

// post sends a command without waiting. It may fail, because its target may be gone or
// may not support it. Commands of one session are carried out in the order in which they
// were sent.
func post[P, R any](s session, command cdp.Command[P, R], params P) {
	_, _ = s.send(command.Method, params, nil)
}
