package transport

import (
	"errors"
	"net/netip"
	"slices"
	"testing"

	"wiretime/media/storage"
)

// TestRequestsWithConnectionsOfTheirOwn checks that over a transport without streams three requests are pending at once, each on
// a connection of its own, that a fourth waits for the first that ends, and that the session ends with any connection.
func TestRequestsWithConnectionsOfTheirOwn(t *testing.T) {
	rows(t, func(t *testing.T, row Transport) {
		if row.Streams {
			t.Skip("it has streams")
		}
		b := serve(t, row, nil)
		b.viewer.Parallel = 3
		s := b.session(t)
		var pending []*Response
		for i := range uint32(3) {
			r, err := s.Request(t.Context(), Request{ID: storage.ID{Item: "clip", Resolution: storage.QHD, Segment: i}})
			must(t, err)
			pending = append(pending, r)
		}
		for _, r := range slices.Backward(pending) {
			n, err := b.check(r)
			must(t, err)
			if n != r.Length {
				t.Errorf("%d of %d octets came", n, r.Length)
			}
		}
		_, err := b.fetch(t.Context(), s, segment(storage.HD, 5))
		must(t, err)
		large, err := s.Request(t.Context(), wholeFile)
		must(t, err)
		must(t, large.Close()) // ends its connection
		if _, err := s.Request(t.Context(), segment(storage.HD, 6)); !errors.Is(err, ErrUnread) || !errors.Is(err, ErrClosed) {
			t.Errorf("after a connection has ended: %v", err)
		}
		must(t, s.Close())
		must(t, b.server.Close())
		clients := map[string]bool{}
		for _, e := range b.server.Log() {
			at, err := netip.ParseAddrPort(e.Client)
			must(t, err)
			clients[at.String()] = true
		}
		if len(clients) != 3 {
			t.Errorf("the requests came from %v", clients)
		}
	})
}
