// Package site holds the pages that are measured: every response of every
// origin a page needs, ready to be served again byte for byte.
//
// # The archive
//
// An archive is a folder of three files:
//
//	site.json  name, source, the page's URL and one entry per resource
//	bodies     each distinct response body once, one after the other
//	index      the other two's metadata, for a quick start
//
// site.json is authoritative, small enough to read and edit by hand, and shows a changed
// resource as one changed line in a diff. It names bodies by their SHA-256.
//
// bodies is mapped into memory when a site is opened, and read when it is served or
// verified. The file begins with the 18 octets "wiretime bodies 2\n" and 6 zeros. Each body
// is preceded by its SHA-256, 32 octets, and its length, 8 octets in little endian, and
// followed by zeros up to the next multiple of 8 octets. [Site.Verify] detects a damaged
// body; [Open] does not.
//
// index is derived, and starts with the SHA-256 of its site.json and its own. If index is
// missing, damaged, or stale because somebody edited site.json, [Open] parses site.json and
// walks through bodies instead. That takes five times as long ([Site.Problems] says so).
// The index obeys the same rules as site.json.
//
// Archives of format 1 have no index, and their bodies is a folder with one file per body,
// named by its SHA-256. They open too, and are read whole.
//
// Neither of the field's two formats fits the task. HAR 1.2 describes a load, not a page:
// it is one JSON file with the bodies inside it (base64, optional, often left out by the
// exporters), without checksums, mixed with the timings of the day it was made. WARC (ISO
// 28500) keeps the octets of HTTP/1 messages as they crossed the wire, so a replay must
// undo transfer codings, needs an index beside it to find a URL, and has no word for HTTP/2
// and HTTP/3. Both are good formats to import from.
//
// URLs are always stored as https://host/..., whatever protocol serves them
// later: scheme and port belong to the protocol row of a study, not to the
// page ([Site.Over]).
package site

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"time"
)

// Site is a page with all its origins and resources. It does not change after it was opened
// or made, and is safe for concurrent use until it is closed.
type Site struct {
	// Name is how studies refer to the site: letters, digits and dashes in
	// lower case.
	Name string `json:"name"`
	// Title is for people.
	Title string `json:"title,omitempty"`
	// Source says where the resources come from.
	Source string `json:"source,omitempty"`
	// Page is the URL a loader navigates to, in the form https://host/...
	Page string `json:"page"`
	// Journey holds what follows Page in the same loader session, one after the other: URLs of pages to visit,
	// and steps on the page that is shown (ParseStep). Most sites have no journey.
	Journey []string `json:"journey,omitempty"`
	// Tabs holds the URLs of the pages that are opened at the same moment as Page, in the same
	// session. A site cannot have both a journey and tabs.
	Tabs []string `json:"tabs,omitempty"`
	// Hosts describes the servers that the site was recorded from; empty for a made site.
	Hosts []Host `json:"hosts,omitempty"`
	// Recorded is when the site was recorded; zero for a made site.
	Recorded time.Time `json:"recorded,omitzero"`
	// Resources holds all responses that can be served, including the page.
	Resources []Resource `json:"resources"`

	exact       map[string]int    // key(method, URL) -> index into Resources
	near        map[string][]int  // the same without queries -> indices into Resources
	bodies      map[string][]byte // by their Hash
	pack        []byte            // the mapped file of bodies; nil if there is none
	slow        error             // why the archive's index could not be used; nil if it could
	clear       bool              // the site is served over http
	subresource bool              // X-Subresource fields, not Link fields, announce what Preload has

	renamed map[string]string // domains' new names by their old ones: see RenameDomain
}

