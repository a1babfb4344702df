package control

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"wiretime/media/manager"
)

// message is what follows two octets of length.
func message(text string) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(text))), text...)
}

// TestMessages: what is written is read, and what no control interface or manager sends is refused.
func TestMessages(t *testing.T) {
	seek := 17
	for _, o := range []Order{{Number: 1}, {Number: 2, Delay: 50 * time.Millisecond, Access: "AP2"}, {Number: 3, Seek: &seek}} {
		var b bytes.Buffer
		if err := write(&b, o); err != nil {
			t.Fatal(err)
		}
		var again Order
		if err := read(&b, &again); err != nil || again.Number != o.Number || again.Delay != o.Delay || again.Access != o.Access || (again.Seek == nil) != (o.Seek == nil) {
			t.Errorf("%+v comes back as %+v (%v)", o, again, err)
		}
	}
	for _, test := range []struct {
		octets []byte
		into   interface{ check() error }
		says   string
	}{
		{message(`{"version":2,"role":"client"}`), &Hello{}, "version 2: want version 1"},
		{message(`{"version":1,"role":"router"}`), &Hello{}, `a "router": want client or server`},
		{message(`{"version":1,"role":"client","after":-1}`), &Hello{}, "must not be negative"},
		{message(`{"number":0}`), &Order{}, "order 0: must be positive"},
		{message(`{"number":1,"delay":-5}`), &Order{}, "want 0 to 1h"},
		{message(`{"number":1,"delay":9000000000000}`), &Order{}, "want 0 to 1h"},
		{message(`{"number":1,"seek":-1}`), &Order{}, "must not be negative"},
		{message(`{"number":1,"seek":1,"access":"AP2"}`), &Order{}, "nor combined"},
		{message(`[]`), &Order{}, "cannot unmarshal array"},
		{message(`{"number":1`), &Order{}, "unexpected end"},
		{[]byte{0xff, 0xff}, &Order{}, "not a message of a network's manager"},
		{[]byte{0, 9, '{'}, &Order{}, "unexpected EOF"},
	} {
		if err := read(bytes.NewReader(test.octets), test.into); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%q: %v, want an error that says %q", test.octets, err, test.says)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(message(`{"version":1,"role":"client","after":3}`))
	f.Add(message(`{"number":1,"delay":50000000,"access":"AP2"}`))
	f.Add(message(`{"number":2,"seek":17}`))
	f.Fuzz(func(t *testing.T, octets []byte) {
		for _, into := range []interface{ check() error }{&Hello{}, &Order{}} {
			if read(bytes.NewReader(octets), into) == nil && into.check() != nil {
				t.Errorf("%q was accepted as %+v", octets, into)
			}
		}
	})
}

// end is a control interface under test, and what it was told.
type end struct {
	*Interface
	mu     sync.Mutex
	orders []Order
	heard  chan struct{}
}

// attach opens a control interface.
func attach(t *testing.T, role Role, at net.Addr) *end {
	t.Helper()
	e := &end{heard: make(chan struct{}, 100)}
	dial := func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", at.String())
	}
	var err error
	e.Interface, err = Attach(t.Context(), role, dial, func(_ context.Context, o Order) error {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.orders = append(e.orders, o)
		e.heard <- struct{}{}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestNode: both ends hear of each draw, each in its own numbering and once, also after the client has opened another
// connection from another address.
func TestNode(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := Serve(t.Context(), listener)
	client, server := attach(t, Client, listener.Addr()), attach(t, Server, listener.Addr())
	<-n.Present()
	log := []manager.Event{
		{Delay: 1}, {At: 1, Delay: 20 * time.Millisecond}, {At: 2, Delay: 30 * time.Millisecond, Access: "AP2"},
		{At: 3, Delay: 40 * time.Millisecond}, {At: 4, Delay: 50 * time.Millisecond, Access: "AP1"}, {At: 5, Delay: 60 * time.Millisecond},
	}
	epoch := make(chan struct{})
	close(epoch)
	n.Run(t.Context(), epoch, log, Seeks{})
	for range len(log) - 1 {
		<-client.heard
		<-server.heard
	}
	for who, e := range map[Role]*end{Client: client, Server: server} {
		done, err := e.Close()
		if err != nil || len(done) != len(log)-1 {
			t.Errorf("the %s carried out %d orders (%v), want %d", who, len(done), err, len(log)-1)
		}
		for i, o := range e.orders {
			want := log[i+1]
			if who == Server {
				want.Access = ""
			}
			if o.Number != i+1 || o.Delay != want.Delay || o.Access != want.Access {
				t.Errorf("order %d to the %s is %+v, want %+v", i+1, who, o, want)
			}
		}
	}
	sent, err := n.Close()
	if err != nil || len(sent) != 2*(len(log)-1) {
		t.Errorf("the manager sent %d orders (%v)", len(sent), err)
	}
}

// TestNodeRefusesStrangers: who does not speak as a control interface does, ends with an error that says so.
func TestNodeRefusesStrangers(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := Serve(t.Context(), listener)
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(message(`{"version":7}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the manager answers a stranger")
	}
	if _, err := n.Close(); err == nil || !strings.Contains(err.Error(), "version 7") {
		t.Errorf("Close returns %v", err)
	}
}

// TestFailedOrder: an order that cannot be carried out ends the control interface with its error.
func TestFailedOrder(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := Serve(t.Context(), listener)
	dial := func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", listener.Addr().String())
	}
	failed := make(chan struct{})
	i, err := Attach(t.Context(), Server, dial, func(context.Context, Order) error {
		close(failed)
		return errors.New("no such link")
	})
	if err != nil {
		t.Fatal(err)
	}
	epoch := make(chan struct{})
	close(epoch)
	n.Run(t.Context(), epoch, []manager.Event{{}, {At: 1, Delay: 1}}, Seeks{})
	<-failed
	if _, err := i.Close(); err == nil || !strings.Contains(err.Error(), "carry out order 1 of the network's manager: no such link") {
		t.Errorf("Close returns %v", err)
	}
	if _, err := n.Close(); err != nil {
		t.Error(err)
	}
}

// TestSeekChanger draws seeks as the player does by itself: once a second, with the same luck whatever the probability.
func TestSeekChanger(t *testing.T) {
	targets := func(p float64) (list []int) {
		c := newSeekChanger(Seeks{Probability: p, Segments: 600, Seed: 3})
		for range 1000 {
			if to, seeks := c.draw(); seeks {
				list = append(list, to)
			}
		}
		return list
	}
	some, all := targets(0.3), targets(1)
	if len(all) != 1000 || len(some) < 250 || len(some) > 350 {
		t.Errorf("%d of %d seconds seek, want some 300 of 1000", len(some), len(all))
	}
	for _, to := range some {
		if !slices.Contains(all, to) || to < 0 || to >= 600 {
			t.Errorf("a seek to %d that a higher probability lacks", to)
		}
	}
	if c := newSeekChanger(Seeks{Segments: 600}); c.due != 0 {
		t.Error("without a probability it is due")
	}
}
