package transport

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"wiretime/media/storage"
)

func TestTable(t *testing.T) {
	want := "tcp tcp-clear mptcp mptcp-clear sctp sctp-udp sctp-udp-dtls quic"
	if got := strings.Join(Names(), " "); got != want {
		t.Errorf("there are %s, want %s", got, want)
	}
	for _, row := range All() {
		if got := mustLookup(t, row.Name); got.Title != row.Title {
			t.Errorf("%s is looked up as %s", row.Name, got.Name)
		}
	}
	if _, err := Lookup("udp"); err == nil || !strings.Contains(err.Error(), "sctp-udp") {
		t.Errorf("the error for an unknown transport does not list those there are: %v", err)
	}
}

func TestStrategies(t *testing.T) {
	can := map[string][]Strategy{
		"tcp": {Reconnect}, "tcp-clear": {Reconnect}, "mptcp": {Reconnect, Multihome}, "mptcp-clear": {Reconnect, Multihome},
		"sctp": {Reconnect, Multihome}, "sctp-udp": {Reconnect}, "sctp-udp-dtls": {Reconnect}, "quic": {Reconnect, ZeroRTT, Migrate},
	}
	for _, row := range All() {
		for _, s := range []Strategy{Reconnect, ZeroRTT, Migrate, Multihome} {
			err := row.Supports(s)
			if want := slices.Contains(can[row.Name], s); want != (err == nil) {
				t.Errorf("%s over %s: %v, want support: %v", s, row.Name, err, want)
			}
			if err != nil && !errors.Is(err, ErrUnsupported) {
				t.Errorf("%v does not wrap %v", err, ErrUnsupported)
			}
		}
	}
	if err := All()[0].Supports("teleport"); err == nil || errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "multihome") {
		t.Errorf("an unknown strategy: %v", err)
	}
}

// TestWhatATransportCannot requests unsupported features from each transport.
func TestWhatATransportCannot(t *testing.T) {
	rows(t, func(t *testing.T, row Transport) {
		b := serve(t, row, nil)
		if row.Supports(ZeroRTT) != nil {
			early := b.viewer
			early.EarlyData = true
			if _, err := NewClient(early); !errors.Is(err, ErrUnsupported) {
				t.Errorf("early data: %v", err)
			}
		}
		if row.Supports(Multihome) != nil {
			if _, err := b.client(t).Connect(t.Context(), loopback(1), loopback(2)); !errors.Is(err, ErrUnsupported) {
				t.Errorf("two addresses: %v", err)
			}
		}
		if row.Supports(Migrate) != nil {
			if err := b.session(t).Migrate(t.Context(), loopback(1)); !errors.Is(err, ErrUnsupported) {
				t.Errorf("migration: %v", err)
			}
		}
	})
}

// TestAKernelWithoutSCTP is for machines whose kernel lacks it.
func TestAKernelWithoutSCTP(t *testing.T) {
	row := mustLookup(t, "sctp")
	if row.Available(nil) == nil {
		t.Skip("this machine's kernel has SCTP")
	}
	_, client := NewClient(ClientConfig{Transport: row})
	_, server := Serve(t.Context(), ServerConfig{Transport: row})
	for side, err := range map[string]error{"client": client, "server": server} {
		if !errors.Is(err, ErrNoSCTP) || !strings.Contains(err.Error(), "virtual clock") || !strings.Contains(err.Error(), "modprobe sctp") {
			t.Errorf("%s: %v", side, err)
		}
	}
}

func loopback(n byte) netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 0, n}) }

func TestSegmentsComeWhole(t *testing.T) {
	rows(t, func(t *testing.T, row Transport) {
		b := serve(t, row, nil)
		s := b.session(t)
		requests := []Request{segment(storage.HD, 0), segment(storage.FHD, 3), segment(storage.QHD, 7), {ID: storage.ID{Item: "empty"}}, wholeFile}
		for _, r := range requests {
			if _, err := b.fetch(t.Context(), s, r); err != nil {
				t.Error(err)
			}
		}
		must(t, s.Close())
		must(t, b.server.Close())
		log := b.server.Log()
		if len(log) != len(requests) {
			t.Fatalf("the log has %d entries for %d requests", len(log), len(requests))
		}
		for i, e := range log {
			if e.URL != requests[i].URL() || e.Status != 200 || e.Protocol != row.Name || e.Connection != 1 || (e.TLS == "TLS 1.3") != (row.Encrypted && row.Name != "sctp-udp-dtls") {
				t.Errorf("request %d, %v, is logged as %+v", i, requests[i].ID, e)
			}
		}
	})
}

