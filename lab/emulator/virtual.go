package emulator

import "wiretime/network"

// runWire is the loop in virtual time. The kernel timestamps and delivers packets and waits
// only for decisions, which may come as late as the path's delay allows. Therefore one turn
// handles all packets of that period.
func (l *loop) runWire() error {
	for {
		rung, err := l.wire.turn(l.deadline(), l.patience(), true)
		if err != nil {
			return err
		}
		l.take()
		again, err := l.takeTranslated()
		if err != nil {
			return err
		}
		l.settle(now())
		if rung || again {
			if done, err := l.control(); done || err != nil {
				return err
			}
		}
	}
}

// patience returns how old a packet may become before the path must decide on it. It leaves
// a sixteenth of the delay for the round trip to this process.
func (l *loop) patience() int64 {
	if l.emulation == nil || l.epoch == 0 || l.node != nil {
		return 0 // a waiter for the first packet must be notified at once, and a third node may shorten delays
	}
	least := l.emulation.LeastDelay()
	return least - least/16
}

// take handles the events of a turn; the verdicts are sent with the next one.
func (l *loop) take() {
	for e, ok := l.wire.next(); ok; e, ok = l.wire.next() {
		if e.kind != eventArrival {
			l.landed(e)
			continue
		}
		if l.second != nil && e.port == l.second.port {
			l.forward(e)
			continue
		}
		if l.node != nil && (int(e.port) == l.node.from || l.forNode(e.data)) {
			l.takeNode(e)
			continue
		}
		k := &l.links[e.port]
		if l.emulation == nil {
			l.lastArrival = e.time
			l.wire.verdicts = append(l.wire.verdicts, verdict{due: 0, id: e.id, port: uint32(k.to)})
			continue
		}
		due, fate, translated := l.decide(k, e.time, e.data)
		if fate != network.Delivered {
			l.wire.verdicts = append(l.wire.verdicts, verdict{due: -1, id: e.id})
			continue
		}
		p := packet{due: due, number: l.number, link: k, data: append(l.buffer()[:0], e.data...)}
		if translated {
			l.wire.verdicts = append(l.wire.verdicts, verdict{due: -1, id: e.id})
			l.sendAgain(p)
			continue
		}
		l.wire.verdicts = append(l.wire.verdicts, verdict{due: due, id: e.id, port: uint32(k.to)})
		l.away[e.id] = p
	}
}

// takeNode handles a packet from or to the third node.
func (l *loop) takeNode(e event) {
	var k *link
	if int(e.port) != l.node.from {
		k = &l.links[e.port]
	}
	if l.emulation == nil {
		l.lastArrival = e.time
		to := l.node.from
		if k == nil {
			to = l.way(e.time, e.data).to
		}
		l.wire.verdicts = append(l.wire.verdicts, verdict{due: 0, id: e.id, port: uint32(to)})
		return
	}
	to, due, fate := l.viaNode(k, e.time, e.data)
	if fate != network.Delivered {
		l.wire.verdicts = append(l.wire.verdicts, verdict{due: -1, id: e.id})
		return
	}
	l.wire.verdicts = append(l.wire.verdicts, verdict{due: due, id: e.id, port: uint32(to.to)})
	l.away[e.id] = packet{due: due, number: l.number, link: to, data: append(l.buffer()[:0], e.data...)}
}

// landed records a delivery. It ignores packets that passed while no path was armed, or
// that stop released.
func (l *loop) landed(e event) {
	p, ok := l.away[e.id]
	if !ok {
		return
	}
	delete(l.away, e.id)
	l.report.LateMax = max(l.report.LateMax, e.time-p.due)
	l.delivered(p, e.time, e.kind == eventDelivery)
}

// letGo empties the wire at the end of a load. It first handles the events so far, and records
// them. Then it delivers at once the packets that are not yet due; they are not recorded, since
// they arrive after the load.
func (l *loop) letGo() error {
	for range 2 { // the second turn sends the verdicts on the packets of the first one
		if _, err := l.wire.turn(0, 0, false); err != nil {
			return err
		}
		l.take()
		if _, err := l.takeTranslated(); err != nil {
			return err
		}
	}
	l.report.Released = int64(len(l.away))
	for id, p := range l.away {
		l.free = append(l.free, p.data[:maxPacket])
		delete(l.away, id)
	}
	l.wire.release()
	return nil
}
