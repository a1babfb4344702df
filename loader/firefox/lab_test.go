package firefox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wiretime/lab"
	"wiretime/network"
	"wiretime/protocol"
	"wiretime/site"
)

func TestMain(m *testing.M) {
	lab.Helper()
	if _, err := lab.Enter(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// bench is a lab with a browser in it.
type bench struct {
	lab       *lab.Lab
	authority *protocol.Authority
	browser   *Browser
}

// The hosts of the tests' pages.
const (
	pageHost  = "www.page.test"
	imageHost = "img.page.test"
)

// newBench starts a browser in a lab of its own. Where there is no Firefox it
// skips the test, unless WIRETIME_NEED_PEERS is 1.
func newBench(t *testing.T, quic bool) *bench {
	t.Helper()
	binary := needFirefox(t)
	l, err := lab.New(t.Context(), lab.Config{AccessLinks: 1, TCPRmem: [3]int{4096, 131072, 6291456}, TCPWmem: [3]int{4096, 16384, 4194304}})
	must(t, err)
	t.Cleanup(func() { must(t, l.Close()) })
	b := &bench{lab: l}
	b.authority, err = protocol.OpenAuthority(t.TempDir())
	must(t, err)
	folder, err := os.MkdirTemp(lab.Scratch, "firefox-")
	must(t, err)
	o := Options{Binary: binary, Folder: folder, Enter: l.Client().Command, Dial: l.Dial, Issuer: b.authority.Issuer()}
	if quic {
		o.ForceQUIC = []string{pageHost, imageHost}
	}
	b.browser, err = Launch(t.Context(), o)
	must(t, err)
	t.Cleanup(func() {
		must(t, b.browser.Close())
		if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the profile is left behind: %v", err)
		}
	})
	return b
}

func needFirefox(t *testing.T) string {
	t.Helper()
	binary, err := Find("")
	if err != nil && os.Getenv("WIRETIME_NEED_PEERS") != "1" {
		t.Skip(err)
	}
	must(t, err)
	return binary
}

// load loads a page over a path.
func (b *bench) load(t *testing.T, p protocol.Protocol, s *site.Site, link network.Link, timeout time.Duration) *lab.Record {
	t.Helper()
	visit, err := b.browser.Open(t.Context())
	must(t, err)
	dir := os.Getenv("KEEP")
	if dir == "" {
		dir = t.TempDir()
	} else {
		os.MkdirAll(dir, 0o755)
	}
	record, err := b.lab.Run(t.Context(), lab.Load{
		Path: network.Path{Name: "test", Access: []network.Access{{Name: "access", Up: link, Down: link}}}, Seed: 1,
		TCP: lab.TCPOptions{Congestion: "cubic", InitCwnd: 10}, Protocol: p, Site: s, Authority: b.authority, Visit: visit,
		Dir: dir, Timeout: timeout, Comment: t.Name(),
	})
	must(t, err)
	return record
}

// pngHead makes a body one that Firefox takes for an image; others it would not
// give to a page from another origin.
const pngHead = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00"

// page is a site of a document with n images, every second of them on another
// host.
func page(t *testing.T, n, size int) *site.Site {
	var html strings.Builder
	html.WriteString("<!DOCTYPE html><title>Page</title><link rel=stylesheet href=/style.css><p>Images</p>")
	files := map[string][]byte{"https://" + pageHost + "/style.css": []byte("p { color: green }")}
	random := rand.NewChaCha8([32]byte{})
	for i := range n {
		url := fmt.Sprintf("https://%s/%d.png", []string{pageHost, imageHost}[i%2], i)
		fmt.Fprintf(&html, "<img src=%s width=1 height=1>", strings.TrimPrefix(url, "https:"))
		body := make([]byte, size)
		_, _ = random.Read(body)
		copy(body, pngHead)
		files[url] = body
	}
	files["https://"+pageHost+"/"] = []byte(html.String())
	return archive(t, files)
}

var types = map[string]string{".png": "image/png", ".css": "text/css", "": "text/html; charset=utf-8"}

// archive makes a site of files, by URL; the page is pageHost's root.
func archive(t *testing.T, files map[string][]byte) *site.Site {
	t.Helper()
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "bodies"), 0o755))
	s := site.Site{Name: "page", Page: "https://" + pageHost + "/"}
	for url, body := range files {
		sum := sha256.Sum256(body)
		name := hex.EncodeToString(sum[:])
		must(t, os.WriteFile(filepath.Join(dir, "bodies", name), body, 0o644))
		kind := types[filepath.Ext(strings.TrimPrefix(url, "https://"+pageHost))]
		if url != s.Page && kind == types[""] {
			kind = types[filepath.Ext(url)]
		}
		s.Resources = append(s.Resources, site.Resource{Method: "GET", URL: url, Status: 200, Body: name, Size: int64(len(body)),
			Header: []site.Header{{Name: "content-type", Value: kind}}})
	}
	text, err := json.Marshal(struct {
		Format int `json:"format"`
		site.Site
	}{1, s})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "site.json"), text, 0o644))
	opened, err := site.Open(dir)
	must(t, err)
	return opened
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var _ = context.Background

func TestTry(t *testing.T) {
	p, err := protocol.Lookup(os.Getenv("ROW"))
	must(t, err)
	b := newBench(t, p.Transport == "udp")
	for i := range 1 {
		r := b.load(t, p, page(t, 40, 5000), network.Link{Rate: 10_000_000, Delay: 25 * time.Millisecond, Queue: network.Queue{Bytes: 256 << 10}}, 20*time.Second)
		t.Log(i, r.LoadError, r.Timing, len(r.HAR.Log.Entries), r.DNSQueries)
		conns := map[string]int{}
		for _, e := range r.Server {
			conns[fmt.Sprint(e.Connection, e.Client, e.Resumed, e.Protocol)]++
		}
		t.Log(conns)
	}
}
