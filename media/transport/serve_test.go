package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"testing"

	"wiretime/media/storage"
	"wiretime/protocol"
)

const serverName = "media.test"

// testItems returns the items of the tests' storages: a video with small segments, and a
// file larger than any window.
func testItems() []storage.Item {
	return []storage.Item{
		{Name: "clip", Segments: 8, Sizes: map[storage.Resolution]int64{storage.HD: 100_000, storage.FHD: 200_000, storage.QHD: 400_000}},
		storage.File("file", 20_000_000), storage.File("empty", 0),
	}
}

// bench is a server and what a viewer needs to reach it.
type bench struct {
	content *storage.Made
	server  *Server
	viewer  ClientConfig
}

// rows runs a test over each transport that this machine has.
func rows(t *testing.T, test func(t *testing.T, row Transport)) {
	for _, row := range All() {
		t.Run(row.Name, func(t *testing.T) {
			if err := row.Available(nil); err != nil {
				t.Skip(err)
			}
			test(t, row)
		})
	}
}

// serve starts a server on the loopback device. change, if not nil, adjusts its
// configuration last.
func serve(t testing.TB, row Transport, change func(*ServerConfig)) *bench {
	t.Helper()
	content := content(t)
	ca, err := protocol.OpenAuthority(filepath.Join(t.TempDir(), "ca"))
	must(t, err)
	config := ServerConfig{Transport: row, Address: netip.MustParseAddrPort("127.0.0.1:0"), Storage: content, CA: ca}
	if change != nil {
		change(&config)
	}
	server, err := Serve(t.Context(), config)
	must(t, err)
	t.Cleanup(func() { must(t, server.Close()) })
	return &bench{content, server, ClientConfig{Transport: row, Server: server.Address(), Name: serverName, Verify: ca.Verify}}
}

func (b *bench) client(t testing.TB) *Client {
	t.Helper()
	c, err := NewClient(b.viewer)
	must(t, err)
	return c
}

func connect(t testing.TB, c *Client, locals ...netip.Addr) *Session {
	t.Helper()
	s, err := c.Connect(t.Context(), locals...)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

// session opens a session of the viewer with the server.
func (b *bench) session(t testing.TB) *Session {
	t.Helper()
	return connect(t, b.client(t))
}

// fetch makes a request and checks every octet of the response.
func (b *bench) fetch(ctx context.Context, s *Session, r Request) (int64, error) {
	response, err := s.Request(ctx, r)
	if err != nil {
		return 0, err
	}
	defer response.Close()
	n, err := b.check(response)
	if err == nil && n != response.Length {
		err = fmt.Errorf("%d octets came, %d were announced", n, response.Length)
	}
	return n, err
}

// check reads a response to its end and compares it with the storage.
func (b *bench) check(r *Response) (n int64, err error) {
	buffer := make([]byte, 50_000)
	for {
		k, err := r.Read(buffer)
		if wrong := b.content.Check(r.Request.ID, r.Request.Offset+n, buffer[:k]); wrong != nil {
			return n, wrong
		}
		n += int64(k)
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

func segment(r storage.Resolution, number uint32) Request {
	return Request{ID: storage.ID{Item: "clip", Resolution: r, Segment: number}}
}

var wholeFile = Request{ID: storage.ID{Item: "file"}}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
