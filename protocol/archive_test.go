package protocol

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"wiretime/capture"
	"wiretime/spdy"
)

// forever is longer than any test.
const forever = 1000 * time.Hour

var style, script = "<https://" + pageHost + "/style.css>; rel=preload; as=style", "</script.js>; rel=preload; as=script"

// TestAnswerWaits checks that no response comes earlier than it was recorded to.
func TestAnswerWaits(t *testing.T) {
	const slow = 30*time.Millisecond + 300*time.Microsecond
	site := map[string]Answer{
		pageHost + "/slow":   {Status: 200, Body: []byte("slow"), Wait: slow},
		pageHost + "/moved":  {Status: 302, Header: [][2]string{{"location", "/"}}, Wait: slow},
		pageHost + "/tagged": {Status: 200, Header: [][2]string{{"etag", `"1"`}}, Wait: slow},
	}
	eachRow(t, func(t *testing.T, p Protocol) {
		s := serve(t, p.Name, func(c *ServerConfig) { c.Handler = Archive(lookupIn(site)) })
		client := s.client(t)
		for _, test := range []struct {
			method, path, tag string
			status            int
		}{{"GET", "/slow", "", 200}, {"HEAD", "/slow", "", 200}, {"GET", "/moved", "", 302}, {"GET", "/tagged", `"1"`, 304}} {
			began := time.Now()
			response := s.ask(t, t.Context(), client, test.method, test.path, "If-None-Match", test.tag)
			if took := time.Since(began); response.StatusCode != test.status || took < slow {
				t.Errorf("%s %s: status %d after %v, want %d after %v", test.method, test.path, response.StatusCode, took, test.status, slow)
			}
		}
		must(t, s.Close())
		for _, e := range s.Log() {
			if time.Duration(e.End-e.Start) < slow {
				t.Errorf("%s took %v according to the log", e.URL, time.Duration(e.End-e.Start))
			}
		}
	})
}

// ask sends a request, with one field if it has a value, and reads the response.
// Its context may carry a trace.
func (s *served) ask(t *testing.T, ctx context.Context, client *http.Client, method, path, name, value string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, method, s.config.Protocol.Scheme+"://"+pageHost+path, nil)
	must(t, err)
	if value != "" {
		request.Header.Set(name, value)
	}
	response, err := client.Do(request)
	must(t, err)
	_, err = io.Copy(io.Discard, response.Body)
	must(t, errors.Join(err, response.Body.Close()))
	return response
}

// TestWaitEndsWithTheRequest cancels a request that would wait for weeks.
func TestWaitEndsWithTheRequest(t *testing.T) {
	eachRow(t, func(t *testing.T, p Protocol) {
		asked, over := make(chan struct{}), make(chan struct{})
		archive := Archive(func(string, string, string) Answer {
			close(asked)
			return Answer{Status: 200, Wait: forever}
		})
		s := serve(t, p.Name, func(c *ServerConfig) {
			c.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer close(over)
				archive.ServeHTTP(w, r)
			})
		})
		ctx, cancel := context.WithCancel(t.Context())
		request, err := http.NewRequestWithContext(ctx, "GET", p.Scheme+"://"+pageHost+"/", nil)
		must(t, err)
		gaveUp := make(chan error)
		client := s.client(t)
		go func() {
			_, err := client.Do(request)
			gaveUp <- err
		}()
		<-asked
		cancel()
		if err := <-gaveUp; !errors.Is(err, context.Canceled) {
			t.Errorf("the client got %v", err)
		}
		<-over
		must(t, s.Close())
		if log := s.Log(); len(log) != 1 || log[0].Status != 0 || log[0].BodyBytes != 0 {
			t.Errorf("the log is %+v, want one request that was not answered", log)
		}
	})
}

