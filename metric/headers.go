package metric

import (
	"wiretime/evidence"
	"wiretime/study"
)

// The octets of header sections on the wire, and as HTTP/1.1 would write them.
var (
	requestHeaders = headerOctets("request_headers", "Request headers", "requests", sentOctets,
		func(h *evidence.Headers) []evidence.HeaderSum { return []evidence.HeaderSum{h.Requests} })
	requestHeadersPlain = headerOctets("request_headers_plain", "Request headers plain", "requests", plainOctets,
		func(h *evidence.Headers) []evidence.HeaderSum { return []evidence.HeaderSum{h.Requests} })
	responseHeaders = headerOctets("response_headers", "Response headers", "responses", sentOctets,
		func(h *evidence.Headers) []evidence.HeaderSum { return []evidence.HeaderSum{h.Responses} })
	responseHeadersPlain = headerOctets("response_headers_plain", "Response headers plain", "responses", plainOctets,
		func(h *evidence.Headers) []evidence.HeaderSum { return []evidence.HeaderSum{h.Responses} })
	allHeaders = headerOctets("headers", "Headers", "requests and responses", sentOctets,
		func(h *evidence.Headers) []evidence.HeaderSum { return []evidence.HeaderSum{h.Requests, h.Responses} })
	allHeadersPlain = headerOctets("headers_plain", "Headers plain", "requests and responses", plainOctets,
		func(h *evidence.Headers) []evidence.HeaderSum { return []evidence.HeaderSum{h.Requests, h.Responses} })
)

// form is a way to count the octets of header sections.
type form struct {
	definition string
	of         func(evidence.HeaderSum) int64
}

var (
	sentOctets = form{"as sent: compressed over SPDY, HTTP/2 and HTTP/3, as text over HTTP/1.1. Frame headers, SETTINGS and QPACK's own streams are left out.",
		func(s evidence.HeaderSum) int64 { return s.Sent }}
	plainOctets = form{"as HTTP/1.1 writes them: the first line, a line for each field (Host for the authority) and an empty line.",
		func(s evidence.HeaderSum) int64 { return s.Plain }}
)

func headerOctets(name, title, what string, f form, of func(*evidence.Headers) []evidence.HeaderSum) Metric {
	return Metric{
		study.Metric{
			Name: name, Unit: "B", Title: title,
			Definition: "Octets of the header sections of all " + what + ", " + f.definition +
				" Pushed and interim responses count. A load has no value if some of its sections could not be read, for lack of keys or because they use QPACK's dynamic table.",
		},
		func(ev *evidence.Evidence) (sum float64, ok bool) {
			if ev.Headers == nil {
				return 0, false
			}
			for _, s := range of(ev.Headers) {
				sum += float64(f.of(s))
			}
			return sum, true
		},
	}
}
