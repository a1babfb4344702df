// Package evidence holds what one load left behind, parsed once. Metrics, checks and the critical path read it.
//
// It says what was seen and draws no conclusions: figures and validity rules are package metric's, what a load's time
// was spent on is package critical's.
package evidence

import (
	"wiretime/capture"
	"wiretime/media/record"
	"wiretime/network"
)

// Evidence is what one load left behind, and what its cell asked for as far as rules need it. A part that is nil was
// not captured. Connections and the like are worked out from the parts when they are first asked for, so parts must
// not change after that, and an Evidence is for one goroutine at a time.
type Evidence struct {
	// Protocol is what the cell asked for: a row of package protocol ("http/1.1", "https/1.1", "h2"), or the transport
	// of a stream.
	Protocol string
	// Visit is the state of the client that the cell asked for, such as study.VisitResumed. Empty means cold.
	Visit string
	// First says that the load is the first of a browser session: the client is new, and the server lets it resume
	// TLS sessions, which its later connections to a host may do already.
	First bool
	// Fallback is the protocol that requests may use where HTTP/3 was asked for but could not be had; empty if none.
	Fallback string
	// NoServerLog says that the server keeps no log. Rules then rely on the HAR and the packets.
	NoServerLog bool

	HAR        *capture.HAR // of a page
	Server     []capture.ServerEntry
	Packets    *capture.Packets
	Timing     capture.Timing // of a page
	ServerLost int            // QUIC packets that the server declared lost; -1 unknown
	Stream     *record.Stream // of a media stream
	// CaptureCut says that packets are missing from the capture because there were more than it may hold.
	CaptureCut bool
	Counted    *Counts

	// Path is the path that the load was carried out over, and Epoch its time 0, in ns since the Unix epoch; 0: no packet
	// was sent.
	Path  *network.Path
	Epoch int64

	pages       map[string][]*capture.Entry // by the ID of their page
	sightings   []Sighting
	connections []*Connection
	flows       []Flow
}

// Counts is how many IP packets the emulator counted: that the client sent, that reached the client, and that were
// dropped in either direction.
type Counts struct{ Up, Down, Drops int64 }
