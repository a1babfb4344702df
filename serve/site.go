package serve

import (
	"net/http"

	"wiretime/protocol"
	"wiretime/replay"
	"wiretime/site"
)

// Site returns handlers that answer requests from a site, whichever of its hosts they
// name: secure over TLS, and clear without, for a site whose own URLs begin with http.
// Recorded waits are left out.
func Site(s *site.Site) (secure, clear http.Handler, err error) {
	open, err := s.Over("http")
	if err != nil {
		return nil, nil, err
	}
	return protocol.Archive(replay.Answers(s, false)), protocol.Archive(replay.Answers(open, false)), nil
}
