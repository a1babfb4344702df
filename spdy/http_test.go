package spdy

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// certificate returns a new certificate for 127.0.0.1, localhost and
// other.test.
func certificate(t testing.TB) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	cert, err := newCertificate()
	must(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(cert.Leaf)
	return cert, pool
}

func newCertificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "spdy test"}, NotAfter: time.Now().Add(time.Hour * 24),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost", "other.test"},
		BasicConstraintsValid: true, IsCA: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	leaf, err := x509.ParseCertificate(der)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, err
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// serveTLS serves h over TLS, with SPDY by ALPN, and returns the URL and the
// clients' trust settings.
func serveTLS(t testing.TB, s *Server) (string, *tls.Config) {
	t.Helper()
	cert, pool := certificate(t)
	hs := &http.Server{Handler: s.Handler, TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}}, ErrorLog: log.New(io.Discard, "", 0)}
	if err := s.Configure(hs); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = hs.ServeTLS(l, "", "") })
	t.Cleanup(func() {
		_ = hs.Close()
		_ = s.Close()
		serving.Wait()
	})
	return "https://" + l.Addr().String(), &tls.Config{RootCAs: pool}
}

// serveClear serves one version without TLS.
func serveClear(t testing.TB, s *Server, v Version) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(l, v) })
	t.Cleanup(func() {
		_ = l.Close()
		_ = s.Close()
		serving.Wait()
	})
	return "http://" + l.Addr().String()
}

func client(t testing.TB, tr *Transport) *http.Client {
	t.Cleanup(func() { _ = tr.Close() })
	return &http.Client{Transport: tr}
}

// pair serves h over one version and returns a client for it.
func pair(t testing.TB, v Version, h http.HandlerFunc, serverConfig, clientConfig Config) (*http.Client, string) {
	t.Helper()
	url := serveClear(t, &Server{Handler: h, Config: serverConfig, ErrorLog: log.New(io.Discard, "", 0)}, v)
	return client(t, &Transport{Cleartext: v, Config: clientConfig}), url
}

func fetch(t testing.TB, c *http.Client, r *http.Request) (*http.Response, []byte) {
	t.Helper()
	response, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return response, body
}

func request(t testing.TB, method, url string, body io.Reader) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// body returns n octets without repetitions.
func body(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8*13 + i>>16*31)
	}
	return b
}

func TestRequestsAndResponses(t *testing.T) {
	eachVersion(t, func(t *testing.T, v Version) {
		large := body(3 << 20)
		c, url := pair(t, v, func(w http.ResponseWriter, r *http.Request) {
			if r.Proto != v.proto() || r.ProtoMajor != 1 || r.Host == "" || r.Header.Get("Connection") != "" {
				t.Errorf("the request came as %s, host %q, %v", r.Proto, r.Host, r.Header)
			}
			if got, ok := RequestVersion(r.Context()); !ok || got != v {
				t.Errorf("its version is %s, want %s", got, v)
			}
			switch r.URL.Path {
			case "/echo":
				b, err := io.ReadAll(r.Body)
				if err != nil || r.ContentLength != int64(len(b)) {
					t.Errorf("read the request's body: %d octets of %d, %v", len(b), r.ContentLength, err)
				}
				w.Header()["X-Many"] = []string{"a", "b", "c"}
				w.Header().Set("X-Query", r.URL.RawQuery)
				w.WriteHeader(http.StatusCreated)
				_, _ = w.Write(b)
			case "/large":
				_, _ = w.Write(large)
			case "/none":
				w.WriteHeader(http.StatusNoContent)
			default:
				http.NotFound(w, r)
			}
		}, Config{}, Config{})
		r := request(t, "POST", url+"/echo?x=%20&y", bytes.NewReader(large[:200_000]))
		r.Header.Set("Connection", "close")
		response, got := fetch(t, c, r)
		if response.StatusCode != 201 || response.Status != "201 Created" || !bytes.Equal(got, large[:200_000]) || response.Header.Get("X-Query") != "x=%20&y" ||
			!reflect.DeepEqual(response.Header["X-Many"], []string{"a", "b", "c"}) {
			t.Errorf("POST: %s, %d octets, %v", response.Status, len(got), response.Header)
		}
		response, got = fetch(t, c, request(t, "GET", url+"/large", nil))
		if response.StatusCode != 200 || !bytes.Equal(got, large) {
			t.Errorf("GET: %s, %d octets", response.Status, len(got))
		}
		response, got = fetch(t, c, request(t, "HEAD", url+"/large", nil))
		if response.StatusCode != 200 || len(got) != 0 {
			t.Errorf("HEAD: %s, %d octets", response.Status, len(got))
		}
		response, got = fetch(t, c, request(t, "GET", url+"/none", nil))
		if response.StatusCode != 204 || len(got) != 0 {
			t.Errorf("GET /none: %s, %d octets", response.Status, len(got))
		}
		response, got = fetch(t, c, request(t, "GET", url+"/missing", nil))
		if response.StatusCode != 404 || response.ContentLength != int64(len(got)) {
			t.Errorf("GET /missing: %s, %d octets of %d", response.Status, len(got), response.ContentLength)
		}
		if n := len(c.Transport.(*Transport).Sessions()); n != 1 {
			t.Errorf("%d sessions, want 1", n)
		}
	})
}

