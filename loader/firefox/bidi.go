package firefox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"

	"github.com/coder/websocket"

	"wiretime/loader/browser"
	"wiretime/panics"
)

// session is a WebDriver BiDi session (W3C, WebDriver BiDi, section 3): commands
// with their results, and events, over one WebSocket.
type session struct {
	socket *websocket.Conn
	event  func(method string, params json.RawMessage) // called in turn; must not call the session
	done   chan struct{}                               // closed when the socket has ended

	mu      sync.Mutex
	last    uint64
	waiting map[uint64]chan<- message
	cause   error // of the socket's end
}

// message is a message from the browser.
type message struct {
	Type    string          `json:"type"` // "success", "error" or "event"
	ID      uint64          `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   string          `json:"error"`
	Message string          `json:"message"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

type command struct {
	ID     uint64 `json:"id"`
	Method string `json:"method"`
	Params any    `json:"params"`
}

// object holds a command's parameters.
type object map[string]any

// connect opens the socket at address, the host and port that the browser has
// announced.
func connect(ctx context.Context, dial func(ctx context.Context, network, address string) (net.Conn, error), address string,
	event func(string, json.RawMessage)) (*session, error) {
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) { return dial(ctx, "tcp4", address) },
	}}
	socket, _, err := websocket.Dial(ctx, "ws://"+address+"/session", &websocket.DialOptions{HTTPClient: client}) //nolint:bodyclose // the library hands over a body that is closed
	if err != nil {
		return nil, fmt.Errorf("connect to the WebDriver BiDi endpoint at %s: %w", address, err)
	}
	socket.SetReadLimit(browser.MaxMessage)
	s := &session{socket: socket, event: event, done: make(chan struct{}), waiting: map[uint64]chan<- message{}}
	go s.read()
	return s, nil
}

func (s *session) read() {
	defer close(s.done)
	err := panics.Do(s.receive)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cause = fmt.Errorf("the connection to the browser ended: %w", err)
}

// receive passes messages on until there are none.
func (s *session) receive() error {
	for {
		_, text, err := s.socket.Read(context.Background())
		if err == nil {
			err = s.take(text)
		}
		if err != nil {
			return err
		}
	}
}

// take passes a message on.
func (s *session) take(text []byte) error {
	var m message
	if err := json.Unmarshal(text, &m); err != nil {
		return err
	}
	if m.Type == "event" {
		s.event(m.Method, m.Params)
		return nil
	}
	s.mu.Lock()
	answer := s.waiting[m.ID]
	delete(s.waiting, m.ID)
	s.mu.Unlock()
	if answer != nil {
		answer <- m
	}
	return nil
}

// call sends a command and stores its result in result unless that is nil.
func (s *session) call(ctx context.Context, method string, params object, result any) error {
	answer := make(chan message, 1)
	s.mu.Lock()
	s.last++
	id := s.last
	s.waiting[id] = answer
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.waiting, id)
		s.mu.Unlock()
	}()
	text, err := json.Marshal(command{id, method, params})
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if err := s.socket.Write(context.WithoutCancel(ctx), websocket.MessageText, text); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case m := <-answer:
		if m.Type == "error" {
			return fmt.Errorf("%s: %s: %s", method, m.Error, m.Message)
		}
		if result == nil {
			return nil
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			return fmt.Errorf("%s: parse the response: %w", method, err)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.done:
		return fmt.Errorf("%s: %w", method, s.ended())
	}
}

// ended returns why the socket has ended; call it after done is closed.
func (s *session) ended() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cause
}

// evaluate runs a script in a browsing context and waits for the promise that it
// returns, which must yield a string.
func (s *session) evaluate(ctx context.Context, browsingContext, script string) (string, error) {
	var answer struct {
		Type   string `json:"type"`
		Result struct {
			Value string `json:"value"`
		} `json:"result"`
		Exception struct {
			Text string `json:"text"`
		} `json:"exceptionDetails"`
	}
	err := s.call(ctx, "script.evaluate", object{
		"expression": script, "target": object{"context": browsingContext}, "awaitPromise": true,
	}, &answer)
	if err == nil && answer.Type == "exception" {
		err = errors.New("script.evaluate: " + answer.Exception.Text)
	}
	return answer.Result.Value, err
}

// close ends the socket and waits for its reader.
func (s *session) close() {
	_ = s.socket.CloseNow() // it may already be closed
	<-s.done
}
