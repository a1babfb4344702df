package pageload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"wiretime/evidence"
	"wiretime/spdy"
)

// Announcing is a Session that notes the windows that both ends of its HTTP/2 connections
// announce.
type Announcing interface {
	// Announced returns those of the client and those of the server, connection by connection.
	Announced() (client, server []int)
}

// announced returns what the ends of the load's connections announced: over SPDY by the loader's
// frame log, over HTTP/2 by what passed on the loader's connections, over HTTP/3 by the qlog
// events of Wiretime's server. It is nil if the order asks for no window, or if nobody told.
func (r *loading) announced() (*evidence.Announced, error) {
	if r.ClientWindow == "" && r.ServerWindow == "" {
		return nil, nil
	}
	if framed, ok := r.Session.(Framed); ok {
		if log := framed.FrameLog(); log != nil {
			return readAnnounced(log)
		}
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

// draftWindow is SPDY's window where SETTINGS name none (draft 3 section 2.6.8).
const draftWindow = 64 << 10

// readAnnounced finds the SETTINGS of each session in a client's frame log of package spdy.
func readAnnounced(log []byte) (*evidence.Announced, error) {
	a := new(evidence.Announced)
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
			return nil, fmt.Errorf("read the frame log: %w", err)
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
	return a, nil
}
