package protocol

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"wiretime/spdy"
	"wiretime/window"
)

// keepSessions makes a client keep the sessions of all servers in cache.
func keepSessions(client *http.Client, cache tls.ClientSessionCache) {
	switch transport := client.Transport.(type) {
	case *http.Transport:
		transport.TLSClientConfig.ClientSessionCache = cache
	case *http3.Transport:
		transport.TLSClientConfig.ClientSessionCache = cache
	case *spdy.Transport:
		transport.TLSClientConfig.ClientSessionCache = cache
	}
}

// TestServerResumesSessions visits a server twice, with the connection closed in
// between. The clients offer TLS 1.3 and 1.2.
func TestServerResumesSessions(t *testing.T) {
	for _, test := range []struct {
		name  string
		tls12 bool
		want  string
	}{
		{"https/1.1", false, "TLS 1.3"}, {"spdy/3.1", false, "TLS 1.3"}, {"h2", false, "TLS 1.3"}, {"h3", false, "TLS 1.3"},
		{"https/1.1", true, "TLS 1.2"}, {"spdy/2", true, "TLS 1.2"}, {"spdy/3.1", true, "TLS 1.2"}, {"h2", true, "TLS 1.2"},
	} {
		t.Run(strings.ReplaceAll(test.name, "/", "-")+" "+test.want, func(t *testing.T) {
			s := serve(t, test.name, func(c *ServerConfig) { c.Resume, c.TLS12 = true, test.tls12 })
			cache := tls.NewLRUClientSessionCache(8)
			for range 2 {
				client := s.client(t)
				keepSessions(client, cache)
				// The request leaves the ticket time to arrive.
				s.get(t, client, "GET", pageHost+"/large")
				s.Disconnect()
			}
			log := s.Log()
			if len(log) != 2 || log[0].Connection == log[1].Connection || log[0].Resumed || !log[1].Resumed || log[1].EarlyData {
				t.Errorf("the log is %+v, want two connections, the second resumed, no early data", log)
			}
			if log[1].TLS != test.want || log[1].Cipher == "" {
				t.Errorf("the resumed connection has TLS %q with %q", log[1].TLS, log[1].Cipher)
			}
		})
	}
}

// TestEarlyDataIsToldFromTheRest sends one request before the handshake completes
// and one after it, to servers that accept early data and to servers that do not.
func TestEarlyDataIsToldFromTheRest(t *testing.T) {
	for _, takes := range []bool{true, false} {
		t.Run(fmt.Sprint(takes), func(t *testing.T) {
			s := serve(t, "h3", func(c *ServerConfig) { c.Resume, c.EarlyData = true, takes })
			config := &tls.Config{RootCAs: s.roots, ServerName: pageHost, NextProtos: []string{"h3"}, ClientSessionCache: tls.NewLRUClientSessionCache(8)}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			visit := func(between func(*quic.Conn)) {
				conn, err := quic.DialAddrEarly(ctx, s.address(t, pageHost), config, nil)
				must(t, err)
				defer conn.CloseWithError(0, "")
				client := new(http3.Transport).NewClientConn(conn)
				exchange(t, ctx, client, "/")
				between(conn)
				exchange(t, ctx, client, "/large")
			}
			visit(func(*quic.Conn) {})
			s.StartLog()
			visit(func(conn *quic.Conn) {
				select {
				case <-conn.HandshakeComplete():
				case <-ctx.Done():
					t.Fatal("no handshake")
				}
				if used := conn.ConnectionState().Used0RTT; used != takes {
					t.Errorf("the client's early data was accepted: %v, want %v", used, takes)
				}
			})
			log := s.Log()
			if len(log) != 2 || log[0].EarlyData != takes || log[1].EarlyData || !log[0].Resumed || !log[1].Resumed {
				t.Errorf("the log is %+v, want two resumed requests, early data in the first: %v", log, takes)
			}
		})
	}
}

