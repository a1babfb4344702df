package serve_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/sys/unix"

	"wiretime/get"
	"wiretime/serve"
)

// status requests the root of an endpoint with a host and an origin; empty ones are those
// of the URL and none.
func (s served) status(t *testing.T, e serve.Endpoint, host, origin string) (int, string) {
	t.Helper()
	client, err := get.New(get.Config{Protocol: asked(e), Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, e.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	if origin != "" {
		r.Header.Set("Origin", origin)
	}
	answer, err := client.RoundTrip(r)
	if err != nil {
		t.Fatalf("%s, host %q: %v", e.Protocol, host, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// TestOnlyItsHosts: over each protocol a website that points its name to this machine gets
// nothing of the folder, and neither do its pages.
func TestOnlyItsHosts(t *testing.T) {
	handler, err := serve.Folder(makeFolder(t, folder))
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, serve.Config{Handler: handler, Host: "page.test", Others: []string{"Other.test:8443", "192.0.2.7"}})
	for _, e := range s.Endpoints() {
		e.URL = strings.Replace(e.URL, "page.test", "localhost", 1)

		t.Run(e.Protocol, func(t *testing.T) {
			for _, c := range []struct {
				host, origin string
				want         int
			}{
				{"localhost", "", 200},
				{"LocalHost:1", "", 200},
				{"localhost.", "", 200},
				{"a.localhost", "", 200},
				{"127.0.0.1", "", 200},
				{"127.1.2.3:80", "", 200},
				{"[::1]:80", "", 200},
				{"page.test", "", 200},
				{"PAGE.test:443", "", 200},
				{"other.test", "", 200},
				{"192.0.2.7:80", "", 200},
				{"evil.example", "", 421},
				{"evil.example:8440", "", 421},
				{"localhost.evil.example", "", 421},
				{"127.0.0.1.evil.example", "", 421},
				{"notlocalhost", "", 421},
				{"192.0.2.1", "", 421},
				{"[2001:db8::1]", "", 421},
				{"localhost", "http://localhost:3000", 200},
				{"localhost", "https://other.test", 200},
				{"localhost", "https://evil.example", 403},
				{"localhost", "https://localhost.evil.example", 403},
				{"localhost", "null", 403},
				{"localhost", "localhost", 403},
				{"evil.example", "https://evil.example", 421},
			} {
				got, body := s.status(t, e, c.host, c.origin)
				if got != c.want {
					t.Errorf("host %q, origin %q: status %d, want %d", c.host, c.origin, got, c.want)
				}
				if shown := strings.Contains(body, "<title>Folder"); shown != (c.want == 200) {
					t.Errorf("host %q, origin %q: the body is %q", c.host, c.origin, body)
				}
				if c.want != 200 && !strings.Contains(body, "--allow-host") {
					t.Errorf("host %q, origin %q: the answer does not say what to do: %q", c.host, c.origin, body)
				}
			}
		})
	}
}

// TestHostTwice: HTTP/1.1 requests that name no host, two, or one in the URL.
func TestHostTwice(t *testing.T) {
	s := startFolder(t, folder)
	for request, want := range map[string]string{
		"GET / HTTP/1.0\r\n\r\n": "200",
		"GET / HTTP/1.1\r\n\r\n": "400",
		"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n":                                "400",
		"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n":                                   "421",
		"GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nOrigin: http://e.test\r\n\r\n": "403",
	} {
		if got := s.raw(t, request); !strings.HasPrefix(got, "HTTP/1.") || !strings.Contains(got, " "+want+" ") {
			t.Errorf("%q is answered %q, want %s", request, got, want)
		}
	}
}

// raw sends octets to the port in the clear and returns the first line of the answer.
func (s served) raw(t *testing.T, request string) string {
	t.Helper()
	c, err := net.Dial("tcp", s.Endpoints()[0].Address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return line
}

// TestOnlyFiles: a pipe or a socket in the folder is not opened, which would take a thread
// of the program for each request.
func TestOnlyFiles(t *testing.T) {
	dir := makeFolder(t, map[string]string{"page.html": "page", "sub/x": "x"})
	if err := unix.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for link, target := range map[string]string{"link": "pipe", "zero": "/dev/zero", "loop": "loop", "up": "../", "folder": "sub"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	handler, err := serve.Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, serve.Config{Handler: handler})
	for path, want := range map[string]string{
		"pipe": "403", "link": "403", "socket": "403", "zero": "403", "loop": "403", "up/": "403", "page.html": "200", "folder/x": "200",
	} {
		for range 20 {
			if got := s.raw(t, "GET /"+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); !strings.Contains(got, " "+want+" ") {
				t.Errorf("%s is answered %q, want %s", path, got, want)
			}
		}
	}
}

// TestLogShowsNoControls: a path cannot control the terminal that shows the log.
func TestLogShowsNoControls(t *testing.T) {
	s := startFolder(t, folder)
	s.raw(t, "GET /\x9b31m?\x9b2J\u009b\u202e HTTP/1.1\r\nHost: localhost\r\n\r\n")
	// The first answer comes before its line, which the second one's follows.
	for !strings.Contains(s.log.String(), "2J") {
		s.raw(t, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
	}
	for _, r := range s.log.String() {
		if r != '\n' && (unicode.IsControl(r) || r == unicode.ReplacementChar || unicode.Is(unicode.Bidi_Control, r)) {
			t.Fatalf("the log has %q: %q", r, s.log)
		}
	}
	if want := fmt.Sprintf("%q", `\x9b2J\u009b\u202e`); !strings.Contains(fmt.Sprintf("%q", s.log), want[1:len(want)-1]) {
		t.Errorf("the log does not show %s: %s", want, s.log)
	}
}
