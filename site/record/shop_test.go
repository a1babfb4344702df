package record_test

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/andybalholm/brotli"

	"wiretime/loader/chromium"
	"wiretime/needtest"
	"wiretime/protocol"
	"wiretime/sandbox/sandboxtest"
	"wiretime/site/record"
)

// object is a response of the shop.
type object struct {
	status int
	header string // lines of fields
	body   string // without coding
	stays  bool   // the answer never ends
}

// shop is a made-up site of several origins, served over https and http on loopback ports.
type shop struct {
	objects map[string]object // by method and URL
	ca      *protocol.Authority
	secure  net.Listener
	open    net.Listener

	mu      sync.Mutex
	asked   map[string]int // by method and URL
	stopped chan struct{}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func startShop(t *testing.T, objects map[string]object) *shop {
	t.Helper()
	s := &shop{objects: objects, asked: map[string]int{}, stopped: make(chan struct{})}
	var err error
	s.ca, err = protocol.OpenAuthority(filepath.Join(t.TempDir(), "ca"))
	must(t, err)
	s.secure, err = tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		NextProtos:     []string{"http/1.1"},
		GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) { return s.ca.Certificate(h.ServerName) },
	})
	must(t, err)
	s.open, err = net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	var serving sync.WaitGroup
	for _, l := range []net.Listener{s.secure, s.open} {
		serving.Go(func() { _ = server.Serve(l) })
	}
	t.Cleanup(func() {
		close(s.stopped)
		_ = server.Close()
		serving.Wait()
	})
	return s
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	key := r.Method + " " + scheme + "://" + r.Host + r.URL.RequestURI()
	s.mu.Lock()
	s.asked[key]++
	s.mu.Unlock()
	o, ok := s.objects[key]
	if !ok {
		o = object{status: http.StatusNotFound, header: "Content-Type: text/plain", body: "There is no " + key}
	}
	_, _ = io.Copy(io.Discard, r.Body)
	for line := range strings.Lines(o.header) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		w.Header().Add(name, value)
	}
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.Header().Set("Access-Control-Allow-Headers", "*")
	if o.stays && o.body == "" {
		select {
		case <-s.stopped:
		case <-r.Context().Done():
		}
		return
	}
	w.WriteHeader(max(o.status, 200))
	_, _ = w.Write(coded(w.Header().Get("Content-Encoding"), o.body))
	if o.stays {
		_ = http.NewResponseController(w).Flush()
		select {
		case <-s.stopped:
		case <-r.Context().Done():
		}
	}
}

func coded(coding, body string) []byte {
	var out bytes.Buffer
	switch coding {
	case "gzip":
		z := gzip.NewWriter(&out)
		_, _ = io.WriteString(z, body)
		_ = z.Close()
	case "br":
		z := brotli.NewWriter(&out)
		_, _ = io.WriteString(z, body)
		_ = z.Close()
	default:
		return []byte(body)
	}
	return out.Bytes()
}

// options returns the options for recording a URL of the shop.
func (s *shop) options(t *testing.T, url string) record.Options {
	t.Helper()
	binary, err := chromium.Find("")
	needtest.Program(t, "Chromium", err)
	folder := filepath.Join(sandboxtest.Folder(t), "profile")
	must(t, os.Mkdir(folder, 0o700))
	return record.Options{
		URL: url, Chromium: binary, Folder: folder, Limit: time.Minute, Quiet: 300 * time.Millisecond, SPKIHash: s.ca.SPKIHash(),
		HostRules: fmt.Sprintf("MAP nowhere.test ~NOTFOUND, MAP *:80 %s, MAP *:443 %s", s.open.Addr(), s.secure.Addr()),
		Progress:  func(line string) { t.Log(line) },
	}
}

func script(t *testing.T, text string) *record.Script {
	t.Helper()
	s, err := record.ParseScript("steps.txt", []byte(text))
	must(t, err)
	return s
}

// times returns how often a URL was requested.
func (s *shop) times(key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[key]
}