// exchange fetches a path over an HTTP/3 connection that may not be ready yet.
func exchange(t *testing.T, ctx context.Context, client *http3.ClientConn, path string) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http3.MethodGet0RTT, "https://"+pageHost+path, nil)
	must(t, err)
	stream, err := client.OpenRequestStream(ctx)
	must(t, err)
	must(t, stream.SendRequestHeader(request))
	_ = stream.Close() // fails if the response has come already
	response, err := stream.ReadResponse()
	must(t, err)
	_, err = io.Copy(io.Discard, response.Body)
	must(t, err)
	must(t, response.Body.Close())
}

// TestDisconnectIsSeenAndSurvived closes connections while clients wait for
// more. Each row's client sees an orderly end, and can reconnect.
func TestDisconnectIsSeenAndSurvived(t *testing.T) {
	eachRow(t, func(t *testing.T, p Protocol) {
		s := serve(t, p.Name, nil)
		s.get(t, s.client(t), "GET", pageHost+"/")
		s.Disconnect()
		s.Disconnect() // no connection is left
		s.get(t, s.client(t), "GET", pageHost+"/")
		if log := s.Log(); len(log) != 2 || log[0].Connection == log[1].Connection {
			t.Errorf("the log is %+v, want two connections", log)
		}
	})
	t.Run("orderly", func(t *testing.T) {
		for _, name := range []string{"https/1.1", "h2", "spdy/3.1"} {
			s := serve(t, name, nil)
			conn, err := tls.Dial("tcp", s.address(t, pageHost), &tls.Config{RootCAs: s.roots, ServerName: pageHost, NextProtos: []string{s.config.Protocol.ALPN}})
			must(t, err)
			defer conn.Close()
			go s.Disconnect()
			must(t, conn.SetReadDeadline(time.Now().Add(patience)))
			// Without close_notify crypto/tls would return an unexpected EOF.
			if _, err := io.Copy(io.Discard, conn); err != nil {
				t.Errorf("%s: the connection ends with %v", name, err)
			}
		}
	})
	t.Run("h3", func(t *testing.T) {
		s := serve(t, "h3", nil)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		conn, err := quic.DialAddr(ctx, s.address(t, pageHost), &tls.Config{RootCAs: s.roots, ServerName: pageHost, NextProtos: []string{"h3"}}, nil)
		must(t, err)
		exchange(t, ctx, new(http3.Transport).NewClientConn(conn), "/")
		s.Disconnect()
		<-conn.Context().Done()
		var closed *quic.ApplicationError
		if cause := context.Cause(conn.Context()); !errors.As(cause, &closed) || !closed.Remote || closed.ErrorCode != quic.ApplicationErrorCode(http3.ErrCodeNoError) {
			t.Errorf("the connection ends with %v, want the server's H3_NO_ERROR", cause)
		}
	})
}

// TestDisconnectDoesNotWaitForDeafClients keeps a connection open on the client's
// side.
func TestDisconnectDoesNotWaitForDeafClients(t *testing.T) {
	s := serve(t, "http/1.1", nil)
	conn, err := net.Dial("tcp", s.address(t, pageHost))
	must(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: "+pageHost+"\r\n\r\n")
	must(t, err)
	_, err = conn.Read(make([]byte, 1))
	must(t, err)
	done := make(chan struct{})
	go func() { s.Disconnect(); close(done) }()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("Disconnect waits for a client that does not close")
	}
}

// TestStartLogLeavesOutWhatWas serves, restarts the log and serves again. A request in
// flight belongs to the period in which it began.
func TestStartLogLeavesOutWhatWas(t *testing.T) {
	eachRow(t, func(t *testing.T, p Protocol) {
		began, release := make(chan struct{}), make(chan struct{})
		s := serve(t, p.Name, func(c *ServerConfig) {
			archive := c.Handler
			c.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/large" {
					close(began)
					<-release
				}
				archive.ServeHTTP(w, r)
			})
		})
		client := s.client(t)
		s.get(t, client, "GET", pageHost+"/")
		slow := make(chan error, 1)
		go func() {
			response, err := s.client(t).Get(p.Scheme + "://" + pageHost + "/large")
			if err == nil {
				_, err = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
			slow <- err
		}()
		<-began
		s.StartLog()
		close(release)
		must(t, <-slow)
		s.get(t, client, "GET", pageHost+"/gone")
		must(t, s.Close())
		if log := s.Log(); len(log) != 1 || log[0].Status != 404 || log[0].Connection != 1 {
			t.Errorf("the log is %+v, want only the last request, on the first connection", log)
		}
	})
}

