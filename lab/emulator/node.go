package emulator

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"wiretime/network"
)

// NodePrefix is the network of the third node, by the first three octets of its addresses.
var NodePrefix = [3]byte{198, 18, 200}

// node is a third host beside client and server, such as a network's manager. What it sends arrives at once,
// since nothing is emulated on its own link. What client and server send to it passes the active access link in
// their own direction.
type node struct {
	from int // file descriptor of its TUN device, or its port of the wire
	// The ways between it and the others, as links that only deliver.
	toNode   [2]link // by direction of the access link that was passed
	toServer link
	toClient []link // by access link
}

// Order changes an armed path from now on.
type Order struct {
	Delay     *time.Duration    `json:",omitempty"` // of one direction of all access links, one-way
	Direction network.Direction // of Delay
	HandOver  *int              `json:",omitempty"` // the access link, by its index, that becomes the active one
}

// attach takes ownership of the third node's network device.
func (l *loop) attach(files []int) error {
	if l.node != nil || l.emulation != nil {
		return errors.New("the third node must be attached once, before a path is armed")
	}
	n := &node{from: len(l.links)} // its port comes after those of the access links
	if l.wire == nil {
		if len(files) != 1 {
			return fmt.Errorf("%d files came with the third node: want its TUN device", len(files))
		}
		n.from = files[0]
		if err := unix.SetNonblock(n.from, true); err != nil {
			return err
		}
	}
	way := func(to int, d network.Direction, receiver int) (link, error) {
		k := link{direction: d, from: n.from, to: to, sender: len(l.links), receiver: receiver, control: true}
		if l.wire != nil {
			return k, nil
		}
		k.train = &train{}
		return k, k.train.offload(to)
	}
	var err error
	for d := range n.toNode {
		if n.toNode[d], err = way(n.from, network.Direction(d), len(l.links)); err != nil {
			return err
		}
	}
	for i, k := range l.links {
		w, err := way(k.to, k.direction, k.receiver)
		if err != nil {
			return err
		}
		if k.direction == network.Down {
			n.toClient = append(n.toClient, w)
		} else if i == 0 {
			n.toServer = w
		}
	}
	l.node = n
	return nil
}

// ways returns all ways of the node.
func (n *node) ways() (list []*link) {
	if n == nil {
		return nil
	}
	list = append(list, &n.toNode[network.Up], &n.toNode[network.Down], &n.toServer)
	for i := range n.toClient {
		list = append(list, &n.toClient[i])
	}
	return list
}

// forNode reports whether a packet goes to the third node.
func (l *loop) forNode(packet []byte) bool {
	return l.node != nil && len(packet) >= size4 && packet[0]>>4 == 4 && [3]byte(packet[destination4:]) == NodePrefix
}

// way returns the way of a packet that the third node sends: to the server, or to the client on its active
// access link.
func (l *loop) way(at int64, packet []byte) *link {
	const serverNet = 19 // of 198.19.0.0/16
	if len(packet) >= size4 && packet[destination4+1] == serverNet {
		return &l.node.toServer
	}
	active := 0
	if l.emulation != nil && l.epoch != 0 {
		active = l.emulation.Active(at - l.epoch)
	}
	return &l.node.toClient[active]
}

// viaNode decides on a packet from or to the third node. k is the access link that it comes from, nil if it comes
// from the node. Before the path's first packet, nothing is emulated.
func (l *loop) viaNode(k *link, at int64, packet []byte) (to *link, due int64, fate network.Fate) {
	l.number++
	l.lastArrival = at
	if k == nil {
		to = l.way(at, packet)
		l.record.sent(to, at+l.toUnix, l.number, network.Delivered, packet)
		return to, at, network.Delivered
	}
	due, fate = at, network.Delivered
	if l.epoch != 0 {
		access := k.access
		if k.direction == network.Down {
			access = l.emulation.Active(at - l.epoch)
		}
		due, fate = l.emulation.Arrive(access, k.direction, at-l.epoch, len(packet))
		due += l.epoch
	}
	l.record.sent(k, at+l.toUnix, l.number, fate, packet)
	return &l.node.toNode[k.direction], due, fate
}

// pass gives one cut packet from or to the third node to the path.
func (l *loop) pass(k *link, at int64, data []byte) {
	to, due, fate := l.viaNode(k, at, data)
	if fate != network.Delivered {
		l.free = append(l.free, data[:maxPacket])
		return
	}
	l.pending.push(packet{due: due, number: l.number, link: to, data: data})
}

// order carries an order out.
func (l *loop) order(o Order) error {
	if l.emulation == nil {
		return errors.New("no path is armed")
	}
	if l.epoch == 0 {
		return errors.New("the path's first packet has not come")
	}
	at := now() - l.epoch
	if o.Delay != nil {
		if err := l.emulation.SetDelay(o.Direction, at, *o.Delay); err != nil {
			return err
		}
	}
	if o.HandOver != nil {
		return l.emulation.HandOver(at, *o.HandOver)
	}
	return nil
}
