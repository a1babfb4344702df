package server

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"

	"wiretime/capture"
)

// logged is a request as a server's log records it.
type logged struct {
	Start    int64  `json:"start"` // ns since the Unix epoch, as End
	End      int64  `json:"end"`
	Protocol string `json:"protocol"` // like "HTTP/2.0", or the ALPN name
	TLS      string `json:"tls"`      // like "TLSv1.3"; empty without TLS
	Cipher   string `json:"cipher"`
	Resumed  bool   `json:"resumed"`
	Method   string `json:"method"`
	Host     string `json:"host"`   // a port is ignored
	Target   string `json:"target"` // path and query
	Status   int    `json:"status"`
	Bytes    int64  `json:"bytes"`
	Client   string `json:"client"` // address:port, like Server
	Server   string `json:"server"`
}

// entries parses a log. Connections are numbered in the order of their first requests. An
// unterminated last line was being written when the server was killed, and is left out.
func (s *setup) entries(text []byte) ([]capture.ServerEntry, error) {
	entries := []capture.ServerEntry{}
	for number := 1; ; number++ {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		if !whole {
			break
		}
		text = rest
		l, err := s.Kind.entry(line)
		if err != nil {
			return nil, fmt.Errorf("line %d, %.200q: %w", number, line, err)
		}
		entries = append(entries, s.entry(l))
	}
	slices.SortStableFunc(entries, func(a, b capture.ServerEntry) int { return cmp.Compare(a.Start, b.Start) })
	connections := map[string]int64{}
	for i := range entries {
		e := &entries[i]
		ends := e.Client + " " + e.Server
		if connections[ends] == 0 {
			connections[ends] = int64(len(connections)) + 1
		}
		e.Connection = connections[ends]
	}
	return entries, nil
}

// entry returns a request as Wiretime's own server would have logged it.
func (s *setup) entry(l logged) capture.ServerEntry {
	host := l.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	e := capture.ServerEntry{
		Start: l.Start, End: l.End, Protocol: spoken(l.Protocol), Cipher: l.Cipher, Resumed: l.Resumed, Method: l.Method,
		URL: s.Protocol.Scheme + "://" + l.Host + l.Target, Status: l.Status, BodyBytes: l.Bytes, Client: l.Client, Server: l.Server,
	}
	if version, ok := strings.CutPrefix(l.TLS, "TLSv"); ok {
		e.TLS = "TLS " + version
	}
	if e.Server == "" {
		e.Server = net.JoinHostPort(s.Hosts[host].String(), fmt.Sprint(s.Protocol.Port))
	}
	e.Miss = !s.known[key(l.Method, host, l.Target)]
	return e
}

// spoken names a protocol as browsers do.
func spoken(version string) string {
	switch version {
	case "HTTP/2", "HTTP/2.0":
		return "h2"
	case "HTTP/3", "HTTP/3.0":
		return "h3"
	}
	return strings.ToLower(version)
}

// jsonEntry parses a line with the names and units of logged.
func jsonEntry(line []byte) (logged, error) {
	var l logged
	return l, json.Unmarshal(line, &l)
}
