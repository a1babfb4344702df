package site

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// format is the version of site.json that this program writes and reads.
const format = 1

// notThePages are fields that would make one protocol differ from another: those
// of a connection, which HTTP/2 and HTTP/3 forbid (RFC 9110 section 7.6.1, RFC
// 9114 section 4.2), the length, which follows from the body, and the one that
// sends browsers to another protocol (RFC 7838).
var notThePages = []string{
	"alt-svc", "connection", "content-length", "keep-alive", "proxy-connection",
	"te", "trailer", "transfer-encoding", "upgrade",
}

type manifest struct {
	Format int `json:"format"`
	Site
}

var (
	namePattern = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	hashPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)
	hostPattern = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]([a-z0-9-]*[a-z0-9])?$`)
)

// parseManifest reads a site.json and refuses whatever could not be served.
func parseManifest(data []byte) (*Site, error) {
	var version struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, err
	}
	if version.Format > format {
		return nil, fmt.Errorf("format is %d, this program knows %d: upgrade wiretime", version.Format, format)
	}
	if version.Format < format {
		return nil, fmt.Errorf("format is %d, want %d: not a site archive", version.Format, format)
	}
	var m manifest
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return nil, err
	}
	if err := m.build(); err != nil {
		return nil, err
	}
	return &m.Site, nil
}

// encode is the inverse of parseManifest.
func (s *Site) encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(manifest{Format: format, Site: *s}); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// build validates the site and makes its index.
func (s *Site) build() error {
	if err := checkName(s.Name); err != nil {
		return err
	}
	s.index = make(map[string]int, len(s.Resources))
	for i := range s.Resources {
		r := &s.Resources[i]
		if err := r.check(); err != nil {
			return fmt.Errorf("resource %d: %w", i, err)
		}
		k, err := key(r.Method, r.URL)
		if err != nil {
			return fmt.Errorf("resource %d: %w", i, err)
		}
		if first, ok := s.index[k]; ok {
			return fmt.Errorf("resource %d: %s %s is there twice, first as resource %d", i, r.Method, r.URL, first)
		}
		s.index[k] = i
	}
	if err := s.checkPage("page", s.Page); err != nil {
		return err
	}
	if len(s.Journey) > 0 && len(s.Tabs) > 0 {
		return errors.New("journey and tabs: a site has one of the two")
	}
	for i, page := range s.Journey {
		if err := s.checkPage(fmt.Sprintf("journey %d", i), page); err != nil {
			return err
		}
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

func (r *Resource) check() error {
	if !httpguts.ValidHeaderFieldName(r.Method) || strings.ToUpper(r.Method) != r.Method {
		return fmt.Errorf("method %q is not an HTTP method in capitals", r.Method)
	}
	if err := checkURL(r.URL); err != nil {
		return err
	}
	if r.Status < 200 || r.Status > 599 {
		return fmt.Errorf("%s: status is %d, want 200 to 599", r.URL, r.Status)
	}
	for _, h := range r.Header {
		if !httpguts.ValidHeaderFieldName(h.Name) || !httpguts.ValidHeaderFieldValue(h.Value) {
			return fmt.Errorf("%s: header %q: %q is not a valid field", r.URL, h.Name, h.Value)
		}
		if slices.Contains(notThePages, strings.ToLower(h.Name)) {
			return fmt.Errorf("%s: header %q belongs to a connection or a server, not to the page: leave it out", r.URL, h.Name)
		}
	}
	if !hashPattern.MatchString(r.Body) {
		return fmt.Errorf("%s: body %q is not a SHA-256 in lower-case hex", r.URL, r.Body)
	}
	if r.Size < 0 {
		return fmt.Errorf("%s: size is %d octets, want 0 or more", r.URL, r.Size)
	}
	if r.Delay < 0 || r.CPU < 0 {
		return fmt.Errorf("%s: delay is %v ms and cpu %v ms, want 0 or more", r.URL, r.Delay, r.CPU)
	}
	if r.Initiator == "" {
		return nil
	}
	if err := checkURL(r.Initiator); err != nil {
		return fmt.Errorf("%s: initiator: %w", r.URL, err)
	}
	return nil
}

func checkName(name string) error {
	if len(name) > 63 || !namePattern.MatchString(name) {
		return fmt.Errorf("name %q: want up to 63 of a-z, 0-9 and single dashes between them", name)
	}
	return nil
}

func checkHost(host string) error {
	if len(host) > 253 || !hostPattern.MatchString(host) {
		return fmt.Errorf("host %q: want a full name in lower case, as www.example.test", host)
	}
	return nil
}

func checkURL(rawURL string) error {
	u, err := url.Parse(rawURL)
	if err != nil {
		return err
	}
	if u.Scheme != "https" || u.User != nil || u.Fragment != "" || !strings.HasPrefix(u.Path, "/") {
		return fmt.Errorf("%q: want https://host/path without user and fragment", rawURL)
	}
	if u.Port() != "" {
		return fmt.Errorf("%q: a port belongs to the protocol, not to the page: leave it out", rawURL)
	}
	return checkHost(u.Host)
}
