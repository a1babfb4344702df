package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wiretime/lab"
	"wiretime/media/record"
	"wiretime/media/transport"
	"wiretime/workload"
	"wiretime/workload/playback"
)

// wants holds that a text says all of these.
func wants(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("it does not say %q:\n%s", w, text)
		}
	}
}

// TestStreamInALab watches a video whose connection migrates.
func TestStreamInALab(t *testing.T) {
	t.Parallel()
	for _, u := range users(t) {
		t.Run(u.name, func(t *testing.T) {
			r := u.run(t, "stream", "--delay", "10ms", "--rate", "40mbit", "--reconnections", "1", "--strategy", "migrate", "--for", "4s", "-o", "kept")
			if r.code != 0 {
				t.Fatalf("exit code %d: %s", r.code, r.errors)
			}
			wants(t, r.out, "Loading delay ", "Recovery ", "1 handovers", "1 sessions", "AP2", "Kept in kept.")
			wants(t, r.errors, "Mbit/s", "hd ")
			for _, name := range []string{lab.CaptureFile, playback.StreamFile, workload.ServerFile, "client-1.sqlog"} {
				if info, err := os.Stat(filepath.Join(u.home, "kept", name)); err != nil || info.Size() == 0 {
					t.Errorf("%s: %v", name, err)
				}
			}
			again := u.run(t, "stream", "--for", "1s", "-o", "kept")
			if again.code != exitInput {
				t.Errorf("into a folder that is there: exit code %d", again.code)
			}
			wants(t, again.errors, "--output kept", "name a new folder")
		})
	}
}

// TestStreamOnTheVirtualClock fetches a file over the guest's SCTP, twice: the figures are
// the same to the last digit.
func TestStreamOnTheVirtualClock(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	args := []string{"stream", "--clock", "virtual", "--transport", "sctp", "--delay", "20ms", "--loss", "1%", "file@3MB"}
	r := u.run(t, args...)
	if r.code != 0 {
		t.Fatalf("exit code %d: %s", r.code, r.errors)
	}
	wants(t, r.out, "TTD ", "3000000 B", "Drops ")
	if again := u.run(t, args...); again.out != r.out {
		t.Errorf("first\n%s, then\n%s", r.out, again.out)
	}
}

// TestStreamFromAServer streams what the program serves, over all transports of the machine.
func TestStreamFromAServer(t *testing.T) {
	t.Parallel()
	u := self(t)
	s := u.serveMedia(t)
	for _, row := range transport.All() {
		if row.Available(nil) != nil {
			continue
		}
		t.Run(row.Name, func(t *testing.T) {
			at := s.addresses[row.Name].String()
			r := u.run(t, "stream", "--server", at, "--transport", row.Name, "--cacert", s.ca, "file@2MB", "-o", row.Name)
			if r.code != 0 {
				t.Fatalf("exit code %d: %s", r.code, r.errors)
			}
			wants(t, r.out, "TTD ", "2000000 B")
			kept, err := record.Read(filepath.Join(u.home, row.Name, playback.StreamFile))
			if err != nil || kept.Transport != row.Name || kept.Figures.Received != 2_000_000 {
				t.Errorf("kept: %+v, %v", kept, err)
			}
			r = u.run(t, "stream", "--server", at, "--transport", row.Name, "--insecure", "--for", "1s", "nothing")
			if r.code != exitFailure {
				t.Errorf("a video that is not there: exit code %d", r.code)
			}
			wants(t, r.errors, "nothing, hd, segment 0: not in the storage")
		})
	}
	r := u.run(t, "stream", "--server", s.addresses["quic"].String(), "--give-up", "50s")
	if r.code != exitFailure {
		t.Errorf("a certificate that nobody trusts: exit code %d", r.code)
	}
	wants(t, r.errors, "--cacert", "--insecure")
	if code := s.end(t); code != 0 {
		t.Errorf("the server ended with %d", code)
	}
}

func TestStreamSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	u := self(t)
	tests := []struct {
		name string
		args []string
		says []string
	}{
		{"unknown media", []string{"clop"}, []string{"clop", "clip"}},
		{"size of a file", []string{"file@1furlong"}, []string{"file@1furlong"}},
		{"unknown transport", []string{"--transport", "dccp"}, []string{"--transport", "dccp", "sctp-udp"}},
		{"unknown player", []string{"--player", "vlc"}, []string{"vlc", "bola"}},
		{"player of videos for a file", []string{"--player", "bola", "file@1MB"}, []string{"bola", "file@1MB"}},
		{"strategy that the transport lacks", []string{"--transport", "tcp", "--strategy", "migrate"}, []string{"--strategy", "only QUIC"}},
		{"more handovers than room", []string{"--reconnections", "40"}, []string{"no room for 40 reconnections", "29 moments"}},
		{"rate", []string{"--rate", "fast"}, []string{"--rate", "fast"}},
		{"loss", []string{"--loss", "1"}, []string{"--loss", "1%"}},
		{"seeks", []string{"--seeks", "often"}, []string{"--seeks", "often"}},
		{"negative delay", []string{"--delay", "-5ms"}, []string{"-5ms"}},
		{"clock", []string{"--clock", "wall"}, []string{"--clock", "wall", "virtual"}},
		{"no time", []string{"--for", "0s"}, []string{"--for", "30s"}},
		{"a lab's flag with a server", []string{"--server", "127.0.0.1:1", "--reconnections", "1"}, []string{"--reconnections cannot be combined with --server"}},
		{"an emulated link that carries TCP and UDP alone", []string{"--server", "127.0.0.1:1", "--loss", "1%", "--transport", "mptcp"}, []string{"--transport: mptcp cannot be used", "forwards TCP and UDP alone"}},
		{"an unknown manager", []string{"--manager", "router"}, []string{"--manager: unknown manager", "planned or node"}},
		{"a rebinding without its moment", []string{"--rebind", "port"}, []string{"--rebind: invalid rebinding", "port@2s"}},
		{"a server's flag without", []string{"--insecure"}, []string{"--insecure needs --server"}},
		{"server without a port", []string{"--server", "127.0.0.1"}, []string{"--server", "HOST:PORT"}},
		{"roots that are not there", []string{"--server", "127.0.0.1:1", "--cacert", "none.pem"}, []string{"--cacert", "none.pem"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := u.run(t, append([]string{"stream", "-o", "kept"}, test.args...)...)
			if r.code != exitInput {
				t.Errorf("exit code %d, want %d", r.code, exitInput)
			}
			wants(t, r.errors, test.says...)
			if _, err := os.Stat(filepath.Join(u.home, "kept")); err == nil {
				t.Error("a folder was left behind")
			}
		})
	}
	sctp, err := transport.Lookup("sctp")
	if err == nil && sctp.Available(nil) != nil {
		r := u.run(t, "stream", "--transport", "sctp", "-o", "kept")
		wants(t, r.errors, "kernel has no SCTP", "--clock virtual")
	}
}
