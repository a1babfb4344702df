package report

import (
	"wiretime/capture"
	"wiretime/flowcontrol"
)

// mostFrames is how many lines the sequence chart of a connection has where a page shows one load.
const mostFrames = 2000

// Connections shows what both ends of all connections of a load sent, and what held the senders.
type Connections struct {
	Reasons     []string     `json:"reasons"` // what may hold a sender
	Connections []Connection `json:"connections"`
}

// Connection is a TCP or QUIC connection of a load. Moments are ms since navigation start.
type Connection struct {
	Name     string      `json:"name"`
	Protocol string      `json:"protocol,omitempty"` // its ALPN name
	Opened   float64     `json:"opened"`
	Unseen   []string    `json:"unseen,omitempty"` // what could not be read, and why
	Flows    []*Flow     `json:"flows"`            // of each end that sent DATA; without their events
	Events   []flowEvent `json:"events"`
	More     int         `json:"more"` // how many events are left out at the end
}

// NewConnections describes the connections of a page's load.
func NewConnections(har *capture.HAR, connections []*flowcontrol.Connection) Connections {
	all := Connections{Reasons: reasonNames(), Connections: []Connection{}}
	ms := since(har)
	for _, c := range connections {
		described := Connection{Name: c.Flow.String(), Protocol: c.Protocol, Opened: ms(c.Opened), Unseen: c.Unseen, Flows: []*Flow{}}
		for _, t := range c.Transfers {
			f := describeTransfer(c, t, ms, 0)
			f.Connections, f.More = len(connections), 0
			described.Flows = append(described.Flows, f)
		}
		described.Events, described.More = describeEvents(c.Events, ms, mostFrames)
		all.Connections = append(all.Connections, described)
	}
	return all
}
