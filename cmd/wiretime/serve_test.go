package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wiretime/media/storage"
	"wiretime/media/transport"
	"wiretime/serve"
)

// servingMedia is a 'wiretime serve --media' that runs.
type servingMedia struct {
	serving
	addresses map[string]netip.AddrPort // by transport
	lacking   map[string]string         // why others are not served
	media     []string                  // what it prints of these, a line each
}

// serveMedia starts 'wiretime serve --media' and reads what it prints.
func (u user) serveMedia(t *testing.T, args ...string) *servingMedia {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	s := &servingMedia{
		serving:   serving{command: u.command(ctx, append([]string{"serve", "--media"}, args...)...), log: &strings.Builder{}},
		addresses: map[string]netip.AddrPort{}, lacking: map[string]string{},
	}
	s.command.Stderr = s.log
	out, err := s.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for s.ca == "" && lines.Scan() {
		line := lines.Text()
		name, rest, _ := strings.Cut(line, " ")
		if ca, ok := strings.CutPrefix(line, "Certificate authority: "); ok {
			s.ca = ca
		} else if _, err := transport.Lookup(name); err != nil {
			s.media = append(s.media, strings.Join(strings.Fields(line), " "))
		} else if why, ok := strings.CutPrefix(strings.TrimSpace(rest), "not served: "); ok {
			s.lacking[name] = why
		} else if s.addresses[name], err = netip.ParseAddrPort(strings.TrimSpace(rest)); err != nil {
			t.Fatalf("it printed %q", line)
		}
	}
	if len(s.addresses)+len(s.lacking) != len(transport.All()) || s.ca == "" {
		t.Fatalf("it printed %v, %v, %q: %v, %s", s.addresses, s.lacking, s.ca, s.command.Wait(), s.log)
	}
	return s
}

// fetch fetches a part of a piece over a transport.
func (s *servingMedia) fetch(t *testing.T, row transport.Transport, r transport.Request) ([]byte, error) {
	t.Helper()
	pem, err := os.ReadFile(s.ca)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	client, err := transport.NewClient(transport.ClientConfig{Transport: row, Server: s.addresses[row.Name], Name: "localhost", Verify: func(c tls.ConnectionState) error {
		between := x509.NewCertPool()
		for _, issuer := range c.PeerCertificates[1:] {
			between.AddCert(issuer)
		}
		_, err := c.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, DNSName: "localhost"})
		return err
	}})
	if err != nil {
		t.Fatal(err)
	}
	session, err := client.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	response, err := session.Request(t.Context(), r)
	if err != nil {
		return nil, err
	}
	defer response.Close()
	octets := make([]byte, response.Length)
	for n := 0; n < len(octets); {
		k, err := response.Read(octets[n:])
		if n += k; n < len(octets) && err != nil {
			return nil, err
		}
	}
	return octets, nil
}

// TestServeMediaThatAreMade asks over each transport for parts of what is served.
func TestServeMediaThatAreMade(t *testing.T) {
	t.Parallel()
	made := storage.MakeAll(serve.MediaSeed)
	for _, u := range users(t) {
		t.Run(u.name, func(t *testing.T) {
			s := u.serveMedia(t)
			for _, row := range transport.All() {
				if err := row.Available(nil); err != nil {
					if why := s.lacking[row.Name]; why != err.Error() {
						t.Errorf("%s is not served for the reason %q, want %q", row.Name, why, err)
					}
					continue
				}
				for _, r := range []transport.Request{
					{ID: storage.ID{Item: "file@3MB"}},
					{ID: storage.ID{Item: "file@1GB"}, Offset: 999_999_000},
					{ID: storage.ID{Item: "clip", Resolution: storage.FHD, Segment: 599}},
				} {
					octets, err := s.fetch(t, row, r)
					if err == nil {
						err = made.Check(r.ID, r.Offset, octets)
					}
					if err != nil || len(octets) == 0 {
						t.Errorf("%s: %v: %d octets, %v", row.Name, r.ID, len(octets), err)
					}
				}
				if _, err := s.fetch(t, row, transport.Request{ID: storage.ID{Item: "clip", Resolution: storage.HD, Segment: 600}}); !errors.Is(err, storage.ErrPastEnd) {
					t.Errorf("%s: past the clip's end: %v", row.Name, err)
				}
			}
			if printed := strings.Join(s.media, "\n"); !strings.Contains(printed, "clip fhd 600 3700000 B") || !strings.Contains(printed, "file@1GB plain 1 1000000000 B") {
				t.Errorf("it printed %s", printed)
			}
			if code := s.end(t); code != 0 {
				t.Errorf("it ended with %d: %s", code, s.log)
			}
			for _, want := range []string{"quic          media:clip/fhd/599 200 3700000 B ", "tcp-clear     media:clip/hd/600 416 0 B ", "media:file@1GB?offset=999999000&length=0 200 1000 B "} {
				if !strings.Contains(s.log.String(), want) {
					t.Errorf("the log does not say %q: %s", want, s.log)
				}
			}
			if _, err := os.Stat(s.ca); err == nil {
				t.Error("the authority was left behind")
			}
		})
	}
}

