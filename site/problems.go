package site

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Problems lists oddities of the site, one sentence each; the site can be served all the
// same. They are redirect loops, redirects to URLs that the archive lacks, documents
// without a content type, URLs to preload or push that the archive lacks or that another
// host would have to push, hosts of a recorded site without a known RTT, and an archive
// whose index cannot be used, for example because site.json was edited.
func (s *Site) Problems() []string {
	var problems []string
	if s.slow != nil {
		problems = append(problems, fmt.Sprintf("The archive opens slowly: %v. Save it again to rebuild the index.", s.slow))
	}
	problems = append(problems, s.redirectProblems()...)
	pages := map[string]bool{}
	for _, page := range s.Visited() {
		pages[page] = true
	}
	for i := range s.Resources {
		r := &s.Resources[i]
		if _, ok := r.field("content-type"); !ok && r.Status == 200 && (r.Kind == "document" || pages[r.URL]) {
			problems = append(problems, fmt.Sprintf("The document %s has no content type: browsers guess one.", r.URL))
		}
		for _, hinted := range slices.Concat(r.Preload, r.Push) {
			if _, ok := s.Lookup("GET", hinted); !ok {
				problems = append(problems, fmt.Sprintf("%s hints at %s, which the archive lacks.", r.URL, hinted))
			}
		}
		for _, pushed := range r.Push {
			if host(pushed) != host(r.URL) {
				problems = append(problems, fmt.Sprintf("%s pushes %s, which is on another host: the push is skipped.", r.URL, pushed))
			}
		}
	}
	return append(problems, s.hostProblems()...)
}

func (s *Site) hostProblems() []string {
	if len(s.Hosts) == 0 {
		return nil
	}
	rtts := map[string]float64{}
	for _, h := range slices.Backward(s.Hosts) {
		rtts[h.Name] = h.RTT
	}
	var problems []string
	for _, name := range s.Origins() {
		rtt, known := rtts[name]
		switch {
		case !known:
			problems = append(problems, fmt.Sprintf("The server of %s is unknown: it is not among the hosts.", name))
		case rtt == 0:
			problems = append(problems, fmt.Sprintf("The RTT of the server of %s is unknown.", name))
		}
	}
	return problems
}

// redirectProblems follows each redirect once.
func (s *Site) redirectProblems() []string {
	var problems []string
	followed := map[*Resource]bool{}
	for i := range s.Resources {
		var chain []*Resource // of redirects from this resource
		at := map[*Resource]int{}
		for r := &s.Resources[i]; r != nil; {
			if at, loops := at[r]; loops {
				var loop strings.Builder
				for _, c := range chain[at:] {
					loop.WriteString(c.URL + " -> ")
				}
				problems = append(problems, fmt.Sprintf("Redirect loop: %s%s.", loop.String(), r.URL))
				break
			}
			if followed[r] || !r.isRedirect() {
				break
			}
			followed[r] = true
			at[r] = len(chain)
			chain = append(chain, r)
			next, problem := s.redirect(r)
			if problem != "" {
				problems = append(problems, problem)
			}
			r = next
		}
	}
	return problems
}

// isRedirect reports whether browsers follow the response as a redirect (Fetch, section
// 2.2.6).
func (r *Resource) isRedirect() bool {
	return slices.Contains([]int{301, 302, 303, 307, 308}, r.Status)
}

// redirect returns the target of a redirect, or the problem with it.
func (s *Site) redirect(r *Resource) (next *Resource, problem string) {
	location, ok := r.field("location")
	if !ok {
		return nil, fmt.Sprintf("The redirect %s has no location.", r.URL)
	}
	base, err := url.Parse(r.URL)
	if err != nil {
		return nil, err.Error()
	}
	target, err := base.Parse(strings.TrimSpace(location))
	if err != nil {
		return nil, fmt.Sprintf("The redirect %s leads to %q, which is not a valid URL.", r.URL, location)
	}
	method := "GET"
	if r.Status >= 307 {
		method = r.Method
	}
	if next, _ = s.Match(method, target.String()); next == nil {
		return nil, fmt.Sprintf("The redirect %s leads to %s, which the archive lacks.", r.URL, target)
	}
	return next, ""
}
