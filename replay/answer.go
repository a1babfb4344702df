package replay

import (
	"math"
	"strings"
	"time"

	"wiretime/protocol"
	"wiretime/site"
)

// Answers returns a lookup for protocol.Archive that answers from a site. If waits is
// set, the answers take as long as the site's servers took.
func Answers(s *site.Site, waits bool) func(method, host, path string) protocol.Answer {
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
			out.Wait = Duration(r.Wait)
		}
		if r.Early {
			out.Early = links(a.Header)
		}
		return out
	}
}

// links returns the Link fields of a header.
func links(header [][2]string) []string {
	var values []string
	for _, field := range header {
		if strings.EqualFold(field[0], "link") {
			values = append(values, field[1])
		}
	}
	return values
}

// Duration converts a site's time in ms to the nanosecond. Times that are too long become
// the longest Duration.
func Duration(ms float64) time.Duration {
	ns := math.Round(ms * float64(time.Millisecond))
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(ns)
}
