package capture

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"
	"os"
)

// ReadPcapng reads a whole capture file. It ignores unknown blocks and options,
// and accepts either byte order and any time resolution. A link type other than
// raw IP is an error. Errors give the offset of the block. If a file ends
// within a block, ReadPcapng returns what came before it together with
// ErrTruncated.
func ReadPcapng(r io.Reader) (*Packets, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read capture: %w", err)
	}
	reader := pcapngReader{packets: &Packets{}}
	defer func() { reader.packets.Comment = string(reader.comment) }()
	for offset := 0; offset < len(data); {
		length, err := reader.block(data[offset:])
		if err != nil {
			return reader.packets, fmt.Errorf("read capture: block at offset %d: %w", offset, err)
		}
		offset += length
	}
	if reader.order == nil {
		return reader.packets, fmt.Errorf("read capture: the file is empty: %w", ErrTruncated)
	}
	return reader.packets, nil
}

// ReadPackets reads the capture file at path.
func ReadPackets(path string) (*Packets, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read capture: %w", err)
	}
	defer file.Close()
	packets, err := ReadPcapng(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return packets, nil
}

type pcapngReader struct {
	packets *Packets
	comment []byte           // of all sections
	order   binary.ByteOrder // of the section being read
	first   int              // index of that section's first interface
	ticks   []uint64         // of each interface, per second
}

// block reads the block that data starts with and returns its length.
func (r *pcapngReader) block(data []byte) (int, error) {
	if len(data) < 12 {
		return 0, ErrTruncated
	}
	if r.order == nil || le.Uint32(data) == blockSection {
		order, err := sectionOrder(data)
		if err != nil {
			return 0, err
		}
		r.order, r.first = order, len(r.ticks)
	}
	kind, length := r.order.Uint32(data), r.order.Uint32(data[4:])
	if err := checkLength(length); err != nil {
		return 0, err
	}
	if int(length) > len(data) {
		return 0, ErrTruncated
	}
	if again := r.order.Uint32(data[length-4:]); again != length {
		return 0, fmt.Errorf("its length is %d at its start and %d at its end: the file is damaged", length, again)
	}
	body := data[8 : length-4]
	var err error
	switch kind {
	case blockSection:
		err = r.section(body)
	case blockInterface:
		err = r.addInterface(body)
	case blockSecrets:
		err = r.secrets(body)
	case blockPacket:
		err = r.packet(body)
	}
	return int(length), err
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
	p := PacketRecord{Interface: int(index), Time: at, Length: int(original), Data: body[20 : 20+captured : 20+captured]}
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
	p.Comment = string(comment)
	r.packets.Records = append(r.packets.Records, p)
	return nil
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

// joinLines adds a line to a text.
func joinLines(text, line []byte) []byte {
	if len(text) > 0 {
		text = append(text, '\n')
	}
	return append(text, line...)
}
