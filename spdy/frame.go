package spdy

import "fmt"

// FrameType is the type of a frame: that of control frames as on the wire, and
// 0 for DATA, which has none.
type FrameType uint16

// The types of frames (draft 3 section 2.6).
const (
	TypeData         FrameType = 0
	TypeSynStream    FrameType = 1
	TypeSynReply     FrameType = 2
	TypeRstStream    FrameType = 3
	TypeSettings     FrameType = 4
	TypeNoop         FrameType = 5
	TypePing         FrameType = 6
	TypeGoAway       FrameType = 7
	TypeHeaders      FrameType = 8
	TypeWindowUpdate FrameType = 9
	TypeCredential   FrameType = 10
)

var typeNames = [...]string{
	"DATA", "SYN_STREAM", "SYN_REPLY", "RST_STREAM", "SETTINGS", "NOOP", "PING", "GOAWAY", "HEADERS",
	"WINDOW_UPDATE", "CREDENTIAL",
}

// String is the type's name in the drafts.
func (t FrameType) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return fmt.Sprintf("type %d", uint16(t))
}

// The flags of frames.
const (
	flagFin            = 0x01 // DATA, SYN_STREAM, SYN_REPLY, HEADERS
	flagUnidirectional = 0x02 // SYN_STREAM
	flagClear          = 0x01 // SETTINGS
)

const (
	frameHeaderLength = 8
	maxLength         = 1<<24 - 1 // of a frame's payload: the length field has 24 bits
	maxStreamID       = 1<<31 - 1
	maxWindow         = 1<<31 - 1
)

// Frame is one of the types of this package that are called like a frame, as a
// pointer.
type Frame interface {
	// Type is the frame's type.
	Type() FrameType
}

// Field is one name with its value, or its values with a NUL between each two
// (draft 3 section 2.6.10). Names are in lower case.
type Field struct{ Name, Value string }

// SynStream opens a stream (draft 3 section 2.6.1).
type SynStream struct {
	StreamID     uint32
	AssociatedID uint32 // of the stream that a pushed one belongs to; 0 for none
	Priority     Priority
	Slot         uint8 // of a client certificate: versions 3 and 3.1
	Fin          bool
	// Unidirectional streams carry nothing back.
	Unidirectional bool
	Fields         []Field
}

// SynReply accepts a stream (draft 3 section 2.6.2).
type SynReply struct {
	StreamID uint32
	Fin      bool
	Fields   []Field
}

// RstStream ends a stream at once (draft 3 section 2.6.3).
type RstStream struct {
	StreamID uint32
	Status   Status
}

// Settings tells the peer about its sender (draft 3 section 2.6.4).
type Settings struct {
	// Clear asks the client to forget what it has persisted.
	Clear   bool
	Entries []Setting
}

// Setting is one entry of Settings.
type Setting struct {
	ID    SettingID
	Flags SettingFlags
	Value uint32
}

// SettingID says what a setting is about. It has 24 bits.
type SettingID uint32

// The settings (draft 3 section 2.6.4).
const (
	SettingUploadBandwidth       SettingID = 1 // kB/s
	SettingDownloadBandwidth     SettingID = 2 // kB/s
	SettingRoundTripTime         SettingID = 3 // ms
	SettingMaxConcurrentStreams  SettingID = 4
	SettingCurrentCwnd           SettingID = 5 // packets
	SettingDownloadRetransRate   SettingID = 6 // per cent
	SettingInitialWindowSize     SettingID = 7 // octets
	SettingCertificateVectorSize SettingID = 8 // draft 3 alone
)

// SettingFlags say whether a setting is, or was, kept by the client.
type SettingFlags uint8

// The flags of a setting.
const (
	PersistValue SettingFlags = 1 // the server asks the client to keep the setting
	Persisted    SettingFlags = 2 // the client gives back a setting that it kept
)

// Noop does nothing (draft 2, "NOOP"). Later versions do not have it.
type Noop struct{}

// Ping is sent back as it is (draft 3 section 2.6.5). Clients begin with odd
// numbers, servers with even ones.
type Ping struct{ ID uint32 }

// GoAway ends a session, or announces its end (draft 3 section 2.6.6).
type GoAway struct {
	LastStreamID uint32 // the last stream of the peer's that was accepted; 0 for none
	Status       Status // not in version 2
}

// Headers adds fields to a stream (draft 3 section 2.6.7).
type Headers struct {
	StreamID uint32
	Fin      bool
	Fields   []Field
}

// WindowUpdate lets the peer send more (draft 3 section 2.6.8). Version 2 has
// none.
type WindowUpdate struct {
	StreamID uint32 // 0 for the session: version 3.1
	Delta    uint32 // octets, 1 to 2^31-1
}

// Credential carries another client certificate (draft 3 section 2.6.9). It is
// read, and nothing else is done with it; draft 3.1 takes it back.
type Credential struct {
	Slot         uint16 // from 1
	Proof        []byte
	Certificates [][]byte // DER, the leaf first
}

// Data carries a stream's content (draft 3 section 2.2.2).
type Data struct {
	StreamID uint32
	Fin      bool
	Payload  []byte
}

// Unknown is a control frame of another version, or of a type that the version
// does not have. Whoever does not know it ignores it (draft 2, "Control
// frames").
type Unknown struct {
	Version uint16
	Kind    FrameType
	Flags   uint8
	Payload []byte
}

// Type is TypeSynStream.
func (*SynStream) Type() FrameType { return TypeSynStream }

// Type is TypeSynReply.
func (*SynReply) Type() FrameType { return TypeSynReply }

// Type is TypeRstStream.
func (*RstStream) Type() FrameType { return TypeRstStream }

// Type is TypeSettings.
func (*Settings) Type() FrameType { return TypeSettings }

// Type is TypeNoop.
func (*Noop) Type() FrameType { return TypeNoop }

// Type is TypePing.
func (*Ping) Type() FrameType { return TypePing }

// Type is TypeGoAway.
func (*GoAway) Type() FrameType { return TypeGoAway }

// Type is TypeHeaders.
func (*Headers) Type() FrameType { return TypeHeaders }

// Type is TypeWindowUpdate.
func (*WindowUpdate) Type() FrameType { return TypeWindowUpdate }

// Type is TypeCredential.
func (*Credential) Type() FrameType { return TypeCredential }

// Type is TypeData.
func (*Data) Type() FrameType { return TypeData }

// Type is the unknown type's number.
func (f *Unknown) Type() FrameType { return f.Kind }
