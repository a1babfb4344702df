// Package replay answers requests from archives, and compares loads with them: requests
// that the archive lacks, resources that were never requested, and failures.
package replay

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"wiretime/capture"
	"wiretime/site"
)

// Verdict is the comparison of a load with its archive. All lists are in the order of
// the load, or of the archive, and hold the archive's form of URLs: https, without port.
type Verdict struct {
	Recorded  int       // resources of the archive, without those that only replace others
	Requested int       // how many of them were requested, exactly or nearly
	Never     []string  // the others
	Inexact   []Inexact // requests that got a near match
	Misses    []string  // requests that the archive cannot answer
	Failed    []Failure // requests without a response
	Unawaited []Failure // requests that the load did not wait for, each resource once
}

// Inexact is a request that got the archive's nearest match.
type Inexact struct{ Asked, Answered string }

// Failure is a request without a response, or one that the load did not wait
// for, with the reason.
type Failure struct{ URL, Reason string }

// Share returns the part of the archive's resources that was requested, 0 to 1; it
// is 1 for an empty archive.
func (v Verdict) Share() float64 {
	if v.Recorded == 0 {
		return 1
	}
	return float64(v.Requested) / float64(v.Recorded)
}

// Compare compares what the loader and the server saw of a load with the archive. The
// browser's own request for a favicon that the archive lacks is not a miss.
func Compare(s *site.Site, har *capture.HAR, server []capture.ServerEntry) Verdict {
	v := Verdict{Recorded: len(s.Resources)}
	asked := map[string]bool{}
	for i := range server {
		e := &server[i]
		name := Canonical(e.URL)
		switch {
		case e.Miss && strings.HasSuffix(name, "/favicon.ico"):
		case e.Miss:
			v.Misses = append(v.Misses, name)
		case e.Near != "":
			v.Inexact = append(v.Inexact, Inexact{name, e.Near})
			asked[method(e.Method)+" "+Canonical(e.Near)] = true
		default:
			asked[method(e.Method)+" "+name] = true
		}
	}
	for i := range s.Resources {
		r := &s.Resources[i]
		if asked[method(r.Method)+" "+Canonical(r.URL)] {
			v.Requested++
		} else {
			v.Never = append(v.Never, r.URL)
		}
	}
	if har != nil {
		for i := range har.Log.Entries {
			e := &har.Log.Entries[i]
			if e.Unawaited != "" {
				f := Failure{archived(s, e), e.Unawaited}
				if !slices.Contains(v.Unawaited, f) {
					v.Unawaited = append(v.Unawaited, f)
				}
				continue
			}
			if e.Response.Status <= 0 || e.Response.Error != "" {
				v.Failed = append(v.Failed, Failure{Canonical(e.Request.URL), cmp.Or(e.Response.Error, "no response")})
			}
		}
	}
	return v
}

// archived returns the URL of the resource that answers an entry's request, or the
// request's URL if there is none.
func archived(s *site.Site, e *capture.Entry) string {
	if r, _ := s.Match(e.Request.Method, Canonical(e.Request.URL)); r != nil {
		return r.URL
	}
	return Canonical(e.Request.URL)
}

// method maps methods that are answered alike to one of them.
func method(name string) string {
	if name == "HEAD" {
		return "GET"
	}
	return name
}

// RestoreNames restores the original names of domains that were renamed for a load, in all
// URLs of the load.
func RestoreNames(har *capture.HAR, server []capture.ServerEntry) {
	if har == nil {
		return
	}
	for name, served := range har.Log.RenamedDomains {
		restore := func(address *string) { *address = site.ReplaceDomain(*address, served, name) }
		for i := range server {
			restore(&server[i].URL)
			restore(&server[i].Near)
		}
		for i := range har.Log.Entries {
			e := &har.Log.Entries[i]
			restore(&e.Request.URL)
			restore(&e.Initiator.URL)
		}
	}
}

// Canonical returns a URL in the archives' form: https, without port and fragment, the
// host in lower case.
func Canonical(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	u.Fragment, u.RawFragment = "", ""
	if u.Scheme == "http" {
		u.Scheme = "https"
	}
	u.Host = strings.ToLower(u.Hostname())
	if u.Path == "" {
		u.Path = "/"
	}
	return u.String()
}

// Requests returns what a load requested, each once, sorted: the archive's resources that
// answered, since pages put the time and the like into queries, and the URLs that it could
// not answer.
func Requests(server []capture.ServerEntry) []string {
	var all []string
	for i := range server {
		name := Canonical(cmp.Or(server[i].Near, server[i].URL))
		if !server[i].Miss || !strings.HasSuffix(name, "/favicon.ico") {
			all = append(all, server[i].Method+" "+name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Learn returns a copy of the site with the browser's reasons for requesting each
// resource: the initiating script if there is one, the kind of the request, and how long
// after the script's arrival it was sent. These replace the recording's reasons where
// the browser knows them. Learn also returns how many resources changed.
func Learn(s *site.Site, har *capture.HAR) (learned *site.Site, changed int, err error) {
	entries := map[string]*capture.Entry{} // by the URL of the resource that answered
	for i := range har.Log.Entries {
		e := &har.Log.Entries[i]
		if r, _ := s.Match(e.Request.Method, Canonical(e.Request.URL)); r != nil && entries[r.URL] == nil {
			entries[r.URL] = e
		}
	}
	var loaded time.Time
	if pages := har.Log.Pages; len(pages) > 0 {
		loaded = pages[0].Started.Add(Duration(max(0, pages[0].Timings.OnLoad)))
	}
	learned, err = s.Edit(func(c *site.Site) error {
		for i := range c.Resources {
			if r := &c.Resources[i]; learn(s, r, entries, loaded) {
				changed++
			}
		}
		return nil
	})
	return learned, changed, err
}

// learn reports whether the browser's initiator or kind of a resource differs from the
// recorded one.
func learn(s *site.Site, r *site.Resource, entries map[string]*capture.Entry, loaded time.Time) bool {
	e := entries[r.URL]
	if e == nil {
		return false
	}
	initiator, kind, line, delay := "", "", 0, 0.0
	after := e.Started.After(loaded)
	if e.Initiator.Type == "script" && e.Initiator.URL != "" {
		by, _ := s.Match("GET", Canonical(e.Initiator.URL))
		if by == nil {
			return false
		}
		initiator, kind = by.URL, strings.ToLower(e.ResourceType)
		if cause := entries[by.URL]; cause != nil {
			since := cause.End()
			if after && loaded.After(since) {
				since = loaded
			}
			delay = max(0, float64(e.Started.Sub(since))/1e6)
			if cause.ResourceType == "document" {
				line = e.Initiator.Line
			}
		}
	}
	changed := r.Initiator != initiator || r.Kind != kind
	r.Initiator, r.Line, r.Kind, r.Delay = initiator, line, kind, delay
	r.AfterLoad = initiator != "" && after
	r.Late = initiator != "" && !after && !slices.Contains([]string{"document", "stylesheet", "script", "image", "font"}, kind)
	return changed
}
