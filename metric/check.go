package metric

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"wiretime/capture"
)

// Violation is one way in which a load is not what its cell asked for, or in
// which its captures contradict each other.
type Violation struct {
	Rule   int    // the validity rule that is broken
	Detail string // a sentence with the URLs or flows it is about
}

// Check looks for violations of those validity rules that a load's captures
// can show:
//
//	1  every request was answered over the protocol the cell asked for, by the
//	   browser's report and by the server's; of a stream, over the transport, by its
//	   record, the server's report and the packets
//	2  connections and caches were cold, or what else the cell's visit says; of a stream,
//	   the first session was, and at handovers the client did what its strategy says
//	4  HAR, server log and packets agree on what was fetched; of a stream, its record does
//	   with the other two
//
// A valid load has none. Rules 3 (lateness) and 7 (processor time) are limits of the study's, not of
// the load's; package runner checks them.
func Check(l *Load) []Violation {
	if l.Stream != nil {
		return slices.Concat(checkTransport(l), checkSessions(l), checkStreamAgreement(l))
	}
	return slices.Concat(checkProtocol(l), checkCold(l), checkAgreement(l))
}

// endpoints gives the flow of a server log's entry, from client to server.
func endpoints(e *capture.ServerEntry) (capture.Flow, error) {
	client, err := netip.ParseAddrPort(e.Client)
	if err != nil {
		return capture.Flow{}, fmt.Errorf("the server log names the client %q: %w", e.Client, err)
	}
	server, err := netip.ParseAddrPort(e.Server)
	if err != nil {
		return capture.Flow{}, fmt.Errorf("the server log names the server %q: %w", e.Server, err)
	}
	protocol := uint8(capture.TCP)
	if e.Protocol == "h3" {
		protocol = capture.UDP
	}
	return capture.Flow{
		Protocol:    protocol,
		Source:      netip.AddrPortFrom(client.Addr().Unmap(), client.Port()),
		Destination: netip.AddrPortFrom(server.Addr().Unmap(), server.Port()),
	}, nil
}

// some names the first few of a list.
func some(list []string) string {
	const few = 3
	if len(list) <= few {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:few], ", "), len(list)-few)
}
