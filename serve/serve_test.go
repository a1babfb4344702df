package serve_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"wiretime/get"
	"wiretime/protocol"
	"wiretime/serve"
	"wiretime/window"
)

// folder is what the tests serve: a page, something small, and something larger
// than the flow-control windows.
var folder = map[string]string{
	"index.html":   "<!doctype html><title>Folder</title>",
	"a b/note.txt": "small",
	"big.bin":      strings.Repeat("0123456789abcdef", 20_000),
	".secret":      "hidden",
}

func makeFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// lines is a log that may be read while it is written.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// served is a running server with the client's trust settings.
type served struct {
	*serve.Server
	log   *lines
	roots *x509.CertPool
}

func start(t *testing.T, c serve.Config) served {
	t.Helper()
	ca := filepath.Join(t.TempDir(), "ca")
	authority, err := protocol.OpenAuthority(ca)
	if err != nil {
		t.Fatal(err)
	}
	pem, err := os.ReadFile(filepath.Join(ca, "root.pem"))
	if err != nil {
		t.Fatal(err)
	}
	s := served{log: &lines{}, roots: x509.NewCertPool()}
	s.roots.AppendCertsFromPEM(pem)
	c.CA, c.Requests = authority, s.log
	if s.Server, err = serve.Start(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // aborts what is still in flight
		_ = s.Shutdown(ctx)
	})
	return s
}

func startFolder(t *testing.T, files map[string]string) served {
	t.Helper()
	handler, err := serve.Folder(makeFolder(t, files))
	if err != nil {
		t.Fatal(err)
	}
	return start(t, serve.Config{Handler: handler})
}

// fetch fetches URLs and returns their bodies, one after the other.
func fetch(t *testing.T, c get.Config, urls ...string) (string, error) {
	t.Helper()
	client, err := get.New(c)
	if err != nil {
		t.Fatal(err)
	}
	var requests []*http.Request
	for _, u := range urls {
		r, err := http.NewRequest(http.MethodGet, u, nil)
		if err != nil {
			t.Fatal(err)
		}
		requests = append(requests, r)
	}
	var out bytes.Buffer
	err = get.Batch{Client: &http.Client{Transport: client}, Requests: requests, Fail: true}.Fetch(t.Context(), &out)
	return out.String(), errors.Join(err, client.Close())
}

// TestWindow checks the window that the server announces to a client over each protocol, in SETTINGS or
// in transport parameters.
func TestWindow(t *testing.T) {
	handler, err := serve.Folder(makeFolder(t, map[string]string{"index.html": "hello"}))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		window string
		grants map[string]int // octets by protocol
	}{
		{"100kB", map[string]int{"spdy/3": 100_000, "spdy/3.1": 100_000, "h2": 100_000, "h3": 100_000}},
		{"google-2013", map[string]int{"spdy/3": 1 << 20, "spdy/3.1": 1 << 20}},
		{"caddy", map[string]int{"h2": 1 << 20, "h3": 512 << 10}},
	} {
		setting, err := window.Parse(c.window)
		if err != nil {
			t.Fatal(err)
		}
		s := start(t, serve.Config{Handler: handler, Window: &setting})
		for _, e := range s.Endpoints() {
			octets, ok := c.grants[e.Protocol]
			if !ok {
				continue
			}
			var seen bytes.Buffer
			config := get.Config{Protocol: e.Protocol, Roots: s.roots, Frames: &seen}
			want := fmt.Sprintf(`"7":%d`, octets)
			switch e.Protocol {
			case "h2":
				config.Frames, config.Story = nil, &seen
				want = fmt.Sprintf("INITIAL_WINDOW_SIZE = %d", octets)
			case "h3":
				config.Frames, config.QLog = nil, &seen
				want = fmt.Sprintf(`"initial_max_stream_data_bidi_remote":%d`, octets)
			}
			if _, err := fetch(t, config, e.URL); err != nil || !strings.Contains(seen.String(), want) {
				t.Errorf("--window %s over %s: %v; the client saw no %s in %s", c.window, e.Protocol, err, want, seen.String())
			}
		}
	}
}

