package flowcontrol

import (
	"slices"
	"strings"
	"testing"
)

const logHead = "\x1e" + `{"file_schema":"urn:ietf:params:qlog:file:sequential","trace":{"common_fields":{"reference_time":{"wall_clock_time":"2020-01-01T00:00:00Z"}}}}` + "\n"

const logOf = logHead +
	"\x1e" + `{"time":1.5,"name":"spdy:frame_sent","data":{"session":1,"version":"spdy/3.1","frame":{"frame_type":"settings","length":12,"settings":{"7":10485760,"4":100}}}}` + "\n" +
	"\x1e" + `{"time":1.5,"name":"spdy:frame_sent","data":{"session":1,"version":"spdy/3.1","frame":{"frame_type":"syn_stream","stream_id":1,"length":50,"fin":true,"priority":0}}}` + "\n" +
	"\x1e" + `{"time":9.25,"name":"spdy:frame_received","data":{"session":1,"version":"spdy/3.1","frame":{"frame_type":"data","stream_id":1,"length":1000},"window":{"stream":9000,"session":8000}}}` + "\n" +
	"\x1e" + `{"time":9.5,"name":"spdy:frame_received","data":{"session":1,"version":"spdy/3.1","frame":{"frame_type":"data","stream_id":1,"length":500,"fin":true},"window":{"stream":8500,"session":7500}}}` + "\n" +
	"\x1e" + `{"time":9.5,"name":"spdy:frame_sent","data":{"session":1,"version":"spdy/3.1","frame":{"frame_type":"window_update","stream_id":0,"length":8,"delta":1500},"window":{"session":9000}}}` + "\n" +
	"\x1e" + `{"time":11,"name":"spdy:frame_received","data":{"session":1,"version":"spdy/3.1","frame":{"frame_type":"goaway","length":8,"last_stream_id":1,"status":"ok"}}}` + "\n"

// TestReadLog reads a loader's log, whole and cut off in the middle of its last record.
func TestReadLog(t *testing.T) {
	whole := []string{
		"client 0 SETTINGS MAX_CONCURRENT_STREAMS 100, INITIAL_WINDOW_SIZE 10485760",
		"client 1 SYN_STREAM FIN",
		"server 1 DATA 1500 octets in 2 frames FIN > 8500 > 7500",
		"client 0 WINDOW_UPDATE +1500 > 9000",
		"server 0 GOAWAY last stream 1, OK",
	}
	for _, c := range []struct {
		name, log string
		lines     []string
		unseen    []string
	}{
		{"whole", logOf, whole, nil},
		{"cut off", logOf[:len(logOf)-40], whole[:4], []string{"records of the frame log that are damaged or cut off: 1"}},
		{"cut off in its head", logHead[:30], nil, []string{"records of the frame log that are damaged or cut off: 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			list, err := ReadLog(strings.NewReader(c.log))
			if err != nil || len(list) != 1 {
				t.Fatalf("%d connections, %v", len(list), err)
			}
			if got := lines(list[0].Events); !slices.Equal(got, c.lines) || !slices.Equal(list[0].Unseen, c.unseen) {
				t.Errorf("got\n%s\nunseen %q, want\n%s\nunseen %q", strings.Join(got, "\n"), list[0].Unseen, strings.Join(c.lines, "\n"), c.unseen)
			}
		})
	}
	list, err := ReadLog(strings.NewReader(logOf))
	if err != nil {
		t.Fatal(err)
	}
	const began = 1577836800e9
	if e := list[0].Events[2]; e.Sent != Never || e.Received != began+9.5e6 {
		t.Errorf("DATA was sent at %d and received at %d", e.Sent, e.Received)
	}
	if list, err := ReadLog(strings.NewReader("")); err != nil || len(list) != 0 {
		t.Errorf("an empty log has %d sessions, %v", len(list), err)
	}
	if _, err := ReadLog(strings.NewReader("\x1e" + strings.Repeat("x", 2<<20))); err == nil {
		t.Error("a record of 2 MB is read")
	}
}
