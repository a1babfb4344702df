package main

import (
	"path/filepath"
	"strings"
	"testing"

	"wiretime/flowcontrol"
	"wiretime/needtest"
	"wiretime/store"
	"wiretime/study"
)

// TestPairingsOfKim loads what figures 3 to 6 of Kim et al. (2013) draw, and holds the frames in the captures to the figures: which end
// announces which window when, with which window the sender begins, and when the receiver reopens it and by how much.
func TestPairingsOfKim(t *testing.T) {
	needtest.Long(t)
	t.Parallel()
	const kib, mib = 1 << 10, 1 << 20
	u := self(t)
	u.addKernel(t)
	for _, name := range []string{"kim-pairings", "kim-pairings-upload"} {
		u.runs(t, 0, "run", name, "--store", name)
	}
	if r := u.runs(t, exitInput, "explain", "r1-0000-a1", "--store", "kim-pairings-upload"); !strings.Contains(r.errors, "'wiretime frames LOAD'") {
		t.Errorf("a critical path of an upload: %s", r.errors)
	}
	for _, c := range []struct {
		name, study, server string
		receiver            flowcontrol.Side
		octets              int64
		answered            bool   // the server sends its SETTINGS in answer to the client's
		served              string // the server's setting
		first               int64  // window with which the sender begins
		least               int64  // octets that the receiver gives back at the least
		held                bool   // the window holds the sender
	}{
		{"figure 3, mod_spdy to Chromium", "kim-pairings", "mod_spdy", flowcontrol.Client, 18_506_470, false, "", 10 * mib, 5*mib + 1, false},
		{"figure 4, Chromium to mod_spdy", "kim-pairings-upload", "mod_spdy", flowcontrol.Server, 2_000_000, false, "", 64 * kib, 8 * kib, true},
		{"figure 5, Google to Chromium", "kim-pairings", "google-2013", flowcontrol.Client, 18_506_470, true, "INITIAL_WINDOW_SIZE 1048576", 10 * mib, 5*mib + 1, false},
		{"figure 6, Chromium to Google", "kim-pairings-upload", "google-2013", flowcontrol.Server, 2_000_000, true, "INITIAL_WINDOW_SIZE 1048576", 64 * kib, 128 * kib, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			connection := u.pairing(t, c.study, c.server)
			client, server := settings(t, connection, flowcontrol.Client), settings(t, connection, flowcontrol.Server)
			if connection.Events[0].Sent != client.Sent || !strings.Contains(client.Detail, "INITIAL_WINDOW_SIZE 10485760") {
				t.Errorf("the client begins with %s, its SETTINGS are %s", &connection.Events[0], client)
			}
			if answered := server.Sent >= client.Received; answered != c.answered {
				t.Errorf("the server sent SETTINGS at %d, the client's came at %d; want an answer: %v", server.Sent, client.Received, c.answered)
			}
			if !strings.Contains(server.Detail, c.served) || c.served == "" && strings.Contains(server.Detail, "INITIAL_WINDOW_SIZE") {
				t.Errorf("the server announces %s, want %q", server.Detail, c.served)
			}

			sent, granted, begun := int64(0), int64(0), false
			for _, e := range connection.Events {
				switch {
				case e.Kind == "DATA" && e.Sender != c.receiver:
					if !begun && e.StreamLeft+e.Octets != c.first {
						t.Errorf("the sender begins with a window of %d, want %d", e.StreamLeft+e.Octets, c.first)
					}
					begun = true
					sent += e.Octets
				case e.Kind == "WINDOW_UPDATE" && e.Sender == c.receiver && e.OnStream:
					// The receiver reads DATA in parts of at most a frame, so an update may come up to a frame later.
					if e.Delta < c.least || e.Delta >= c.least+16*kib {
						t.Errorf("an update of %d octets, want %d as soon as they were received", e.Delta, c.least)
					}
					if granted += e.Delta; granted > sent {
						t.Errorf("%d octets are granted again, only %d were sent", granted, sent)
					}
				}
			}
			if rest := sent - granted; sent != c.octets || rest < 0 || rest >= c.least {
				t.Errorf("of %d octets, want %d, %d were not granted again, want fewer than %d", sent, c.octets, rest, c.least)
			}
			for _, transfer := range connection.Transfers {
				if held := transfer.Sums()[flowcontrol.StreamWindow] > 0; transfer.Sender != c.receiver && held != c.held {
					t.Errorf("the window held the sender: %v, want %v", held, c.held)
				}
			}
		})
	}
}

// pairing returns the connection of a study's load with one of its servers.
func (u user) pairing(t *testing.T, name, server string) *flowcontrol.Connection {
	t.Helper()
	for _, l := range loadsIn(t, filepath.Join(u.home, name)) {
		if l.Cell.On(study.AxisServerWindow) == server {
			return onlyConnection(t, l)
		}
	}
	t.Fatalf("study %s has no load with %s", name, server)
	return nil
}

// onlyConnection returns the connection of a load that opened one.
func onlyConnection(t *testing.T, l store.Load) *flowcontrol.Connection {
	t.Helper()
	connections, err := readConnections(l)
	if err != nil || len(connections) != 1 || len(connections[0].Unseen) > 0 {
		t.Fatalf("%s: %d connections, %v: %+v", l.Cell.Key(), len(connections), err, connections)
	}
	return connections[0]
}

// settings returns the only SETTINGS frame of an end.
func settings(t *testing.T, c *flowcontrol.Connection, side flowcontrol.Side) *flowcontrol.Event {
	t.Helper()
	var found *flowcontrol.Event
	for i := range c.Events {
		if e := &c.Events[i]; e.Kind == "SETTINGS" && e.Sender == side {
			if found != nil {
				t.Fatalf("the %s sent SETTINGS twice", side)
			}
			found = e
		}
	}
	if found == nil {
		t.Fatalf("the %s sent no SETTINGS", side)
	}
	return found
}
