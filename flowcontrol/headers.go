package flowcontrol

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/quic-go/qpack"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"wiretime/capture"
	"wiretime/evidence"
	"wiretime/protection"
	"wiretime/spdy"
)

// ReadHeaders adds up the header sections that both ends of a load's connections sent. It returns nil unless it could read all of them:
// packets or keys may be missing, a connection may have sent early data, and a section may need QPACK's dynamic table. A TLS connection
// that was opened before the capture began counts as one without sections. It does not change the capture.
func ReadHeaders(e *evidence.Evidence) *evidence.Headers {
	if e.Packets == nil || e.CaptureCut {
		return nil
	}
	keys := protection.ReadKeyLog(e.Packets.Secrets)
	h := &headers{}
	for _, c := range gather(readPackets(e.Sightings())) {
		read := h.readTCP
		if c.Flow.Protocol == capture.UDP {
			read = h.readQUIC
		}
		if read(c, keys) != nil {
			return nil
		}
	}
	return &evidence.Headers{Requests: h.sums[Client], Responses: h.sums[Server]}
}

// headers adds up header sections by the side that sent them.
type headers struct{ sums [2]evidence.HeaderSum }

// add counts a section of so many octets on the wire.
func (h *headers) add(side Side, s *section, sent int) {
	sum := &h.sums[side]
	sum.Sections++
	sum.Plain += s.plain()
	sum.Sent += int64(sent)
}

var errHeaders = errors.New("header sections cannot be read")

func (h *headers) readTCP(c *conversation, keys protection.KeyLog) error {
	var tracks [2]track
	for _, p := range c.packets {
		tracks[p.sender].add(p)
	}
	data := [2][]byte{tracks[Client].data, tracks[Server].data}
	if tracks[Client].gap != 0 || tracks[Server].gap != 0 {
		return errHeaders
	}
	if protection.IsTLS(data[Client]) && len(data[Server]) > 0 {
		unsealed, err := protection.Unseal(data[Client], data[Server], keys)
		if err != nil {
			return err
		}
		if unsealed.Texts[Client].Early {
			return errHeaders
		}
		data = [2][]byte{unsealed.Texts[Client].Data, unsealed.Texts[Server].Data}
	}
	head := data[Client]
	switch {
	case len(head) == 0: // nothing was requested
		return nil
	case bytes.HasPrefix(head, []byte(http2.ClientPreface)):
		return errors.Join(h.readHTTP2(Client, head[len(http2.ClientPreface):]), h.readHTTP2(Server, data[Server]))
	case len(head) > 1 && head[0] == 0x80 && (head[1] == 2 || head[1] == 3):
		version := spdy.V31 // the frames of SPDY/3 are the same
		if head[1] == 2 {
			version = spdy.V2
		}
		return errors.Join(h.readSPDY(Client, head, version), h.readSPDY(Server, data[Server], version))
	case protection.IsTLS(head): // the server sent nothing
		return nil
	}
	h.readHTTP1(data)
	return nil
}

// readHTTP1 reads requests and the responses to them, in their order, up to the first that is incomplete. What they are sent as is
// their plain form.
func (h *headers) readHTTP1(data [2][]byte) {
	var asked []*http.Request
	eachMessage(data[Client], func(in *bufio.Reader) (io.ReadCloser, bool) {
		r, err := http.ReadRequest(in)
		if err != nil {
			return nil, false
		}
		asked = append(asked, r)
		return r.Body, true
	}, func(head int) { h.count(Client, head) })
	eachMessage(data[Server], func(in *bufio.Reader) (io.ReadCloser, bool) {
		if len(asked) == 0 {
			return nil, false
		}
		r, err := http.ReadResponse(in, asked[0])
		if err != nil {
			return nil, false
		}
		if r.StatusCode >= http.StatusOK { // an interim response is followed by another
			asked = asked[1:]
		}
		return r.Body, true
	}, func(head int) { h.count(Server, head) })
}

// count counts a section of HTTP/1.1.
func (h *headers) count(side Side, octets int) {
	sum := &h.sums[side]
	sum.Sections++
	sum.Plain += int64(octets)
	sum.Sent += int64(octets)
}

// eachMessage reads messages and calls found with the octets of each head.
func eachMessage(data []byte, read func(*bufio.Reader) (io.ReadCloser, bool), found func(head int)) {
	source := bytes.NewReader(data)
	in := bufio.NewReader(source)
	for {
		at := len(data) - source.Len() - in.Buffered()
		body, ok := read(in)
		if !ok {
			return
		}
		head := len(data) - source.Len() - in.Buffered() - at
		found(head)
		if _, err := io.Copy(io.Discard, body); err != nil {
			return
		}
	}
}

// readHTTP2 reads the header sections of one end, behind the preface.
func (h *headers) readHTTP2(side Side, data []byte) error {
	framer := http2.NewFramer(io.Discard, bytes.NewReader(data))
	framer.SetMaxReadFrameSize(1<<24 - 1)
	framer.SetReuseFrames()
	decoder := hpack.NewDecoder(4096, nil)
	decoder.SetAllowedMaxDynamicTableSize(1 << 16)
	var s section
	decoder.SetEmitFunc(func(f hpack.HeaderField) { s.note(f.Name, f.Value) })
	sent := 0
	fragment := func(block []byte, ended bool) error {
		sent += len(block)
		if _, err := decoder.Write(block); err != nil {
			return err
		}
		if ended {
			h.add(side, &s, sent)
			s, sent = section{}, 0
			return decoder.Close()
		}
		return nil
	}
	for {
		read, err := framer.ReadFrame()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // a connection may be cut off
			return nil
		}
		switch read := read.(type) {
		case *http2.HeadersFrame:
			err = fragment(read.HeaderBlockFragment(), read.HeadersEnded())
		case *http2.PushPromiseFrame:
			err = fragment(read.HeaderBlockFragment(), read.HeadersEnded())
		case *http2.ContinuationFrame:
			err = fragment(read.HeaderBlockFragment(), read.HeadersEnded())
		}
		if err != nil {
			return err
		}
	}
}

