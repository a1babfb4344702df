package stream_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wiretime/lab"
	"wiretime/lab/labtest"
	"wiretime/media/transport"
	"wiretime/stream"
	"wiretime/workload/playback"
)

func TestMain(m *testing.M) { labtest.Main(m) }

// config describes a stream over TCP on a quick link.
func config(media string) stream.Config {
	return stream.Config{
		Media: media, Transport: "tcp", Strategy: transport.Reconnect, Duration: 2 * time.Second, Patience: time.Second,
		GiveUp: 5 * time.Second, Seed: 1, Rate: 100_000_000, TCP: lab.TCPOptions{Congestion: "cubic", InitCwnd: 10},
	}
}

// TestOrder: the player follows from the media, and impossible streams are refused.
func TestOrder(t *testing.T) {
	tests := []struct {
		name   string
		change func(*stream.Config)
		player string // of the order
		says   string // of the error
	}{
		{"video", func(*stream.Config) {}, "paper", ""},
		{"file", func(c *stream.Config) { c.Media = "file@1MB" }, playback.Download, ""},
		{"named player", func(c *stream.Config) { c.Player = "bola" }, "bola", ""},
		{"media of a server", func(c *stream.Config) { c.Media, c.Outside = "talk", true }, "paper", ""},
		{"unknown media", func(c *stream.Config) { c.Media = "talk" }, "", "talk"},
		{"player of videos for a file", func(c *stream.Config) { c.Media, c.Player = "file@1MB", "bola" }, "", "bola"},
		{"more reconnections than room", func(c *stream.Config) { c.Reconnections = 40 }, "", "40 reconnections"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := config("clip")
			test.change(&c)
			order, err := c.Order()
			switch {
			case test.says != "":
				if err == nil || !strings.Contains(err.Error(), test.says) {
					t.Errorf("Order returns %v, want an error that says %q", err, test.says)
				}
			case err != nil:
				t.Error(err)
			case order.Player != test.player:
				t.Errorf("the player is %s, want %s", order.Player, test.player)
			case order.Timeout != stream.Longest || order.Keep.Packets == 0:
				t.Errorf("the order has the timeout %v and keeps %+v", order.Timeout, order.Keep)
			}
		})
	}
}

// TestPlayReal fetches a file in a lab: what was measured fits the file, and the capture and
// the record are kept.
func TestPlayReal(t *testing.T) {
	c := config("file@1MB")
	order, err := c.Order()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	l, err := stream.PlayReal(t.Context(), order, dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := l.Stream.Figures.Received; got != 1_000_000 || len(l.Packets.Records) == 0 {
		t.Errorf("received %d B in %d records of packets, want 1 MB", got, len(l.Packets.Records))
	}
	for _, name := range []string{lab.CaptureFile, playback.StreamFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}
