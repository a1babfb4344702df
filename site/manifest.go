package site

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"
)

// These are the versions of the archive. This program writes packedFormat and reads both.
// In foldedFormat bodies is a folder with one file per body, named by its hash.
const (
	foldedFormat = 1
	packedFormat = 2
)

// mostPages is how many pages a load may have, which is how many its HAR may have.
const mostPages = 256

// notThePages lists fields that would make protocols differ: connection fields, which
// HTTP/2 and HTTP/3 forbid (RFC 9110 section 7.6.1, RFC 9114 section 4.2), the length,
// which follows from the body, and alt-svc, which sends browsers to another protocol (RFC
// 7838).
var notThePages = []string{
	"alt-svc", "connection", "content-length", "keep-alive", "proxy-connection",
	"te", "trailer", "transfer-encoding", "upgrade",
}

type manifest struct {
	Format int `json:"format"`
	Site
	Resources resources `json:"resources"`
}

// resources are read one by one and checked at once: a resource takes more than a hundred times
// as many octets in memory as "{}" has in the file, and many times as many as a valid one.
type resources []Resource

// UnmarshalJSON reads an array. Its error names the first resource that is invalid.
func (l *resources) UnmarshalJSON(b []byte) error {
	*l = nil
	if b[0] != '[' {
		return json.Unmarshal(b, (*[]Resource)(l))
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		var r Resource
		err := d.Decode(&r)
		if err == nil {
			err = r.check()
		}
		if err != nil {
			return fmt.Errorf("resource %d: %w", len(*l), err)
		}
		*l = append(*l, r)
	}
	return nil
}

var (
	namePattern = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
)

// parseManifest reads a site.json and rejects a site that could not be served.
func parseManifest(data []byte) (s *Site, format int, err error) {
	var version struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, 0, err
	}
	if version.Format > packedFormat {
		return nil, 0, fmt.Errorf("format is %d, but this program supports only up to %d: upgrade wiretime", version.Format, packedFormat)
	}
	if version.Format < foldedFormat {
		return nil, 0, fmt.Errorf("format is %d, want %d or %d: not a site archive", version.Format, foldedFormat, packedFormat)
	}
	var m manifest
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return nil, 0, err
	}
	m.Site.Resources = m.Resources
	if err := m.build(); err != nil {
		return nil, 0, err
	}
	return &m.Site, m.Format, nil
}

// encode reverses parseManifest.
func (s *Site) encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(manifest{Format: packedFormat, Site: *s, Resources: s.Resources}); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// build checks the site and builds the lookup tables for requests.
func (s *Site) build() error {
	if err := checkName(s.Name); err != nil {
		return err
	}
	if !utf8.ValidString(s.Title) || !utf8.ValidString(s.Source) {
		return errors.New("title and source must be UTF-8")
	}
	for i, h := range s.Hosts {
		if err := h.check(); err != nil {
			return fmt.Errorf("hosts %d: %w", i, err)
		}
	}
	s.exact = make(map[string]int, len(s.Resources))
	s.near = make(map[string][]int, len(s.Resources))
	for i := range s.Resources {
		if err := s.arrange(i); err != nil {
			return fmt.Errorf("resource %d: %w", i, err)
		}
	}
	if err := s.checkPage("page", s.Page); err != nil {
		return err
	}
	if len(s.Journey) > 0 && len(s.Tabs) > 0 {
		return errors.New("journey and tabs cannot be combined")
	}
	if pages := 1 + len(s.Journey) + len(s.Tabs); pages > mostPages {
		return fmt.Errorf("%d pages in one load, want at most %d", pages, mostPages)
	}
	if err := s.checkJourney(); err != nil {
		return err
	}
	for i, page := range s.Tabs {
		if err := s.checkPage(fmt.Sprintf("tabs %d", i), page); err != nil {
			return err
		}
	}
	return nil
}

// checkPage makes sure that a page can be navigated to. what names it in errors.
func (s *Site) checkPage(what, page string) error {
	if err := checkURL(page); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if _, ok := s.Lookup("GET", page); !ok {
		return fmt.Errorf("%s: %s is not among the resources", what, page)
	}
	return nil
}

