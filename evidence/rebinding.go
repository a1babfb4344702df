package evidence

import "net/netip"

// Inside returns the client's own address and port for those that a server saw. They differ where a NAT on the path
// has changed them, which the packets show.
func (e *Evidence) Inside(seen netip.AddrPort) netip.AddrPort {
	if e.insides == nil {
		e.insides = insides(e)
	}
	if inside, ok := e.insides[seen]; ok {
		return inside
	}
	return seen
}

// insides compares each packet from the client as it was sent and as it was received.
func insides(e *Evidence) map[netip.AddrPort]netip.AddrPort {
	known := map[netip.AddrPort]netip.AddrPort{}
	if !e.rebinds() {
		return known
	}
	sent := map[uint64]netip.AddrPort{}
	for _, p := range e.Sightings() {
		switch {
		case p.AtClient && !p.Inbound:
			sent[p.ID] = p.Flow.Source
		case !p.AtClient && p.Inbound:
			if from, ok := sent[p.ID]; ok && from != p.Flow.Source {
				known[p.Flow.Source] = from
			}
			delete(sent, p.ID)
		}
	}
	return known
}

// rebinds reports whether a NAT on the path was to forget its bindings.
func (e *Evidence) rebinds() bool {
	return e.Path != nil && len(e.Path.Rebindings()) > 0 || e.Stream != nil && len(e.Stream.Figures.Rebindings) > 0
}
