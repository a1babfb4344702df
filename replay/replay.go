// Package replay has archives answer, and holds loads against them: what was asked for
// that the archive lacks, what the archive has that was not asked for, and what failed.
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

// Verdict is how a load and its archive compare. All lists are in the order of the load,
// or of the archive, and hold URLs as the archive has them: https, without port.
type Verdict struct {
	Recorded  int       // resources of the archive, but for those that only stand in for others
	Requested int       // of them, how many were asked for, exactly or nearly
	Never     []string  // the others
	Inexact   []Inexact // requests that were answered with something near
	Misses    []string  // requests that the archive has no answer to
	Failed    []Failure // requests that got no answer
	Unawaited []Failure // requests that the load did not wait for, those to one resource once
}

// Inexact is a request that was answered with what the archive has nearest to it.
type Inexact struct{ Asked, Answered string }

// Failure is a request that was not answered, or not waited for, and why.
type Failure struct{ URL, Reason string }

// Share is the part of the archive's resources that was asked for, 0 to 1; 1 for an
// archive of none.
func (v Verdict) Share() float64 {
	if v.Recorded == 0 {
		return 1
	}
	return float64(v.Requested) / float64(v.Recorded)
}

// Compare holds what the loader and the server saw of a load against the archive. The
// browser's own request for a favicon that the archive lacks is no miss.
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

// archived is the URL of the resource that answers an entry's request; that of the request
// if there is none.
func archived(s *site.Site, e *capture.Entry) string {
	if r, _ := s.Match(e.Request.Method, Canonical(e.Request.URL)); r != nil {
		return r.URL
	}
	return Canonical(e.Request.URL)
}

// method makes one of the methods that are answered alike.
func method(name string) string {
	if name == "HEAD" {
		return "GET"
	}
	return name
}

// RestoreNames gives domains that were renamed for a load their own names again, in all URLs
// of the load.
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

// Canonical is a URL as archives have it: https, without port and fragment, the host in
// lower case.
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

// Requests are what a load asked for, each once, sorted: the archive's resources that
// answered, since pages put the time and the like into queries, and the URLs to which it has
// no answer.
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

// Learn makes a copy of the site with what a browser says of why it asked for each
// resource: where a script did, that script, the kind of the request, and how long after
// the script had come. What the recording said of that is replaced where the browser
// knows, and kept where it does not. It also returns how many resources changed.
func Learn(s *site.Site, har *capture.HAR) (learned *site.Site, changed int, err error) {
	entries := map[string]*capture.Entry{} // by the URL of what answered
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

// learn says whether the initiator of a resource, or its kind, is another than was known.
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
