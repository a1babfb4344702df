package capture

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"

	"wiretime/artefact"
)

// ReadPcapng reads a whole capture file. It ignores unknown blocks and options,
// and accepts either byte order and any time resolution. A link type other than
// raw IP is an error. Errors give the offset of the block. If a file ends
// within a block, ReadPcapng returns what came before it together with
// ErrTruncated.
//
// The file is read block by block, and octets that a packet had at both ends are
// kept once. In memory a capture of the lab takes some half of its file's size and
// 96 octets for each record; no file makes ReadPcapng allocate more than 32 times
// its size.
func ReadPcapng(r io.Reader) (*Packets, error) {
	reader := pcapngReader{packets: &Packets{}, sent: map[uint64]int{}, comments: map[string]string{}}
	source := bufio.NewReaderSize(r, 64<<10)
	for offset := int64(0); ; {
		length, err := reader.next(source)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return reader.finish(), fmt.Errorf("read capture: block at offset %d: %w", offset, err)
		}
		offset += int64(length)
	}
	if reader.order == nil {
		return reader.finish(), fmt.Errorf("read capture: the file is empty: %w", ErrTruncated)
	}
	return reader.finish(), nil
}

// ReadPackets reads the capture file at path, an artefact, which may be compressed. Errors are as of ReadPcapng.
func ReadPackets(path string) (*Packets, error) {
	file, err := artefact.Contents(path)
	if err != nil {
		return nil, fmt.Errorf("read capture: %w", err)
	}
	defer file.Close()
	packets, err := ReadPcapng(file)
	if err != nil {
		return packets, fmt.Errorf("%s: %w", path, err)
	}
	return packets, nil
}

type pcapngReader struct {
	packets *Packets
	order   binary.ByteOrder // of the section being read
	first   int              // index of that section's first interface
	ticks   []uint64         // of each interface, per second

	buffer   bytes.Buffer      // the block being read, if it is a large one
	comment  []byte            // of all sections
	sent     map[uint64]int    // packet ID -> record of the sender, until the receiver's is read
	comments map[string]string // of packets; most are equal
	slab     []byte            // room for the packets' octets
	read     int               // octets so far
}

// finish returns what has been read.
func (r *pcapngReader) finish() *Packets {
	r.packets.Comment = string(r.comment)
	return r.packets
}

// next reads a block and returns its length, or io.EOF at the end of the file.
func (r *pcapngReader) next(source *bufio.Reader) (int, error) {
	head, err := source.Peek(12)
	if len(head) == 0 {
		return 0, err
	}
	if len(head) < 12 {
		return 0, truncated(err)
	}
	if r.order == nil || le.Uint32(head) == blockSection {
		order, err := sectionOrder(head)
		if err != nil {
			return 0, err
		}
		r.order, r.first = order, len(r.ticks)
	}
	length := r.order.Uint32(head[4:])
	if err := checkLength(length); err != nil {
		return 0, err
	}
	r.read += int(length)
	if int(length) <= source.Size() {
		block, err := source.Peek(int(length))
		if err != nil {
			return 0, truncated(err)
		}
		err = r.block(block)
		_, _ = source.Discard(len(block)) // they are in the buffer
		return int(length), err
	}
	r.buffer.Reset()
	if _, err := io.CopyN(&r.buffer, source, int64(length)); err != nil {
		return 0, truncated(err)
	}
	return int(length), r.block(r.buffer.Bytes())
}

// truncated turns the end of the file within a block into ErrTruncated.
func truncated(err error) error {
	if errors.Is(err, io.EOF) {
		return ErrTruncated
	}
	return err
}

// block takes in a block. It keeps none of the octets that it is given.
func (r *pcapngReader) block(data []byte) error {
	kind, length := r.order.Uint32(data), len(data)
	if again := r.order.Uint32(data[length-4:]); again != uint32(length) {
		return fmt.Errorf("its length is %d at its start and %d at its end: the file is damaged", length, again)
	}
	body := data[8 : length-4]
	switch kind {
	case blockSection:
		return r.section(body)
	case blockInterface:
		return r.addInterface(body)
	case blockSecrets:
		return r.secrets(body)
	case blockPacket:
		return r.packet(body)
	}
	return nil
}

func (r *pcapngReader) section(body []byte) error {
	if len(body) < 16 {
		return fmt.Errorf("section header of %d octets, want at least 16", len(body))
	}
	if major := r.order.Uint16(body[4:]); major != 1 {
		return fmt.Errorf("pcapng version %d is not supported, only version 1", major)
	}
	return r.options(body[16:], func(code uint16, value []byte) {
		switch code {
		case optionComment:
			r.comment = joinLines(r.comment, value)
		case optionUserApplication:
			r.packets.Application = string(value)
		}
	})
}

func (r *pcapngReader) addInterface(body []byte) error {
	if len(body) < 8 {
		return fmt.Errorf("interface description of %d octets, want at least 8", len(body))
	}
	if link := r.order.Uint16(body); link != linkTypeRaw {
		return fmt.Errorf("link type %d is not supported, only raw IP (%d)", link, linkTypeRaw)
	}
	var name string
	resolution := byte(6)
	err := r.options(body[8:], func(code uint16, value []byte) {
		switch {
		case code == optionInterfaceName:
			name = string(value)
		case code == optionTimeResolution && len(value) == 1:
			resolution = value[0]
		}
	})
	if err != nil {
		return err
	}
	ticks, err := ticksPerSecond(resolution)
	if err != nil {
		return err
	}
	r.packets.Interfaces = append(r.packets.Interfaces, Interface{Name: name})
	r.ticks = append(r.ticks, ticks)
	return nil
}