// TestFallbackServesTheSame requests pages of an HTTP/3 server over TCP as
// well. The server's windows apply to HTTP/3 only.
func TestFallbackServesTheSame(t *testing.T) {
	h2, err := Lookup("h2")
	must(t, err)
	overTCP := map[string]string{}
	s := serve(t, "h3", func(c *ServerConfig) {
		c.Fallback, c.Resume, c.EarlyData = "h2", true, true
		c.Windows = &window.Receiver{Stream: 100_000, Connection: 100_000}
		c.Listen = func(ctx context.Context, network, address string) (net.Listener, error) {
			l, err := new(net.ListenConfig).Listen(ctx, network, freePort(address))
			if err == nil {
				overTCP[address] = l.Addr().String()
			}
			return l, err
		}
	})
	s.get(t, s.client(t), "GET", pageHost+"/")
	if octets := s.tcp.HTTP2.MaxReceiveBufferPerStream; octets != 0 {
		t.Errorf("the fallback's windows are %d octets, want those of net/http", octets)
	}
	if _, announced := s.Announced(); !slices.Equal(announced, []int{100_000}) {
		t.Errorf("the server announced windows of %v octets over HTTP/3", announced)
	}
	s.config.Protocol, s.real = h2, overTCP // as the client sees it
	s.get(t, s.client(t), "GET", pageHost+"/large")
	must(t, s.Close())
	var spoken []string
	for _, e := range s.Log() {
		spoken = append(spoken, e.Protocol)
	}
	if strings.Join(spoken, " ") != "h3 h2" {
		t.Errorf("the log has %v, want h3 and h2", spoken)
	}
}

func TestServerRefusesWhatCannotBe(t *testing.T) {
	for _, c := range []struct {
		name, protocol string
		change         func(*ServerConfig)
		says           string
	}{
		{"early data over TCP", "h2", func(c *ServerConfig) { c.Resume, c.EarlyData = true, true }, "HTTP/3 only"},
		{"early data without sessions", "h3", func(c *ServerConfig) { c.EarlyData = true }, "resumable"},
		{"fallback of h2", "h2", func(c *ServerConfig) { c.Fallback = "h2" }, "only h3"},
		{"fallback to h3", "h3", func(c *ServerConfig) { c.Fallback = "h3" }, "only h3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			row, err := Lookup(c.protocol)
			must(t, err)
			config := ServerConfig{Protocol: row}
			c.change(&config)
			if _, err := Serve(t.Context(), config); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want one with %q", err, c.says)
			}
		})
	}
}

