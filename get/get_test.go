package get_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/quic-go/quic-go/http3"

	"wiretime/get"
	"wiretime/spdy"
)

// way is a protocol and how to request it.
type way struct {
	protocol, scheme string
}

func ways() []way {
	all := []way{{"h2", "http"}}
	for _, name := range get.Names() {
		switch name {
		case "http/1.1":
			all = append(all, way{name, "http"})
		case "spdy/2", "spdy/3", "spdy/3.1":
			all = append(all, way{name, "http"}, way{name, "https"})
		default:
			all = append(all, way{name, "https"})
		}
	}
	return all
}

func (w way) String() string { return w.protocol + " over " + w.scheme }

// start serves a handler that way, and returns the origin's URL.
func (w way) start(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	version, isSPDY := spdy.ParseVersion(w.protocol)
	switch {
	case isSPDY && w.scheme == "http":
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := &spdy.Server{Handler: h}
		var serving sync.WaitGroup
		serving.Go(func() { _ = s.Serve(l, version) })
		t.Cleanup(func() { _, _ = l.Close(), s.Close(); serving.Wait() })
		return "http://" + l.Addr().String()
	case isSPDY:
		if err := (&spdy.Server{Handler: h, Versions: []spdy.Version{version}}).Configure(server.Config); err != nil {
			t.Fatal(err)
		}
		server.TLS = server.Config.TLSConfig
	case w.protocol == "h2" && w.scheme == "http":
		server.Config.Protocols.SetUnencryptedHTTP2(true)
	case w.protocol == "h2":
		server.Config.Protocols.SetHTTP2(true)
		server.EnableHTTP2 = true
	case w.protocol == "h3":
		return startHTTP3(t, h)
	}
	if w.scheme == "http" {
		server.Start()
	} else {
		server.StartTLS()
	}
	t.Cleanup(server.Close)
	return server.URL
}

func startHTTP3(t *testing.T, h http.Handler) string {
	t.Helper()
	// Only this server's certificate is needed.
	certified := httptest.NewTLSServer(nil)
	t.Cleanup(certified.Close)
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http3.Server{Handler: h, TLSConfig: http3.ConfigureTLSConfig(certified.TLS)}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(socket) })
	t.Cleanup(func() { _, _ = server.Close(), socket.Close(); serving.Wait() })
	return "https://" + socket.LocalAddr().String()
}

func request(t *testing.T, method, address, body string) *http.Request {
	t.Helper()
	var b io.Reader
	if body != "" {
		b = strings.NewReader(body)
	}
	r, err := http.NewRequest(method, address, b)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func all(t *testing.T, c get.Config, requests ...*http.Request) (string, error) {
	t.Helper()
	c.Insecure = true
	client, err := get.New(c)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = get.All(t.Context(), &http.Client{Transport: client}, requests, true, &out)
	return out.String(), errors.Join(err, client.Close())
}

// TestAtOnce fetches three URLs over one connection. With multiplexing the server has all
// requests before it answers the first; over HTTP/1.1 they are sequential. The bodies keep
// the order of the URLs.
func TestAtOnce(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.String(), func(t *testing.T) {
			serial := strings.HasSuffix(w.protocol, "/1.1") && strings.HasPrefix(w.protocol, "http")
			var mu sync.Mutex
			clients := map[string]bool{}
			var arrived sync.WaitGroup
			arrived.Add(3)
			var under atomic.Int32
			origin := w.start(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				mu.Lock()
				clients[r.RemoteAddr] = true
				mu.Unlock()
				if n := under.Add(1); serial && n > 1 {
					t.Error("two requests at a time")
				}
				defer under.Add(-1)
				arrived.Done()
				if !serial {
					arrived.Wait()
				}
				body, _ := io.ReadAll(r.Body)
				fmt.Fprintf(rw, "%s %s %s\n", r.Method, r.URL.Path, body)
			}))
			got, err := all(t, get.Config{Protocol: w.protocol},
				request(t, "GET", origin+"/1", ""), request(t, "POST", origin+"/2", "posted"), request(t, "GET", origin+"/3", ""))
			if want := "GET /1 \nPOST /2 posted\nGET /3 \n"; err != nil || got != want {
				t.Errorf("got %q, want %q: %v", got, want, err)
			}
			if len(clients) != 1 {
				t.Errorf("%d connections, want one", len(clients))
			}
		})
	}
}

// TestBrokenOff has the server abort in the middle of a body.
func TestBrokenOff(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.String(), func(t *testing.T) {
			origin := w.start(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Content-Length", "1000")
				_, _ = io.WriteString(rw, "half")
				_ = http.NewResponseController(rw).Flush()
				panic(http.ErrAbortHandler)
			}))
			_, err := all(t, get.Config{Protocol: w.protocol}, request(t, "GET", origin, ""))
			if err == nil {
				t.Error("half a body was taken for a whole one")
			}
		})
	}
}

