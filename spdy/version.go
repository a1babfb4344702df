package spdy

import "fmt"

// Version is a version of the protocol.
type Version uint8

// The versions that were deployed, by their drafts.
const (
	V2  Version = iota + 1 // SPDY/2: no flow control, 4 priorities
	V3                     // SPDY/3: flow control of each stream, 8 priorities
	V31                    // SPDY/3.1: flow control of the session too
)

// Versions returns all versions, the newest first.
func Versions() []Version { return []Version{V31, V3, V2} }

// String returns the version's name in ALPN and NPN: "spdy/3.1".
func (v Version) String() string {
	switch v {
	case V2:
		return "spdy/2"
	case V3:
		return "spdy/3"
	case V31:
		return "spdy/3.1"
	}
	return fmt.Sprintf("spdy version %d", uint8(v))
}

// ParseVersion returns the version that ALPN or NPN names.
func ParseVersion(name string) (Version, bool) {
	for _, v := range Versions() {
		if v.String() == name {
			return v, true
		}
	}
	return 0, false
}

// proto returns the Proto of requests and responses.
func (v Version) proto() string {
	switch v {
	case V2:
		return "SPDY/2"
	case V3:
		return "SPDY/3"
	}
	return "SPDY/3.1"
}

// wire returns the number in control frames. Versions 3 and 3.1 share it (draft
// 3.1 section 2.2.1).
func (v Version) wire() uint16 {
	if v == V2 {
		return 2
	}
	return 3
}

// headings maps the section numbers of the later drafts to the headings of
// draft 2, which has no section numbers.
var headings = map[string]string{
	"2.2.1":    "Control frames",
	"2.2.2":    "Data frames",
	"2.3.2":    "Stream creation",
	"2.3.6":    "Stream half-close",
	"2.3.7":    "Stream close",
	"2.6.1":    "SYN_STREAM",
	"2.6.2":    "SYN_REPLY",
	"2.6.3":    "RST_STREAM",
	"2.6.4":    "SETTINGS",
	"2.6.5":    "PING",
	"2.6.6":    "GOAWAY",
	"2.6.7":    "HEADERS",
	"2.6.10":   "Name/Value header block format",
	"2.6.10.1": "Name/Value header block format",
	"3.2.1":    "Request",
	"3.2.2":    "Response",
	"3.3.1":    "Server Implementation",
	"3.3.2":    "Client Implementation",
}

// cite names the place in the version's draft that defines a rule.
func (v Version) cite(section string) string {
	switch v {
	case V2:
		if heading, ok := headings[section]; ok {
			return fmt.Sprintf("draft 2, %q", heading)
		}
		return "draft 2"
	case V3:
		return "draft 3 section " + section
	}
	return "draft 3.1 section " + section
}

// Priority says which stream goes first: 0 is the most urgent, 7 the least
// (draft 3 section 2.3.3). Version 2 has four priorities, each of which stands
// for two of the eight.
type Priority uint8

// The ends and the middle of the scale.
const (
	Highest Priority = 0
	Middle  Priority = 4
	Lowest  Priority = 7
)

// wirePriority returns p as the version's SYN_STREAM encodes it. Draft 2 counts
// upwards, 3 is the most urgent. (Chromium counted downwards in version 2 too;
// a peer built on its framer reads the scale the other way.)
func (v Version) wirePriority(p Priority) uint8 {
	p = min(p, Lowest)
	if v == V2 {
		return 3 - uint8(p)/2
	}
	return uint8(p)
}

func (v Version) priority(wire uint8) Priority {
	if v == V2 {
		return Priority(3-min(wire, 3)) * 2
	}
	return Priority(wire)
}
