package flowcontrol

import (
	"sort"

	"wiretime/protection"
)

// frame is a frame of SPDY or HTTP/2, or what stands for one in QUIC.
type frame struct {
	sender         Side
	kind           string
	onStream       bool
	stream         uint64
	octets         int64 // of DATA, as flow control counts them
	sent, received int64 // its first octet left, its last one arrived; or Never
	left           int64 // when its last octet left
	fin            bool  // ends the stream in its direction
	reset          bool  // ends the stream in both
	opens          bool  // SYN_STREAM, or the HEADERS of a request
	updates        bool  // it grants delta to its stream, or to the session
	delta          int64
	absolute       bool  // QUIC: it raises the window to a limit, which may be beyond 2^31-1
	limit          int64 // if absolute
	run            bool  // DATA and STREAM: neighbours are shown in one line
	initial        int64 // SETTINGS: the new initial window of streams, -1 for none
	detail         string

	streamLeft, sessionLeft int64 // as in Event
}

// text is the plaintext of one direction of a TCP connection, with its place on the wire.
type text struct {
	track   *track
	data    []byte
	records []protection.Record // without TLS a single one
	header  int64               // octets of a record before its content; 0 without TLS
}

// clear returns the text of a direction without TLS.
func clear(t *track) text {
	return text{track: t, data: t.data, records: []protection.Record{{Size: len(t.data), Length: len(t.data)}}}
}

// record returns the index of the record that holds an octet of the text.
func (t *text) record(octet int) int {
	return sort.Search(len(t.records), func(i int) bool { return t.records[i].Text+t.records[i].Length > octet })
}

// place returns when the first and the last octet of [from, to) of the text left for the first time, and when the other end could read
// all of them: a TLS record can be read once all of it has arrived.
func (t *text) place(from, to int) (sent, left, received int64) {
	first, last := t.record(from), t.record(to-1)
	if last >= len(t.records) {
		return Never, Never, Never
	}
	r, end := t.records[first], t.records[last]
	readable := 1 + int64(end.Offset+end.Size)
	if t.header == 0 {
		readable = 1 + int64(to)
	}
	return t.track.place(1+int64(r.Offset)+t.header+int64(from-r.Text), 1+int64(end.Offset)+t.header+int64(to-end.Text), readable)
}

// piece is octets [from, to) of a track that hold DATA of a frame.
type piece struct {
	from, to int64
	frame    *frame
}

// pieces appends to list the octets of the track that hold [from, to) of the text.
func (t *text) pieces(list []piece, from, to int, f *frame) []piece {
	for i := t.record(from); i < len(t.records) && t.records[i].Text < to; i++ {
		r := t.records[i]
		base := 1 + int64(r.Offset) + t.header - int64(r.Text)
		list = append(list, piece{base + int64(max(from, r.Text)), base + int64(min(to, r.Text+r.Length)), f})
	}
	return list
}

// spoken holds the frames of both ends of a connection, each end's in the order of its octets.
type spoken struct {
	frames [2][]*frame
	pieces [2][]piece // TCP: the DATA of each end
	broken [2]string  // why reading stopped before the end; empty if it did not
}

// add notes a frame that occupies [from, to) of a text.
func (s *spoken) add(f frame, t *text, from, to int) *frame {
	f.sent, f.left, f.received = t.place(from, to)
	f.streamLeft, f.sessionLeft = NoWindow, NoWindow
	s.frames[f.sender] = append(s.frames[f.sender], &f)
	return s.frames[f.sender][len(s.frames[f.sender])-1]
}
