package control

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"wiretime/media/manager"
	"wiretime/panics"
)

// Seeks configures the seek changer.
type Seeks struct {
	Probability float64 // of a seek in each second, 0 to 1
	Segments    int     // seeks go to these
	Seed        uint64  // the same draws as those of player.Config.Seed
}

// Sent is an order that the manager has sent.
type Sent struct {
	Role  Role
	Order Order
	At    time.Duration // since the path's first packet
}

// Node is the network's manager as a node of its own. It tells client and server what its network status
// changer draws for each period, and the client what its seek changer draws for each second.
type Node struct {
	listener net.Listener
	work     panics.Group

	mu      sync.Mutex
	sent    []Sent
	open    []net.Conn
	conns   map[Role]net.Conn // the last of each
	present chan struct{}     // closed when both control interfaces have said who they are
	once    sync.Once         // closes it
	closed  bool
	failure error
}

// Serve accepts control interfaces at the listener until Close.
func Serve(ctx context.Context, listener net.Listener) *Node {
	n := &Node{listener: listener, work: panics.Group{Guard: panics.From(ctx)}, conns: map[Role]net.Conn{}, present: make(chan struct{})}
	n.work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // it was closed
			}
			n.mu.Lock()
			n.open = append(n.open, conn)
			n.mu.Unlock()
			n.work.Go(func() { n.welcome(conn) })
		}
	})
	return n
}

// Present is closed when client and server have control interfaces.
func (n *Node) Present() <-chan struct{} { return n.present }

// welcome hears who a control interface is, and sends it the orders that it has missed. Each interface says it
// at once.
func (n *Node) welcome(conn net.Conn) {
	var h Hello
	err := read(conn, &h)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return
	}
	if err != nil {
		n.failure = errors.Join(n.failure, err)
		_ = conn.Close()
		return
	}
	if old := n.conns[h.Role]; old != nil {
		_ = old.Close()
	}
	n.conns[h.Role] = conn
	if len(n.conns) == 2 {
		n.once.Do(func() { close(n.present) })
	}
	for _, s := range n.sent {
		if s.Role == h.Role && s.Order.Number > h.After {
			_ = write(conn, s.Order) // one that fails is sent again over the next connection
		}
	}
}

// Run sends orders from the moment at which epoch is closed, the path's first packet, until ctx ends. log is
// what manager.Plan drew for the path; its first entry is the state that both ends have already.
func (n *Node) Run(ctx context.Context, epoch <-chan struct{}, log []manager.Event, seeks Seeks) {
	select {
	case <-epoch:
	case <-ctx.Done():
		return
	}
	began := time.Now()
	changer := newSeekChanger(seeks)
	for log = log[1:]; len(log) > 0 || changer.due > 0; {
		at := changer.due
		if isChange := len(log) > 0 && (at == 0 || log[0].At <= at); isChange {
			at = log[0].At
		}
		timer := time.NewTimer(at - time.Since(began))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		if len(log) > 0 && log[0].At == at {
			n.change(time.Since(began), log[0])
			log = log[1:]
			continue
		}
		if segment, seeks := changer.draw(); seeks {
			n.send(time.Since(began), Client, Order{Seek: &segment})
		}
	}
}

// change tells both of a new delay, and the client of a new access link.
func (n *Node) change(at time.Duration, e manager.Event) {
	n.send(at, Server, Order{Delay: e.Delay})
	n.send(at, Client, Order{Delay: e.Delay, Access: e.Access})
}

// send sends an order. One that does not get through is sent again when the control interface is back.
func (n *Node) send(at time.Duration, to Role, o Order) {
	n.mu.Lock()
	defer n.mu.Unlock()
	o.Number = 1
	for _, s := range slices.Backward(n.sent) {
		if s.Role == to {
			o.Number = s.Order.Number + 1
			break
		}
	}
	n.sent = append(n.sent, Sent{to, o, at})
	if conn := n.conns[to]; conn != nil {
		_ = write(conn, o)
	}
}

// Close ends all connections and waits for what the node started. It returns what the node has sent, and an error if
// somebody who connected did not speak as a control interface does.
func (n *Node) Close() ([]Sent, error) {
	n.mu.Lock()
	n.closed = true
	err := n.listener.Close()
	for _, conn := range n.open {
		_ = conn.Close() // some are closed already
	}
	n.mu.Unlock()
	n.work.Wait()
	if err = errors.Join(err, n.failure); err != nil {
		return n.sent, fmt.Errorf("end the network's manager: %w", err)
	}
	return n.sent, nil
}

// seekChanger decides once in a second whether the viewer seeks, and where to.
type seekChanger struct {
	Seeks
	due  time.Duration // 0: never
	luck *rand.Rand
}

func newSeekChanger(s Seeks) *seekChanger {
	c := &seekChanger{Seeks: s, luck: rand.New(rand.NewPCG(s.Seed, 0))}
	if s.Probability > 0 {
		c.due = time.Second
	}
	return c
}

// draw decides for the second that is due.
func (c *seekChanger) draw() (segment int, seeks bool) {
	c.due += time.Second
	luck, to := c.luck.Float64(), c.luck.IntN(c.Segments)
	return to, luck < c.Probability
}