func TestALPNChoosesTheVersion(t *testing.T) {
	s := &Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Proto, " ", r.TLS.NegotiatedProtocol)
	})}
	url, config := serveTLS(t, s)
	for _, c := range []struct {
		tr   *Transport
		want string
	}{
		{&Transport{}, "SPDY/3.1 spdy/3.1"},
		{&Transport{Versions: []Version{V3, V2}}, "SPDY/3 spdy/3"},
		{&Transport{Versions: []Version{V2}, OnlySPDY: true}, "SPDY/2 spdy/2"},
		{&Transport{Versions: []Version{}}, "HTTP/1.1 "},
	} {
		c.tr.TLSClientConfig = config
		for range 2 {
			if response, got := fetch(t, client(t, c.tr), request(t, "GET", url, nil)); string(got) != c.want {
				t.Errorf("%v: %q over %s, want %q", c.tr.Versions, got, response.Proto, c.want)
			}
		}
	}
	plain := httptest.NewTLSServer(http.NotFoundHandler())
	defer plain.Close()
	_, err := client(t, &Transport{TLSClientConfig: plain.Client().Transport.(*http.Transport).TLSClientConfig, OnlySPDY: true}).Do(request(t, "GET", plain.URL, nil))
	if err == nil || !strings.Contains(err.Error(), "the server chose") && !strings.Contains(err.Error(), "no application protocol") {
		t.Errorf("OnlySPDY with a server of HTTP/1.1: %v", err)
	}
}

func TestManyStreamsOnOneSession(t *testing.T) {
	eachVersion(t, func(t *testing.T, v Version) {
		page := body(100_000)
		var arrived sync.WaitGroup
		arrived.Add(100)
		c, url := pair(t, v, func(w http.ResponseWriter, r *http.Request) {
			arrived.Done()
			arrived.Wait() // all are in flight at once
			_, _ = w.Write(page)
		}, Config{}, Config{})
		var wait sync.WaitGroup
		for i := range 100 {
			wait.Go(func() {
				response, err := c.Do(request(t, "GET", fmt.Sprint(url, "/", i), nil))
				if err != nil {
					t.Error(err)
					return
				}
				defer response.Body.Close()
				if got, err := io.ReadAll(response.Body); err != nil || !bytes.Equal(got, page) {
					t.Errorf("%d: %d octets, %v", i, len(got), err)
				}
			})
		}
		wait.Wait()
		if n := len(c.Transport.(*Transport).Sessions()); n != 1 {
			t.Errorf("%d sessions, want 1", n)
		}
	})
}

func TestTrailersBothWays(t *testing.T) {
	eachVersion(t, func(t *testing.T, v Version) {
		c, url := pair(t, v, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Trailer", "X-Sum")
			b, _ := io.ReadAll(r.Body)
			_, _ = w.Write(b)
			w.Header().Set("X-Sum", r.Trailer.Get("X-Sum"))
			w.Header().Set(http.TrailerPrefix+"X-Late", "late")
		}, Config{}, Config{})
		r := request(t, "POST", url, io.MultiReader(strings.NewReader("content")))
		r.Trailer = http.Header{"X-Sum": {"7"}}
		response, got := fetch(t, c, r)
		if string(got) != "content" || response.Trailer.Get("X-Sum") != "7" || response.Trailer.Get("X-Late") != "late" || response.Header.Get("X-Sum") != "" {
			t.Errorf("%q, trailer %v, header %v", got, response.Trailer, response.Header)
		}
	})
}

