package session

import (
	"bytes"
	"io"
	"slices"
	"testing"
	"testing/iotest"

	wire "golang.org/x/net/http2"
)

// settings returns what an end of an HTTP/2 connection sends first: SETTINGS, then other frames, another SETTINGS
// frame among them.
func settings(t testing.TB, first ...wire.Setting) []byte {
	t.Helper()
	var b bytes.Buffer
	f := wire.NewFramer(&b, nil)
	for _, err := range []error{
		f.WriteSettings(first...), f.WriteSettingsAck(), f.WriteWindowUpdate(0, 1<<20), f.WriteSettings(wire.Setting{ID: wire.SettingInitialWindowSize, Val: 7}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// TestAnnounced checks which window each end of a connection announces, however its octets arrive.
func TestAnnounced(t *testing.T) {
	ping := []byte{0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}
	for _, c := range []struct {
		name string
		sent []byte
		want int
	}{
		{"a window", settings(t, wire.Setting{ID: wire.SettingMaxFrameSize, Val: 1 << 20}, wire.Setting{ID: wire.SettingInitialWindowSize, Val: 100_000}), 100_000},
		{"the largest", settings(t, wire.Setting{ID: wire.SettingInitialWindowSize, Val: 1<<31 - 1}), 1<<31 - 1},
		{"two", settings(t, wire.Setting{ID: wire.SettingInitialWindowSize, Val: 1}, wire.Setting{ID: wire.SettingInitialWindowSize, Val: 2}), 2},
		{"a window of 0", settings(t, wire.Setting{ID: wire.SettingInitialWindowSize, Val: 0}), 0},
		{"no setting", settings(t), 65535},
		{"another frame first", append(ping, settings(t, wire.Setting{ID: wire.SettingInitialWindowSize, Val: 1})...), 0},
		{"cut off", settings(t, wire.Setting{ID: wire.SettingInitialWindowSize, Val: 100_000})[:14], 0},
		{"nothing", nil, 0},
	} {
		for name, pieces := range map[string]func(io.Reader) io.Reader{
			"at once": func(r io.Reader) io.Reader { return r }, "octet by octet": iotest.OneByteReader, "by halves": iotest.HalfReader,
		} {
			s := &Session{}
			n := s.note(written{Reader: pieces(io.MultiReader(bytes.NewReader(c.sent)))})
			if _, err := io.Copy(io.Discard, onlyReader{n}); err != nil {
				t.Fatal(err)
			}
			out := s.note(discarding{})
			for _, b := range slices.Collect(slices.Chunk(append([]byte(preface), c.sent...), 5)) {
				if _, err := out.Write(b); err != nil {
					t.Fatal(err)
				}
			}
			client, server := s.Announced()
			if want := []int{0, c.want}; !slices.Equal(client, want) {
				t.Errorf("%s, %s: the clients announced %d, want %d", c.name, name, client, want)
			}
			if want := []int{c.want, 0}; !slices.Equal(server, want) {
				t.Errorf("%s, %s: the servers announced %d, want %d", c.name, name, server, want)
			}
		}
	}
}

// onlyReader hides every method but Read.
type onlyReader struct{ io.Reader }

// discarding is a connection that discards what is written to it.
type discarding struct{ written }

func (discarding) Write(b []byte) (int, error) { return len(b), nil }

// FuzzSettings reads anything as the first frame of a connection: in one piece and octet by octet, with the same result.
func FuzzSettings(f *testing.F) {
	f.Add(settings(f, wire.Setting{ID: wire.SettingInitialWindowSize, Val: 100_000}), uint8(0))
	f.Add(append([]byte(preface), settings(f)...), uint8(len(preface)))
	f.Add([]byte{0, 0, 7, settingsFrame, 0, 0, 0, 0, 0, 0, 4, 255, 255, 255, 255, 0}, uint8(0))
	f.Fuzz(func(t *testing.T, sent []byte, skip uint8) {
		whole, parts := settingsReader{skip: int(skip)}, settingsReader{skip: int(skip)}
		whole.add(sent)
		for i := range sent {
			parts.add(sent[i : i+1])
		}
		if whole.window != parts.window || whole.done != parts.done {
			t.Errorf("in one piece the window is %d (%v), octet by octet %d (%v)", whole.window, whole.done, parts.window, parts.done)
		}
	})
}