// asked returns the protocol to request from an endpoint.
func asked(e serve.Endpoint) string {
	if e.Protocol == serve.Any {
		return ""
	}
	return e.Protocol
}

// TestEveryProtocol fetches the folder over each protocol. The bodies are equal,
// and the server's log shows that protocol.
func TestEveryProtocol(t *testing.T) {
	for _, kind := range []string{"site", "files"} {
		files := maps.Clone(folder)
		if kind == "files" {
			delete(files, "index.html")
			files["page.html"] = "no index here"
		}
		s := startFolder(t, files)
		for _, e := range s.Endpoints() {
			t.Run(kind+" "+e.Protocol, func(t *testing.T) {
				got, err := fetch(t, get.Config{Protocol: asked(e), Roots: s.roots}, e.URL+"big.bin", e.URL+"a%20b/note.txt", e.URL+"big.bin")
				if want := files["big.bin"] + files["a b/note.txt"] + files["big.bin"]; err != nil || got != want {
					t.Errorf("got %d octets, want %d: %v", len(got), len(want), err)
				}
				name := e.Protocol
				if name == serve.Any {
					name = "h2"
				}
				if line := fmt.Sprintf("%-9s GET /a%%20b/note.txt 200 5 B ", name); !strings.Contains(s.log.String(), line) {
					t.Errorf("the log does not contain %q:\n%s", line, s.log)
				}
			})
		}
	}
}

// TestOnlyItsProtocol requests each other protocol from each port. The error
// names what the port offers.
func TestOnlyItsProtocol(t *testing.T) {
	s := startFolder(t, folder)
	for _, e := range s.Endpoints() {
		if e.Protocol == serve.Any || !strings.HasPrefix(e.URL, "https:") {
			continue
		}
		for _, name := range get.Names() {
			if name == "http/1.1" || name == e.Protocol {
				continue
			}
			t.Run(name+" at "+e.Protocol, func(t *testing.T) {
				_, err := fetch(t, get.Config{Protocol: name, Roots: s.roots}, e.URL)
				if err == nil {
					t.Fatal("the request was answered")
				}
				offer := "it offers " + strings.TrimPrefix(e.Protocol, "https/")
				switch {
				case e.Protocol == "h3":
					offer = "connection refused" // nothing listens on TCP
				case e.Protocol == "https/1.1":
					offer = "it offers http/1.1"
				}
				if !strings.HasSuffix(err.Error(), offer) && !strings.Contains(err.Error(), "connection refused") || !strings.Contains(err.Error(), offer) {
					t.Errorf("the error does not contain %q: %v", offer, err)
				}
			})
		}
	}
}

