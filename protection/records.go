package protection

import (
	"encoding/binary"
	"errors"
)

// Types of TLS records (RFC 8446 section 5.1).
const (
	recordChangeCipher = 20
	recordHandshake    = 22
	recordApplication  = 23
)

// RecordHeader is the length of a TLS record's header in octets.
const RecordHeader = 5

const longestRecord = 1<<14 + 256 // octets behind the header (RFC 8446 section 5.2)

// Text is the application data of one direction of a TLS connection.
type Text struct {
	Data    []byte
	Records []Record // the records that carried Data, in order
	Head    int      // octets of each record before its content: its header and, over TLS 1.2, the explicit part of its nonce
	// Unread is how many octets at the end were left: an incomplete record, or the first one that could not be decrypted and
	// all that follow it.
	Unread int
	// Early says that the direction began with early data, whose keys are not logged: Data lacks it.
	Early bool
}

// Record is the place of a TLS record with application data, in octets.
type Record struct {
	Offset, Size int // of the record, with header and tag, in the encrypted octets
	Text, Length int // offset and length of its content in Text.Data
}

// IsTLS reports whether a connection begins with a TLS handshake record.
func IsTLS(data []byte) bool {
	return len(data) > RecordHeader && data[0] == recordHandshake && data[1] == 3
}

// Unsealed is a decrypted TLS connection.
type Unsealed struct {
	Texts [2]Text // from the client, from the server
	ALPN  string  // the negotiated protocol; empty if none was negotiated or it could not be read
}

// The reasons why Unseal cannot decrypt a connection.
var (
	ErrNoHandshake = errors.New("the start of the TLS handshake is missing")
	ErrUnknownTLS  = errors.New("the connection uses neither TLS 1.3 nor TLS 1.2 with a known cipher suite")
	ErrNoSecrets   = errors.New("the key log lacks the secrets of this connection")
)

// Unseal decrypts both directions of a TLS 1.3 or 1.2 connection, each up to the first record that it cannot decrypt. It
// overwrites fromClient and fromServer with the texts. With an error at least one text is empty: ErrNoSecrets may
// concern one direction only.
func Unseal(fromClient, fromServer []byte, keys KeyLog) (Unsealed, error) {
	var u Unsealed
	var random, answer []byte
	eachRecord(fromClient, func(_ int, r []byte) bool {
		messages(r[RecordHeader:], func(kind byte, body []byte) {
			if kind == clientHello {
				random = clientRandom(body)
			}
		})
		return false
	})
	eachRecord(fromServer, func(_ int, r []byte) bool {
		if r[0] == recordHandshake {
			messages(r[RecordHeader:], func(kind byte, body []byte) {
				if kind == serverHello {
					answer = body
				}
			})
		}
		return answer == nil
	})
	secrets := keys[string(random)]
	chosen := chosenSuite(answer)
	old := chosenSuite12(answer)
	switch {
	case random == nil || answer == nil:
		return u, ErrNoHandshake
	case chosen == nil && old == nil:
		return u, ErrUnknownTLS
	case secrets == nil:
		return u, ErrNoSecrets
	case old != nil:
		return unseal12(old, random, answer, fromClient, fromServer, secrets)
	}
	var err error
	for d, data := range [2][]byte{fromClient, fromServer} {
		handshake, traffic := secrets[handshakeLabels[d]], secrets[trafficLabels[d]]
		if handshake == nil || traffic == nil {
			err = ErrNoSecrets
			continue
		}
		u.Texts[d].Data, u.Texts[d].Head = data[:0], RecordHeader
		o := opener{unsealed: &u, client: d == 0, text: &u.Texts[d], traffic: NewKeys(chosen, traffic), keys: NewKeys(chosen, handshake)}
		u.Texts[d].Unread = len(data) - eachRecord(data, o.record)
	}
	return u, err
}

// eachRecord calls visit for each whole record with its offset, until visit returns false or a record is
// longer than TLS allows. It returns the offset of the first record that was not read.
func eachRecord(data []byte, visit func(offset int, record []byte) bool) int {
	offset := 0
	for len(data)-offset >= RecordHeader {
		length := int(binary.BigEndian.Uint16(data[offset+3:]))
		end := offset + RecordHeader + length
		if length > longestRecord || end > len(data) || !visit(offset, data[offset:end]) {
			break
		}
		offset = end
	}
	return offset
}

// opener decrypts the records of one direction.
type opener struct {
	unsealed *Unsealed
	client   bool // the direction is the client's
	text     *Text
	keys     *Keys
	traffic  *Keys // for what follows the handshake
	number   uint64
	begun    bool   // the handshake is complete
	message  []byte // incomplete handshake message
}

func (o *opener) record(offset int, r []byte) bool {
	if r[0] != recordApplication {
		return true
	}
	sealed := r[RecordHeader:]
	inner, ok := o.keys.Open(sealed[:0], o.number, sealed, r[:RecordHeader])
	if !ok {
		early := o.client && !o.begun && o.number == 0 // it is encrypted with another key
		o.text.Early = o.text.Early || early
		return early
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
		from := len(o.text.Data)
		o.text.Data = append(o.text.Data, content...)
		o.text.Records = append(o.text.Records, Record{Offset: offset, Size: len(r), Text: from, Length: len(content)})
	}
	return true
}

func (o *opener) handshake(kind byte, body []byte) {
	switch {
	case kind == encryptedExtensions:
		o.unsealed.ALPN = chosenALPN(body)
	case kind == finished && !o.begun:
		o.keys, o.number, o.begun = o.traffic, 0, true
	case kind == keyUpdate:
		o.keys, o.number = o.keys.Next(), 0
	}
}
