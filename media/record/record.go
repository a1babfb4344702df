// Package record holds the record of a stream: one JSON file next to its capture.
package record

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"time"

	"wiretime/artefact"
	"wiretime/media/manager"
	"wiretime/media/player"
)

// Stream is a stream from beginning to end. Moments count from Started.
type Stream struct {
	Media     string `json:"media"`             // what was asked for, as studies refer to it
	Transport string `json:"transport"`         // a row of package transport
	Player    string `json:"player"`            // "download", or the rule for the resolution
	Strategy  string `json:"strategy"`          // at handovers
	Parallel  int    `json:"parallel,omitzero"` // requests at once, if there may be more than one

	Started time.Time `json:"started"`
	// Epoch is when the path's first packet was sent, from which the manager counts; negative
	// if none was sent.
	Epoch time.Duration `json:"epoch"`
	// Manager is the log of what the network's manager did and told the client.
	Manager []manager.Event `json:"manager"`

	// Orders are those that a manager which is a node of its own has sent, in their order, and ControlPackets the packets
	// that it and the control interfaces received meanwhile.
	Orders         []Order `json:"orders,omitempty"`
	ControlPackets int64   `json:"control_packets,omitzero"`

	Figures player.Figures `json:"figures"`
	// SlowStart is the server's congestion window in octets when its first QUIC connection to leave
	// slow start did so; 0: none did, or it is not known.
	SlowStart int `json:"slow_start,omitzero"`
	// Sessions holds the transport's data on Figures.Sessions, in the same order; sessions
	// that never opened are zero.
	Sessions []Session `json:"sessions"`
}

// Order is one that a manager which is a node of its own has sent.
type Order struct {
	To     string        `json:"to"`            // "client" or "server"
	Number int           `json:"number"`        // from 1, to each of the two
	Sent   time.Duration `json:"sent"`          // when the manager sent it
	Done   time.Duration `json:"done,omitzero"` // when the control interface had carried it out; 0: it had not
}

// Session is one connection, or association, as its transport saw it.
type Session struct {
	SetUp time.Duration  `json:"set_up,omitzero"` // until it could take the first request
	Local netip.AddrPort `json:"local,omitzero"`  // where packets left from, when it ended
	// Resumed says that the TLS session was resumed, EarlyData that the server accepted 0-RTT
	// data.
	Resumed   bool `json:"resumed,omitzero"`
	EarlyData bool `json:"early_data,omitzero"`
}

// Write writes the file.
func Write(name string, s *Stream) error {
	text, err := json.Marshal(s)
	if err == nil {
		err = os.WriteFile(name, append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the record of a stream: %w", err)
	}
	return nil
}

// largest is the size in octets of the largest file that Read accepts, some 50 times that of the record of a video of ten
// hours.
const largest = 64 << 20

// Read reads a file that Write has written. It allocates at most 512 times the file's size.
func Read(name string) (*Stream, error) {
	text, err := artefact.Read(name, largest)
	if err != nil {
		return nil, fmt.Errorf("read the record of a stream: %w", err)
	}
	s := &Stream{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("read the record of a stream, %s: %w", name, err)
	}
	return s, nil
}
