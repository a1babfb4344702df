package viewer

import (
	"flag"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"wiretime/media/player"
	"wiretime/media/record"
	"wiretime/media/storage"
	"wiretime/media/transport"
	"wiretime/protocol"
)

const (
	fileSize    = 20_000_000 // more than any window has room for
	clipLength  = 3          // segments
	segmentSize = 100_000    // of HD
)

// TestMain runs many tests in parallel, since they mostly wait.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// content is what the tests' server has.
func content(t *testing.T) *storage.Made {
	t.Helper()
	m, err := storage.Make(1, storage.File("file", fileSize), storage.Item{Name: "clip", Segments: clipLength, Sizes: map[storage.Resolution]int64{
		storage.HD: segmentSize, storage.FHD: 2 * segmentSize, storage.QHD: 4 * segmentSize,
	}})
	must(t, err)
	return m
}

// bench is a server on the loopback device, and a viewer of it.
type bench struct {
	server *transport.Server
	serves transport.ServerConfig
	client transport.ClientConfig
	viewer Config
}

// rows runs a test over each transport that this machine has, side by side.
func rows(t *testing.T, test func(t *testing.T, row transport.Transport)) {
	t.Parallel()
	for _, row := range transport.All() {
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			if err := row.Available(nil); err != nil {
				t.Skip(err)
			}
			test(t, row)
		})
	}
}

// newBench begins to serve. The viewer checks all that comes.
func newBench(t *testing.T, row transport.Transport, from storage.Storage) *bench {
	t.Helper()
	ca, err := protocol.OpenAuthority(filepath.Join(t.TempDir(), "ca"))
	must(t, err)
	b := &bench{serves: transport.ServerConfig{Transport: row, Address: netip.MustParseAddrPort("127.0.0.1:0"), Storage: from, CA: ca}}
	b.serve(t)
	b.serves.Address = b.server.Address()
	b.client = transport.ClientConfig{Transport: row, Server: b.server.Address(), Name: "media.test", Verify: ca.Verify}
	b.viewer = Config{Media: "file", Player: player.Config{Mode: player.File, OnHandover: player.Reconnect}, Check: content(t).Check}
	return b
}

// serve serves, once more after Close, where it did before.
func (b *bench) serve(t *testing.T) {
	t.Helper()
	server, err := transport.Serve(t.Context(), b.serves)
	must(t, err)
	b.server = server
	t.Cleanup(func() { must(t, server.Close()) })
}

// clip makes the viewer watch the video, which it assumes to have the given number of
// segments.
func (b *bench) clip(segments int) *player.Config {
	b.viewer.Media = "clip"
	b.viewer.Player = player.Config{Mode: player.View, Rule: player.Paper, OnHandover: player.Reconnect, Segments: segments}
	return &b.viewer.Player
}

// inTheMiddle calls do once a part of the file has arrived, before more is received.
func (b *bench) inTheMiddle(do func()) {
	var once sync.Once
	check := b.viewer.Check
	b.viewer.Check = func(piece storage.ID, offset int64, octets []byte) error {
		if offset > fileSize/10 {
			once.Do(do)
		}
		return check(piece, offset, octets)
	}
}

func (b *bench) watch(t *testing.T) *record.Stream {
	t.Helper()
	client, err := transport.NewClient(b.client)
	must(t, err)
	b.viewer.Client = client
	s, err := Watch(t.Context(), b.viewer)
	must(t, err)
	if len(s.Sessions) != len(s.Figures.Sessions) {
		t.Errorf("%d sessions of the transport for %d of the player", len(s.Sessions), len(s.Figures.Sessions))
	}
	if took := time.Since(s.Started); s.Figures.Duration > took {
		t.Errorf("a viewing that lasted %v took %v", s.Figures.Duration, took)
	}
	return s
}

// wholeFile checks that the file is complete.
func wholeFile(t *testing.T, s *record.Stream) {
	t.Helper()
	f := s.Figures
	if f.Failure != "" || len(f.Loads) != 1 || !f.Loads[0].Whole || f.Held != fileSize || f.Received != fileSize+f.Wasted {
		t.Errorf("%d octets are held of %d, %d received, %d wasted; loads %+v, failure %q", f.Held, fileSize, f.Received, f.Wasted, f.Loads, f.Failure)
	}
}

// count counts the events of a kind.
func count(s *record.Stream, event player.Event) (n int) {
	for _, e := range s.Figures.Timeline {
		if e.Event == event {
			n++
		}
	}
	return n
}

// halting is a storage whose disk stops in the middle of each segment until it is released.
// Its server cannot be closed before that.
type halting struct {
	storage.Storage
	going chan struct{}
}

func (h *halting) Open(id storage.ID) (storage.Piece, error) {
	p, err := h.Storage.Open(id)
	p.ReaderAt = haltingReader{p.ReaderAt, h.going}
	return p, err
}

type haltingReader struct {
	io.ReaderAt
	going chan struct{}
}

func (r haltingReader) ReadAt(p []byte, offset int64) (int, error) {
	if offset >= segmentSize/2 {
		<-r.going
	}
	return r.ReaderAt.ReadAt(p[:min(len(p), segmentSize/4)], offset)
}

// boasting is a storage that may claim more segments than it has.
type boasting struct {
	storage.Storage
	boasts bool
}

func (b *boasting) Open(id storage.ID) (storage.Piece, error) {
	p, err := b.Storage.Open(id)
	if b.boasts && err == nil {
		p.Segments = 1000
	}
	return p, err
}

// breaking is a storage that cannot be read once it is broken.
type breaking struct {
	storage.Storage
	broken <-chan struct{}
}

func (b *breaking) Open(id storage.ID) (storage.Piece, error) {
	p, err := b.Storage.Open(id)
	p.ReaderAt = breakingReader{p.ReaderAt, b.broken}
	return p, err
}

type breakingReader struct {
	io.ReaderAt
	broken <-chan struct{}
}

func (r breakingReader) ReadAt(p []byte, offset int64) (int, error) {
	select {
	case <-r.broken:
		return 0, io.ErrNoProgress
	default:
		return r.ReaderAt.ReadAt(p, offset)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
