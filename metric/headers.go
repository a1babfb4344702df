package metric

import (
	"wiretime/evidence"
	"wiretime/study"
)

// Octets of header sections, as they were sent and as HTTP/1.1 would send them.
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

// form is one of the ways in which header sections are counted.
type form struct {
	definition string
	of         func(evidence.HeaderSum) int64
}

var (
	sentOctets = form{"as they were sent: compressed over SPDY, HTTP/2 and HTTP/3, as text over HTTP/1.1. The heads of the frames around them, SETTINGS and QPACK's own streams are left out.",
		func(s evidence.HeaderSum) int64 { return s.Sent }}
	plainOctets = form{"as HTTP/1.1 writes them: the first line, a line for each field (Host for the authority) and an empty line.",
		func(s evidence.HeaderSum) int64 { return s.Plain }}
)

func headerOctets(name, title, what string, f form, of func(*evidence.Headers) []evidence.HeaderSum) Metric {
	return Metric{
		study.Metric{
			Name: name, Unit: "B", Title: title,
			Definition: "Octets of the header sections of all " + what + " on the wire, " + f.definition +
				" Pushed and interim responses count. A load of which some sections could not be read has no value: without keys, or with QPACK's dynamic table.",
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
