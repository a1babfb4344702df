package flowcontrol

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"wiretime/spdy"
)

// readSPDY reads the frames of a SPDY connection.
func readSPDY(texts *[2]text, protocol string) *spoken {
	s := &spoken{}
	for side := range texts {
		s.broken[side] = s.readSPDY(&texts[side], Side(side), protocol)
	}
	return s
}

// readSPDY reads the frames of one end. It returns why it stopped before the end, if it did.
func (s *spoken) readSPDY(t *text, side Side, protocol string) string {
	const header = 8
	version := spdy.V31
	if protocol == "spdy/2" {
		version = spdy.V2
	}
	framer := spdy.NewFramer(version, io.Discard, bytes.NewReader(t.data), spdy.CompressSafe)
	for offset := 0; offset+header <= len(t.data); {
		end := offset + header + int(binary.BigEndian.Uint32(t.data[offset+4:])&0xffffff)
		if end > len(t.data) {
			return fmt.Sprintf("the last %d octets are an incomplete frame", len(t.data)-offset)
		}
		read, err := framer.ReadFrame()
		if err != nil {
			s.add(frame{sender: side, kind: "INVALID", initial: -1, detail: err.Error()}, t, offset, end)
			if !errors.As(err, new(*spdy.StreamError)) {
				return "the connection breaks SPDY: " + err.Error()
			}
			offset = end
			continue
		}
		f := s.add(frame{sender: side, kind: read.Type().String(), initial: -1}, t, offset, end)
		describeSPDY(f, read)
		if f.kind == "DATA" {
			s.pieces[side] = t.pieces(s.pieces[side], offset+header, end, f)
		}
		offset = end
	}
	return ""
}

func describeSPDY(f *frame, read spdy.Frame) {
	on := func(stream uint32) { f.onStream, f.stream = stream != 0, uint64(stream) }
	switch read := read.(type) {
	case *spdy.SynStream:
		on(read.StreamID)
		f.fin, f.opens, f.detail = read.Fin, f.sender == Client, describeFields(read.Fields)
		if read.AssociatedID != 0 {
			f.detail = fmt.Sprintf("pushed with stream %d: %s", read.AssociatedID, f.detail)
		}
	case *spdy.SynReply:
		on(read.StreamID)
		f.fin, f.detail = read.Fin, describeFields(read.Fields)
	case *spdy.Headers:
		on(read.StreamID)
		f.fin, f.detail = read.Fin, describeFields(read.Fields)
	case *spdy.Data:
		on(read.StreamID)
		f.run, f.octets, f.fin = true, int64(len(read.Payload)), read.Fin
	case *spdy.RstStream:
		on(read.StreamID)
		f.reset, f.detail = true, read.Status.String()
	case *spdy.GoAway:
		f.detail = fmt.Sprintf("last stream %d, %s", read.LastStreamID, read.Status)
	case *spdy.WindowUpdate:
		on(read.StreamID)
		f.updates, f.delta = true, int64(read.Delta)
	case *spdy.Ping:
		f.detail = fmt.Sprint(read.ID)
	case *spdy.Settings:
		var list []string
		for _, setting := range read.Entries {
			if setting.ID == spdy.SettingInitialWindowSize {
				f.initial = int64(setting.Value)
			}
			if len(list) < longestList {
				list = append(list, fmt.Sprintf("%s %d", settingName(uint32(setting.ID)), setting.Value))
			}
		}
		f.detail = strings.Join(list, ", ")
	}
}

func describeFields(fields []spdy.Field) string {
	var line requestLine
	for _, field := range fields {
		line.note(field.Name, field.Value)
	}
	return line.String()
}

// settingName returns the name of a SPDY setting (draft 3 section 2.6.4).
func settingName(id uint32) string {
	names := [...]string{
		"", "UPLOAD_BANDWIDTH", "DOWNLOAD_BANDWIDTH", "ROUND_TRIP_TIME", "MAX_CONCURRENT_STREAMS", "CURRENT_CWND",
		"DOWNLOAD_RETRANS_RATE", "INITIAL_WINDOW_SIZE", "CLIENT_CERTIFICATE_VECTOR_SIZE",
	}
	if id > 0 && int(id) < len(names) {
		return names[id]
	}
	return fmt.Sprintf("setting %d", id)
}
