package critical

import (
	"encoding/binary"

	"wiretime/protection"
)

// Types of TLS records (RFC 8446 section 5.1).
const (
	recordHandshake   = 22
	recordApplication = 23
)

const (
	recordHeader  = 5
	longestRecord = 1<<14 + 256 // octets behind the header (RFC 8446 section 5.2)
)

// isTLS reports whether a connection begins with a TLS handshake record.
func isTLS(data []byte) bool {
	return len(data) > recordHeader && data[0] == recordHandshake && data[1] == 3
}

// unseal decrypts TLS 1.3 in both directions of a connection as far as it can:
// without the connection's secrets the texts are empty. A text takes the place of the
// octets that it was decrypted from.
func unseal(fromClient, fromServer []byte, keys keyLog) [2]*text {
	texts := [2]*text{{}, {}}
	var random []byte
	var chosen *protection.Suite
	eachRecord(fromClient, func(_ int, r []byte) bool {
		messages(r[recordHeader:], func(kind byte, body []byte) {
			if kind == clientHello {
				random = clientRandom(body)
			}
		})
		return false
	})
	eachRecord(fromServer, func(_ int, r []byte) bool {
		if r[0] == recordHandshake {
			messages(r[recordHeader:], func(kind byte, body []byte) {
				if kind == serverHello {
					chosen = chosenSuite(body)
				}
			})
		}
		return chosen == nil
	})
	secrets := keys[string(random)]
	if chosen == nil || secrets == nil {
		return texts
	}
	for d, data := range [2][]byte{fromClient, fromServer} {
		handshake, traffic := secrets[handshakeLabels[d]], secrets[trafficLabels[d]]
		if handshake == nil || traffic == nil {
			continue
		}
		texts[d].data = data[:0]
		o := opener{text: texts[d], traffic: protection.NewKeys(chosen, traffic), keys: protection.NewKeys(chosen, handshake)}
		eachRecord(data, o.record)
	}
	return texts
}

// eachRecord calls visit for each whole record with its offset, until visit
// returns false or a record is longer than TLS allows.
func eachRecord(data []byte, visit func(offset int, record []byte) bool) {
	for offset := 0; len(data)-offset >= recordHeader; {
		length := int(binary.BigEndian.Uint16(data[offset+3:]))
		end := offset + recordHeader + length
		if length > longestRecord || end > len(data) || !visit(offset, data[offset:end]) {
			return
		}
		offset = end
	}
}

// opener decrypts the records of one direction.
type opener struct {
	text    *text
	keys    *protection.Keys
	traffic *protection.Keys // for what follows the handshake
	number  uint64
	begun   bool   // the handshake is complete
	message []byte // incomplete handshake message
}

func (o *opener) record(offset int, r []byte) bool {
	if r[0] != recordApplication {
		return true
	}
	sealed := r[recordHeader:]
	inner, ok := o.keys.Open(sealed[:0], o.number, sealed, r[:recordHeader])
	if !ok {
		return !o.begun && o.number == 0 // early data is encrypted with another key
	}
	o.number++
	for len(inner) > 0 && inner[len(inner)-1] == 0 {
		inner = inner[:len(inner)-1]
	}
	if len(inner) == 0 {
		return true
	}
	kind, content := inner[len(inner)-1], inner[:len(inner)-1]
	switch kind {
	case recordHandshake:
		o.message = messages(append(o.message, content...), o.handshake)
	case recordApplication:
		from := int64(len(o.text.data))
		o.text.data = append(o.text.data, content...)
		at := int64(offset) + 1 // position 0 of the lane is the SYN
		o.text.records = append(o.text.records, record{
			text: span{from, from + int64(len(content))}, wire: span{at, at + int64(len(r))}, header: recordHeader, sealed: true,
		})
	}
	return true
}

func (o *opener) handshake(kind byte, _ []byte) {
	switch {
	case kind == finished && !o.begun:
		o.keys, o.number, o.begun = o.traffic, 0, true
	case kind == keyUpdate:
		o.keys, o.number = o.keys.Next(), 0
	}
}
