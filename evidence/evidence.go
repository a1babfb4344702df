// Package evidence holds what one load left behind, parsed once. Metrics, checks and the critical path read it.
//
// It says what was seen and draws no conclusions: figures and validity rules are package metric's, what a load's time
// was spent on is package critical's.
package evidence

import (
	"net/netip"

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
	// First says that the load is the first of a browser session. The client is new, but the server issues TLS
	// sessions, which later connections of the same load may resume.
	First bool
	// Fallback is the protocol that requests may use where HTTP/3 was asked for but could not be had; empty if none.
	Fallback string
	// NoServerLog says that the server keeps no log. Rules then rely on the HAR and the packets.
	NoServerLog bool

	// TLS is the version that the server's log must have for each request, such as "TLS 1.3"; empty if it need not have
	// any.
	TLS string
	// TearDown says that the client was to close its connections within the capture.
	TearDown bool

	// Windows are the flow-control windows that the cell set.
	Windows Windows

	// NoSACK says that the cell switched TCP's selective acknowledgements off.
	NoSACK bool

	HAR        *capture.HAR // of a page
	Server     []capture.ServerEntry
	Packets    *capture.Packets
	Timing     capture.Timing // of a page
	ServerLost int            // QUIC packets that the server declared lost; -1 unknown
	Stream     *record.Stream // of a media stream
	Upload     *Upload        // of an upload
	Headers    *Headers       // of all requests and responses; nil if some could not be read
	Crowd      *Crowd         // of a crowd
	Announced  *Announced     // windows of a page's connections; nil if not known
	Live       *Live          // of a load on the live clock; nil for all others
	// CaptureCut says that packets are missing from the capture because there were more than it may hold.
	CaptureCut bool
	Counted    *Counts

	// Path is the load's path. Epoch is the path's time 0 in ns since the Unix epoch, or 0 if no packet was sent.
	Path  *network.Path
	Epoch int64

	pages       map[string][]*capture.Entry // by the ID of their page
	sightings   []Sighting
	connections []*Connection
	flows       []Flow
	insides     map[netip.AddrPort]netip.AddrPort
}

// Windows are the flow-control windows in octets that a cell sets; 0: not set.
type Windows struct {
	Client, Server int // initial window of each stream that the client or the server grants its peer
	TCP            int // largest TCP buffer at both ends
}

// Announced holds the initial stream windows in octets that the ends of each connection announced, in SETTINGS
// (SPDY, HTTP/2) or in transport parameters (QUIC). Both lists are in the order of the connections.
type Announced struct{ Client, Server []int }

// Upload describes what a client had to upload.
type Upload struct {
	Octets int64
	SHA256 string // of the content, in hexadecimal digits
}

// Headers holds the size of the header sections of a load's requests and responses.
type Headers struct{ Requests, Responses HeaderSum }

// HeaderSum is the total size of header sections.
type HeaderSum struct {
	Sections int
	Plain    int64 // octets as HTTP/1.1 writes them: first line, fields, empty line
	Sent     int64 // octets as sent, compressed unless over HTTP/1.1, without frame headers
}

// Counts is how many IP packets the emulator counted: that the client sent, that reached the client, and that were
// dropped in either direction.
type Counts struct{ Up, Down, Drops int64 }

// Live describes a load on the live clock. It crossed this machine's own network to servers of others, of which only the
// client's end is known: packets are in the capture once, as this machine's network devices showed them.
type Live struct {
	Page string // URL, as it was requested
	// Captured says that packets could be captured. Lost is how many packets of this machine the kernel dropped from
	// the capture. Full says that there were more than are kept.
	Captured, Full bool
	Lost           int
}

// Whole reports whether the capture has every packet of the load. Only then is it evidence.
func (l *Live) Whole() bool { return l.Captured && !l.Full && l.Lost == 0 }