// TestStory checks that the story has connection, phases, heads and frames, but no secrets.
func TestStory(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.String(), func(t *testing.T) {
			origin := w.start(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Set-Cookie", "id=s3cret")
				rw.Header().Set("X-Told", "yes")
				_, _ = io.WriteString(rw, "body")
			}))
			r := request(t, "GET", origin+"/path?q=1", "")
			r.Header.Set("Authorization", "Bearer s3cret")
			r.Header.Set("Cookie", "id=s3cret")
			var story, qlog bytes.Buffer
			if _, err := all(t, get.Config{Protocol: w.protocol, Story: &story, QLog: &qlog}, r); err != nil {
				t.Fatal(err)
			}
			told := story.String()
			says := []string{`\* connected to 127\.0\.0\.1:`, `> GET /path\?q=1 `, `> Authorization: \(not shown\)`, `> Cookie: \(not shown\)`,
				`< \S+ 200`, `< Set-Cookie: \(not shown\)`, `< X-Told: yes`, `4 octets; .*request sent .* ms, first byte .* ms, receive .* ms, total .* ms`}
			if w.scheme == "https" {
				says = append(says, `TLS 1\.3, TLS_\S+, in .* ms; by ALPN: `+strings.Replace(w.protocol, "https", "http", 1))
			}
			switch w.protocol {
			case "spdy/2", "spdy/3", "spdy/3.1":
				says = append(says, `} .* sent     SYN_STREAM    stream 1, \d+ octets, fin, priority 4\n`, `{ .* received SYN_REPLY     stream 1, `, `{ .* received DATA          stream 1, 4 octets`)
			case "h2":
				says = append(says, `} .* sent     HEADERS       stream 1, \d+ octets, end of stream\n`, `{ .* received DATA          stream 1, 4 octets`, `} .* SETTINGS .*ENABLE_PUSH = 0`)
			case "h3":
				says = append(says, `} .* sent     HEADERS       stream 0, `, `{ .* received DATA          stream 0, 4 octets`)
			}
			for _, pattern := range says {
				if !regexp.MustCompile(pattern).MatchString(told) {
					t.Errorf("the story lacks %s", pattern)
				}
			}
			if strings.Contains(told, "s3cret") || strings.Contains(qlog.String(), "s3cret") {
				t.Error("the story contains a secret")
			}
			if t.Failed() {
				t.Log(told)
			}
			if w.protocol == "h3" {
				checkSequence(t, qlog.Bytes(), "http3:frame_created")
			}
		})
	}
}

// checkSequence reads a sequence of JSON texts (RFC 7464) and looks for an event.
func checkSequence(t *testing.T, sequence []byte, event string) {
	t.Helper()
	found := false
	for record := range bytes.SplitSeq(bytes.Trim(sequence, "\x1e"), []byte("\x1e")) {
		var e struct{ Name string }
		if err := json.Unmarshal(record, &e); err != nil {
			t.Errorf("%q: %v", record, err)
		}
		found = found || e.Name == event
	}
	if !found {
		t.Errorf("there is no %s in %q", event, sequence)
	}
}

// TestWindow checks that SPDY windows are updated as configured.
func TestWindow(t *testing.T) {
	for _, protocol := range []string{"spdy/3", "spdy/3.1"} {
		t.Run(protocol, func(t *testing.T) {
			body := strings.Repeat("x", 100_000)
			origin := way{protocol, "https"}.start(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(rw, body)
			}))
			updates := map[spdy.UpdateRule]int{}
			for _, rule := range []spdy.UpdateRule{spdy.UpdateHalf, spdy.UpdateEighth} {
				var frames bytes.Buffer
				window := spdy.Window{Stream: 1 << 16, Session: 1 << 16, Update: rule, SessionUpdate: rule}
				got, err := all(t, get.Config{Protocol: protocol, Window: window, Frames: &frames}, request(t, "GET", origin, ""))
				if err != nil || got != body {
					t.Fatalf("got %d octets: %v", len(got), err)
				}
				checkSequence(t, frames.Bytes(), "spdy:frame_received")
				updates[rule] = strings.Count(frames.String(), `"frame_type":"window_update","stream_id":1`)
			}
			// 100,000 octets take three updates of half of 65,536, or twelve of an eighth; octets
			// read at the end are not given back.
			if half, eighth := updates[spdy.UpdateHalf], updates[spdy.UpdateEighth]; half < 1 || half > 3 || eighth <= half || eighth > 12 {
				t.Errorf("%d updates of halves, %d of eighths", half, eighth)
			}
		})
	}
}

// TestRedirects follows redirects over the same connection.
func TestRedirects(t *testing.T) {
	for _, w := range ways() {
		mux := http.NewServeMux()
		mux.Handle("/from", http.RedirectHandler("/to", http.StatusFound))
		mux.HandleFunc("/to", func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "there") })
		origin := w.start(t, mux)
		if got, err := all(t, get.Config{Protocol: w.protocol}, request(t, "GET", origin+"/from", "")); err != nil || got != "there" {
			t.Errorf("%v: got %q, %v", w, got, err)
		}
	}
}