// TestEarlyHintsComeBeforeTheWait expects the hints of a response that waits for weeks,
// and of one that does not. They contain nothing but the links, and leave nothing behind
// in the response's header.
func TestEarlyHintsComeBeforeTheWait(t *testing.T) {
	own := [][2]string{{"content-type", "text/html"}, {"link", style}}
	site := map[string]Answer{
		pageHost + "/late": {Status: 200, Header: own, Early: []string{style, script}, Wait: forever},
		pageHost + "/":     {Status: 200, Header: own, Early: []string{style, script}},
	}
	eachRow(t, func(t *testing.T, p Protocol) {
		s := serve(t, p.Name, func(c *ServerConfig) { c.Handler = Archive(lookupIn(site)) })
		client := s.client(t)
		hints := make(chan string, 10)
		trace := func(ctx context.Context) context.Context {
			return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{Got1xxResponse: func(code int, header textproto.MIMEHeader) error {
				if code != http.StatusEarlyHints {
					t.Errorf("status %d", code)
				}
				hints <- flat(http.Header(header))
				return nil
			}})
		}
		spdy := strings.HasPrefix(p.Name, "spdy")
		want := "link: " + style + " | " + script
		if !spdy {
			ctx, cancel := context.WithTimeout(trace(t.Context()), patience)
			request, err := http.NewRequestWithContext(ctx, "GET", p.Scheme+"://"+pageHost+"/late", nil)
			must(t, err)
			over := make(chan error)
			go func() {
				_, err := client.Do(request)
				over <- err
			}()
			select {
			case got := <-hints:
				if got != want {
					t.Errorf("the hints are\n%s\nwant\n%s", got, want)
				}
			case <-ctx.Done():
				t.Error("no hints received")
			}
			cancel()
			if err := <-over; !errors.Is(err, context.Canceled) {
				t.Errorf("the client got %v", err)
			}
		}
		response := s.ask(t, trace(t.Context()), client, "GET", "/", "", "")
		response.Header.Del("Alt-Svc")
		if got, want := flat(response.Header), "content-length: 0\ncontent-type: text/html\nlink: "+style; got != want {
			t.Errorf("the answer's header is\n%s\nwant\n%s", got, want)
		}
		if spdy != (len(hints) == 0) {
			t.Errorf("%d hints received over %s", len(hints), p.Name)
		}
		for len(hints) > 0 {
			<-hints
		}
		s.ask(t, trace(t.Context()), client, "HEAD", "/", "", "")
		if len(hints) > 0 {
			t.Errorf("HEAD received hints: %s", <-hints)
		}
		must(t, s.Close())
		for _, e := range s.Log() {
			if told := e.Method == "GET" && !spdy; slices.Equal(e.Early, []string{style, script}) != told {
				t.Errorf("the log of %s %s has the hints %q", e.Method, e.URL, e.Early)
			}
		}
	})
}

// pushing returns a site whose page comes with pushes, some of them impossible.
func pushing() map[string]Answer {
	const dated = "Tue, 01 Jul 2025 10:00:00 GMT"
	return map[string]Answer{
		pageHost + "/": {Status: 200, Header: [][2]string{{"content-type", "text/html"}}, Body: []byte("page"), Push: []string{
			"https://" + pageHost + "/style.css?v=1", "https://" + imageHost + "/image.png", "https://" + pageHost + "/script.js", "not\na URL",
		}},
		pageHost + "/style.css?v=1": {Status: 200, Header: [][2]string{{"content-type", "text/css"}, {"last-modified", dated}}, Body: []byte("style")},
		pageHost + "/script.js":     {Status: 200, Body: bytes.Repeat([]byte("s"), 30_000), Wait: 5 * time.Millisecond, Push: []string{"https://" + pageHost + "/more.js"}},
		imageHost + "/image.png":    {Status: 200, Body: []byte("image")},
	}
}

// brief holds what tests of pushes compare in a log.
type brief struct {
	path     string
	status   int
	bytes    int64
	pushed   bool
	unpushed int
}

func briefs(log []capture.ServerEntry) []brief {
	var all []brief
	for _, e := range log {
		_, path, _ := strings.Cut(e.URL, pageHost)
		all = append(all, brief{path, e.Status, e.BodyBytes, e.Pushed, e.Unpushed})
	}
	slices.SortFunc(all, func(a, b brief) int { return strings.Compare(a.path, b.path) })
	return all
}

// TestPushOverSPDY requests what has been pushed already: the server is not asked again.
// A pushed response does not inherit the conditions of the page's request, and pushes
// nothing itself.
func TestPushOverSPDY(t *testing.T) {
	eachRow(t, func(t *testing.T, p Protocol) {
		if !strings.HasPrefix(p.Name, "spdy") {
			return
		}
		s := serve(t, p.Name, func(c *ServerConfig) { c.Handler = Archive(lookupIn(pushing())) })
		client := s.client(t)
		client.Transport.(*spdy.Transport).Push = true
		s.ask(t, t.Context(), client, "GET", "/", "If-Modified-Since", "Wed, 02 Jul 2025 10:00:00 GMT")
		for path, size := range map[string]int{"/style.css?v=1": 5, "/script.js": 30_000} {
			if response, body := s.get(t, client, "GET", pageHost+path); response.StatusCode != 200 || len(body) != size {
				t.Errorf("%s: status %d, %d octets", path, response.StatusCode, len(body))
			}
		}
		must(t, s.Close())
		want := []brief{{"/", 200, 4, false, 2}, {"/script.js", 200, 30_000, true, 0}, {"/style.css?v=1", 200, 5, true, 0}}
		if got := briefs(s.Log()); !slices.Equal(got, want) {
			t.Errorf("the log is %+v, want %+v", got, want)
		}
	})
}

