package spdy

import (
	"bytes"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// FuzzOracle passes frames through moby/spdystream's framer, which reads and
// rewrites them: they must come back unchanged.
func FuzzOracle(f *testing.F) {
	program := filepath.Join(peersFolder(f), "spdystream")
	f.Add([]byte("\x01abc\x02xyz\x08header-name\x00data data"), uint8(0))
	f.Add(body(600), uint8(1))
	f.Fuzz(func(t *testing.T, seed []byte, compression uint8) {
		frames := framesOf(seed)
		var wire, complaints bytes.Buffer
		out := NewFramer(V3, &wire, nil, Compression(compression%3))
		for _, frame := range frames {
			if err := out.WriteFrame(frame); err != nil {
				t.Fatalf("write %+v: %v", frame, err)
			}
		}
		c := exec.CommandContext(t.Context(), program)
		c.Stdin, c.Stderr = &wire, &complaints
		back, err := c.Output()
		if err != nil {
			t.Fatalf("moby/spdystream: %v: %s", err, complaints.String())
		}
		in := NewFramer(V3, nil, bytes.NewReader(back), CompressSafe)
		for _, want := range frames {
			got, err := in.ReadFrame()
			if err != nil || !sameFields(got, want) {
				t.Fatalf("%+v came back as %+v, %v", want, got, err)
			}
		}
	})
}

// framesOf makes frames from a fuzzer's input, without what moby/spdystream does
// not support: duplicate names, unsorted settings, CREDENTIAL.
func framesOf(seed []byte) []Frame {
	var frames []Frame
	next := func(n int) []byte {
		n = min(n, len(seed))
		b := seed[:n]
		seed = seed[n:]
		return b
	}
	fields := func() []Field {
		var all []Field
		for range min(len(seed), 6) {
			name := strings.Map(func(r rune) rune { return 'a' + r%26 }, fmt.Sprintf("%x", next(3)))
			value := strings.Trim(strings.Map(func(r rune) rune { return max(r%127, 32) }, string(next(20))), " ")
			if _, twice := valueOf(all, name); name != "" && !twice && value != "" {
				all = append(all, Field{name, value})
			}
		}
		return all
	}
	for len(seed) > 2 {
		head := next(2)
		id := uint32(head[1])*2 + 1
		switch head[0] % 8 {
		case 0:
			frames = append(frames, &Data{StreamID: id, Fin: head[0]&8 != 0, Payload: bytes.Clone(next(50))})
		case 1:
			frames = append(frames, &SynStream{StreamID: id, Priority: Priority(head[1] % 8), Fin: head[0]&8 != 0, Fields: fields()})
		case 2:
			frames = append(frames, &SynReply{StreamID: id, Fin: head[0]&8 != 0, Fields: fields()})
		case 3:
			frames = append(frames, &Headers{StreamID: id, Fin: head[0]&8 != 0, Fields: fields()})
		case 4:
			frames = append(frames, &RstStream{id, Status(head[1]%11 + 1)})
		case 5:
			frames = append(frames, &Settings{Entries: []Setting{{SettingID(head[1]%8 + 1), 0, id * 1000}}})
		case 6:
			frames = append(frames, &Ping{id}, &WindowUpdate{id, uint32(head[1]) + 1})
		case 7:
			frames = append(frames, &GoAway{id, Status(head[1] % 3)})
		}
	}
	return frames
}

// sameFields compares frames regardless of the order of their fields.
func sameFields(a, b Frame) bool {
	header := func(f Frame) http.Header {
		h := http.Header{}
		var fields *[]Field
		switch f := f.(type) {
		case *SynStream:
			fields = &f.Fields
		case *SynReply:
			fields = &f.Fields
		case *Headers:
			fields = &f.Fields
		default:
			return nil
		}
		for _, x := range *fields {
			h.Add(x.Name, x.Value)
		}
		*fields = nil
		return h
	}
	return reflect.DeepEqual(header(a), header(b)) && sameFrame(a, b)
}