// TestOneFails checks that a failed request does not stop the others.
func TestOneFails(t *testing.T) {
	for _, w := range ways() {
		origin := w.start(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/2" {
				http.Error(rw, "not here", http.StatusNotFound)
				return
			}
			_, _ = io.WriteString(rw, r.URL.Path)
		}))
		got, err := all(t, get.Config{Protocol: w.protocol},
			request(t, "GET", origin+"/1", ""), request(t, "GET", origin+"/2", ""), request(t, "GET", origin+"/3", ""))
		if err == nil || !strings.Contains(err.Error(), "/2: the server answered 404") || got != "/1/3" {
			t.Errorf("%v: got %q, %v", w, got, err)
		}
	}
}

// TestCancel cancels a fetch whose answer does not arrive.
func TestCancel(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.String(), func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			origin := w.start(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				cancel()
				<-r.Context().Done()
			}))
			client, err := get.New(get.Config{Protocol: w.protocol, Insecure: true})
			if err != nil {
				t.Fatal(err)
			}
			err = get.All(ctx, &http.Client{Transport: client}, []*http.Request{request(t, "GET", origin, "")}, false, io.Discard)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("the error is %v", err)
			}
			if err := client.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestChooses checks that an https origin is fetched over HTTP/2 if it offers it, and
// otherwise over HTTP/1.1.
func TestChooses(t *testing.T) {
	spoken := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(rw, r.Proto) })
	for _, test := range []struct {
		w    way
		want string
	}{{way{"h2", "https"}, "HTTP/2.0"}, {way{"https/1.1", "https"}, "HTTP/1.1"}, {way{"http/1.1", "http"}, "HTTP/1.1"}} {
		if got, err := all(t, get.Config{}, request(t, "GET", test.w.start(t, spoken), "")); err != nil || got != test.want {
			t.Errorf("%v: got %q, %v", test.w, got, err)
		}
	}
}

// TestWrongPlace connects to ports without a server or with another one: the error says
// what is there.
func TestWrongPlace(t *testing.T) {
	clear := way{"http/1.1", "http"}.start(t, http.NotFoundHandler())
	secure := way{"https/1.1", "https"}.start(t, http.NotFoundHandler())
	// A port that was free a moment ago.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "://" + l.Addr().String()
	_ = l.Close()
	// A server that does not speak HTTP.
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	go func() {
		for {
			c, err := other.Accept()
			if err != nil {
				return
			}
			_, _ = bufio.NewReader(c).ReadByte()
			_, _ = io.WriteString(c, "220 mail.test ESMTP\r\n")
			_ = c.Close()
		}
	}()
	mail := "://" + other.Addr().String()
	tests := []struct{ protocol, url, says string }{
		{"h2", "https" + nobody, "nothing listens"},
		{"spdy/3.1", "https" + nobody, "nothing listens"},
		{"http/1.1", "http" + nobody, "nothing listens"},
		{"h3", "https" + nobody, "no answer from"},
		{"h2", strings.Replace(clear, "http", "https", 1), "does not speak TLS"},
		{"spdy/3.1", strings.Replace(clear, "http", "https", 1), "does not speak TLS"},
		{"", "https" + mail, "does not speak TLS"},
		{"", "http" + mail, "malformed HTTP"},
		{"h2", clear, "h2 in the clear, by prior knowledge"},
		{"spdy/3", "http" + mail, "spdy/3 in the clear, by prior knowledge"},
		{"h2", secure, "it offers http/1.1"},
		{"spdy/2", secure, "it offers http/1.1"},
		{"", "https://nosuch.invalid/", "look up nosuch.invalid"},
	}
	for _, test := range tests {
		_, err := all(t, get.Config{Protocol: test.protocol}, request(t, "GET", test.url, ""))
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%q of %s: %v, want %q", test.protocol, test.url, err, test.says)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, test := range []struct{ protocol, url, says string }{
		{"http/1.1", "https://a.test/", "https/1.1"},
		{"https/1.1", "http://a.test/", "requires TLS, but"},
		{"h3", "http://a.test/", "requires TLS, but"},
		{"", "ftp://a.test/", "http://HOST"},
		{"", "http:///path", "http://HOST"},
		{"", "a.test", "http://HOST"},
		{"h2", "http://a.test/", ""},
		{"spdy/2", "http://a.test/", ""},
		{"h3", "https://a.test/", ""},
	} {
		u, err := url.Parse(test.url)
		if err != nil {
			t.Fatal(err)
		}
		err = get.CheckURL(test.protocol, u)
		if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%q of %s: %v, want %q", test.protocol, test.url, err, test.says)
		}
	}
	if err := get.CheckProtocol("spdy/4"); err == nil || !strings.Contains(err.Error(), "did you mean \"spdy/") {
		t.Errorf("spdy/4: %v", err)
	}
	if !slices.Contains(get.Names(), "spdy/3.1") {
		t.Error("no spdy/3.1")
	}
}
