// Package control is the way from the network's manager to the client and the server where the manager is a node
// of its own (Nam et al., 2021, section 4.1, figure 7): each of the two has a control interface, which the manager
// tells what to change.
//
// A control interface opens a TCP connection to the manager and says who it is; then the manager sends orders.
// Each message is two octets with the length of what follows, in network byte order and at most [Longest], and that
// many octets of JSON. The first message of a control interface is a [Hello]; all others come from the manager, and are
// Orders. An interface that has lost its connection, because its address changed, opens another one and says which
// order was the last that it had; the manager sends the later ones again.
package control

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Version is the version of the messages.
const Version = 1

// Longest is the length of the longest message in octets, without the two of its length.
const Longest = 1024

// Role says whose control interface it is.
type Role string

// The roles.
const (
	Client Role = "client"
	Server Role = "server"
)

// Hello is the first message of a control interface.
type Hello struct {
	Version int  `json:"version"`
	Role    Role `json:"role"`
	After   int  `json:"after"` // the number of the last order that it had; 0: none
}

// Order is what a control interface is to change. One with Seek has no more than that.
type Order struct {
	Number int           `json:"number"`           // from 1, of this control interface
	Delay  time.Duration `json:"delay"`            // in ns: one-way, of what the host sends, from now on
	Access string        `json:"access,omitempty"` // link to associate with now; "" = the one it has
	Seek   *int          `json:"seek,omitempty"`   // segment to go to
}

// longestDelay bounds a delay. A longer one is probably a wrong unit.
const longestDelay = time.Hour

func (h Hello) check() error {
	switch {
	case h.Version != Version:
		return fmt.Errorf("a control interface of version %d: want version %d", h.Version, Version)
	case h.Role != Client && h.Role != Server:
		return fmt.Errorf("a control interface of a %q: want %s or %s", h.Role, Client, Server)
	case h.After < 0:
		return fmt.Errorf("a control interface that had order %d: must not be negative", h.After)
	}
	return nil
}

func (o Order) check() error {
	switch {
	case o.Number < 1:
		return fmt.Errorf("order %d: must be positive", o.Number)
	case o.Delay < 0 || o.Delay > longestDelay:
		return fmt.Errorf("order %d sets a delay of %v: want 0 to %v", o.Number, o.Delay, longestDelay)
	case o.Seek != nil && (*o.Seek < 0 || o.Access != "" || o.Delay != 0):
		return fmt.Errorf("order %d seeks to segment %d: must not be negative, nor combined with another change", o.Number, *o.Seek)
	}
	return nil
}

// write writes one message.
func write(to io.Writer, message any) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if len(text) > Longest {
		return fmt.Errorf("a message of %d octets: the limit is %d", len(text), Longest)
	}
	_, err = to.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(text))), text...))
	return err
}

// errLong says that a message is longer than any that Wiretime sends.
var errLong = errors.New("not a message of a network's manager")

// read reads one message. At the end of the stream it returns io.EOF.
func read(from io.Reader, message interface{ check() error }) error {
	var head [2]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return err
	}
	length := binary.BigEndian.Uint16(head[:])
	if length > Longest {
		return fmt.Errorf("%d octets: %w", length, errLong)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(from, text); err != nil {
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		return err
	}
	if err := json.Unmarshal(text, message); err != nil {
		return fmt.Errorf("read a message of a network's manager: %w", err)
	}
	return message.check()
}
