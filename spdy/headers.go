package spdy

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// appendPieces appends fields as an uncompressed header block (draft 3 section
// 2.6.10), in pieces that separate the secrets.
func appendPieces(v Version, pieces []piece, fields []Field) ([]piece, error) {
	if v == V2 && len(fields) > 1<<16-1 {
		return nil, fmt.Errorf("%d fields, more than 65535 (%s)", len(fields), v.cite("2.6.10"))
	}
	size := 4
	for _, f := range fields {
		size += 8 + len(f.Name) + len(f.Value)
	}
	var text strings.Builder
	text.Grow(size)
	var count [4]byte
	add := func(n int, word string) {
		text.Write(v.appendCount(count[:0], n))
		text.WriteString(word)
	}
	add(len(fields), "")
	from := 0
	for _, f := range fields {
		if err := v.checkField(f); err != nil {
			return nil, err
		}
		add(len(f.Name), f.Name)
		if !secret(f.Name) {
			add(len(f.Value), f.Value)
			continue
		}
		add(len(f.Value), "")
		pieces = append(pieces, piece{text: text.String()[from:]}, piece{text: f.Value, secret: true})
		from = text.Len()
	}
	return append(pieces, piece{text: text.String()[from:]}), nil
}

func (v Version) appendCount(b []byte, n int) []byte {
	if v == V2 {
		return binary.BigEndian.AppendUint16(b, uint16(n))
	}
	return binary.BigEndian.AppendUint32(b, uint32(n))
}

// checkField returns what is wrong with a name or its value.
func (v Version) checkField(f Field) error {
	switch {
	case f.Name == "":
		return fmt.Errorf("a field's name is empty (%s)", v.cite("2.6.10"))
	case strings.ContainsFunc(f.Name, func(r rune) bool { return r < ' ' || r > '~' || 'A' <= r && r <= 'Z' }):
		return fmt.Errorf("the name %q is not lower-case ASCII (%s)", f.Name, v.cite("2.6.10"))
	case f.Value == "" && v == V2:
		return fmt.Errorf("the value of %q is empty (%s)", f.Name, v.cite("2.6.10"))
	case f.Value != "" && (f.Value[0] == 0 || f.Value[len(f.Value)-1] == 0 || strings.Contains(f.Value, "\x00\x00")):
		return fmt.Errorf("the value %q of %q has a NUL that does not separate two values (%s)", f.Value, f.Name, v.cite("2.6.10"))
	case v == V2 && max(len(f.Name), len(f.Value)) > 1<<16-1:
		return fmt.Errorf("%q or its value is longer than 65535 octets (%s)", f.Name, v.cite("2.6.10"))
	}
	return nil
}

// parseFields parses a header block. The second error concerns only the stream:
// the block has clear boundaries but breaks a rule. The first concerns the
// session: nothing after it can be parsed.
func parseFields(v Version, block []byte, most int) (fields []Field, stream, session error) {
	width := 4
	if v == V2 {
		width = 2
	}
	text := string(block)
	count := func() (int, bool) {
		if len(block) < width {
			return 0, false
		}
		n := int(binary.BigEndian.Uint16(block))
		if width == 4 {
			n = int(binary.BigEndian.Uint32(block))
		}
		block, text = block[width:], text[width:]
		return n, true
	}
	word := func() (string, bool) {
		n, ok := count()
		if !ok || n > len(text) {
			return "", false
		}
		w := text[:n]
		block, text = block[n:], text[n:]
		return w, true
	}
	truncated := func() ([]Field, error, error) {
		return nil, nil, fmt.Errorf("the header block ends in the middle of a field (%s)", v.cite("2.6.10"))
	}
	n, ok := count()
	if !ok || n > len(text)/(2*width) {
		return truncated()
	}
	if n > most {
		stream = fmt.Errorf("%d header fields exceed the limit of %d", n, most)
	} else {
		fields = make([]Field, 0, n)
	}
	for range n {
		name, ok := word()
		if !ok {
			return truncated()
		}
		value, ok := word()
		if !ok {
			return truncated()
		}
		if stream != nil {
			continue
		}
		f := Field{name, value}
		if stream = v.checkField(f); stream != nil {
			continue
		}
		if _, twice := valueOf(fields, name); twice {
			stream = fmt.Errorf("duplicate name %q (%s)", name, v.cite("2.6.10"))
			continue
		}
		fields = append(fields, f)
	}
	if len(text) > 0 {
		return nil, nil, fmt.Errorf("%d octets follow the last field of the header block (%s)", len(text), v.cite("2.6.10"))
	}
	return fields, stream, nil
}

// valueOf returns the value of the field with that name.
func valueOf(fields []Field, name string) (string, bool) {
	for _, f := range fields {
		if f.Name == name {
			return f.Value, true
		}
	}
	return "", false
}