// TestALPNDecides requests every protocol from the common port.
func TestALPNDecides(t *testing.T) {
	s := startFolder(t, folder)
	all := s.Endpoints()
	for _, name := range []string{"https/1.1", "spdy/2", "spdy/3", "spdy/3.1", "h2"} {
		got, err := fetch(t, get.Config{Protocol: name, Roots: s.roots}, all[len(all)-1].URL)
		if err != nil || got != folder["index.html"] {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

// TestUntrusted fetches without trusting the authority.
func TestUntrusted(t *testing.T) {
	s := startFolder(t, folder)
	for _, e := range s.Endpoints()[1:] {
		_, err := fetch(t, get.Config{Protocol: asked(e), Roots: x509.NewCertPool()}, e.URL)
		if err == nil || !strings.Contains(err.Error(), "not trusted") || !strings.Contains(err.Error(), "--cacert") {
			t.Errorf("%s: %v", e.Protocol, err)
		}
		got, err := fetch(t, get.Config{Protocol: asked(e), Insecure: true}, e.URL)
		if err != nil || got != folder["index.html"] {
			t.Errorf("%s, trusting all: got %q, %v", e.Protocol, got, err)
		}
	}
}

// TestHost serves under a custom name, whose address the client is given. The
// certificate is for that name only.
func TestHost(t *testing.T) {
	handler, err := serve.Folder(makeFolder(t, folder))
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, serve.Config{Handler: handler, Host: "page.test"})
	for _, e := range s.Endpoints() {
		at := netip.MustParseAddrPort(e.Address)
		addresses := map[string]netip.Addr{fmt.Sprintf("page.test:%d", at.Port()): at.Addr(), fmt.Sprintf("other.test:%d", at.Port()): at.Addr()}
		got, err := fetch(t, get.Config{Protocol: asked(e), Roots: s.roots, Addresses: addresses}, e.URL)
		if err != nil || got != folder["index.html"] {
			t.Errorf("%s: got %q, %v", e.Protocol, got, err)
		}
		if strings.HasPrefix(e.URL, "http:") {
			continue
		}
		_, err = fetch(t, get.Config{Protocol: asked(e), Roots: s.roots, Addresses: addresses}, strings.Replace(e.URL, "page.test", "other.test", 1))
		if err == nil || !strings.Contains(err.Error(), "not for that name") {
			t.Errorf("%s, under another name: %v", e.Protocol, err)
		}
	}
	if _, err := serve.Start(t.Context(), serve.Config{Handler: handler, Host: "127.0.0.1"}); err == nil {
		t.Error("it serves under an address, for which there are no certificates")
	}
}

// TestNothingOutside serves neither hidden files nor targets of links outside the
// folder.
func TestNothingOutside(t *testing.T) {
	files := map[string]string{"page.html": "page", ".secret": "hidden", "sub/.git/config": "hidden", ".well-known/x": "known", "sub/ok": "ok"}
	dir := makeFolder(t, files)
	if err := errors.Join(os.Symlink("/etc/passwd", filepath.Join(dir, "out")), os.Symlink("page.html", filepath.Join(dir, "in"))); err != nil {
		t.Fatal(err)
	}
	handler, err := serve.Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, serve.Config{Handler: handler})
	root := s.Endpoints()[0].URL
	for path, status := range map[string]string{"out": "403", ".secret": "404", "sub/.git/config": "404", "..%2f..%2fetc/passwd": "40", "nosuch": "404"} {
		got, err := fetch(t, get.Config{}, root+path)
		if err == nil || !strings.Contains(err.Error(), "answered "+status) {
			t.Errorf("%s: got %q, %v", path, got, err)
		}
	}
	for path, want := range map[string]string{"in": "page", ".well-known/x": "known", "sub/ok": "ok"} {
		if got, err := fetch(t, get.Config{}, root+path); err != nil || got != want {
			t.Errorf("%s: got %q, %v", path, got, err)
		}
	}
	if list, err := fetch(t, get.Config{}, root); err != nil || !strings.Contains(list, "page.html") || strings.Contains(list, "secret") {
		t.Errorf("the list is %q, %v", list, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "index.html"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := serve.Folder(dir); err == nil || !strings.Contains(err.Error(), "out of the folder") {
		t.Errorf("a site with a link to the outside: %v", err)
	}
}

// TestShutdown waits for requests in flight over each protocol, and aborts them
// if it must not wait.
func TestShutdown(t *testing.T) {
	for _, drain := range []bool{true, false} {
		t.Run(fmt.Sprintf("drain %v", drain), func(t *testing.T) {
			entered, leave := make(chan struct{}, serve.Ports()), make(chan struct{})
			s := start(t, serve.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				entered <- struct{}{}
				select {
				case <-leave:
				case <-r.Context().Done():
				}
				fmt.Fprint(w, "late")
			})})
			var running sync.WaitGroup
			for _, e := range s.Endpoints() {
				running.Go(func() {
					got, err := fetch(t, get.Config{Protocol: asked(e), Roots: s.roots}, e.URL)
					if answered := err == nil && got == "late"; answered != drain {
						t.Errorf("%s: got %q, %v", e.Protocol, got, err)
					}
				})
			}
			for range s.Endpoints() {
				<-entered
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if drain {
				running.Go(func() {
					// Once no connection is accepted any more, the shutdown waits for the
					// existing ones.
					for {
						c, err := net.Dial("tcp", s.Endpoints()[0].Address)
						if err != nil {
							break
						}
						_ = c.Close()
					}
					close(leave)
				})
			} else {
				cancel()
			}
			if err := s.Shutdown(ctx); (err == nil) != drain {
				t.Errorf("shut down: %v", err)
			}
			running.Wait()
		})
	}
}