func TestExpectContinue(t *testing.T) {
	eachVersion(t, func(t *testing.T, v Version) {
		c, url := pair(t, v, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/refuse" {
				http.Error(w, "too large", http.StatusExpectationFailed)
				return
			}
			b, err := io.ReadAll(r.Body)
			fmt.Fprint(w, len(b), err)
		}, Config{}, Config{})
		c.Transport.(*Transport).ExpectContinueTimeout = time.Hour
		r := request(t, "POST", url, bytes.NewReader(body(100_000)))
		r.Header.Set("Expect", "100-continue")
		if response, got := fetch(t, c, r); response.StatusCode != 200 || string(got) != "100000 <nil>" {
			t.Errorf("%s: %s", response.Status, got)
		}
		var read atomic.Bool
		r = request(t, "POST", url+"/refuse", readerFunc(func([]byte) (int, error) { read.Store(true); return 0, io.EOF }))
		r.Header.Set("Expect", "100-continue")
		if response, _ := fetch(t, c, r); response.StatusCode != 417 || read.Load() {
			t.Errorf("refused: %s, body read: %v", response.Status, read.Load())
		}
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestIncompleteRequestsGet400(t *testing.T) {
	eachVersion(t, func(t *testing.T, v Version) {
		n := v.names()
		whole := []Field{{n.method, "POST"}, {n.path, "/"}, {n.scheme, "http"}, {n.host, "x"}, {n.version, "HTTP/1.1"}}
		s, _ := sessions(t, v, Config{Accept: (&serverConn{server: &Server{}, ctx: t.Context(), version: v, handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
		})}).serve}, Config{})
		status := func(fields []Field, content string) string {
			st, err := s.Open(t.Context(), fields, OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := st.write([]byte(content), true); err != nil {
				t.Fatal(err)
			}
			reply, err := st.Reply(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got, _ := valueOf(reply, n.status)
			return got
		}
		if got := status(whole, ""); got != "200 OK" {
			t.Errorf("a whole request: %s", got)
		}
		for i, f := range whole {
			if v == V2 && (f.Name == n.scheme || f.Name == n.host) {
				continue
			}
			if got := status(append(append([]Field(nil), whole[:i]...), whole[i+1:]...), ""); got != "400 Bad Request" {
				t.Errorf("without %s: %s", f.Name, got)
			}
		}
		for _, content := range []string{"four+", "six"} {
			if got := status(append(append([]Field(nil), whole...), Field{"content-length", "4"}), content); got != "400 Bad Request" {
				t.Errorf("%d octets of 4: %s", len(content), got)
			}
		}
	})
}

func TestPushAndHints(t *testing.T) {
	eachVersion(t, func(t *testing.T, v Version) {
		style := body(30_000)
		var asked atomic.Int32
		s := &Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/":
				if err := w.(http.Pusher).Push("/a.css", nil); err != nil {
					t.Errorf("push: %v", err)
				}
				if err := w.(http.Pusher).Push("http://elsewhere.test/", nil); err == nil {
					t.Error("another origin's resource was pushed")
				}
				w.Header().Set("X-Associated-Content", `"/b.css":1, "/c.css"`)
				AddHint(w.Header(), Hint{URL: "/d.css", Type: "text/css"})
				fmt.Fprint(w, "page")
			default:
				asked.Add(1)
				if err := w.(http.Pusher).Push("/e.css", nil); err == nil {
					t.Error("a push pushed something itself")
				}
				if r.Header.Get("Cookie") != "k=v" {
					t.Errorf("%s: the cookie is %q", r.URL, r.Header.Get("Cookie"))
				}
				w.Header().Set("Content-Type", "text/css")
				_, _ = w.Write(style)
			}
		})}
		url := serveClear(t, s, v)
		tr := &Transport{Cleartext: v, Push: true}
		c := client(t, tr)
		r := request(t, "GET", url+"/", nil)
		r.Header.Set("Cookie", "k=v")
		response, got := fetch(t, c, r)
		if string(got) != "page" || response.Header.Get("X-Associated-Content") != "" {
			t.Errorf("%q, %v", got, response.Header)
		}
		if hints := Hints(response.Header); !reflect.DeepEqual(hints, []Hint{{"/d.css", "text/css"}}) {
			t.Errorf("hints: %v", hints)
		}
		for _, path := range []string{"/a.css", "/b.css", "/c.css"} {
			response, got := fetch(t, c, request(t, "GET", url+path, nil))
			if !bytes.Equal(got, style) || response.Header.Get("Content-Type") != "text/css" {
				t.Errorf("%s: %s, %d octets, %v", path, response.Status, len(got), response.Header)
			}
		}
		if n := asked.Load(); n != 3 {
			t.Errorf("the handler made %d responses for 3 pushes", n)
		}
		// A client that wants no pushes refuses them without losing anything.
		plain := client(t, &Transport{Cleartext: v})
		r = request(t, "GET", url+"/", nil)
		r.Header.Set("Cookie", "k=v")
		if _, got := fetch(t, plain, r); string(got) != "page" {
			t.Errorf("without pushes: %q", got)
		}
	})
}

func TestCancellation(t *testing.T) {
	eachVersion(t, func(t *testing.T, v Version) {
		ended := make(chan error, 1)
		c, url := pair(t, v, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/ok" {
				return
			}
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			ended <- context.Cause(r.Context())
		}, Config{}, Config{})
		ctx, cancel := context.WithCancelCause(t.Context())
		response, err := c.Do(request(t, "GET", url, nil).WithContext(ctx))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		mind := errors.New("changed my mind")
		cancel(mind)
		if _, err := io.ReadAll(response.Body); !errors.Is(err, mind) {
			t.Errorf("read: %v, want why it was cancelled", err)
		}
		var stream *StreamError
		if err := <-ended; !errors.As(err, &stream) || stream.Status != Cancel || !stream.Remote {
			t.Errorf("the handler's context ended with %v", err)
		}
		if response, _ := fetch(t, c, request(t, "GET", url+"/ok", nil)); response.StatusCode != 200 {
			t.Errorf("after it: %s", response.Status)
		}
		if n := len(c.Transport.(*Transport).Sessions()); n != 1 {
			t.Errorf("%d sessions, want 1", n)
		}
	})
}