func TestServeMediaOfAFolder(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.write(t, "media/talk/hd/1.ts", "first")
	u.write(t, "media/talk/hd/2.ts", "second")
	u.write(t, "media/song", "la")
	s := u.serveMedia(t, "--ca", filepath.Join(u.home, "ca"), filepath.Join(u.home, "media"))
	quic, err := transport.Lookup("quic")
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[storage.ID]string{{Item: "talk", Resolution: storage.HD, Segment: 1}: "second", {Item: "song"}: "la"} {
		if octets, err := s.fetch(t, quic, transport.Request{ID: id}); err != nil || string(octets) != want {
			t.Errorf("%v is %q, %v", id, octets, err)
		}
	}
	if _, err := s.fetch(t, quic, transport.Request{ID: storage.ID{Item: "file@1GB"}}); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("what the folder has not: %v", err)
	}
	if printed := strings.Join(s.media, "\n"); !strings.Contains(printed, "talk hd 2 5 B") || !strings.Contains(printed, "song plain 1 2 B") || strings.Contains(printed, "file@") {
		t.Errorf("it printed %s", printed)
	}
	if code := s.end(t); code != 0 {
		t.Errorf("it ended with %d: %s", code, s.log)
	}
}

// TestServeMediaThatAreEncoded needs a clip of its own, which ffmpeg makes.
func TestServeMediaThatAreEncoded(t *testing.T) {
	t.Parallel()
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("ffmpeg is not installed")
	}
	u := self(t)
	clip := filepath.Join(u.home, "clip.mp4")
	if said, err := exec.CommandContext(t.Context(), ffmpeg, "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=4", "-t", "3", clip).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	s := u.serveMedia(t, "--encode", clip)
	if printed := strings.Join(s.media, "\n"); !strings.Contains(printed, "clip hd 3 ") || !strings.Contains(printed, "clip qhd 3 ") {
		t.Errorf("it printed %s", printed)
	}
	if code := s.end(t); code != 0 {
		t.Errorf("it ended with %d: %s", code, s.log)
	}
	if files, err := os.ReadDir(u.home); err != nil || len(files) != 1 {
		t.Errorf("left behind: %v, %v", files, err)
	}
}

func TestServeMediaSaysWhatIsWrong(t *testing.T) {
	u := self(t)
	u.write(t, "song", "la")
	for _, test := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"a", "b"}, exitInput, "accepts at most 1 arg"},
		{[]string{"nosuch"}, exitInput, "nosuch"},
		{[]string{"--host", "media.test"}, exitInput, "--host cannot be combined with --media"},
		{[]string{"--port", "65530"}, exitInput, "want 1 to 65528, since 8 consecutive ports are needed"},
		{[]string{"--address", "nowhere"}, exitInput, "--address: want an IP address"},
		{[]string{"--address", "192.0.2.1"}, exitFailure, "serve media over tcp at 192.0.2.1:0"}, // RFC 5737: nobody's
		{[]string{"--ca", "."}, exitInput, "certificate authority in ."},
		{[]string{"--ca", "./ca", "."}, exitInput, "clients could read the authority's key"},
		{[]string{"--max-connections", "0"}, exitInput, "--max-connections: 0 must be positive"},
		{[]string{"--media=false", "--ca", "new/ca", "."}, exitInput, "clients could read the authority's key"},
		{[]string{"--media=false", "--max-connections", "0", "."}, exitInput, "--max-connections: 0 must be positive"},
		{[]string{"--window", "64KiB"}, exitInput, "--window cannot be combined with --media"},
		{[]string{"--media=false", "--window", "0", "."}, exitInput, "--window: invalid size \"0\": want 1 to 2147483647 octets"},
		{[]string{"--media=false", "--window", "2147483648", "."}, exitInput, "--window: invalid size"},
		{[]string{"--media=false", "--window", "modspdy", "."}, exitInput, "did you mean \"mod_spdy\"?"},
		{[]string{"--media=false", "--allow-host", "a/b", "."}, exitInput, "--allow-host: invalid host name"},
		{[]string{"--media=false", "--address", "127.0.0.1", "."}, exitInput, "--address needs --media"},
		{[]string{"--media=false", "--encode", "clip.mp4", "."}, exitInput, "--encode needs --media"},
	} {
		r := u.run(t, append([]string{"serve", "--media"}, test.args...)...)
		if r.code != test.code || !strings.Contains(r.errors, test.says) {
			t.Errorf("%v: exit code %d, want %d; not saying %q: %s", test.args, r.code, test.code, test.says, r.errors)
		}
	}
	t.Setenv("PATH", u.home)
	if r := u.run(t, "serve", "--media", "--encode", "clip.mp4"); r.code != exitFailure || !strings.Contains(r.errors, storage.ErrNoFFmpeg.Error()) {
		t.Errorf("without ffmpeg: exit code %d: %s", r.code, r.errors)
	}
	if files, err := os.ReadDir(u.home); err != nil || len(files) != 1 {
		t.Errorf("left behind: %v, %v", files, err)
	}
}
