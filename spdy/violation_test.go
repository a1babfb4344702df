package spdy

import (
	"fmt"
	"strings"
	"testing"
)

// TestStreamErrors checks the RST_STREAM for each error of a peer on a stream.
func TestStreamErrors(t *testing.T) {
	open := &SynStream{StreamID: 1, Fields: []Field{{"a", "b"}}}
	fin := &Data{StreamID: 1, Fin: true}
	for _, c := range []struct {
		name     string
		client   bool // the session under test
		versions []Version
		frames   []Frame
		id       uint32
		v2, v3   Status // 0 for none
	}{
		{"DATA of no stream", false, Versions(), []Frame{&Data{StreamID: 5}}, 5, InvalidStream, InvalidStream},
		{"SYN_REPLY of no stream", true, Versions(), []Frame{&SynReply{StreamID: 5}}, 5, InvalidStream, InvalidStream},
		{"HEADERS of no stream", false, Versions(), []Frame{&Headers{StreamID: 5}}, 5, InvalidStream, InvalidStream},
		{"WINDOW_UPDATE of no stream", false, []Version{V3, V31}, []Frame{&WindowUpdate{5, 1}}, 5, 0, InvalidStream},
		{"RST_STREAM of no stream", false, Versions(), []Frame{&RstStream{5, Cancel}}, 5, 0, 0},
		{"DATA after FIN", false, Versions(), []Frame{open, fin, &Data{StreamID: 1, Payload: []byte("x")}}, 1, ProtocolError, StreamAlreadyClosed},
		{"HEADERS after FIN", false, Versions(), []Frame{open, fin, &Headers{StreamID: 1}}, 1, ProtocolError, StreamAlreadyClosed},
		{"WINDOW_UPDATE after FIN", false, []Version{V3, V31}, []Frame{open, fin, &WindowUpdate{1, 1}}, 1, 0, 0},
		{"SYN_STREAM twice", false, Versions(), []Frame{open, open}, 1, ProtocolError, ProtocolError},
		{"SYN_REPLY from who opened it", false, Versions(), []Frame{open, &SynReply{StreamID: 1}}, 1, ProtocolError, StreamAlreadyClosed},
		{"DATA before SYN_REPLY", true, []Version{V3, V31}, []Frame{&Data{StreamID: 1}}, 1, 0, ProtocolError},
		{"SYN_REPLY twice", true, Versions(), []Frame{&SynReply{StreamID: 1}, &SynReply{StreamID: 1}}, 1, ProtocolError, StreamInUse},
		{"a window of more than 2^31-1", false, []Version{V3, V31}, []Frame{open, &WindowUpdate{1, maxWindow}}, 1, 0, FlowControlError},
		{"more than the window", false, []Version{V3}, []Frame{open, &Data{StreamID: 1, Payload: make([]byte, 65537)}}, 1, 0, FlowControlError},
		{"a pushed stream without an associated stream", true, Versions(), []Frame{&SynStream{StreamID: 2, Unidirectional: true}}, 2, InvalidStream, InvalidStream},
		{"a duplicate name in two HEADERS", false, Versions(), []Frame{open, &Headers{StreamID: 1, Fields: []Field{{"x", "1"}}}, &Headers{StreamID: 1, Fields: []Field{{"x", "2"}}}}, 1, ProtocolError, ProtocolError},
		{"another version", false, []Version{V3, V31}, []Frame{&Unknown{Version: 2, Kind: TypeSynStream, Payload: []byte{0, 0, 0, 1}}}, 1, 0, UnsupportedVersion},
		{"another type", false, Versions(), []Frame{&Unknown{Version: 3, Kind: 99}}, 1, 0, 0},
	} {
		for _, v := range c.versions {
			name := fmt.Sprintf("%s, %s", v, c.name)
			done := make(chan struct{})
			p := against(t, v, c.client, Config{Accept: func(st *Stream) { <-done }})
			if c.client {
				if _, err := p.s.Open(t.Context(), []Field{{"a", "b"}}, OpenOptions{}); err != nil {
					t.Fatal(err)
				}
				p.expect(TypeSynStream)
			}
			p.send(c.frames...)
			got := Status(0)
			for _, f := range p.settle() {
				if r, ok := f.(*RstStream); ok {
					got = r.Status
					if r.StreamID != c.id {
						t.Errorf("%s: RST_STREAM of stream %d, want %d", name, r.StreamID, c.id)
					}
				}
			}
			want := c.v3
			if v == V2 {
				want = c.v2
			}
			if got != want {
				t.Errorf("%s: RST_STREAM with %s, want %s", name, got, want)
			}
			close(done)
			_ = p.Conn.Close()
		}
	}
}

// TestSessionErrors checks the errors that end the session, and its GOAWAY.
func TestSessionErrors(t *testing.T) {
	for _, c := range []struct {
		name     string
		client   bool
		versions []Version
		frames   []Frame
		status   Status
		says     string
	}{
		{"decreasing stream IDs", false, Versions(), []Frame{&SynStream{StreamID: 5}, &SynStream{StreamID: 3}}, GoAwayProtocolError, "comes after"},
		{"an even stream of a client", false, Versions(), []Frame{&SynStream{StreamID: 2}}, GoAwayProtocolError, "must not open"},
		{"an odd stream of a server", true, Versions(), []Frame{&SynStream{StreamID: 9}}, GoAwayProtocolError, "must not open"},
		{"DATA before SYN_REPLY", true, []Version{V2}, []Frame{&Data{StreamID: 1}}, GoAwayProtocolError, "no SYN_REPLY"},
		{"a session's window of more than 2^31-1", false, []Version{V31}, []Frame{&WindowUpdate{0, maxWindow}}, GoAwayFlowControlError, "beyond"},
		{"an initial window of more than 2^31-1", false, []Version{V3, V31}, []Frame{&Settings{Entries: []Setting{{SettingInitialWindowSize, 0, 1 << 31}}}}, GoAwayFlowControlError, "initial window"},
		{"more than the session's window", false, []Version{V31}, []Frame{&Data{StreamID: 1, Payload: make([]byte, 65537)}}, GoAwayFlowControlError, "session's window"},
		{"a control frame of 65537 octets", false, Versions(), []Frame{&Unknown{Version: 3, Kind: 99, Payload: make([]byte, 65537)}}, GoAwayProtocolError, "exceeds the limit"},
		{"an invalid header block", false, Versions(), []Frame{&Unknown{Kind: TypeSynStream, Payload: []byte("\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00garbage")}}, GoAwayProtocolError, "zlib"},
	} {
		for _, v := range c.versions {
			name := fmt.Sprintf("%s, %s", v, c.name)
			p := against(t, v, c.client, Config{Accept: func(*Stream) {}})
			if c.client {
				if _, err := p.s.Open(t.Context(), []Field{{"a", "b"}}, OpenOptions{}); err != nil {
					t.Fatal(err)
				}
				p.expect(TypeSynStream)
			}
			for _, f := range c.frames {
				if u, ok := f.(*Unknown); ok {
					u.Version = v.wire()
				}
			}
			p.send(c.frames...)
			f := p.expect(TypeGoAway).(*GoAway)
			if f.Status != c.status && v != V2 {
				t.Errorf("%s: GOAWAY with %s, want %s", name, f.Status, c.status)
			}
			if err := p.s.Wait(); err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "draft") {
				t.Errorf("%s: the session ended with %v", name, err)
			}
			if _, err := p.ReadFrame(); err == nil {
				t.Errorf("%s: the connection was left open", name)
			}
		}
	}
}
