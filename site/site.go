// Package site holds the pages that are measured: every response of every
// origin a page needs, ready to be served again byte for byte.
//
// # The archive
//
// A site is a folder of three files:
//
//	site.json  name, source, the page's URL and one entry per resource
//	bodies     each distinct response body once, one after the other
//	index      what the other two say, to be read at once
//
// site.json is the truth, small enough to be read and edited by hand, and shows a
// changed resource as one changed line in a diff. It names bodies by their SHA-256.
//
// bodies is mapped into memory when a site is opened, and read when it is served or
// verified. It begins with the 18 octets "wiretime bodies 2\n" and 6 zeros. Each body is preceded by its
// SHA-256, 32 octets, and its length, 8 octets in little endian, and followed by zeros up to the
// next multiple of 8 octets. A body that was damaged is found by [Site.Verify], not by [Open].
//
// index is derived, and starts with the SHA-256 of the site.json that it belongs to and its own.
// If it is missing, damaged or not that of this site.json, which somebody has edited, the site
// opens all the same: by parsing site.json, and by walking through bodies. That takes five
// times as long ([Site.Problems] says so). It has no say of its own: whatever site.json may not
// say, the index may not either.
//
// Archives of format 1 have a folder bodies in which each body is a file, named by its SHA-256,
// and no index. They open too, and are read whole.
//
// Neither of the field's two formats fits the task. HAR 1.2 describes a load,
// not a page: it is one JSON file with the bodies inside it (base64, optional,
// often left out by the exporters), without checksums, mixed with the timings
// of the day it was made. WARC (ISO 28500) keeps the octets of HTTP/1 messages
// as they crossed the wire, so a replay must undo transfer codings, needs an
// index beside it to find a URL, and has no word for HTTP/2 and HTTP/3. Both
// are good things to import from.
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

// Site is a page with all its origins and resources. It is not changed after
// it was opened or made, and is safe for concurrent use until it is closed.
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
	// Journey are the URLs of the pages that are visited after Page, one after the
	// other in one session of the loader; usually none.
	Journey []string `json:"journey,omitempty"`
	// Tabs are the URLs of the pages that are opened at the same moment as Page, in
	// the same session. A site has a journey or tabs, not both.
	Tabs []string `json:"tabs,omitempty"`
	// Hosts are what is known of the servers that the site was recorded from; empty for
	// a made site.
	Hosts []Host `json:"hosts,omitempty"`
	// Recorded is when the site was recorded; zero for a made site.
	Recorded time.Time `json:"recorded,omitzero"`
	// Resources are all responses that can be served, the page among them.
	Resources []Resource `json:"resources"`

	exact  map[string]int    // key(method, URL) -> index into Resources
	near   map[string][]int  // the same without queries -> indices into Resources
	bodies map[string][]byte // by their Hash
	pack   []byte            // what is mapped for them; nil if they are not of a file
	slow   error             // why the archive's index was of no use; nil if it was
	clear  bool              // it is served over http

	renamed map[string]string // domains' names, by those they had: see RenameDomain
}

// Resource is one response of a site.
type Resource struct {
	// Method is the request method, as in RFC 9110 section 9.1.
	Method string `json:"method"`
	// URL is absolute, https, without port and fragment.
	URL string `json:"url"`
	// Status is the final status code, 200 to 599.
	Status int `json:"status"`
	// Header are the response's fields in the order they are sent, without
	// those of the connection it once came over.
	Header []Header `json:"header,omitempty"`
	// Body is the SHA-256 of the response's content in lower-case hex.
	Body string `json:"body"`
	// Size is the length of the content in octets.
	Size int64 `json:"size"`
	// Initiator is the URL of the resource that asks for this one, where no parser can
	// see that it will: a script, usually, or what a script had been waiting for. Empty otherwise.
	Initiator string `json:"initiator,omitempty"`
	// Line is where in its initiator's HTML the script stands that asks for it, counted from 1;
	// 0 if it is none or that is not known.
	Line int `json:"line,omitempty"`
	// Kind is what it was then asked for as: "script", "image", "fetch" and so on, as the
	// Chrome DevTools Protocol names resource types, in lower case.
	Kind string `json:"kind,omitempty"`
	// CPU is how many milliseconds it took to run, if it is a script and that was recorded.
	CPU float64 `json:"cpu,omitempty"`
	// Delay is how many milliseconds after its initiator had run, or was parsed, it was
	// asked for.
	Delay float64 `json:"delay,omitempty"`
	// Late says that the load event of the page does not wait until it has been asked for: it
	// is of a kind that load events do not wait for. It is asked for as that event fires, if
	// Delay is not over by then.
	Late bool `json:"late,omitempty"`
	// AfterLoad says that it was asked for after the load event. Delay then counts from that
	// event of its initiator's document, or from when the initiator had run if that was later.
	AfterLoad bool `json:"after_load,omitempty"`
	// Wait is how many milliseconds its server took to begin the answer when it was
	// recorded, the way there and back left out; 0 if that is not known.
	Wait float64 `json:"wait,omitempty"`
	// Made says that the recording had no body, and that this one was made: to its size,
	// type and compressibility.
	Made bool `json:"made,omitempty"`
	// Preload are the URLs that the response tells clients to fetch, in Link fields (HTML,
	// section 4.6.7.16).
	Preload []string `json:"preload,omitempty"`
	// Early says that those fields are also sent before the answer, as 103 Early Hints (RFC
	// 8297).
	Early bool `json:"early,omitempty"`
	// Push are the URLs that the server sends without being asked for them, where the
	// protocol can and the client lets it.
	Push []string `json:"push,omitempty"`
}

// Host is what a recording knows of an origin's server.
type Host struct {
	// Name is the origin's host, as in URLs.
	Name string `json:"name"`
	// Address is where it was, an IPv4 or IPv6 address; empty if that is not known.
	Address string `json:"address,omitempty"`
	// RTT is the shortest time in ms that opening a TCP connection to it took; 0 if that is
	// not known.
	RTT float64 `json:"rtt,omitempty"`
}

// Header is one field line of a response.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// New makes a site of its description and its bodies, by their [Hash]. It takes over
// both. An error names the resource that cannot be served, and says why.
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

// Hash is a body's name: its SHA-256 in lower-case hex.
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

// Body returns the content of one of the site's resources; the only error is a resource of
// another site. The bytes must not be changed, and not be used after [Site.Close].
func (s *Site) Body(r *Resource) ([]byte, error) {
	body, ok := s.bodies[r.Body]
	if !ok {
		return nil, fmt.Errorf("read the body of %s: site %s has no body %q", r.URL, s.Name, r.Body)
	}
	return body, nil
}
