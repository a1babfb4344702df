// Package record is what is kept of a stream: one JSON file beside its capture.
package record

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"time"

	"wiretime/media/manager"
	"wiretime/media/player"
)

// Stream is one stream from beginning to end. Moments are since Started.
type Stream struct {
	Media     string `json:"media"`     // what was asked for, as studies refer to it
	Transport string `json:"transport"` // a row of package transport
	Player    string `json:"player"`    // "download", or the rule for the resolution
	Strategy  string `json:"strategy"`  // at handovers

	Started time.Time `json:"started"`
	// Epoch is when the path's first packet was sent, from which the manager counts;
	// less than 0 if none was.
	Epoch time.Duration `json:"epoch"`
	// Manager is what the network's manager did, and told the client.
	Manager []manager.Event `json:"manager"`

	Figures player.Figures `json:"figures"`
	// Sessions are what the transport knows of Figures.Sessions, in their order; those
	// that never opened are zero.
	Sessions []Session `json:"sessions"`
}

// Session is one connection, or association, as its transport saw it.
type Session struct {
	SetUp time.Duration  `json:"set_up,omitzero"` // until it could take the first request
	Local netip.AddrPort `json:"local,omitzero"`  // where packets left from, when it ended
	// Resumed says that a TLS session was taken up again, EarlyData that the server took
	// 0-RTT data.
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

// Read is the reverse of Write.
func Read(name string) (*Stream, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the record of a stream: %w", err)
	}
	s := &Stream{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("read the record of a stream, %s: %w", name, err)
	}
	return s, nil
}
