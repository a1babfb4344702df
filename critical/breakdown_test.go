package critical

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"wiretime/capture"
)

// want is a share that a breakdown must have, without its URL.
type want struct {
	phase  Phase
	kind   Kind
	detail Detail
	isUp   bool
	ms     float64
	octets float64
}

func wantShares(t *testing.T, b *Breakdown, url string, wanted ...want) {
	t.Helper()
	for _, w := range wanted {
		i := slices.IndexFunc(b.Shares, func(s Share) bool {
			return s.URL == url && s.Phase == w.phase && s.Kind == w.kind && s.Detail == w.detail && s.Up == w.isUp && s.Seen
		})
		if i < 0 || b.Shares[i].Time != int64(w.ms*1e6) || w.octets != 0 && b.Shares[i].Octets != w.octets {
			t.Errorf("there is no share like %+v in %+v", w, b.Shares)
		}
	}
}

// TestWhatWasOpened breaks down the set-up of the document of TestOneDocumentByHand.
func TestWhatWasOpened(t *testing.T) {
	s := single()
	b := s.breakdown(t)
	var down int
	for _, r := range s.packets.Records {
		if r.Inbound && r.Interface == 0 {
			down += len(r.Data)
		}
	}
	wantShares(t, b, page,
		want{DNS, SetUp, LookUp, false, 100, 0},
		want{Connect, SetUp, TCPHandshake, false, 100, 0},
		want{Connect, Loss, NoDetail, false, 1000, 0},
		want{Receive, Loss, NoDetail, false, 103, 0},
		want{Wait, Bandwidth, Own, false, 2, float64(len(fromServer(1, strings.Repeat("x", 140))))},
	)
	if b.Requests != 1 || b.Down != int64(down) {
		t.Errorf("%d requests and %d octets down, want 1 and %d", b.Requests, b.Down, down)
	}
}

// TestWindowAfterALoss tells a window that held the sender after it had lost octets from one that did so before.
func TestWindowAfterALoss(t *testing.T) {
	for _, lost := range []bool{false, true} {
		s := newScene(222)
		s.down(-60, -10, fromServer(1, "")) // shows the least delay
		s.up(0, 50, fromClient(1, "GET / HTTP/1.1\r\nHost: www.test\r\n\r\n"))
		head := "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"
		first, detail := fromServer(1, head+strings.Repeat("x", 50)), NoDetail
		if lost {
			s.lose(1, 50, first)
			detail = AfterLoss
		}
		s.down(60, 112, first)
		s.down(170, 222, fromServer(1+uint32(len(head))+50, strings.Repeat("x", 50)))
		s.entry(page, 0, 222, capture.Timings{DNS: -1, Connect: -1, SSL: -1, Wait: 222})
		wantShares(t, s.breakdown(t), page, want{Wait, Window, detail, false, 100, 0})
	}
}

// TestWhosePacketsTheLinkServed loads a style sheet over HTTP/2. The link serves, before and between its packets, those of
// an image, and one of a server that the page does not use.
func TestWhosePacketsTheLinkServed(t *testing.T) {
	s := newScene(220)
	s.down(-60, -10, fromServer(1, "")) // shows the least delay
	ask := func(stream uint32, path string) string {
		return frames(t, func(f *http2.Framer) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, EndStream: true, EndHeaders: true, BlockFragment: block(path)})
		})
	}
	data := func(stream uint32, ends bool) string {
		return frames(t, func(f *http2.Framer) {
			if !ends {
				_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, EndHeaders: true, BlockFragment: block("")})
			}
			_ = f.WriteData(stream, ends, make([]byte, 1000))
		})
	}
	first := http2.ClientPreface + ask(1, "/image")
	s.up(-5, 45, fromClient(1, first))
	s.up(0, 50, fromClient(1+uint32(len(first)), ask(3, "/style")))
	position := uint32(1)
	send := func(sent, arrived float64, text string) {
		s.down(sent, arrived, fromServer(position, text))
		position += uint32(len(text))
	}
	send(49, 110, data(1, false))                                      // sent before the server has the request for the style sheet
	s.down(55, 120, tcp("10.0.9.9:80", client, 1, capture.ACK, "???")) // of somebody else
	send(60, 130, data(1, false))                                      // the image overtakes the style sheet
	send(130, 190, data(1, false))                                     // likewise, before the style sheet has been sent
	send(140, 200, data(3, false))
	send(145, 210, data(3, true))
	request := capture.Timings{DNS: -1, Connect: -1, SSL: -1}
	s.entry(page+"style", 0, 220, request).Priority = "VeryHigh"
	s.entry(page+"image", -5, 190, request).Priority = "Low"
	s.har.Log.Entries[0].Timings.Wait = 220
	s.har.Log.Entries[1].Timings.Wait = 195
	b := s.breakdown(t)
	const head = 40
	size := float64(head + len(data(3, false)))
	wantShares(t, b, page+"style",
		want{Wait, Delay, NoDetail, false, 100, 0},
		want{Wait, Bandwidth, Earlier, false, 10, 0},
		want{Wait, Bandwidth, Foreign, false, 10, 43},
		want{Wait, Bandwidth, Overtook, false, 20, 0},
		want{Wait, Window, NoDetail, false, 50, 0},
		want{Wait, Bandwidth, Own, false, 20, size + float64(head+len(data(3, true)))},
		want{Wait, Client, NoDetail, false, 10, 0},
	)
	s.har.Log.Entries[0].Priority = "" // without priorities nothing is less urgent
	wantShares(t, s.breakdown(t), page+"style", want{Wait, Bandwidth, Shared, false, 30, 0})
}
