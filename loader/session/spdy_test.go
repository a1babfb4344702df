package session

import (
	"fmt"
	"testing"

	"wiretime/capture"
	"wiretime/spdy"
)

func TestReadReply(t *testing.T) {
	field := func(name, value string) spdy.Field { return spdy.Field{Name: name, Value: value} }
	for _, c := range []struct {
		name    string
		version spdy.Version
		fields  []spdy.Field
		status  int // 0: an error
	}{
		{"of version 3", spdy.V3, []spdy.Field{field(":status", "404 Not Found"), field(":version", "HTTP/1.1")}, 404},
		{"of version 2", spdy.V2, []spdy.Field{field("status", "200"), field("version", "HTTP/1.1")}, 200},
		{"of another version", spdy.V3, []spdy.Field{field("status", "200 OK")}, 0},
		{"without a status", spdy.V31, nil, 0},
		{"with words for a status", spdy.V31, []spdy.Field{field(":status", "OK 200")}, 0},
	} {
		response, err := readReply(c.version, append(c.fields, field("vary", "a\x00b"), field("content-type", "text/html")))
		if (err == nil) != (c.status != 0) {
			t.Errorf("%s: error %v", c.name, err)
		}
		if err != nil {
			continue
		}
		want := []capture.Pair{{Name: "Content-Type", Value: "text/html"}, {Name: "Vary", Value: "a"}, {Name: "Vary", Value: "b"}}
		if got := pairs(response.Header); response.StatusCode != c.status || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: status %d, header %v", c.name, response.StatusCode, got)
		}
	}
}
