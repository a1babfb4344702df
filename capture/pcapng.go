package capture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Interface is one place where packets were captured: one end of one access
// link, or a third node. Wiretime names them "client.<access>", "server.<access>" and NodeInterface.
type Interface struct {
	Name string
}

// NodeInterface is the name of a third node's interface, such as that of a network's manager.
const NodeInterface = "node"

// Header is what precedes the packets of a capture file.
type Header struct {
	Application string // the program that wrote the file (shb_userappl)
	Comment     string // free text about the whole capture
	Interfaces  []Interface
}

// PacketRecord is one sighting of one packet at one interface. A delivered
// packet has two with the same ID, the sender's and the receiver's. A dropped
// packet has only its sender's, with a comment that starts with DroppedPrefix.
type PacketRecord struct {
	Interface   int   // index into Header.Interfaces
	Time        int64 // ns since the Unix epoch
	Inbound     bool  // as seen by the host that owns the interface
	ID          uint64
	Comment     string
	Lateness    int64 // emulator lateness: ns from when the packet was due to leave the emulator until it left
	HasLateness bool  // only the receiver's record of a packet has a lateness
	// Length is the packet's original length in octets (original packet length,
	// section 4.3). Data may hold only the first of them.
	Length int
	Data   []byte
}

// DroppedPrefix starts the comment of a packet that the emulator did not
// deliver. The reason follows, in the words of package network's fates.
const DroppedPrefix = "dropped: "

// Packets is the content of a capture file.
type Packets struct {
	Header
	Secrets []byte // TLS key log in NSS format, empty when the file carries none
	Records []PacketRecord
}

// Block types, option codes and constants of draft-ietf-opsawg-pcapng, each
// with the section that defines it.
const (
	blockSection   = 0x0A0D0D0A // 4.1
	blockInterface = 1          // 4.2
	blockPacket    = 6          // 4.3, enhanced packet block
	blockSecrets   = 10         // 4.7, decryption secrets block

	byteOrderMagic = 0x1A2B3C4D // 4.1
	secretsTLS     = 0x544c534b // 4.7, "TLSK"

	optionEnd             = 0    // 3.5
	optionComment         = 1    // 3.5
	optionCustomBinary    = 2989 // 3.5.1, may be copied by programs that rewrite the file
	optionUserApplication = 4    // 4.1
	optionInterfaceName   = 2    // 4.2
	optionTimeResolution  = 9    // 4.2
	optionFlags           = 2    // 4.3
	optionPacketID        = 5    // 4.3

	flagInbound  = 1 // 4.3, epb_flags bits 0-1
	flagOutbound = 2

	linkTypeRaw = 101 // packets begin with their IP header
)

// EnterpriseNumber marks Wiretime's custom options. RFC 5612 reserves this
// number for documentation: Wiretime has none of its own, and no program that
// follows the RFC gives it another meaning.
const EnterpriseNumber = 32473

// blockLimit is the largest block that is accepted, as in Wireshark. A larger
// length means that the file is damaged or is not pcapng.
const blockLimit = 16 << 20

// ErrTruncated means that a capture ends within a block, for example because
// the program that wrote it was killed. Everything before that block is sound.
var ErrTruncated = errors.New("the capture ends within a block: its writer was stopped before it finished")

var le = binary.LittleEndian

// AppendHeader appends the section header and one interface description per
// interface, and returns the extended buffer. All blocks are little-endian,
// their times count nanoseconds and their packets start with the IP header
// (LINKTYPE_RAW).
func AppendHeader(b []byte, h Header) []byte {
	b, start := beginBlock(b, blockSection)
	b = le.AppendUint32(b, byteOrderMagic)
	b = le.AppendUint16(b, 1)
	b = le.AppendUint16(b, 0)
	b = le.AppendUint64(b, math.MaxUint64)
	if h.Comment != "" {
		b = appendOption(b, optionComment, h.Comment)
	}
	if h.Application != "" {
		b = appendOption(b, optionUserApplication, h.Application)
	}
	b = le.AppendUint32(b, optionEnd)
	b = endBlock(b, start)
	for _, i := range h.Interfaces {
		b, start = beginBlock(b, blockInterface)
		b = le.AppendUint16(b, linkTypeRaw)
		b = le.AppendUint16(b, 0)
		b = le.AppendUint32(b, 0)
		b = appendOption(b, optionInterfaceName, i.Name)
		b = appendOption(b, optionTimeResolution, "\x09")
		b = le.AppendUint32(b, optionEnd)
		b = endBlock(b, start)
	}
	return b
}

// AppendPacket appends one packet and returns the extended buffer. A Length below
// len(Data) counts as len(Data). AppendPacket does not allocate if b has room.
func AppendPacket(b []byte, p *PacketRecord) []byte {
	b, start := beginBlock(b, blockPacket)
	b = le.AppendUint32(b, uint32(p.Interface))
	b = le.AppendUint32(b, uint32(uint64(p.Time)>>32))
	b = le.AppendUint32(b, uint32(p.Time))
	b = le.AppendUint32(b, uint32(len(p.Data)))
	b = le.AppendUint32(b, uint32(max(p.Length, len(p.Data))))
	b = append(b, p.Data...)
	b = appendPadding(b, len(p.Data))
	if p.Comment != "" {
		b = appendOption(b, optionComment, p.Comment)
	}
	direction := uint32(flagOutbound)
	if p.Inbound {
		direction = flagInbound
	}
	b = appendOptionHead(b, optionFlags, 4)
	b = le.AppendUint32(b, direction)
	b = appendOptionHead(b, optionPacketID, 8)
	b = le.AppendUint64(b, p.ID)
	if p.HasLateness {
		b = appendOptionHead(b, optionCustomBinary, 12)
		b = le.AppendUint32(b, EnterpriseNumber)
		b = le.AppendUint64(b, uint64(p.Lateness))
	}
	b = le.AppendUint32(b, optionEnd)
	return endBlock(b, start)
}