func TestPartsOfAPiece(t *testing.T) {
	tests := []struct {
		offset, length, want int64
	}{
		{0, 1, 1}, {99_999, 0, 1}, {99_999, 10, 1}, {50_000, 0, 50_000}, {16_384, 16_384, 16_384}, {100_000, 0, 0}, {100_000, 5, 0},
	}
	rows(t, func(t *testing.T, row Transport) {
		b := serve(t, row, nil)
		s := b.session(t)
		for _, test := range tests {
			r := segment(storage.HD, 1)
			r.Offset, r.Length = test.offset, test.length
			if n, err := b.fetch(t.Context(), s, r); n != test.want || err != nil {
				t.Errorf("%d octets from %d on: %d, %v; want %d", test.length, test.offset, n, err, test.want)
			}
		}
	})
}

func TestWhatIsNotThere(t *testing.T) {
	beyond := segment(storage.HD, 1)
	beyond.Offset = 100_001
	tests := []struct {
		name     string
		request  Request
		want     error
		segments uint32
		size     int64
	}{
		{"a segment past the end", segment(storage.HD, 8), storage.ErrPastEnd, 8, 0},
		{"an offset past the end", beyond, storage.ErrPastEnd, 8, 100_000},
		{"no such item", Request{ID: storage.ID{Item: "films"}}, storage.ErrNotFound, 0, 0},
		{"no such resolution", segment(storage.Plain, 0), storage.ErrNotFound, 0, 0},
	}
	rows(t, func(t *testing.T, row Transport) {
		b := serve(t, row, nil)
		s := b.session(t)
		for _, test := range tests {
			response, err := s.Request(t.Context(), test.request)
			if !errors.Is(err, test.want) {
				t.Fatalf("%s: %v", test.name, err)
			}
			if response.Segments != test.segments || response.Size != test.size {
				t.Errorf("%s: %d segments, %d octets; want %d, %d", test.name, response.Segments, response.Size, test.segments, test.size)
			}
		}
		if _, err := b.fetch(t.Context(), s, segment(storage.HD, 7)); err != nil {
			t.Errorf("after an error: %v", err)
		}
	})
}

// TestManyRequestsAtOnce has more pending requests than streams.
func TestManyRequestsAtOnce(t *testing.T) {
	rows(t, func(t *testing.T, row Transport) {
		b := serve(t, row, nil)
		s := b.session(t)
		var requests sync.WaitGroup
		for i := range uint32(24) {
			requests.Go(func() {
				if _, err := b.fetch(t.Context(), s, segment(storage.Resolutions()[i%3], i%8)); err != nil {
					t.Error(err)
				}
			})
		}
		requests.Wait()
	})
}

// TestStreamsDoNotWaitForEachOther leaves a response unread while others arrive.
func TestStreamsDoNotWaitForEachOther(t *testing.T) {
	rows(t, func(t *testing.T, row Transport) {
		if !row.Streams {
			t.Skip("it has none")
		}
		b := serve(t, row, nil)
		s := b.session(t)
		slow, err := s.Request(t.Context(), segment(storage.QHD, 0))
		must(t, err)
		defer slow.Close()
		for _, r := range storage.Resolutions() {
			if _, err := b.fetch(t.Context(), s, segment(r, 1)); err != nil {
				t.Error(err)
			}
		}
		if n, err := b.check(slow); n != slow.Length || err != nil {
			t.Errorf("the one that waited: %d octets, %v", n, err)
		}
	})
}

