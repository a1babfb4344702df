package spdy

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"reflect"
	"testing"
	"time"
)

// FuzzReadFrame reads any input, writes the frames it could read, and reads
// them back.
func FuzzReadFrame(f *testing.F) {
	for i, v := range Versions() {
		var wire bytes.Buffer
		framer := NewFramer(v, &wire, nil, CompressSafe)
		for _, frame := range allFrames(v) {
			if err := framer.WriteFrame(frame); err != nil {
				f.Fatal(err)
			}
			f.Add(uint8(i), wire.Bytes()[wire.Len()-8:])
		}
		f.Add(uint8(i), wire.Bytes())
	}
	f.Fuzz(func(t *testing.T, which uint8, wire []byte) {
		v := Versions()[int(which)%3]
		in := NewFramer(v, nil, bytes.NewReader(wire), CompressSafe)
		var again bytes.Buffer
		out := NewFramer(v, &again, &again, CompressAll)
		for {
			frame, err := in.ReadFrame()
			if _, ok := errors.AsType[*StreamError](err); ok {
				continue
			}
			if err != nil {
				return
			}
			if err := out.WriteFrame(frame); err != nil {
				t.Fatalf("%+v was read, but cannot be written: %v", frame, err)
			}
			back, err := out.ReadFrame()
			if err != nil || !sameFrame(back, frame) {
				t.Fatalf("%+v came back as %+v, %v", frame, back, err)
			}
		}
	})
}

func sameFrame(a, b Frame) bool {
	if x, ok := a.(*Data); ok {
		y := b.(*Data)
		return x.StreamID == y.StreamID && x.Fin == y.Fin && bytes.Equal(x.Payload, y.Payload)
	}
	if x, ok := a.(*Unknown); ok {
		y := b.(*Unknown)
		return x.Version == y.Version && x.Kind == y.Kind && x.Flags == y.Flags && bytes.Equal(x.Payload, y.Payload)
	}
	if x, ok := a.(*Headers); ok && len(x.Fields) == 0 {
		return len(b.(*Headers).Fields) == 0
	}
	return reflect.DeepEqual(a, b)
}

// FuzzInflate compares with the standard library's reader: both accept the same
// input.
func FuzzInflate(f *testing.F) {
	for level := -2; level <= 9; level++ {
		var b bytes.Buffer
		w, _ := zlib.NewWriterLevelDict(&b, level, []byte(dictionary3))
		_, _ = w.Write([]byte("accept-encodinggzip,deflate" + string(body(300))))
		_ = w.Flush()
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := newInflater(V3).block(in, 1<<20)
		if err != nil {
			return
		}
		r, err := zlib.NewReaderDict(bytes.NewReader(in), []byte(dictionary3))
		if err != nil {
			if len(got) == 0 && len(in) < 6 {
				return
			}
			t.Fatalf("%q was read, but not by compress/zlib: %v", in, err)
		}
		want := make([]byte, len(got))
		if _, err := io.ReadFull(r, want); err != nil && len(got) > 0 && !errors.Is(err, io.ErrUnexpectedEOF) || !bytes.HasPrefix(got, bytes.TrimRight(want, "\x00")) {
			t.Fatalf("%q: %q, compress/zlib says %q, %v", in, got, want, err)
		}
	})
}

// FuzzDeflate reads our writer's output with our own reader and the standard
// library's.
func FuzzDeflate(f *testing.F) {
	f.Add([]byte("GET /index.html"), []byte("cookie=1"), uint8(0))
	f.Add(body(9000), body(5000), uint8(1))
	f.Fuzz(func(t *testing.T, a, b []byte, c uint8) {
		z, own := newDeflater(V3, Compression(c%3)), newInflater(V3)
		var wire bytes.Buffer
		var all []byte
		for range 3 {
			block := z.block(nil, []piece{{text: string(a)}, {text: string(b), secret: true}, {text: string(a)}})
			want := append(append(append([]byte(nil), a...), b...), a...)
			if got, err := own.block(block, len(want)); len(want) <= freeOutput && (err != nil || !bytes.Equal(got, want)) {
				t.Fatalf("%q came back as %q, %v", want, got, err)
			} else if err != nil {
				return
			}
			wire.Write(block)
			all = append(all, want...)
		}
		r, err := zlib.NewReaderDict(&wire, []byte(dictionary3))
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(all))
		if _, err := io.ReadFull(r, got); err != nil || !bytes.Equal(got, all) {
			t.Fatalf("compress/zlib reads %q, %v, want %q", got, err, all)
		}
	})
}

