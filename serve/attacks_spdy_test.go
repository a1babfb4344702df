package serve_test

import (
	"fmt"
	"io"
	"strings"

	"wiretime/spdy"
)

// overSPDY makes an attack of SPDY frames; f returns those of one turn.
func overSPDY(times int, f func(i int) []spdy.Frame) func(*victim) (int, error) {
	return func(v *victim) (int, error) {
		version, _ := spdy.ParseVersion(v.over)
		var framer *spdy.Framer
		return v.flood(times, func(w io.Writer, i int) error {
			if framer == nil {
				framer = spdy.NewFramer(version, w, strings.NewReader(""), spdy.CompressAll)
			}
			for _, frame := range f(i) {
				if err := framer.WriteFrame(frame); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

func spdyRequest(over string, id int, method, path string, fin bool) *spdy.SynStream {
	fields := []spdy.Field{
		{Name: ":host", Value: "localhost"}, {Name: ":method", Value: method}, {Name: ":path", Value: path},
		{Name: ":scheme", Value: "https"}, {Name: ":version", Value: "HTTP/1.1"},
	}
	if over == "spdy/2" {
		for i := range fields {
			fields[i].Name = strings.TrimPrefix(fields[i].Name, ":")
		}
		fields[2].Name = "url"
	}
	return &spdy.SynStream{StreamID: uint32(id), Fin: fin, Fields: fields}
}

// spdyAttacks are the attacks on one version of SPDY.
func spdyAttacks(over string) []attack {
	id := func(i int) int { return 2*i + 1 }
	all := []attack{
		{"streams without end", over, overSPDY(20_000, func(i int) []spdy.Frame { return []spdy.Frame{spdyRequest(over, id(i), "POST", "/small", false)} }), true},
		{"rapid reset", over, overSPDY(20_000, func(i int) []spdy.Frame {
			return []spdy.Frame{spdyRequest(over, id(i), "GET", "/big", true), &spdy.RstStream{StreamID: uint32(id(i)), Status: spdy.Cancel}}
		}), true},
		{"SETTINGS flood", over, overSPDY(20_000, func(int) []spdy.Frame { return []spdy.Frame{&spdy.Settings{}} }), true},
		{"PING flood", over, overSPDY(20_000, func(i int) []spdy.Frame { return []spdy.Frame{&spdy.Ping{ID: uint32(id(i))}} }), true},
		{"header bomb", over, overSPDY(100, func(i int) []spdy.Frame {
			f := spdyRequest(over, id(i), "GET", "/small", true)
			for k := range 64 { // version 2 has no field longer than 65,535 octets
				f.Fields = append(f.Fields, spdy.Field{Name: fmt.Sprint("a", k), Value: strings.Repeat("x", 65_000)})
			}
			return []spdy.Frame{f}
		}), true},
		{"DATA on closed streams", over, overSPDY(20_000, func(i int) []spdy.Frame {
			if i == 0 {
				return []spdy.Frame{spdyRequest(over, 1, "GET", "/small", true)}
			}
			return []spdy.Frame{&spdy.Data{StreamID: 1, Payload: []byte("x")}}
		}), true},
		{"wrong length", over, overSPDY(1, func(int) []spdy.Frame {
			return []spdy.Frame{&spdy.Unknown{Version: map[string]uint16{"spdy/2": 2, "spdy/3": 3, "spdy/3.1": 3}[over], Kind: spdy.TypePing, Payload: make([]byte, 7)}}
		}), true},
		{"frame never completed", over, many(200, "\x00\x00\x00\x01\x00\x00\x40\x00abc"), false},
		{"upload after the response", over, overSPDY(2000, func(i int) []spdy.Frame {
			if i == 0 {
				return []spdy.Frame{spdyRequest(over, 1, "POST", "/small", false)}
			}
			return []spdy.Frame{&spdy.Data{StreamID: 1, Payload: make([]byte, 16<<10)}}
		}), false},
	}
	if over == "spdy/2" {
		return all // it has no windows
	}
	return append(all, attack{"window of zero", over, overSPDY(100, func(i int) []spdy.Frame {
		zero := &spdy.Settings{Entries: []spdy.Setting{{ID: spdy.SettingInitialWindowSize}}}
		return []spdy.Frame{zero, spdyRequest(over, id(i), "GET", "/big", true)}
	}), false}, attack{"window overflow", over, overSPDY(20, func(i int) []spdy.Frame {
		if i == 0 {
			return []spdy.Frame{spdyRequest(over, 1, "GET", "/big", true)}
		}
		return []spdy.Frame{&spdy.WindowUpdate{StreamID: map[bool]uint32{true: 0, false: 1}[over == "spdy/3.1"], Delta: 1<<31 - 1}}
	}), over == "spdy/3.1"})
}