// readSPDY reads the header blocks of one end.
func (h *headers) readSPDY(side Side, data []byte, version spdy.Version) error {
	const head = 8
	framer := spdy.NewFramer(version, io.Discard, bytes.NewReader(data), spdy.CompressSafe)
	reply := 4 // octets before the block (draft 3 section 2.6.2; draft 2 has two unused ones more)
	if version == spdy.V2 {
		reply = 6
	}
	for offset := 0; offset+head <= len(data); {
		length := int(binary.BigEndian.Uint32(data[offset+4:]) & 0xffffff)
		if offset += head + length; offset > len(data) {
			return nil // a connection may be cut off
		}
		read, err := framer.ReadFrame()
		if err != nil {
			return err
		}
		var fields []spdy.Field
		before := reply
		switch read := read.(type) {
		case *spdy.SynStream:
			fields, before = read.Fields, 10
		case *spdy.SynReply:
			fields = read.Fields
		case *spdy.Headers:
			fields = read.Fields
		default:
			continue
		}
		var s section
		for _, f := range fields {
			for value := range strings.SplitSeq(f.Value, "\x00") {
				s.note(f.Name, value)
			}
		}
		h.add(side, &s, length-before)
	}
	return nil
}

// readQUIC reads the header sections of an HTTP/3 connection.
func (h *headers) readQUIC(c *conversation, keys protection.KeyLog) error {
	open := protection.NewConversation(keys)
	streams := [2]map[uint64]*headerStream{{}, {}}
	var failed error
	sealed := 0
	for _, p := range c.packets {
		// Decryption takes the place of what it decrypts.
		sealed += open.Datagram(int(p.sender), bytes.Clone(p.headers.Payload), func(o protection.Opened) {
			for f := range protection.Frames(o.Payload) {
				const oneWay = 2
				if o.Level != protection.Application || f.Kind != protection.Stream || f.StreamID&oneWay != 0 {
					continue
				}
				s := streams[p.sender][f.StreamID]
				if s == nil {
					s = &headerStream{}
					streams[p.sender][f.StreamID] = s
				}
				failed = errors.Join(failed, s.read(h, p.sender, f))
			}
		})
	}
	if sealed > 0 || !open.HasSecrets() {
		return errHeaders
	}
	return failed
}

// headerStream reads the HEADERS frames of one direction of an HTTP/3 stream, up to the first DATA frame. Trailers are left out.
type headerStream struct {
	octets protection.Assembly
	at     int
	over   bool
}

func (s *headerStream) read(h *headers, side Side, f protection.Frame) error {
	if s.over {
		return nil
	}
	s.octets.Add(f.Offset, f.Data)
	for {
		r := protection.NewReader(s.octets.Data[s.at:])
		kind, length := r.Number(), r.Number()
		if r.Failed() {
			return nil
		}
		if kind == http3Data || length > mostControl || s.at > mostControl {
			s.over, s.octets = true, protection.Assembly{}
			return nil
		}
		body := r.Take(length)
		if r.Failed() {
			return nil
		}
		s.at = len(s.octets.Data) - r.Left()
		if kind != http3Headers {
			continue
		}
		var said section
		next := qpack.NewDecoder().Decode(body)
		for {
			field, err := next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			said.note(field.Name, field.Value)
		}
		h.add(side, &said, len(body))
	}
}

// section is a header section, as HTTP/1.1 would write it.
type section struct {
	line  requestLine
	lines int64 // octets of the lines that follow the first
}

// note adds a field. Fields that the first line of HTTP/1.1 holds, or that it does not have, get no line of their own.
func (s *section) note(name, value string) {
	switch name {
	case ":method", "method", ":path", "url", ":status", "status":
		s.line.note(name, value)
		return
	case ":scheme", "scheme", ":version", "version":
		return
	case ":authority", ":host":
		name = "host"
	}
	s.lines += int64(len(name) + len(": ") + len(value) + len("\r\n"))
}

// plain returns how many octets the section takes in HTTP/1.1 (RFC 9112 section 2.1): the first line, a line for each field and an
// empty line.
func (s *section) plain() int64 {
	first := 0
	switch l := &s.line; {
	case l.path != "" || l.method != "":
		first = len(l.method) + len(l.path) + len("  HTTP/1.1\r\n")
	case l.status != "":
		code, phrase, _ := strings.Cut(l.status, " ") // SPDY sends the phrase, too
		if phrase == "" {
			phrase = http.StatusText(number(code))
		}
		first = len("HTTP/1.1 ") + len(code) + len(" ") + len(phrase) + len("\r\n")
	}
	return int64(first) + s.lines + int64(len("\r\n"))
}

// number returns the number of a status, 0 if it is none.
func number(code string) (n int) {
	for _, c := range code {
		if c < '0' || c > '9' || n > 999 {
			return 0
		}
		n = 10*n + int(c-'0')
	}
	return n
}
