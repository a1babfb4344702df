package server_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"wiretime/lab"
	"wiretime/needtest"
	"wiretime/protocol"
	"wiretime/sandbox/sandboxtest"
	"wiretime/server"
	"wiretime/site"
	"wiretime/spdy"
)

// TestMain enters namespaces of its own, where every user may listen on the rows' ports
// and be the first process of a namespace. Fuzzing restarts the program itself and needs
// no namespaces.
func TestMain(m *testing.M) {
	lab.Helper()
	if len(os.Args) > 1 && os.Args[1] == plainServer {
		fmt.Println(servePlain(os.Args[2:]))
		os.Exit(1)
	}
	if !slices.ContainsFunc(os.Args, func(a string) bool { return strings.HasPrefix(a, "-test.fuzz") }) {
		if _, err := lab.Enter(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		// As in the server's namespace of a lab.
		if err := os.WriteFile("/proc/sys/net/ipv4/ip_unprivileged_port_start", []byte("0"), 0); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// patience is how long a test waits for something that takes moments.
const patience = time.Minute

// The hosts of the tests' site. The second and the third share an address.
const (
	pageHost  = "www.page.test"
	imageHost = "img.page.test"
	adHost    = "ads.other.test"
)

var addresses = map[string]netip.Addr{
	pageHost:  netip.MustParseAddr("127.0.0.2"),
	imageHost: netip.MustParseAddr("127.0.0.3"),
	adHost:    netip.MustParseAddr("127.0.0.3"),
}

// maker builds a site.
type maker struct {
	site   site.Site
	bodies map[string][]byte
}

func (m *maker) add(method, url string, status int, body []byte, fields ...string) {
	r := site.Resource{Method: method, URL: "https://" + url, Status: status, Body: site.Hash(body)}
	for i := 0; i < len(fields); i += 2 {
		r.Header = append(r.Header, site.Header{Name: fields[i], Value: fields[i+1]})
	}
	m.site.Resources = append(m.site.Resources, r)
	m.bodies[r.Body] = body
}

// wholeSite returns a site with every oddity of recorded pages. Without methods it
// has GET only.
func wholeSite(t *testing.T, methods bool) *site.Site {
	t.Helper()
	m := maker{site: site.Site{Name: "odd", Page: "https://" + pageHost + "/"}, bodies: map[string][]byte{}}
	m.add("GET", pageHost+"/", 200, []byte("<!DOCTYPE html><title>page</title>"), "content-type", "text/html; charset=utf-8",
		"vary", "accept", "vary", "origin", "cache-control", "max-age=60", "link", "</a.css>; rel=preload; as=style")
	m.add("GET", pageHost+"/zipped.js", 200, zipped(strings.Repeat("say('it');", 500)), "content-type", "text/javascript", "content-encoding", "gzip", "etag", `"a1"`)
	m.add("GET", pageHost+"/q?x=1", 200, []byte("one"), "content-type", "text/plain")
	m.add("GET", pageHost+"/q?x=2&y=%2F", 200, []byte("two"), "content-type", "text/plain", "last-modified", "Tue, 03 Mar 2020 10:00:00 GMT")
	m.add("GET", pageHost+"/q?x=?", 200, []byte("three"), "content-type", "text/plain")
	m.add("GET", pageHost+"/nothing?", 200, []byte("four"), "content-type", "text/plain")
	m.add("GET", pageHost+"/q", 200, []byte("none"), "content-type", "text/plain")
	m.add("GET", pageHost+"/Case", 200, []byte("upper"), "content-type", "text/plain")
	m.add("GET", pageHost+"/case", 200, []byte("lower"), "content-type", "text/plain")
	m.add("GET", pageHost+"/quoted", 200, []byte("odd"), "content-type", "text/plain", "x-odd", `a "b" \c $host {d} 'e' #f %{g} ${h} %h`)
	m.add("GET", pageHost+"/untyped", 200, []byte("<p>"))
	m.add("GET", pageHost+"/empty.css", 200, nil, "content-type", "text/css")
	m.add("GET", pageHost+"/dir", 200, []byte("a file"), "content-type", "text/plain")
	m.add("GET", pageHost+"/dir/below", 200, []byte("below it"), "content-type", "text/plain", "set-cookie", "a=x; Path=/", "set-cookie", "b=x; Path=/")
	m.add("GET", pageHost+"/moved", 301, []byte("there"), "content-type", "text/html", "location", "https://"+imageHost+"/")
	m.add("GET", pageHost+"/found", 302, nil, "location", "/q?x=1")
	m.add("GET", pageHost+"/gone", 404, []byte("archived as gone"), "content-type", "text/plain")
	m.add("GET", pageHost+"/error", 503, zipped("busy"), "content-type", "text/plain", "content-encoding", "gzip", "retry-after", "5")
	m.add("GET", pageHost+"/no-content", 204, nil, "cache-control", "no-store")
	m.add("GET", pageHost+"/typed-no-content", 204, nil, "content-type", "image/gif")
	m.add("GET", pageHost+"/dated", 200, []byte("dated"), "content-type", "text/plain", "last-modified", "Sat, 29-Aug-2015 19:45:01 GMT")
	m.add("GET", pageHost+"/long?"+strings.Repeat("long", 1000), 200, []byte("long"), "content-type", "text/plain")
	m.add("GET", imageHost+"/", 200, []byte("another page"), "content-type", "text/html")
	m.add("GET", imageHost+"/a%2Fb%20c?q=1&r=", 200, []byte("png"), "content-type", "image/png", "access-control-allow-origin", "*")
	m.add("GET", imageHost+"/large", 200, bytes.Repeat([]byte("0123456789abcdef"), 1<<16), "content-type", "application/octet-stream")
	m.add("GET", adHost+"/", 200, []byte("an ad"), "content-type", "text/html", "timing-allow-origin", "*")
	for i := range 150 {
		m.add("GET", imageHost+fmt.Sprintf("/i/%d.png?v=%d", i, i%3), 200, fmt.Appendf(nil, "image %d", i), "content-type", "image/png", "cache-control", fmt.Sprintf("max-age=%d", i))
	}
	if methods {
		m.add("POST", pageHost+"/q", 200, []byte("posted"), "content-type", "application/json")
		m.add("POST", adHost+"/beacon?id=1", 204, nil, "access-control-allow-origin", "*")
		m.add("POST", adHost+"/refused", 403, []byte("no"), "content-type", "text/plain")
		m.add("OPTIONS", adHost+"/beacon?id=1", 204, nil, "access-control-allow-methods", "POST")
	}
	s, err := site.New(m.site, m.bodies)
	must(t, err)
	return s
}

// plainSite returns a site that consists of plain files.
func plainSite(t *testing.T) *site.Site {
	t.Helper()
	m := maker{site: site.Site{Name: "plain", Page: "https://" + pageHost + "/"}, bodies: map[string][]byte{}}
	m.add("GET", pageHost+"/", 200, []byte("<!DOCTYPE html><title>page</title>"), "content-type", "text/html")
	m.add("GET", pageHost+"/css/a.css?v=3", 200, []byte("p {}"), "content-type", "text/css")
	m.add("GET", imageHost+"/a.png", 200, []byte("png"), "content-type", "image/png")
	s, err := site.New(m.site, m.bodies)
	must(t, err)
	return s
}

func zipped(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	return b.Bytes()
}

// installed skips the test, or fails it, if a kind's program is missing.
func installed(t *testing.T, k server.Kind) {
	t.Helper()
	_, err := k.Find()
	needtest.Program(t, k.Name, err)
}

// running is a server with what a client needs.
type running struct {
	*server.Server
	server.Config
}

// config returns the configuration of a server on the loopback device.
func config(t *testing.T, k server.Kind, row string, s *site.Site) server.Config {
	t.Helper()
	p, err := protocol.Lookup(row)
	must(t, err)
	authority, err := protocol.OpenAuthority(filepath.Join(t.TempDir(), "ca"))
	must(t, err)
	return server.Config{
		Kind: k, Protocol: p, Site: s, Hosts: addresses, Authority: authority, Folder: sandboxtest.Folder(t),
		Do: func(f func() error) error { return f() }, Command: func(*exec.Cmd) {}, Contained: true, ReadyLimit: patience,
	}
}

func start(t *testing.T, k server.Kind, row string, s *site.Site) *running {
	t.Helper()
	return startConfig(t, config(t, k, row, s))
}

func startConfig(t *testing.T, c server.Config) *running {
	t.Helper()
	srv, err := server.Start(t.Context(), c)
	must(t, err)
	t.Cleanup(func() { must(t, srv.Stop()) })
	return &running{srv, c}
}

// client returns a new client of the server's row, without connections. It follows
// no redirects.
func (r *running) client(t *testing.T) *http.Client {
	t.Helper()
	trust := &tls.Config{InsecureSkipVerify: true, VerifyConnection: r.Authority.Verify, MinVersion: tls.VersionTLS13}
	client := &http.Client{Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	where := func(address string) string {
		host, port, _ := net.SplitHostPort(address)
		return net.JoinHostPort(r.Hosts[host].String(), port)
	}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, where(address))
	}
	if r.Protocol.Transport == "udp" {
		transport := &http3.Transport{TLSClientConfig: trust, DisableCompression: true, Dial: func(ctx context.Context, address string, c *tls.Config, q *quic.Config) (*quic.Conn, error) {
			return quic.DialAddr(ctx, where(address), c, q)
		}}
		t.Cleanup(func() { _ = transport.Close() })
		client.Transport = transport
		return client
	}
	if v, ok := spdy.ParseVersion(r.Protocol.ALPN); ok {
		transport := &spdy.Transport{Versions: []spdy.Version{v}, OnlySPDY: true, TLSClientConfig: trust, DisableCompression: true, DialContext: dial}
		t.Cleanup(func() { _ = transport.Close() })
		client.Transport = transport
		return client
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(r.Protocol.ALPN != "h2")
	protocols.SetHTTP2(r.Protocol.ALPN == "h2")
	transport := &http.Transport{TLSClientConfig: trust, Protocols: protocols, DisableCompression: true, DialContext: dial}
	t.Cleanup(transport.CloseIdleConnections)
	client.Transport = transport
	return client
}

// get sends a request for an archived URL, with some fields, and reads the whole response.
func (r *running) get(t *testing.T, client *http.Client, method, url string, fields ...string) (*http.Response, []byte) {
	t.Helper()
	address, err := r.Protocol.URL(url)
	must(t, err)
	var content io.Reader
	if method == "POST" {
		content = strings.NewReader("content")
	}
	request, err := http.NewRequestWithContext(t.Context(), method, address, content)
	must(t, err)
	for i := 0; i < len(fields); i += 2 {
		request.Header.Set(fields[i], fields[i+1])
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatalf("%s %s: %v (%v)", method, url, err, r.Err())
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%s %s: %v (%v)", method, url, err, r.Err())
	}
	return response, body
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// offer makes a TLS handshake that offers protocols, and returns the chosen one.
func (r *running) offer(t *testing.T, protocols ...string) (string, error) {
	t.Helper()
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, VerifyConnection: r.Authority.Verify, ServerName: pageHost, NextProtos: protocols}}
	conn, err := dialer.DialContext(t.Context(), "tcp4", net.JoinHostPort(r.Hosts[pageHost].String(), "443"))
	if err != nil {
		return "", err
	}
	defer conn.Close()
	return conn.(*tls.Conn).ConnectionState().NegotiatedProtocol, nil
}
