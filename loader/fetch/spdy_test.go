package fetch

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"

	"wiretime/loader/loadertest"
	"wiretime/protocol"
	"wiretime/spdy"
)

// streamsUntold is how many streams a server must accept before it has announced
// its limit (draft 3 section 2.6.4).
const streamsUntold = 100

// pseudo returns a version's name for a part of HTTP's first lines.
func pseudo(v spdy.Version, name string) string {
	switch {
	case v != spdy.V2:
		return ":" + name
	case name == "path":
		return "url"
	}
	return name
}

// eachSPDY runs a test for every version of SPDY.
func eachSPDY(t *testing.T, test func(t *testing.T, p protocol.Protocol, v spdy.Version)) {
	loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
		if v, ok := spdy.ParseVersion(p.ALPN); ok {
			test(t, p, v)
		}
	})
}

// TestSPDYOnTheWire reads frames at the server: settings and windows first, then
// the document, then the rest in the given order, each with its priority.
func TestSPDYOnTheWire(t *testing.T) {
	eachSPDY(t, func(t *testing.T, p protocol.Protocol, v spdy.Version) {
		b := newBench(t, p, protocol.Archive(objects))
		var got []string
		b.serveFrames(t, v, func(framer *spdy.Framer) {
			for {
				frame, err := framer.ReadFrame()
				if err != nil {
					return // the loader has closed
				}
				line := fmt.Sprint(frame.Type())
				switch f := frame.(type) {
				case *spdy.Settings:
					for _, s := range f.Entries {
						line += fmt.Sprintf(" %d=%d", s.ID, s.Value)
					}
				case *spdy.WindowUpdate:
					line += fmt.Sprintf(" %d +%d", f.StreamID, f.Delta)
				case *spdy.SynStream:
					line += fmt.Sprintf(" %d priority %d fin %v", f.StreamID, f.Priority, f.Fin)
					for _, field := range f.Fields {
						if field.Name == pseudo(v, "path") {
							line += " " + field.Value
						}
					}
					if err := framer.WriteFrame(reply(v, f.StreamID)); err != nil {
						t.Error(err)
					}
				}
				got = append(got, line)
			}
		})
		visit := b.open(t, b.urls(pageHost, 3, 1, 2))
		har, _, err := visit.Load(b.context(t), b.url(pageHost, "/"))
		must(t, err)
		must(t, visit.Close())
		b.served.Wait()
		for _, e := range har.Log.Entries {
			if e.Protocol != p.Name || e.Response.HTTPVersion != strings.ToUpper(p.Name) || e.Response.Status != 200 || e.Response.StatusText != "OK" {
				t.Errorf("the entry is %+v", e)
			}
		}
		want := map[spdy.Version][]string{
			spdy.V2:  {"SETTINGS 4=100 7=2147483647"},
			spdy.V3:  {"SETTINGS 4=100 7=10485760"},
			spdy.V31: {"SETTINGS 4=100 7=10485760", "WINDOW_UPDATE 0 +15663104"},
		}[v]
		want = append(want, "SYN_STREAM 1 priority 0 fin true /")
		for i, path := range []string{"/3", "/1", "/2"} {
			want = append(want, fmt.Sprintf("SYN_STREAM %d priority 4 fin true %s", 3+2*i, path))
		}
		want = append(want, "GOAWAY")
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("the loader sent\n%q\nwant\n%q", got, want)
		}
	})
}