// TestPushBehindAnotherWriter puts a server's own writer between the protocol's and
// the archive's.
func TestPushBehindAnotherWriter(t *testing.T) {
	archive := Archive(lookupIn(pushing()))
	s := serve(t, "spdy/3.1", func(c *ServerConfig) {
		c.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { archive.ServeHTTP(wrapped{w}, r) })
	})
	client := s.client(t)
	client.Transport.(*spdy.Transport).Push = true
	s.get(t, client, "GET", pageHost+"/")
	if _, body := s.get(t, client, "GET", pageHost+"/style.css?v=1"); string(body) != "style" {
		t.Errorf("the style sheet is %q", body)
	}
	must(t, s.Close())
	if log := s.Log(); len(log) != 3 {
		t.Errorf("%d requests were answered, want the page and its pushes, once each: %+v", len(log), log)
	}
}

type wrapped struct{ http.ResponseWriter }

func (w wrapped) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// TestPushThatComesToNothing uses a SPDY client that allows the server no streams. The
// client still gets the page, and the log contains nothing else, since nothing else was
// sent.
func TestPushThatComesToNothing(t *testing.T) {
	eachRow(t, func(t *testing.T, p Protocol) {
		v, ok := spdy.ParseVersion(p.ALPN)
		if !ok {
			return
		}
		s := serve(t, p.Name, func(c *ServerConfig) { c.Handler = Archive(lookupIn(pushing())) })
		config := &tls.Config{RootCAs: s.roots, ServerName: pageHost, NextProtos: []string{p.ALPN}}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", s.address(t, pageHost))
		must(t, err)
		defer conn.Close()
		must(t, conn.SetDeadline(time.Now().Add(patience)))

		names := []string{":host", ":method", ":path", ":scheme", ":version"}
		if v == spdy.V2 {
			names = []string{"host", "method", "url", "scheme", "version"}
		}
		var fields []spdy.Field
		for i, value := range []string{pageHost, "GET", "/", "https", "HTTP/1.1"} {
			fields = append(fields, spdy.Field{Name: names[i], Value: value})
		}
		f := spdy.NewFramer(v, conn, conn, 0)
		must(t, f.WriteFrame(&spdy.Settings{Entries: []spdy.Setting{{ID: spdy.SettingMaxConcurrentStreams, Value: 0}}}))
		must(t, f.WriteFrame(&spdy.SynStream{StreamID: 1, Fields: fields, Fin: true}))
		for whole := false; !whole; {
			frame, err := f.ReadFrame()
			must(t, err)
			switch frame := frame.(type) {
			case *spdy.Data:
				whole = frame.StreamID == 1 && frame.Fin
			case *spdy.SynStream, *spdy.RstStream, *spdy.GoAway:
				t.Fatalf("the server sent %+v", frame)
			}
		}
		must(t, s.Close())
		want := []brief{{"/", 200, 4, false, 4}}
		if got := briefs(s.Log()); !slices.Equal(got, want) {
			t.Errorf("the log is %+v, want %+v", got, want)
		}
	})
}

// TestPushWhereThereIsNone checks that the other protocols push nothing, and that
// HTTP/2 pushes nothing to a client that disables push.
func TestPushWhereThereIsNone(t *testing.T) {
	eachRow(t, func(t *testing.T, p Protocol) {
		if strings.HasPrefix(p.Name, "spdy") {
			return
		}
		s := serve(t, p.Name, func(c *ServerConfig) { c.Handler = Archive(lookupIn(pushing())) })
		client := s.client(t)
		for _, method := range []string{"GET", "HEAD"} {
			s.get(t, client, method, pageHost+"/")
		}
		must(t, s.Close())
		want := []brief{{"/", 200, 4, false, 4}, {"/", 200, 0, false, 0}}
		if got := briefs(s.Log()); !slices.Equal(got, want) {
			t.Errorf("the log is %+v, want %+v", got, want)
		}
	})
}

