package session

import (
	"encoding/binary"
	"net"
	"sync"
)

// These constants describe how HTTP/2 announces windows (RFC 9113 sections 3.4, 6.5 and 6.5.2).
const (
	preface       = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" // sent by clients before their first frame
	settingsFrame = 0x4
	settingOctets = 6
	windowSetting = 0x4   // SETTINGS_INITIAL_WINDOW_SIZE
	initialWindow = 65535 // octets, without that setting
)

// Announced returns the stream windows in octets that the client and the server announced on each HTTP/2 connection,
// in the order in which the connections were opened; 0 for an end that has announced none. It returns nothing for
// other protocols and without Options.NoteWindows.
func (s *Session) Announced() (client, server []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.noted {
		n.mu.Lock()
		client, server = append(client, n.sent.window), append(server, n.received.window)
		n.mu.Unlock()
	}
	return client, server
}

// notedConn notes the first SETTINGS frame in each direction of an HTTP/2 connection.
type notedConn struct {
	net.Conn
	mu             sync.Mutex
	sent, received settingsReader
}

// note wraps a connection that has just been opened, for Announced.
func (s *Session) note(c net.Conn) net.Conn {
	n := &notedConn{Conn: c, sent: settingsReader{skip: len(preface)}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noted = append(s.noted, n)
	return n
}

func (n *notedConn) Read(p []byte) (int, error) {
	k, err := n.Conn.Read(p)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.received.add(p[:k])
	return k, err
}

func (n *notedConn) Write(p []byte) (int, error) {
	n.mu.Lock()
	n.sent.add(p)
	n.mu.Unlock()
	return n.Conn.Write(p)
}

// settingsReader reads the first frame of one end, which must be SETTINGS.
type settingsReader struct {
	skip   int    // octets before the frame
	frame  []byte // what has arrived of the frame
	window int    // octets; 0: not known
	done   bool
}

// add takes the next octets of the connection.
func (r *settingsReader) add(b []byte) {
	skipped := min(r.skip, len(b))
	r.skip, b = r.skip-skipped, b[skipped:]
	if r.done || len(b) == 0 {
		return
	}
	r.frame = append(r.frame, b...)
	if len(r.frame) < frameHead {
		return
	}
	head := [frameHead]byte(r.frame)
	whole := frameHead + length(head)
	if head[3] != settingsFrame {
		r.done, r.frame = true, nil
		return
	}
	if len(r.frame) < whole {
		return
	}
	r.done, r.window = true, initialWindow
	for entry := r.frame[frameHead:whole]; len(entry) >= settingOctets; entry = entry[settingOctets:] {
		if binary.BigEndian.Uint16(entry) == windowSetting {
			r.window = int(binary.BigEndian.Uint32(entry[2:]))
		}
	}
	r.frame = nil
}