// TestSPDYWaitsForTheServersLimit announces the server's stream limit only after
// some requests: by then there are no more than a server must accept.
func TestSPDYWaitsForTheServersLimit(t *testing.T) {
	eachSPDY(t, func(t *testing.T, p protocol.Protocol, v spdy.Version) {
		b := newBench(t, p, protocol.Archive(objects))
		var asked, early int
		b.serveFrames(t, v, func(framer *spdy.Framer) {
			must := func(err error) {
				if err != nil {
					t.Error(err)
				}
			}
			var open []uint32
			for answered := false; !answered; {
				frame, err := framer.ReadFrame()
				if err != nil {
					return // the loader has closed
				}
				switch f := frame.(type) {
				case *spdy.Ping:
					answered = true
				case *spdy.SynStream:
					open = append(open, f.StreamID)
					if len(open) == streamsUntold {
						must(framer.WriteFrame(&spdy.Ping{ID: 2})) // everything sent earlier comes before the answer
					}
				}
			}
			early = len(open)
			must(framer.WriteFrame(&spdy.Settings{Entries: []spdy.Setting{{ID: spdy.SettingMaxConcurrentStreams, Value: 500}}}))
			for _, id := range open {
				must(framer.WriteFrame(reply(v, id)))
			}
			asked = early
			for {
				frame, err := framer.ReadFrame()
				if err != nil {
					return // the loader has closed
				}
				if f, ok := frame.(*spdy.SynStream); ok {
					asked++
					must(framer.WriteFrame(reply(v, f.StreamID)))
				}
			}
		})
		visit := b.open(t, b.urls(pageHost, sizes(300)...))
		_, _, err := visit.Load(b.context(t), b.url(imageHost, "/"))
		must(t, err)
		must(t, visit.Close())
		b.served.Wait()
		if early != streamsUntold || asked != 300 {
			t.Errorf("%d of %d requests arrived before the server's settings, want %d of 300", early, asked, streamsUntold)
		}
	})
}

// serveFrames runs a server of frames in place of the page's host.
func (b *bench) serveFrames(t *testing.T, v spdy.Version, handle func(*spdy.Framer)) {
	t.Helper()
	certificate, err := b.Authority.Certificate(pageHost)
	must(t, err)
	b.served.Add(1)
	b.Handle(t, func(c net.Conn) {
		defer b.served.Done()
		secured := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{*certificate}, NextProtos: []string{v.String()}})
		defer secured.Close()
		handle(spdy.NewFramer(v, secured, secured, spdy.CompressAll))
	})
}

// reply returns an empty reply.
func reply(v spdy.Version, id uint32) spdy.Frame {
	return &spdy.SynReply{StreamID: id, Fin: true, Fields: []spdy.Field{
		{Name: pseudo(v, "status"), Value: "200 OK"}, {Name: pseudo(v, "version"), Value: "HTTP/1.1"},
	}}
}

// TestFrameLog reads the log of a load back.
func TestFrameLog(t *testing.T) {
	loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
		b := newBench(t, p, protocol.Archive(objects))
		v := b.open(t, append(b.urls(pageHost, 70_000), b.urls(imageHost, 7)...))
		_, _, err := v.Load(b.context(t), b.url(pageHost, "/"))
		must(t, err)
		log := v.FrameLog()
		if _, ok := spdy.ParseVersion(p.ALPN); !ok {
			if log != nil {
				t.Errorf("the log is %q, want none", log)
			}
			return
		}
		sessions, opened, octets := map[int]bool{}, 0, 0
		for i, text := range bytes.Split(log, []byte{0x1e})[1:] {
			var e struct {
				Name string
				Data struct {
					Session int
					Version string
					Frame   struct {
						Type   string `json:"frame_type"`
						Length int
					}
				}
			}
			must(t, json.Unmarshal(text, &e))
			if i == 0 {
				continue
			}
			sessions[e.Data.Session] = true
			if e.Data.Version != p.Name {
				t.Errorf("%s is of %s", e.Name, e.Data.Version)
			}
			switch e.Name + " " + e.Data.Frame.Type {
			case "spdy:frame_sent syn_stream":
				opened++
			case "spdy:frame_received data":
				octets += e.Data.Frame.Length
			}
		}
		if len(sessions) != 2 || opened != 3 || octets != 15+70_000+7 {
			t.Errorf("%d sessions, %d streams, %d octets of data, want 2, 3 and 70022:\n%s", len(sessions), opened, octets, log)
		}
	})
}
