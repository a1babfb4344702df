package spdy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
)

// safeBuffer is a buffer for two goroutines.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func TestFrameLog(t *testing.T) {
	var out safeBuffer
	l := NewFrameLog(&out, "client")
	p := against(t, V31, true, Config{Log: l, Window: Window{Session: 1 << 20}})
	st, err := p.s.Open(t.Context(), []Field{{"a", "b"}}, OpenOptions{Priority: 3})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.write(make([]byte, 1000), true); err != nil {
		t.Fatal(err)
	}
	p.expect(TypeData)
	p.send(&SynReply{StreamID: 1, Fields: []Field{{"x", "y"}}}, &Data{StreamID: 1, Payload: make([]byte, 40_000)}, &WindowUpdate{0, 500})
	if _, err := io.ReadFull(st, make([]byte, 40_000)); err != nil {
		t.Fatal(err)
	}
	p.expect(TypeWindowUpdate)
	p.send(&RstStream{1, Cancel}, &GoAway{})
	_ = p.s.Wait()
	if err := l.Err(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, record := range strings.Split(strings.TrimPrefix(out.b.String(), "\x1e"), "\x1e") {
		if !strings.HasSuffix(record, "\n") {
			t.Errorf("record %d does not end with a line feed", i)
		}
		var e struct {
			Schema string `json:"file_schema"`
			Time   float64
			Name   string
			Data   struct {
				Session int
				Version string
				Frame   map[string]any
				Window  map[string]int64
			}
		}
		if err := json.Unmarshal([]byte(record), &e); err != nil {
			t.Fatalf("record %d: %v: %s", i, err, record)
		}
		if i == 0 {
			if e.Schema != "urn:ietf:params:qlog:file:sequential" {
				t.Errorf("the log begins with %s", record)
			}
			continue
		}
		if e.Data.Session != 1 || e.Data.Version != "spdy/3.1" || e.Time < 0 {
			t.Errorf("%s", record)
		}
		got = append(got, fmt.Sprint(strings.TrimPrefix(e.Name, "spdy:frame_"), " ", e.Data.Frame, " ", e.Data.Window))
	}
	for _, want := range []string{
		"sent map[frame_type:settings length:12 settings:map[4:100]] map[]",
		"sent map[delta:983040 frame_type:window_update length:8 stream_id:0] map[session:1048576]",
		"sent map[fin:true frame_type:data length:1000 stream_id:1] map[session:64536 stream:64536]",
		"received map[frame_type:data length:40000 stream_id:1] map[session:1008576 stream:25536]",
		"received map[delta:500 frame_type:window_update length:8 stream_id:0] map[session:65036]",
		"received map[frame_type:rst_stream length:8 status:cancel stream_id:1] map[]",
		"received map[frame_type:goaway last_stream_id:0 length:8 status:ok] map[]",
	} {
		found := false
		for _, g := range got {
			found = found || g == want
		}
		if !found {
			t.Errorf("the log lacks\n%s\nit has\n%s", want, strings.Join(got, "\n"))
		}
	}
	failing := NewFrameLog(writerFunc(func([]byte) (int, error) { return 0, errors.New("disk full") }), "client")
	if err := failing.Err(); err == nil {
		t.Error("the log's error is lost")
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestDataFramesAllocateNothing checks that in steady state a DATA frame
// allocates nothing at either end.
func TestDataFramesAllocateNothing(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector makes pools drop items at random")
	}
	eachVersion(t, func(t *testing.T, v Version) {
		echo := func(st *Stream) {
			if err := st.SendReply([]Field{{"a", "b"}}, false); err != nil {
				return
			}
			b := make([]byte, 16<<10)
			for {
				n, err := io.ReadFull(st, b)
				if err != nil {
					return
				}
				if _, err := st.Write(b[:n]); err != nil {
					return
				}
			}
		}
		window := Window{Update: UpdateFrame, SessionUpdate: UpdateFrame}
		c, _ := sessions(t, v, Config{Window: window, Accept: echo}, Config{Window: window})
		st, err := c.Open(t.Context(), []Field{{"a", "b"}}, OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 16<<10)
		turn := func() {
			if _, err := st.Write(b); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(st, b); err != nil {
				t.Fatal(err)
			}
		}
		for range 100 {
			turn()
		}
		// Four DATA frames in each turn. Garbage collections empty the pools.
		if n := testing.AllocsPerRun(500, turn); n > 0.5 {
			t.Errorf("%.2f allocations for four DATA frames", n)
		}
	})
}