// beginBlock appends the head of a block and returns where the block starts.
func beginBlock(b []byte, kind uint32) ([]byte, int) {
	start := len(b)
	b = le.AppendUint32(b, kind)
	return le.AppendUint32(b, 0), start
}

// endBlock writes the block's length before and after its body.
func endBlock(b []byte, start int) []byte {
	length := uint32(len(b) - start + 4)
	le.PutUint32(b[start+4:], length)
	return le.AppendUint32(b, length)
}

func appendOption(b []byte, code uint16, value string) []byte {
	value = value[:min(len(value), math.MaxUint16)]
	b = appendOptionHead(b, code, len(value))
	b = append(b, value...)
	return appendPadding(b, len(value))
}

func appendOptionHead(b []byte, code uint16, length int) []byte {
	b = le.AppendUint16(b, code)
	return le.AppendUint16(b, uint16(length))
}

func appendPadding(b []byte, length int) []byte {
	const zeros = "\x00\x00\x00"
	return append(b, zeros[:-length&3]...)
}

// InsertSecrets copies the capture src to dst and inserts a TLS key log (NSS
// format) before the first packet, where a reader that goes through the file
// once needs it. An empty key log inserts nothing. A truncated last block is
// copied as it is; ReadPcapng reports it.
func InsertSecrets(dst io.Writer, src io.Reader, keyLog []byte) error {
	order, head, err := copyHeader(dst, src)
	if err != nil {
		return fmt.Errorf("insert secrets: %w", err)
	}
	if len(keyLog) > 0 {
		if _, err := dst.Write(appendSecrets(nil, order, keyLog)); err != nil {
			return fmt.Errorf("insert secrets: write the key log: %w", err)
		}
	}
	if _, err := io.Copy(dst, io.MultiReader(bytes.NewReader(head), src)); err != nil {
		return fmt.Errorf("insert secrets: copy the packets: %w", err)
	}
	return nil
}

// copyHeader copies the blocks before the packets. It returns the byte order
// and what it has read of the first block after them.
func copyHeader(dst io.Writer, src io.Reader) (binary.ByteOrder, []byte, error) {
	var order binary.ByteOrder
	for offset := int64(0); ; {
		head := make([]byte, 12)
		n, err := io.ReadFull(src, head)
		if ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF); ended && order != nil {
			return order, head[:n], nil
		} else if ended {
			return nil, nil, fmt.Errorf("read the section header: %w", ErrTruncated)
		} else if err != nil {
			return nil, nil, fmt.Errorf("read block at offset %d: %w", offset, err)
		}
		if order == nil {
			if order, err = sectionOrder(head); err != nil {
				return nil, nil, err
			}
		}
		kind, length := order.Uint32(head), order.Uint32(head[4:])
		if kind != blockSection && kind != blockInterface {
			return order, head, nil
		}
		if err := checkLength(length); err != nil {
			return nil, nil, fmt.Errorf("block at offset %d: %w", offset, err)
		}
		block := io.MultiReader(bytes.NewReader(head), src)
		if _, err := io.CopyN(dst, block, int64(length)); errors.Is(err, io.EOF) {
			return nil, nil, fmt.Errorf("block at offset %d: %w", offset, ErrTruncated)
		} else if err != nil {
			return nil, nil, fmt.Errorf("copy block at offset %d: %w", offset, err)
		}
		offset += int64(length)
	}
}

func appendSecrets(b []byte, order binary.ByteOrder, keyLog []byte) []byte {
	length := uint32(12 + 8 + len(keyLog) + -len(keyLog)&3)
	word := func(v uint32) {
		b = append(b, 0, 0, 0, 0)
		order.PutUint32(b[len(b)-4:], v)
	}
	word(blockSecrets)
	word(length)
	word(secretsTLS)
	word(uint32(len(keyLog)))
	b = append(b, keyLog...)
	b = appendPadding(b, len(keyLog))
	word(length)
	return b
}

// sectionOrder detects the byte order of a section from its first 12 octets.
func sectionOrder(head []byte) (binary.ByteOrder, error) {
	if le.Uint32(head) != blockSection {
		return nil, fmt.Errorf("not a pcapng file: it starts with %#08x instead of a section header", le.Uint32(head))
	}
	switch uint32(byteOrderMagic) {
	case le.Uint32(head[8:]):
		return binary.LittleEndian, nil
	case binary.BigEndian.Uint32(head[8:]):
		return binary.BigEndian, nil
	}
	return nil, fmt.Errorf("section header with the byte-order magic %#08x, want %#08x", le.Uint32(head[8:]), uint32(byteOrderMagic))
}

func checkLength(length uint32) error {
	if length < 12 || length%4 != 0 || length > blockLimit {
		return fmt.Errorf("invalid length %d, want a multiple of 4 from 12 to %d: the file is damaged", length, blockLimit)
	}
	return nil
}
