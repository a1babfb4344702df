package window_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"wiretime/spdy"
	"wiretime/window"
)

// frame is a record of a frame log.
type frame struct {
	Name string
	Data struct {
		Frame struct {
			Type     string `json:"frame_type"`
			Stream   int    `json:"stream_id"`
			Length   int
			Delta    int
			Settings map[string]int
		}
		Window struct{ Stream int }
	}
}

// initialWindow is the ID of SETTINGS_INITIAL_WINDOW_SIZE (draft 3 section 2.6.4).
const initialWindow = "7"

// end is one end of a transfer, with its frame log.
type end struct {
	config spdy.Config
	log    bytes.Buffer
}

func newEnd(t *testing.T, preset, vantage string) *end {
	t.Helper()
	s, err := window.Parse(preset)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Over("spdy/3")
	if err != nil {
		t.Fatal(err)
	}
	e := &end{config: spdy.Config{Window: r.SPDY(), AnswerSettings: r.Answers}}
	e.config.Log = spdy.NewFrameLog(&e.log, vantage)
	return e
}

// frames returns the frames of a kind and direction, in their order.
func (e *end) frames(t *testing.T, name, kind string) (list []frame) {
	t.Helper()
	for line := range bytes.Lines(e.log.Bytes()) {
		var f frame
		if err := json.Unmarshal(bytes.TrimPrefix(line, []byte{0x1e}), &f); err != nil {
			t.Fatal(err)
		}
		if (name == "" || f.Name == "spdy:frame_"+name) && (kind == "" || f.Data.Frame.Type == kind) && f.Data.Frame.Type != "" {
			list = append(list, f)
		}
	}
	return list
}

// piece is what a sender sends before it waits for the receiver to have read it: one DATA frame.
const piece = 16 << 10

// transfer carries octets from one end to the other over a connection without delay, piece by
// piece, so that what is read never depends on who is faster.
func transfer(t *testing.T, client, server *end, upload bool, octets int) {
	t.Helper()
	read := make(chan int)
	send := func(st *spdy.Stream) error {
		for sent := 0; sent < octets; sent += piece {
			if _, err := st.Write(make([]byte, piece)); err != nil {
				return err
			}
			for got := 0; got < piece; got += <-read {
			}
		}
		return st.CloseWrite()
	}
	receive := func(st *spdy.Stream) error {
		b := make([]byte, piece)
		for {
			n, err := st.Read(b)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			read <- n
		}
	}
	reply := []spdy.Field{{Name: ":status", Value: "200"}, {Name: ":version", Value: "HTTP/1.1"}}
	server.config.Accept = func(st *spdy.Stream) {
		err := st.SendReply(reply, false)
		switch {
		case err != nil:
		case upload:
			if err = receive(st); err == nil {
				err = st.CloseWrite()
			}
		default:
			err = send(st)
		}
		if err != nil {
			t.Errorf("server: %v", err)
		}
	}
	a, b := net.Pipe()
	c, s := spdy.NewClient(a, spdy.V3, &client.config), spdy.NewServer(b, spdy.V3, &server.config)
	st, err := c.Open(t.Context(), []spdy.Field{{Name: ":path", Value: "/"}}, spdy.OpenOptions{Fin: !upload})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.Reply(t.Context()); err != nil {
		t.Fatal(err)
	}
	if upload {
		err = send(st)
		if err == nil {
			_, err = io.ReadAll(st)
		}
	} else {
		err = receive(st)
	}
	if err != nil {
		t.Errorf("client: %v", err)
	}
	// Both logs end here: a session writes down what it does until it has ended.
	var closing sync.WaitGroup
	closing.Go(func() { _ = c.Close(); _ = c.Wait() })
	closing.Go(func() { _ = s.Wait() })
	closing.Wait()
}