// TestConditionalRequests requests versioned resources by the rules of RFC 9110
// sections 13.1.2, 13.1.3 and 13.2.2.
func TestConditionalRequests(t *testing.T) {
	site := map[string]Answer{
		pageHost + "/tagged": {Status: 200, Header: [][2]string{{"content-type", "text/html"}, {"content-encoding", "br"}, {"cache-control", "no-cache"}, {"vary", "accept"},
			{"etag", `"a,b"`}, {"last-modified", "Tue, 01 Jul 2025 10:00:00 GMT"}, {"x-other", "1"}}, Body: []byte("tagged")},
		pageHost + "/weak":    {Status: 200, Header: [][2]string{{"content-type", "text/html"}, {"etag", `W/"1"`}}, Body: []byte("weak")},
		pageHost + "/dated":   {Status: 200, Header: [][2]string{{"content-type", "text/html"}, {"last-modified", "Tue, 01 Jul 2025 10:00:00 GMT"}}, Body: []byte("dated")},
		pageHost + "/plain":   {Status: 200, Header: [][2]string{{"content-type", "text/html"}}, Body: []byte("plain")},
		pageHost + "/missing": {Status: 404, Header: [][2]string{{"content-type", "text/html"}, {"etag", `"1"`}}, Body: []byte("missing")},
	}
	const before, same, after = "Tue, 01 Jul 2025 09:59:59 GMT", "Tue, 01 Jul 2025 10:00:00 GMT", "Wed, 02 Jul 2025 10:00:00 GMT"
	tests := []struct {
		method, path string
		fields       []string // name, value, ...
		modified     bool
	}{
		{"GET", "/tagged", nil, true},
		{"GET", "/tagged", []string{"If-None-Match", `"a,b"`}, false},
		{"HEAD", "/tagged", []string{"If-None-Match", `"a,b"`}, false},
		{"POST", "/tagged", []string{"If-None-Match", `"a,b"`}, true},
		{"GET", "/tagged", []string{"If-None-Match", `W/"a,b"`}, false},
		{"GET", "/tagged", []string{"If-None-Match", `"x", "a,b"`}, false},
		{"GET", "/tagged", []string{"If-None-Match", `"x"`, "If-None-Match", `"a,b"`}, false},
		{"GET", "/tagged", []string{"If-None-Match", ` * `}, false},
		{"GET", "/tagged", []string{"If-None-Match", `"a"`}, true},
		{"GET", "/tagged", []string{"If-None-Match", `a,b`}, true},
		{"GET", "/tagged", []string{"If-None-Match", ``}, true},
		{"GET", "/tagged", []string{"If-None-Match", `"x"`, "If-Modified-Since", after}, true}, // the tag decides
		{"GET", "/tagged", []string{"If-Modified-Since", same}, false},
		{"GET", "/weak", []string{"If-None-Match", `"1"`}, false},
		{"GET", "/dated", []string{"If-Modified-Since", same}, false},
		{"GET", "/dated", []string{"If-Modified-Since", after}, false},
		{"GET", "/dated", []string{"If-Modified-Since", before}, true},
		{"GET", "/dated", []string{"If-Modified-Since", "yesterday"}, true},
		{"GET", "/dated", []string{"If-None-Match", `"1"`, "If-Modified-Since", after}, true},
		{"GET", "/plain", []string{"If-None-Match", `""`, "If-Modified-Since", after}, true},
		{"GET", "/missing", []string{"If-None-Match", `"1"`}, true},
	}
	eachRow(t, func(t *testing.T, p Protocol) {
		s := serve(t, p.Name, func(c *ServerConfig) { c.Handler = Archive(lookupIn(site)) })
		client := s.client(t)
		for _, test := range tests {
			request, err := http.NewRequestWithContext(t.Context(), test.method, p.Scheme+"://"+pageHost+test.path, nil)
			must(t, err)
			for i := 0; i < len(test.fields); i += 2 {
				request.Header.Add(test.fields[i], test.fields[i+1])
			}
			response, err := client.Do(request)
			must(t, err)
			body, err := io.ReadAll(response.Body)
			must(t, err)
			must(t, response.Body.Close())
			archived := site[pageHost+test.path]
			status, want := archived.Status, archived.Body
			if !test.modified {
				status, want = http.StatusNotModified, nil
			}
			if test.method == "HEAD" {
				want = nil
			}
			if response.StatusCode != status || !bytes.Equal(body, want) {
				t.Errorf("%s %s with %q: status %d and %q, want %d and %q", test.method, test.path, test.fields, response.StatusCode, body, status, want)
			}
			if test.path == "/tagged" && !test.modified {
				response.Header.Del("Alt-Svc")
				if got, want := flat(response.Header), "cache-control: no-cache\netag: \"a,b\"\nvary: accept\nx-other: 1"; got != want {
					t.Errorf("the header of a 304 is\n%s\nwant\n%s", got, want)
				}
			}
		}
	})
}

func FuzzEntityTags(f *testing.F) {
	f.Add(`"a", W/"b"`, `"b"`)
	f.Add(`*`, `"b"`)
	f.Add(`"a,"b`, `W/"`)
	f.Add(`W/`, ``)
	f.Fuzz(func(t *testing.T, list, tag string) {
		if matches(list, tag) && strings.TrimSpace(list) != "*" && !strings.Contains(list, strings.TrimPrefix(tag, "W/")) {
			t.Errorf("%q matches %q", list, tag)
		}
	})
}