// TestAResponseThatNobodyWants closes a response in the middle: sessions with streams
// continue, others only if little is left.
func TestAResponseThatNobodyWants(t *testing.T) {
	rows(t, func(t *testing.T, row Transport) {
		b := serve(t, row, nil)
		s := b.session(t)
		for _, left := range []int64{0, 1, drained, drained + 1} {
			for range 2 * StreamsPerResolution { // more than there are streams to be lost
				response, err := s.Request(t.Context(), segment(storage.FHD, 1))
				must(t, err)
				_, err = io.CopyN(io.Discard, response, response.Length-left)
				must(t, err)
				must(t, response.Close())
				must(t, response.Close())
				if _, err := response.Read(make([]byte, 1)); err == nil {
					t.Error("a closed response can still be read")
				}
				_, err = b.fetch(t.Context(), s, segment(storage.FHD, 2))
				if stays := row.Streams || left <= drained; !stays {
					if !errors.Is(err, ErrClosed) || !errors.Is(err, ErrUnread) {
						t.Fatalf("with %d octets left: %v, want %v and %v", left, err, ErrClosed, ErrUnread)
					}
					s = b.session(t)
				} else if err != nil {
					t.Fatalf("with %d octets left: %v", left, err)
				}
			}
		}
	})
}

// TestAFileThatNobodyWants closes a response that the server is still sending.
func TestAFileThatNobodyWants(t *testing.T) {
	rows(t, func(t *testing.T, row Transport) {
		if !row.Streams {
			t.Skip("it takes the session along")
		}
		// The server may send many windows before it learns that the response was cancelled.
		const size = 200_000_000
		b := serve(t, row, func(c *ServerConfig) {
			items := testItems()
			items[1].Sizes[storage.Plain] = size
			large, err := storage.Make(1, items...)
			must(t, err)
			c.Storage = large
		})
		s := b.session(t)
		response, err := s.Request(t.Context(), wholeFile)
		must(t, err)
		must(t, response.Close())
		_, err = b.fetch(t.Context(), s, segment(storage.HD, 2))
		must(t, err)
		must(t, b.server.Close())
		if e := b.server.Log()[0]; e.BodyBytes >= size {
			t.Errorf("the server has sent %d octets", e.BodyBytes)
		}
	})
}

// TestARequestEndsWithItsContext cancels a request while the viewer waits for its response.
func TestARequestEndsWithItsContext(t *testing.T) {
	stop := errors.New("the viewer has left")
	rows(t, func(t *testing.T, row Transport) {
		halts := newHalting(t, 30_000)
		defer halts.release()
		b := serve(t, row, func(c *ServerConfig) { c.Storage = halts })
		s := b.session(t)
		for _, r := range []Request{segment(storage.FHD, 0), {ID: segment(storage.FHD, 0).ID, Offset: 40_000}} {
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() { <-halts.halted; cancel(stop) }()
			n, err := b.fetch(ctx, s, r)
			if !errors.Is(err, stop) || n >= 60_000 {
				t.Errorf("from %d on: %d octets, %v", r.Offset, n, err)
			}
			if row.Streams {
				continue
			}
			s = b.session(t)
		}
		halts.release()
		_, err := b.fetch(t.Context(), s, segment(storage.FHD, 2))
		must(t, err)
	})
}

func TestPiecesThatCannotBeRead(t *testing.T) {
	rows(t, func(t *testing.T, row Transport) {
		broken := &breaking{Storage: content(t)}
		b := serve(t, row, func(c *ServerConfig) { c.Storage = broken })
		s := b.session(t)
		if _, err := b.fetch(t.Context(), s, segment(storage.HD, 0)); !errors.Is(err, ErrFailed) {
			t.Errorf("one that cannot be opened: %v", err)
		}
		n, err := b.fetch(t.Context(), s, segment(storage.QHD, 1))
		if n > brokenFrom || !strings.Contains(err.Error(), "of 400000 octets") {
			t.Errorf("one that cannot be read: %d octets, %v", n, err)
		}
		if !row.Streams {
			if !errors.Is(err, ErrClosed) || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%v", err)
			}
			s = b.session(t)
		} else if !errors.Is(err, ErrFailed) {
			t.Errorf("%v, want %v", err, ErrFailed)
		}
		_, err = b.fetch(t.Context(), s, segment(storage.HD, 2))
		must(t, err)
	})
}
