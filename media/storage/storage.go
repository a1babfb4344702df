// Package storage holds what a media server serves: videos in pieces of about a second,
// each in several resolutions, and plain files.
//
// A Made storage is generated from a seed as it is read. A file of 1 GB takes no memory,
// and the receiver can check its octets at any offset. A Folder holds real files, for
// example those that Encode made of a clip.
package storage

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// SegmentLength is how long a segment plays: "all media files have a running time
// of about 1 s" (Nam et al., 2021, section 4.1).
const SegmentLength = time.Second

// Resolution is the resolution of a video's segment, or Plain.
type Resolution uint8

// The resolutions, in the order of their sizes. The paper's three are those of
// 16:9.
const (
	Plain Resolution = iota // no video: a file
	HD                      // 1280 x 720
	FHD                     // 1920 x 1080
	QHD                     // 2560 x 1440
)

// Resolutions are those of a video, lowest first.
func Resolutions() []Resolution { return []Resolution{HD, FHD, QHD} }

var resolutionNames = [...]string{"plain", "hd", "fhd", "qhd"}

// String returns the resolution's name in studies and folders.
func (r Resolution) String() string {
	if int(r) < len(resolutionNames) {
		return resolutionNames[r]
	}
	return fmt.Sprintf("resolution %d", uint8(r))
}

// ID names a piece of a storage.
type ID struct {
	Item       string // the video or the file
	Resolution Resolution
	Segment    uint32 // from 0; of a file 0
}

func (id ID) String() string {
	if id.Resolution == Plain {
		return id.Item
	}
	return fmt.Sprintf("%s, %s, segment %d", id.Item, id.Resolution, id.Segment)
}

var (
	// ErrNotFound says that a storage does not have the item, or not in that resolution.
	ErrNotFound = errors.New("not in the storage")
	// ErrPastEnd says that a piece was asked for past the end of its item.
	ErrPastEnd = errors.New("past the end")
)

// Storage is what a server serves. It may be read by many at once.
type Storage interface {
	// Open opens a piece for reading. The error wraps ErrNotFound or ErrPastEnd
	// where these are the reason; past the end of an item, the Piece still says
	// how many segments there are.
	Open(id ID) (Piece, error)
}

// Piece is one segment of a video, or one file. Whoever has opened it closes it.
type Piece struct {
	io.ReaderAt
	Size     int64  // in octets
	Segments uint32 // how many its item has in its resolution

	close func() error
}

// View returns the piece's content from an offset on, as far as it is contiguous in memory,
// without a copy; the caller must not change it. It is empty past the end and if the piece
// has to be read.
func (p Piece) View(offset int64) []byte {
	c, inMemory := p.ReaderAt.(content)
	if !inMemory || offset < 0 || offset >= c.size {
		return nil
	}
	return c.run(offset)
}

// Close releases the resources of reading.
func (p Piece) Close() error {
	if p.close == nil {
		return nil
	}
	return p.close()
}

func notFound(id ID) error {
	return fmt.Errorf("open %v: %w", id, ErrNotFound)
}

func pastEnd(id ID, segments uint32) error {
	return fmt.Errorf("open %v: %w: there are segments 0 to %d", id, ErrPastEnd, int64(segments)-1)
}
