package lab

import (
	"wiretime/protocol"
	"wiretime/site"
)

// answers has a site answer for protocol.Archive.
func answers(s *site.Site) func(method, host, path string) protocol.Answer {
	return func(method, host, path string) protocol.Answer {
		status, header, body, ok := s.Answer(method, host, path)
		return protocol.Answer{Status: status, Header: header, Body: body, Miss: !ok}
	}
}
