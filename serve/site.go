package serve

import (
	"net/http"

	"wiretime/protocol"
	"wiretime/site"
)

// Site answers requests from a site, whichever of its hosts they name: secure over TLS,
// clear without, where the site's own URLs begin with http. Recorded waits are left out.
func Site(s *site.Site) (secure, clear http.Handler, err error) {
	open, err := s.Over("http")
	if err != nil {
		return nil, nil, err
	}
	return answer(s), answer(open), nil
}

func answer(s *site.Site) http.Handler {
	return protocol.Archive(func(method, host, path string) protocol.Answer {
		a := s.Respond(method, host, path)
		answer := protocol.Answer{Status: a.Status, Header: a.Header, Body: a.Body, Miss: a.Status == 0}
		if a.Resource != nil {
			answer.Push = a.Resource.Push
		}
		return answer
	})
}