// FuzzServer sends arbitrary input to a server, which must end when the client
// disconnects.
func FuzzServer(f *testing.F) {
	for i, v := range Versions() {
		var wire bytes.Buffer
		framer := NewFramer(v, &wire, nil, CompressSafe)
		n := v.names()
		for _, frame := range []Frame{
			&SynStream{StreamID: 1, Fields: []Field{{n.method, "POST"}, {n.path, "/"}, {n.scheme, "http"}, {n.host, "x"}, {n.version, "HTTP/1.1"}}},
			&Data{StreamID: 1, Payload: []byte("abc")}, &Headers{StreamID: 1, Fields: []Field{{"t", "x"}}}, &Data{StreamID: 1, Fin: true},
			&Settings{Entries: []Setting{{SettingInitialWindowSize, 0, 5}}}, &Ping{ID: 3}, &RstStream{1, Cancel}, &GoAway{},
		} {
			if err := framer.WriteFrame(frame); err != nil {
				f.Fatal(err)
			}
		}
		f.Add(uint8(i), wire.Bytes())
	}
	f.Fuzz(func(t *testing.T, which uint8, wire []byte) {
		v := Versions()[int(which)%3]
		a, b := net.Pipe()
		s := &Server{ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(w, r.Body)
			_, _ = w.Write(make([]byte, 100))
		})}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = s.ServeConn(context.Background(), b, v)
		}()
		disconnectAfter(t, a, wire, done)
	})
}

// disconnectAfter sends a peer some octets, disconnects, and waits until the peer is done.
func disconnectAfter(t *testing.T, c net.Conn, wire []byte, done <-chan struct{}) {
	t.Helper()
	go func() { _, _ = io.Copy(io.Discard, c) }()
	_ = c.SetWriteDeadline(time.Now().Add(10 * time.Second))
	_, _ = c.Write(wire)
	_ = c.Close()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("the session with %q does not end", wire)
	}
}

// FuzzClient answers a client with arbitrary input.
func FuzzClient(f *testing.F) {
	for i, v := range Versions() {
		var wire bytes.Buffer
		framer := NewFramer(v, &wire, nil, CompressSafe)
		n := v.names()
		for _, frame := range []Frame{
			&SynStream{StreamID: 2, AssociatedID: 1, Unidirectional: true, Fields: []Field{{n.path, "/a"}, {n.scheme, "http"}, {n.host, "x"}, {n.status, "200"}, {n.version, "HTTP/1.1"}}},
			&SynReply{StreamID: 1, Fields: []Field{{n.status, "200 OK"}, {n.version, "HTTP/1.1"}}},
			&Data{StreamID: 1, Payload: []byte("abc")}, &Headers{StreamID: 1, Fields: []Field{{"t", "x"}}}, &Data{StreamID: 1, Fin: true},
		} {
			if err := framer.WriteFrame(frame); err != nil {
				f.Fatal(err)
			}
		}
		f.Add(uint8(i), wire.Bytes())
	}
	f.Fuzz(func(t *testing.T, which uint8, wire []byte) {
		v := Versions()[int(which)%3]
		a, b := net.Pipe()
		tr := &Transport{Cleartext: v, Push: true, DialContext: func(context.Context, string, string) (net.Conn, error) { return b, nil }}
		done := make(chan struct{})
		go func() {
			defer close(done)
			r, _ := http.NewRequest("GET", "http://x/", nil)
			if response, err := tr.RoundTrip(r); err == nil {
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
			_ = tr.Close()
		}()
		disconnectAfter(t, a, wire, done)
	})
}

// FuzzHints parses the fields that name resources.
func FuzzHints(f *testing.F) {
	f.Add(`text/css; http://x/a.css`, `<a.js>; rel=subresource, <b>; rel="next"`, `"/a":1, "b" ,"c":9`)
	f.Fuzz(func(t *testing.T, hint, link, content string) {
		for _, h := range Hints(http.Header{"X-Subresource": {hint}, "Link": {link}}) {
			if len(h.URL) > len(hint)+len(link) {
				t.Errorf("%q, %q: %q", hint, link, h.URL)
			}
		}
		for _, p := range associated([]string{content}, Middle) {
			if p.priority > Lowest {
				t.Errorf("%q: priority %d", content, p.priority)
			}
		}
	})
}