// TestPairings holds each of the four transfers of Kim et al. (2013), figures 3 to 6, to what is
// drawn there: who announces which window when, with which window the sender begins, and when
// the receiver reopens it and by how much.
func TestPairings(t *testing.T) {
	const kib, mib = 1 << 10, 1 << 20
	for _, c := range []struct {
		name           string
		server         string
		upload         bool
		answered       bool // SETTINGS by SETTINGS
		client, served int  // the windows that the ends announce; 0: none
		window, least  int  // the receiver's window, and the octets with which it updates at the earliest
	}{
		{"figure 3, mod_spdy to Chromium", "mod_spdy", false, false, 10 * mib, 0, 10 * mib, 5*mib + 1},
		{"figure 4, Chromium to mod_spdy", "mod_spdy", true, false, 10 * mib, 0, 64 * kib, 8 * kib},
		{"figure 5, Google to Chromium", "google-2013", false, true, 10 * mib, mib, 10 * mib, 5*mib + 1},
		{"figure 6, Chromium to Google", "google-2013", true, true, 10 * mib, mib, mib, 128 * kib},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, server := newEnd(t, "chromium-2013", "client"), newEnd(t, c.server, "server")
			octets := (3*c.least + 2*piece) / piece * piece
			transfer(t, client, server, c.upload, octets)

			if f := client.frames(t, "sent", ""); f[0].Data.Frame.Type != "settings" || f[0].Data.Frame.Settings[initialWindow] != c.client {
				t.Errorf("the client begins with %+v, want SETTINGS with a window of %d", f[0].Data.Frame, c.client)
			}
			settings := server.frames(t, "", "settings")
			order := map[bool]string{true: "spdy:frame_received", false: "spdy:frame_sent"}
			if len(settings) != 2 || settings[0].Name != order[c.answered] {
				t.Errorf("SETTINGS at the server: %+v", settings)
			}
			if f := server.frames(t, "sent", "settings"); len(f) != 1 || f[0].Data.Frame.Settings[initialWindow] != c.served {
				t.Errorf("the server announces %+v, want a window of %d", f, c.served)
			}

			sender, receiver := server, client
			if c.upload {
				sender, receiver = client, server
			}
			if f := sender.frames(t, "sent", "data"); f[0].Data.Window.Stream != c.window-piece {
				t.Errorf("%d octets are left of the sender's window after %d, want %d", f[0].Data.Window.Stream, piece, c.window-piece)
			}
			// A piece is read in several parts, so an update may come up to a piece later. All that was
			// received is granted again but for less than makes an update.
			rest := octets
			for _, u := range receiver.frames(t, "sent", "window_update") {
				if d := u.Data.Frame.Delta; d < c.least || d >= c.least+piece {
					t.Errorf("an update of %d octets, want %d as soon as they were received", d, c.least)
				}
				rest -= u.Data.Frame.Delta
			}
			if rest < 0 || rest >= c.least {
				t.Errorf("of %d octets received %d were not granted again, want fewer than %d", octets, rest, c.least)
			}
		})
	}
}

// TestWindowBeforeSettings: a server that answers SETTINGS with SETTINGS grants 64 KiB until then, and
// its client does not learn of more.
func TestWindowBeforeSettings(t *testing.T) {
	server := newEnd(t, "google-2013", "server")
	accepted := make(chan struct{})
	server.config.Accept = func(st *spdy.Stream) { close(accepted); _, _ = io.Copy(io.Discard, st) }
	a, b := net.Pipe()
	s := spdy.NewServer(b, spdy.V3, &server.config)
	framer := spdy.NewFramer(spdy.V3, a, a, spdy.CompressSafe)
	if err := framer.WriteFrame(&spdy.SynStream{StreamID: 1, Fields: []spdy.Field{{Name: ":path", Value: "/"}}}); err != nil {
		t.Fatal(err)
	}
	<-accepted
	if err := framer.WriteFrame(&spdy.Data{StreamID: 1, Payload: make([]byte, 64<<10)}); err != nil {
		t.Fatal(err)
	}
	// The first frame of the server reopens the draft's window and announces nothing.
	f, err := framer.ReadFrame()
	if u, ok := f.(*spdy.WindowUpdate); err != nil || !ok || u.StreamID != 1 || u.Delta > 64<<10 {
		t.Fatalf("the server begins with %+v, %v; want an update", f, err)
	}
	_ = a.Close()
	_ = s.Wait()
}
