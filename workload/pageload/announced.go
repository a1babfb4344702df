package pageload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"wiretime/evidence"
	"wiretime/spdy"
)

// Announcing is a Session that records the stream windows announced on its HTTP/2 connections.
type Announcing interface {
	// Announced returns the windows in octets that the client and the server announced, one of each
	// for every connection since the session began.
	Announced() (client, server []int)
}

// announced returns the windows announced on all connections since the loader's session began. They come from
// the loader's frame log over SPDY, from the loader's connections over HTTP/2, and from the qlog
// events of Wiretime's server over HTTP/3. It returns nil if the order sets no window, or if none of
// these is available.
func (r *loading) announced() (*evidence.Announced, error) {
	if r.ClientWindow == "" && r.ServerWindow == "" {
		return nil, nil
	}
	if err := r.noteSPDY(); err != nil {
		return nil, err
	}
	if len(r.spdy.Client) > 0 {
		return &evidence.Announced{Client: slices.Clone(r.spdy.Client), Server: slices.Clone(r.spdy.Server)}, nil
	}
	a := new(evidence.Announced)
	if own, ok := r.origin.(ownServer); ok && r.terms.Protocol.Transport == "udp" {
		a.Client, a.Server = own.Announced()
	} else if session, ok := r.Session.(Announcing); ok {
		a.Client, a.Server = session.Announced()
	}
	if len(a.Client) == 0 && len(a.Server) == 0 {
		return nil, nil
	}
	return a, nil
}

// noteSPDY records the windows announced so far over SPDY. A loader that comes back to a site starts its frame
// log anew, without the SETTINGS of connections that stay open.
func (r *loading) noteSPDY() error {
	framed, ok := r.Session.(Framed)
	if !ok || r.ClientWindow == "" && r.ServerWindow == "" {
		return nil
	}
	return readAnnounced(framed.FrameLog(), &r.spdy)
}

// draftWindow is the window of a SPDY stream in octets unless SETTINGS change it (draft 3 section 2.6.8).
const draftWindow = 64 << 10

// readAnnounced adds the SETTINGS in a client's frame log of package spdy to a, whose connections are in the order
// of the log's session numbers.
func readAnnounced(log []byte, a *evidence.Announced) error {
	key := strconv.Itoa(int(spdy.SettingInitialWindowSize))
	for line := range bytes.Lines(log) {
		var record struct {
			Name string
			Data struct {
				Session int
				Frame   struct {
					Settings map[string]int
				}
			}
		}
		if err := json.Unmarshal(bytes.TrimPrefix(line, []byte{0x1e}), &record); err != nil {
			return fmt.Errorf("read the frame log: %w", err)
		}
		for len(a.Client) < record.Data.Session {
			a.Client, a.Server = append(a.Client, draftWindow), append(a.Server, draftWindow)
		}
		octets, ok := record.Data.Frame.Settings[key]
		if !ok || record.Data.Session < 1 {
			continue
		}
		side := a.Client
		if record.Name == "spdy:frame_received" {
			side = a.Server
		}
		side[record.Data.Session-1] = octets
	}
	return nil
}