// TestPushOverHTTP2 reads the frames sent to a client that leaves push enabled, which
// is the default (RFC 9113 section 6.5.2).
func TestPushOverHTTP2(t *testing.T) {
	s := serve(t, "h2", func(c *ServerConfig) { c.Handler = Archive(lookupIn(pushing())) })
	config := &tls.Config{RootCAs: s.roots, ServerName: pageHost, NextProtos: []string{"h2"}}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", s.address(t, pageHost))
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(patience)))

	_, err = io.WriteString(conn, http2.ClientPreface)
	must(t, err)
	f := http2.NewFramer(conn, conn)
	var fields bytes.Buffer
	e := hpack.NewEncoder(&fields)
	for _, field := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", pageHost}, {":path", "/"}} {
		must(t, e.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}))
	}
	must(t, f.WriteSettings())
	must(t, f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: fields.Bytes(), EndStream: true, EndHeaders: true}))

	decode := hpack.NewDecoder(4096, nil)
	value := func(block []byte, name string) string {
		decoded, err := decode.DecodeFull(block)
		must(t, err)
		i := slices.IndexFunc(decoded, func(f hpack.HeaderField) bool { return f.Name == name })
		if i < 0 {
			return ""
		}
		return decoded[i].Value
	}
	promised, bodies := map[uint32]string{1: "/"}, map[string]int{}
	for open := 3; open > 0; {
		frame, err := f.ReadFrame()
		must(t, err)
		stream := frame.Header().StreamID
		switch frame := frame.(type) {
		case *http2.PushPromiseFrame:
			if bodies["/"] > 0 {
				t.Error("a PUSH_PROMISE came after the page that refers to it")
			}
			promised[frame.PromiseID] = value(frame.HeaderBlockFragment(), ":path")
		case *http2.HeadersFrame:
			if status := value(frame.HeaderBlockFragment(), ":status"); status != "200" {
				t.Errorf("%s has status %s", promised[stream], status)
			}
		case *http2.DataFrame:
			bodies[promised[stream]] += len(frame.Data())
			if frame.StreamEnded() {
				open--
			}
		case *http2.RSTStreamFrame, *http2.GoAwayFrame:
			t.Fatalf("the server sent %v", frame)
		}
	}
	if len(promised) != 3 || bodies["/"] != 4 || bodies["/style.css?v=1"] != 5 || bodies["/script.js"] != 30_000 {
		t.Errorf("streams %v delivered %v", promised, bodies)
	}
	must(t, s.Close())
	want := []brief{{"/", 200, 4, false, 2}, {"/script.js", 200, 30_000, true, 0}, {"/style.css?v=1", 200, 5, true, 0}}
	if got := briefs(s.Log()); !slices.Equal(got, want) {
		t.Errorf("the log is %+v, want %+v", got, want)
	}
}

// TestLogTellsWhatWasNear makes an archive answer with a near match.
func TestLogTellsWhatWasNear(t *testing.T) {
	const archived = "https://" + pageHost + "/search?q=1"
	site := map[string]Answer{pageHost + "/search?q=2": {Status: 200, Body: []byte("one"), Near: archived}}
	eachRow(t, func(t *testing.T, p Protocol) {
		s := serve(t, p.Name, func(c *ServerConfig) { c.Handler = Archive(lookupIn(site)) })
		s.get(t, s.client(t), "GET", pageHost+"/search?q=2")
		must(t, s.Close())
		if log := s.Log(); len(log) != 1 || log[0].Near != archived || log[0].Miss {
			t.Errorf("the log is %+v", log)
		}
	})
}

// TestPreflight checks that a synthesised response to a preflight allows exactly the
// requested fields; a wildcard may not be enough.
func TestPreflight(t *testing.T) {
	own := [][2]string{{"access-control-allow-headers", "*, authorization"}}
	site := map[string]Answer{
		pageHost + "/made":     {Status: 204, Header: own, Preflight: true},
		pageHost + "/archived": {Status: 204, Header: own},
	}
	eachRow(t, func(t *testing.T, p Protocol) {
		s := serve(t, p.Name, func(c *ServerConfig) { c.Handler = Archive(lookupIn(site)) })
		client := s.client(t)
		for _, test := range []struct{ path, asked, allowed string }{
			{"/made", "x-token, content-type", "x-token, content-type"}, {"/made", "", "*, authorization"}, {"/archived", "x-token", "*, authorization"},
		} {
			response := s.ask(t, t.Context(), client, "OPTIONS", test.path, "Access-Control-Request-Headers", test.asked)
			if got := response.Header.Get("Access-Control-Allow-Headers"); got != test.allowed || response.StatusCode != 204 {
				t.Errorf("%s for %q: status %d, allowed are %q, want %q", test.path, test.asked, response.StatusCode, got, test.allowed)
			}
		}
	})
}
