package chromium

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"

	"wiretime/contain"
)

// connection speaks the Chrome DevTools Protocol over the pipes of a browser started
// with --remote-debugging-pipe: JSON messages, each terminated by a zero octet. It has a
// session with the browser and one with each attached target.
//
// Messages in sessions that the browser opened by itself, those of frames and
// workers, count as much as the rest. Libraries ignore them.
type connection struct {
	in, out *os.File
	done    chan struct{} // closed when the browser has hung up

	writing sync.Mutex

	mu       sync.Mutex
	last     int64
	waiting  map[int64]chan<- *cdproto.Message
	hearings map[target.SessionID]hearing
	cause    error // of the end
}

// hearing receives a session's events in order. It must not wait for a response.
type hearing func(s session, event any)

// session is a connection's way to one target; without an ID it addresses the browser.
type session struct {
	*connection
	id target.SessionID
}

// tolerant accepts messages with invalid UTF-8, which pages may contain.
var tolerant = jsonv2.JoinOptions(jsonv2.DefaultOptionsV2(), jsonv2.AllowInvalidUTF8(true))

func newConnection(in, out *os.File) *connection {
	c := &connection{
		in: in, out: out, done: make(chan struct{}),
		waiting: map[int64]chan<- *cdproto.Message{}, hearings: map[target.SessionID]hearing{},
	}
	go c.read()
	return c
}

func (c *connection) read() {
	defer close(c.done)
	err := contain.Do(c.receive)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cause = fmt.Errorf("the connection to the browser ended: %w", err)
}

// receive passes messages on until there are none.
func (c *connection) receive() error {
	messages := bufio.NewReaderSize(c.in, 64<<10)
	for {
		text, err := messages.ReadBytes(0)
		m := new(cdproto.Message)
		if err == nil {
			err = jsonv2.Unmarshal(bytes.TrimSuffix(text, []byte{0}), m, tolerant)
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
			// Nobody here needs events that this version of the protocol does not know.
			if event, err := cdproto.UnmarshalMessage(m, tolerant); err == nil {
				hear(session{c, m.SessionID}, event)
			}
		}
	}
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
