package get

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/net/http2"
)

func h2Conversation(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	f := http2.NewFramer(&b, nil)
	for _, err := range []error{
		f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 70000}),
		f.WriteSettingsAck(),
		f.WriteData(3, true, make([]byte, 1000)),
		f.WriteWindowUpdate(0, 5),
		f.WriteRSTStream(3, http2.ErrCodeCancel),
		f.WriteGoAway(7, http2.ErrCodeNo, nil),
		f.WritePing(true, [8]byte{}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// TestFramesHowever checks that the report of frames does not depend on how the octets are
// split.
func TestFramesHowever(t *testing.T) {
	conversation := h2Conversation(t)
	for _, piece := range []int{1, 7, 9, 100, len(conversation)} {
		var told bytes.Buffer
		f := h2Frames{story: newStory(&told)}
		for rest := conversation; len(rest) > 0; {
			n := min(piece, len(rest))
			f.pass(rest[:n])
			rest = rest[n:]
		}
		want := []string{
			"SETTINGS      stream 0, 6 octets, [INITIAL_WINDOW_SIZE = 70000]", "SETTINGS      stream 0, 0 octets, ack",
			"DATA          stream 3, 1000 octets, end of stream", "WINDOW_UPDATE stream 0, 4 octets, delta 5",
			"RST_STREAM    stream 3, 4 octets, CANCEL", "GOAWAY        stream 0, 8 octets, last stream 7, NO_ERROR", "PING          stream 0, 8 octets, ack",
		}
		lines := strings.Split(strings.TrimSpace(told.String()), "\n")
		if len(lines) != len(want) {
			t.Fatalf("in pieces of %d: %q", piece, lines)
		}
		for i, line := range lines {
			if !strings.HasSuffix(line, want[i]) {
				t.Errorf("in pieces of %d: %q, want %q", piece, line, want[i])
			}
		}
	}
}

// FuzzFrames checks the same for arbitrary octets, which need not be HTTP/2.
func FuzzFrames(f *testing.F) {
	f.Add(h2Conversation(f), 3)
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"), 5)
	f.Add([]byte{0xff, 0xff, 0xff, 4, 0xff, 0, 0, 0, 0, 1}, 1)
	f.Fuzz(func(t *testing.T, b []byte, piece int) {
		tell := func(piece int) int {
			var told bytes.Buffer
			frames := h2Frames{story: newStory(&told)}
			for rest := b; len(rest) > 0; {
				n := min(piece, len(rest))
				frames.pass(rest[:n])
				rest = rest[n:]
			}
			return strings.Count(told.String(), "\n")
		}
		piece = max(1, piece)
		if whole, pieces := tell(len(b)+1), tell(piece); whole != pieces {
			t.Errorf("%d frames at once, %d in pieces of %d", whole, pieces, piece)
		}
	})
}

// TestPrintable checks that a server cannot send control sequences to a terminal.
func TestPrintable(t *testing.T) {
	var told bytes.Buffer
	newStory(&told).tell("< X: \x1b[2J\r\nforged\u009b1m ok")
	if got := told.String(); strings.ContainsAny(got, "\x1b\r\u009b") || strings.Count(got, "\n") != 1 || !strings.Contains(got, "ok") {
		t.Errorf("told %q", got)
	}
}