// ticksPerSecond decodes if_tsresol (section 4.2): a negative power of ten, or
// of two if the highest bit is set.
func ticksPerSecond(resolution byte) (uint64, error) {
	exponent, power := resolution&0x7f, uint64(10)
	if resolution&0x80 != 0 {
		power = 2
	}
	ticks := uint64(1)
	for range exponent {
		high, low := bits.Mul64(ticks, power)
		if high != 0 {
			return 0, fmt.Errorf("time resolution %#02x is too fine", resolution)
		}
		ticks = low
	}
	return ticks, nil
}

func (r *pcapngReader) secrets(body []byte) error {
	if len(body) < 8 {
		return fmt.Errorf("secrets block of %d octets, want at least 8", len(body))
	}
	length := r.order.Uint32(body[4:])
	if int64(length) > int64(len(body)-8) {
		return fmt.Errorf("%d octets of secrets in a block with room for %d", length, len(body)-8)
	}
	if r.order.Uint32(body) == secretsTLS {
		r.packets.Secrets = append(r.packets.Secrets, body[8:8+length]...)
	}
	return nil
}

func (r *pcapngReader) packet(body []byte) error {
	if len(body) < 20 {
		return fmt.Errorf("packet block of %d octets, want at least 20", len(body))
	}
	index := int64(r.order.Uint32(body)) + int64(r.first)
	if index >= int64(len(r.ticks)) {
		return fmt.Errorf("packet of interface %d, but the section has only %d interfaces", index-int64(r.first), len(r.ticks)-r.first)
	}
	captured, original := r.order.Uint32(body[12:]), r.order.Uint32(body[16:])
	if int64(captured) > int64(len(body)-20) {
		return fmt.Errorf("packet of %d octets in a block with room for %d", captured, len(body)-20)
	}
	if captured > original {
		return fmt.Errorf("%d octets captured of a packet of %d: the file is damaged", captured, original)
	}
	at, err := nanoseconds(uint64(r.order.Uint32(body[4:]))<<32|uint64(r.order.Uint32(body[8:])), r.ticks[index])
	if err != nil {
		return err
	}
	p := PacketRecord{Interface: int(index), Time: at, Length: int(original)}
	var comment []byte
	err = r.options(body[20+padded(int(captured)):], func(code uint16, value []byte) {
		switch {
		case code == optionComment:
			comment = joinLines(comment, value)
		case code == optionFlags && len(value) == 4:
			p.Inbound = r.order.Uint32(value)&3 == flagInbound
		case code == optionPacketID && len(value) == 8:
			p.ID = r.order.Uint64(value)
		case code == optionCustomBinary && len(value) == 12 && r.order.Uint32(value) == EnterpriseNumber:
			p.Lateness, p.HasLateness = int64(le.Uint64(value[4:])), true
		}
	})
	if err != nil {
		return err
	}
	if len(comment) > 0 {
		p.Comment = r.intern(comment)
	}
	p.Data = r.keep(&p, body[20:20+captured])
	if n := len(r.packets.Records); n == cap(r.packets.Records) {
		r.packets.Records = slices.Grow(r.packets.Records, max(n, 64))
	}
	r.packets.Records = append(r.packets.Records, p)
	return nil
}

// keep returns a copy of a packet's octets. The receiver's record of a packet shares those of the sender's.
func (r *pcapngReader) keep(p *PacketRecord, data []byte) []byte {
	if p.Inbound {
		if at, ok := r.sent[p.ID]; ok {
			delete(r.sent, p.ID)
			if sent := r.packets.Records[at].Data; bytes.Equal(sent, data) {
				return sent
			}
		}
	} else if p.Comment == "" { // delivered, so its receiver's record follows
		r.sent[p.ID] = len(r.packets.Records)
	}
	const slab, large = 256 << 10, 16 << 10 // octets
	if len(data) > large {
		return bytes.Clone(data)
	}
	if len(r.slab) < len(data) {
		r.slab = make([]byte, min(slab, 4<<10+2*r.read))
	}
	kept := r.slab[:len(data):len(data)]
	r.slab = r.slab[len(data):]
	copy(kept, data)
	return kept
}

// intern returns a comment as text, the same one for equal comments.
func (r *pcapngReader) intern(comment []byte) string {
	text, ok := r.comments[string(comment)]
	if !ok {
		text = string(comment)
		r.comments[text] = text
	}
	return text
}

func nanoseconds(stamp, ticks uint64) (int64, error) {
	seconds, rest := stamp/ticks, stamp%ticks
	if seconds >= math.MaxInt64/1_000_000_000 {
		return 0, fmt.Errorf("packet timestamp out of range: %d s after 1970", seconds)
	}
	high, low := bits.Mul64(rest, 1e9)
	fraction, _ := bits.Div64(high, low, ticks)
	return int64(seconds)*1e9 + int64(fraction), nil
}

// options calls visit for each option of a block (section 3.5).
func (r *pcapngReader) options(b []byte, visit func(code uint16, value []byte)) error {
	for len(b) >= 4 {
		code, length := r.order.Uint16(b), int(r.order.Uint16(b[2:]))
		if code == optionEnd {
			return nil
		}
		if padded(length) > len(b)-4 {
			return fmt.Errorf("option %d of %d octets, but only %d are left in its block", code, length, len(b)-4)
		}
		visit(code, b[4:4+length])
		b = b[4+padded(length):]
	}
	return nil
}

func padded(length int) int { return (length + 3) &^ 3 }

func joinLines(text, line []byte) []byte {
	if len(text) > 0 {
		text = append(text, '\n')
	}
	return append(text, line...)
}
