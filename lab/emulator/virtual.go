package emulator

import "wiretime/network"

// runWire is the loop in virtual time. The kernel stamps and delivers packets;
// what it waits for are the decisions, and those may come as late as the path's
// delay allows. So there is one turn for all packets of that time.
func (l *loop) runWire() error {
	for {
		rung, err := l.wire.turn(l.deadline(), l.patience(), true)
		if err != nil {
			return err
		}
		l.take()
		l.settle(now())
		if rung {
			if done, err := l.control(); done || err != nil {
				return err
			}
		}
	}
}

// patience is how old a packet may become before the path decides on it. A
// sixteenth is left for the way to this process and back.
func (l *loop) patience() int64 {
	if l.emulation == nil || l.epoch == 0 {
		return 0 // whoever waits for the first packet is to know at once
	}
	least := l.emulation.LeastDelay()
	return least - least/16
}

// take deals with the events of a turn; the verdicts go with the next one.
func (l *loop) take() {
	for e, ok := l.wire.next(); ok; e, ok = l.wire.next() {
		if e.kind != eventArrival {
			l.landed(e)
			continue
		}
		k := &l.links[e.port]
		if l.emulation == nil {
			l.lastArrival = e.time
			l.wire.verdicts = append(l.wire.verdicts, verdict{due: 0, id: e.id, port: uint32(k.to)})
			continue
		}
		due, fate := l.decide(k, e.time, e.data)
		if fate != network.Delivered {
			l.wire.verdicts = append(l.wire.verdicts, verdict{due: -1, id: e.id})
			continue
		}
		l.wire.verdicts = append(l.wire.verdicts, verdict{due: due, id: e.id, port: uint32(k.to)})
		data := append(l.buffer()[:0], e.data...)
		l.away[e.id] = packet{due: due, number: l.number, link: k, data: data}
	}
}

// landed records a delivery. Packets that passed while no path was armed, or
// that were let go, are not known any more.
func (l *loop) landed(e event) {
	p, ok := l.away[e.id]
	if !ok {
		return
	}
	delete(l.away, e.id)
	l.report.LateMax = max(l.report.LateMax, e.time-p.due)
	l.delivered(p, e.time, e.kind == eventDelivery)
}

// letGo delivers at once, unrecorded, what the wire still holds.
func (l *loop) letGo() error {
	for range 2 { // the second turn passes on the verdicts on what the first one brought
		if _, err := l.wire.turn(0, 0, false); err != nil {
			return err
		}
		l.take()
	}
	l.report.Released = int64(len(l.away))
	for id, p := range l.away {
		l.free = append(l.free, p.data[:maxPacket])
		delete(l.away, id)
	}
	l.wire.release()
	return nil
}
