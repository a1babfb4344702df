package transport

import (
	"errors"
	"io"
	"sync"
	"testing"

	"wiretime/media/storage"
)

// halting is a storage whose disk stops at an offset until it is released. Its server
// cannot be closed before that.
type halting struct {
	*storage.Made
	at     int64
	halted chan struct{} // receives each time that it has stopped

	going chan struct{}
	once  sync.Once
}

func newHalting(t *testing.T, at int64) *halting {
	return &halting{content(t), at, make(chan struct{}, 100), make(chan struct{}), sync.Once{}}
}

func (h *halting) release() { h.once.Do(func() { close(h.going) }) }

func (h *halting) Open(id storage.ID) (storage.Piece, error) {
	p, err := h.Made.Open(id)
	p.ReaderAt = haltingReader{p.ReaderAt, h}
	return p, err
}

type haltingReader struct {
	io.ReaderAt
	storage *halting
}

func (r haltingReader) ReadAt(b []byte, offset int64) (int, error) {
	if offset >= r.storage.at {
		r.storage.halted <- struct{}{}
		<-r.storage.going
	}
	return r.ReaderAt.ReadAt(b[:min(len(b), 10_000)], offset)
}

// breaking is a storage that is partly broken: segments 0 cannot be opened, and segments 1
// cannot be read from brokenFrom on.
type breaking struct{ storage.Storage }

const brokenFrom = 200_000

var errDisk = errors.New("the disk is broken")

func (b *breaking) Open(id storage.ID) (storage.Piece, error) {
	if id.Segment == 0 {
		return storage.Piece{}, errDisk
	}
	p, err := b.Storage.Open(id)
	if id.Segment == 1 {
		p.ReaderAt = brokenReader{p.ReaderAt}
	}
	return p, err
}

type brokenReader struct{ io.ReaderAt }

func (r brokenReader) ReadAt(p []byte, offset int64) (int, error) {
	if offset >= brokenFrom {
		return 0, errDisk
	}
	return r.ReaderAt.ReadAt(p[:min(int64(len(p)), brokenFrom-offset)], offset)
}

// content is a storage that is made of the tests' items.
func content(t testing.TB) *storage.Made {
	t.Helper()
	m, err := storage.Make(1, testItems()...)
	must(t, err)
	return m
}
