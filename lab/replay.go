package lab

import (
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"wiretime/protocol"
	"wiretime/site"
)

// Far is how far away each origin of a site is beyond the nearest one, one-way, by the
// address that it has in a lab: half of what the shortest round trip to its server took
// longer when the site was recorded. Origins of which that is not known are as near as the
// nearest. It is nil if all are equally near.
func Far(s *site.Site) map[netip.Addr]time.Duration {
	known := slices.DeleteFunc(slices.Clone(s.Hosts), func(h site.Host) bool { return h.RTT <= 0 })
	least := math.Inf(1)
	for _, h := range known {
		least = min(least, h.RTT)
	}
	var far map[netip.Addr]time.Duration
	addresses := originAddresses(s.Origins())
	for _, h := range known {
		address, ok := addresses[h.Name]
		if beyond := milliseconds((h.RTT - least) / 2); ok && beyond > 0 {
			if far == nil {
				far = map[netip.Addr]time.Duration{}
			}
			far[address] = beyond
		}
	}
	return far
}

// milliseconds are to the nanosecond; what is too long to be counted is as long as can be.
func milliseconds(ms float64) time.Duration {
	ns := math.Round(ms * float64(time.Millisecond))
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(ns)
}

// over is a site as it is served over a scheme.
func (l *Lab) over(s *site.Site, scheme string) (*site.Site, error) {
	k := servedSite{s, scheme}
	if served := l.served[k]; served != nil {
		return served, nil
	}
	served, err := s.Over(scheme)
	if err == nil {
		l.served[k] = served
	}
	return served, err
}

// servedSite is a site over a scheme.
type servedSite struct {
	site   *site.Site
	scheme string
}

// answers has a site answer for protocol.Archive, after as long as its servers took if
// waits is set.
func answers(s *site.Site, waits bool) func(method, host, path string) protocol.Answer {
	return func(method, host, path string) protocol.Answer {
		a := s.Respond(method, host, path)
		out := protocol.Answer{Status: a.Status, Header: a.Header, Body: a.Body, Miss: a.Status == 0, Preflight: a.Status != 0 && a.Resource == nil}
		r := a.Resource
		if r == nil {
			return out
		}
		if out.Push = r.Push; !a.Exact {
			out.Near = r.URL
		}
		if waits {
			out.Wait = milliseconds(r.Wait)
		}
		if r.Early {
			out.Early = links(a.Header)
		}
		return out
	}
}

// links are the Link fields of a header.
func links(header [][2]string) []string {
	var values []string
	for _, field := range header {
		if strings.EqualFold(field[0], "link") {
			values = append(values, field[1])
		}
	}
	return values
}