// Resource is one response of a site.
type Resource struct {
	// Method is the request method, as in RFC 9110 section 9.1.
	Method string `json:"method"`
	// URL is absolute, https, without port and fragment.
	URL string `json:"url"`
	// Status is the final status code, 200 to 599.
	Status int `json:"status"`
	// Header holds the response's fields in the order they are sent, without connection
	// fields.
	Header []Header `json:"header,omitempty"`
	// Body is the SHA-256 of the response's content in lower-case hex.
	Body string `json:"body"`
	// Size is the length of the content in octets.
	Size int64 `json:"size"`
	// Initiator is the URL of the resource that causes the request, where a parser cannot see
	// it: usually a script, or a resource that a script waited for. Otherwise empty.
	Initiator string `json:"initiator,omitempty"`
	// Line is the line in the initiator's HTML of the script that makes the request, from 1; 0
	// if there is none or it is unknown.
	Line int `json:"line,omitempty"`
	// Kind is the type of the request: "script", "image", "fetch" and so on, the resource
	// types of the Chrome DevTools Protocol in lower case.
	Kind string `json:"kind,omitempty"`
	// CPU is how many milliseconds a script took to run; 0 if that was not recorded.
	CPU float64 `json:"cpu,omitempty"`
	// Delay is the time in ms from the end of the initiator's run or parsing to the request.
	Delay float64 `json:"delay,omitempty"`
	// Late says that the page's load event does not wait for the request, because its kind
	// does not delay load events. The request is made when that event fires, if Delay is not
	// over by then.
	Late bool `json:"late,omitempty"`
	// Step is the number of the step in Journey, from 1, that causes the request; 0 if none does. A step that leads to
	// another page has that page's document, with the kind "document".
	Step int `json:"step,omitempty"`
	// AfterLoad says that the request came after the load event. Delay then counts from the
	// load event of the initiator's document, or from the end of the initiator's run if that
	// was later.
	AfterLoad bool `json:"after_load,omitempty"`
	// Wait is the server's think time in ms when the site was recorded, without the round
	// trip; 0 if it is unknown.
	Wait float64 `json:"wait,omitempty"`
	// Made says that the recording had no body and that this one was generated with its size,
	// type and compressibility.
	Made bool `json:"made,omitempty"`
	// Preload holds the URLs that the response's Link fields tell clients to fetch (HTML,
	// section 4.6.7.16).
	Preload []string `json:"preload,omitempty"`
	// Early says that those fields are also sent in advance, as 103 Early Hints (RFC 8297).
	Early bool `json:"early,omitempty"`
	// Push holds the URLs that the server pushes if protocol and client allow it.
	Push []string `json:"push,omitempty"`
}

// Host describes an origin's server as recorded.
type Host struct {
	// Name is the origin's host, as in URLs.
	Name string `json:"name"`
	// Address is the server's IPv4 or IPv6 address; empty if it is unknown.
	Address string `json:"address,omitempty"`
	// RTT is the shortest time in ms that a TCP handshake with the server took; 0 if it is
	// unknown.
	RTT float64 `json:"rtt,omitempty"`
}

// Header is one field line of a response.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// New makes a site of its description and its bodies, by their [Hash]. It takes ownership
// of both. The error names the resource that cannot be served and the cause.
func New(s Site, bodies map[string][]byte) (*Site, error) {
	s.bodies = bodies
	if err := s.build(); err != nil {
		return nil, fmt.Errorf("make the site %s: %w", s.Name, err)
	}
	for i := range s.Resources {
		r := &s.Resources[i]
		body, err := s.Body(r)
		if err != nil {
			return nil, fmt.Errorf("make the site %s: %w", s.Name, err)
		}
		r.Size = int64(len(body))
	}
	return &s, nil
}

// Hash returns a body's name: its SHA-256 in lower-case hex.
func Hash(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// Origins returns the hosts of the site in the order of their first use, the
// page's own host first.
func (s *Site) Origins() []string {
	var hosts []string
	seen := map[string]bool{}
	add := func(rawURL string) {
		if u, err := url.Parse(rawURL); err == nil && !seen[u.Host] {
			seen[u.Host] = true
			hosts = append(hosts, u.Host)
		}
	}
	add(s.Page)
	for i := range s.Resources {
		add(s.Resources[i].URL)
	}
	return hosts
}

// Body returns the content of one of the site's resources. It fails only for a resource of
// another site. The bytes must not be changed, nor used after [Site.Close].
func (s *Site) Body(r *Resource) ([]byte, error) {
	body, ok := s.bodies[r.Body]
	if !ok {
		return nil, fmt.Errorf("read the body of %s: site %s has no body %q", r.URL, s.Name, r.Body)
	}
	return body, nil
}
