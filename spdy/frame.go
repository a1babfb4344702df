package spdy

import "fmt"

// FrameType is the type of a frame: for control frames the type on the wire,
// and 0 for DATA, which has none.
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

// String returns the type's name in the drafts.
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
	maxLength         = 1<<24 - 1 // of a frame's payload, whose length field has 24 bits
	maxStreamID       = 1<<31 - 1
	maxWindow         = 1<<31 - 1
)

// Frame is a pointer to one of this package's frame types.
type Frame interface {
	// Type returns the frame's type.
	Type() FrameType
}

// Field is a name with its value, or with several values separated by NULs
// (draft 3 section 2.6.10). Names are in lower case.
type Field struct{ Name, Value string }

// SynStream opens a stream (draft 3 section 2.6.1).
type SynStream struct {
	StreamID     uint32
	AssociatedID uint32 // the stream that a pushed one belongs to; 0 for none
	Priority     Priority
	Slot         uint8 // of a client certificate: versions 3 and 3.1
	Fin          bool
	// Unidirectional streams carry data only from their opener.
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
	// Clear asks the client to discard its persisted settings.
	Clear   bool
	Entries []Setting
}

// Setting is one entry of Settings.
type Setting struct {
	ID    SettingID
	Flags SettingFlags
	Value uint32
}

// SettingID identifies a setting. It has 24 bits.
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
	SettingCertificateVectorSize SettingID = 8 // draft 3 only
)

// SettingFlags say whether the client should keep, or has kept, a setting.
type SettingFlags uint8

// The flags of a setting.
const (
	PersistValue SettingFlags = 1 // the server asks the client to keep the setting
	Persisted    SettingFlags = 2 // the client returns a setting that it kept
)

// Noop does nothing (draft 2, "NOOP"). Later versions do not have it.
type Noop struct{}

// Ping is echoed unchanged (draft 3 section 2.6.5). Clients use odd IDs,
// servers even ones.
type Ping struct{ ID uint32 }

// GoAway ends a session, or announces its end (draft 3 section 2.6.6).
type GoAway struct {
	LastStreamID uint32 // the last accepted stream of the peer; 0 for none
	Status       Status // not in version 2
}

// Headers adds fields to a stream (draft 3 section 2.6.7).
type Headers struct {
	StreamID uint32
	Fin      bool
	Fields   []Field
}

// WindowUpdate lets the peer send more (draft 3 section 2.6.8). Version 2 does
// not have it.
type WindowUpdate struct {
	StreamID uint32 // 0 for the session: version 3.1
	Delta    uint32 // octets, 1 to 2^31-1
}

// Credential carries another client certificate (draft 3 section 2.6.9). It is
// parsed and otherwise ignored; draft 3.1 withdrew it.
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
// does not have. Receivers ignore it (draft 2, "Control frames").
type Unknown struct {
	Version uint16
	Kind    FrameType
	Flags   uint8
	Payload []byte
}

// Type returns TypeSynStream.
func (*SynStream) Type() FrameType { return TypeSynStream }

// Type returns TypeSynReply.
func (*SynReply) Type() FrameType { return TypeSynReply }

// Type returns TypeRstStream.
func (*RstStream) Type() FrameType { return TypeRstStream }

// Type returns TypeSettings.
func (*Settings) Type() FrameType { return TypeSettings }

// Type returns TypeNoop.
func (*Noop) Type() FrameType { return TypeNoop }

// Type returns TypePing.
func (*Ping) Type() FrameType { return TypePing }

// Type returns TypeGoAway.
func (*GoAway) Type() FrameType { return TypeGoAway }

// Type returns TypeHeaders.
func (*Headers) Type() FrameType { return TypeHeaders }

// Type returns TypeWindowUpdate.
func (*WindowUpdate) Type() FrameType { return TypeWindowUpdate }

// Type returns TypeCredential.
func (*Credential) Type() FrameType { return TypeCredential }

// Type returns TypeData.
func (*Data) Type() FrameType { return TypeData }

// Type returns the unknown type's number.
func (f *Unknown) Type() FrameType { return f.Kind }