// check checks everything except the URL.
func (r *Resource) check() error {
	if !httpguts.ValidHeaderFieldName(r.Method) || strings.ToUpper(r.Method) != r.Method {
		return fmt.Errorf("method %q is not an HTTP method in capitals", r.Method)
	}
	if r.Status < 200 || r.Status > 599 {
		return fmt.Errorf("%s: status is %d, want 200 to 599", r.URL, r.Status)
	}
	for _, h := range r.Header {
		if !httpguts.ValidHeaderFieldName(h.Name) || !httpguts.ValidHeaderFieldValue(h.Value) {
			return fmt.Errorf("%s: header %q: %q is not a valid field", r.URL, h.Name, h.Value)
		}
		if !utf8.ValidString(h.Value) {
			return fmt.Errorf("%s: header %q: %q is not valid UTF-8", r.URL, h.Name, h.Value)
		}
		if slices.Contains(notThePages, strings.ToLower(h.Name)) {
			return fmt.Errorf("%s: header %q belongs to a connection or a server, not to the page: leave it out", r.URL, h.Name)
		}
	}
	if !isHash(r.Body) {
		return fmt.Errorf("%s: body %q is not a SHA-256 in lower-case hex", r.URL, r.Body)
	}
	if r.Line < 0 {
		return fmt.Errorf("%s: line is %d, want 0 or more", r.URL, r.Line)
	}
	if r.Size < 0 {
		return fmt.Errorf("%s: size is %d octets, want 0 or more", r.URL, r.Size)
	}
	for _, ms := range []float64{r.Delay, r.CPU, r.Wait} {
		if !isDuration(ms) {
			return fmt.Errorf("%s: delay is %v ms, cpu %v ms and wait %v ms, want 0 or more", r.URL, r.Delay, r.CPU, r.Wait)
		}
	}
	if !utf8.ValidString(r.Kind) {
		return fmt.Errorf("%s: kind %q must be UTF-8", r.URL, r.Kind)
	}
	if r.Initiator != "" {
		if err := checkURL(r.Initiator); err != nil {
			return fmt.Errorf("%s: initiator: %w", r.URL, err)
		}
	}
	for _, hinted := range slices.Concat(r.Preload, r.Push) {
		if err := checkURL(hinted); err != nil {
			return fmt.Errorf("%s: preload and push: %w", r.URL, err)
		}
	}
	return nil
}

func (h Host) check() error {
	if err := checkHost(h.Name); err != nil {
		return err
	}
	if h.Address != "" {
		if _, err := netip.ParseAddr(h.Address); err != nil {
			return fmt.Errorf("%s: address: %w", h.Name, err)
		}
	}
	if !isDuration(h.RTT) {
		return fmt.Errorf("%s: rtt is %v ms, want 0 or more", h.Name, h.RTT)
	}
	return nil
}

// isDuration reports whether ms is a valid duration of a site.
func isDuration(ms float64) bool { return ms >= 0 && !math.IsInf(ms, 0) }

// isHash reports whether name is a valid name of a body.
func isHash(name string) bool {
	return len(name) == 2*sha256.Size && strings.Trim(name, "0123456789abcdef") == ""
}

func checkName(name string) error {
	if len(name) > 63 || !namePattern.MatchString(name) {
		return fmt.Errorf("name %q: want up to 63 of a-z, 0-9 and single dashes between them", name)
	}
	return nil
}

// NameFrom makes a site's name from a text, such as a host's name. It is empty if the text
// has no letter or digit that names may have.
func NameFrom(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	name := strings.Join(words, "-")
	return strings.Trim(name[:min(len(name), 63)], "-")
}

func checkHost(host string) error {
	labels := strings.Split(host, ".")
	last := labels[len(labels)-1]
	if len(host) > 253 || len(labels) < 2 || slices.ContainsFunc(labels, notLabel) || isDigit(last[0]) {
		return fmt.Errorf("host %q: want a full name in lower case, as www.example.test", host)
	}
	return nil
}

// notLabel reports whether label is not a valid part of a host name. Underscores are
// invalid (RFC 1123 section 2.1) but accepted here: some pages' hosts have them, and
// clients accept them.
func notLabel(label string) bool {
	return label == "" || label[0] == '-' || label[len(label)-1] == '-' || strings.ContainsFunc(label, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_'
	})
}

func checkURL(rawURL string) error {
	_, err := parseURL(rawURL)
	return err
}

// parseURL parses and checks a URL of a site.
func parseURL(rawURL string) (*url.URL, error) {
	if !utf8.ValidString(rawURL) {
		return nil, fmt.Errorf("%q is not valid UTF-8: percent-encode it", rawURL)
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "https" || u.User != nil || u.Fragment != "" || !strings.HasPrefix(u.Path, "/") {
		return nil, fmt.Errorf("%q: want https://host/path without user and fragment", rawURL)
	}
	if u.Port() != "" {
		return nil, fmt.Errorf("%q: a port belongs to the protocol, not to the page: leave it out", rawURL)
	}
	return u, checkHost(u.Host)
}
