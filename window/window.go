// Package window defines how much an endpoint lets its peer send ahead over SPDY, HTTP/2 and
// HTTP/3: a size in octets, or a preset, which names a deployed implementation.
//
// A window belongs to the receiver: the client's limits downloads, the server's limits uploads.
// TCP has a window of its own below, which these do not change.
//
// This package sets what an end announces. Package flowcontrol reads from the capture how large the
// windows were during a load, and whether they held the sender.
package window

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/quic-go/quic-go"

	"wiretime/network"
	"wiretime/spdy"
)

// Largest is the largest window, in octets (SPDY draft 3 section 2.6.8, RFC 9113 section
// 6.9.1). HTTP/3 allows larger ones, which are not offered here.
const Largest = 1<<31 - 1

// Receiver describes an endpoint as a receiver over one protocol. Windows are in octets.
type Receiver struct {
	Stream     int // of each stream, 1 to Largest, as announced at the beginning
	Connection int // of all streams together, likewise; SPDY/3 has none
	// MostStream and MostConnection are the sizes up to which the windows may grow, over HTTP/3
	// only; 0: they do not grow.
	MostStream, MostConnection int
	// Update says when WINDOW_UPDATE is sent over SPDY. The stacks for HTTP/2 and HTTP/3 follow
	// rules of their own: see Deviation.
	Update spdy.UpdateRule
	// Answers delays the SETTINGS frame, which announces the window, until the peer's has come.
	// SPDY only.
	Answers bool
}

// SPDY returns the receiver as package spdy describes it.
func (r Receiver) SPDY() spdy.Window {
	return spdy.Window{Stream: r.Stream, Session: r.Connection, Update: r.Update, SessionUpdate: r.Update}
}

// Setting is a window size for all protocols, or a preset.
type Setting struct {
	name   string
	preset *Preset // nil for a size
	octets int
}

// Parse reads a size, such as 65536, 64KiB or 10MB (k = 1000, Ki = 1024; 1 to Largest), or the
// name of a preset.
func Parse(word string) (Setting, error) {
	word = strings.TrimSpace(word)
	for _, p := range Presets() {
		if p.Name == word {
			return Setting{name: word, preset: &p}, nil
		}
	}
	if word != "" && word[0] >= '0' && word[0] <= '9' || strings.HasPrefix(word, "-") {
		octets, err := ParseSize(word)
		if err != nil {
			return Setting{}, err
		}
		return Setting{name: FormatSize(octets), octets: octets}, nil
	}
	names := Names()
	if near := network.Nearest(word, names); near != "" {
		return Setting{}, fmt.Errorf("unknown preset %.40q; did you mean %q?", word, near)
	}
	return Setting{}, fmt.Errorf("unknown preset %.40q; write a size such as 64KiB, or one of %s", word, strings.Join(names, ", "))
}

// String returns the preset's name, or the size in the largest unit that divides it.
func (s Setting) String() string { return s.name }

// ErrNone is the cause of errors for protocols without flow control of their own.
var ErrNone = errors.New("no flow control of its own")

// Over returns the receiver over a protocol, given by its name in package protocol. A size is the
// window of each stream and of the whole connection, with updates at one half. The error is ErrNone
// if the protocol has no flow control, and otherwise says for which protocols the preset is.
func (s Setting) Over(protocol string) (Receiver, error) {
	family := familyOf(protocol)
	if family == "" {
		return Receiver{}, fmt.Errorf("%s has %w", protocol, ErrNone)
	}
	if s.preset == nil {
		return Receiver{Stream: s.octets, Connection: s.octets}, nil
	}
	if r := s.preset.receiver(family); r != nil {
		return *r, nil
	}
	return Receiver{}, fmt.Errorf("preset %s is for %s, not for %s", s.name, strings.Join(s.preset.families(), " and "), protocol)
}

// Deviation says how Wiretime's stack for a protocol deviates from every Receiver. It is empty for
// SPDY, whose library implements all of it.
func Deviation(protocol string) string {
	switch familyOf(protocol) {
	case http2:
		return "net/http sends WINDOW_UPDATE for every 4 KiB that were read, and gives the connection at least 65,535 octets as a server and 131,070 as a client"
	case http3:
		return "quic-go raises its limits once a quarter of a window was read"
	}
	return ""
}

// The protocols with flow control, and what their stacks are told.
const (
	spdy3 = "SPDY"
	http2 = "HTTP/2"
	http3 = "HTTP/3"
)

func familyOf(protocol string) string {
	switch protocol {
	case "h2":
		return http2
	case "h3":
		return http3
	}
	if v, ok := spdy.ParseVersion(protocol); ok && v != spdy.V2 {
		return spdy3
	}
	return ""
}

// units are the units of sizes, the larger ones first.
var units = []struct {
	name   string
	octets int
}{{"MiB", 1 << 20}, {"MB", 1e6}, {"KiB", 1 << 10}, {"kB", 1e3}}

// ParseSize reads a window's size in octets: 1 to Largest.
func ParseSize(word string) (int, error) {
	number, unit := word, 1
	for _, u := range units {
		if digits, ok := strings.CutSuffix(word, u.name); ok {
			number, unit = digits, u.octets
		}
	}
	n, err := strconv.Atoi(strings.TrimSpace(number))
	if err != nil || n < 1 || n > Largest/unit {
		return 0, fmt.Errorf("invalid size %.40q: want 1 to %d octets, such as 65536, 64KiB or 10MB", word, Largest)
	}
	return n * unit, nil
}

// FormatSize writes a size as ParseSize reads it, in the largest unit that divides it.
func FormatSize(octets int) string {
	for _, u := range units {
		if octets > 0 && octets%u.octets == 0 {
			return strconv.Itoa(octets/u.octets) + u.name
		}
	}
	return strconv.Itoa(octets)
}

// SetQUIC sets the windows of a QUIC connection.
func (r Receiver) SetQUIC(c *quic.Config) {
	c.InitialStreamReceiveWindow, c.MaxStreamReceiveWindow = uint64(r.Stream), uint64(cmp.Or(r.MostStream, r.Stream))
	c.InitialConnectionReceiveWindow, c.MaxConnectionReceiveWindow = uint64(r.Connection), uint64(cmp.Or(r.MostConnection, r.Connection))
}

// initialHTTP2 is HTTP/2's initial window of a connection, in octets (RFC 9113 section 6.9.2). net/http
// announces no smaller one.
const initialHTTP2 = 65535

// ServerHTTP2 returns the windows of a server of net/http.
func (r Receiver) ServerHTTP2() http.HTTP2Config {
	return http.HTTP2Config{MaxReceiveBufferPerStream: r.Stream, MaxReceiveBufferPerConnection: max(r.Connection, initialHTTP2)}
}

// ClientHTTP2 returns the windows of a client of net/http, which adds the connection's to the initial
// one.
func (r Receiver) ClientHTTP2() http.HTTP2Config {
	return http.HTTP2Config{MaxReceiveBufferPerStream: r.Stream, MaxReceiveBufferPerConnection: max(r.Connection-initialHTTP2, initialHTTP2)}
}
