package spdy

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestShutdownLetsRequestsFinish(t *testing.T) {
	eachVersion(t, func(t *testing.T, v Version) {
		arrived, leave := make(chan struct{}), make(chan struct{})
		s := &Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				close(arrived)
				<-leave
			}
			fmt.Fprint(w, "done")
		})}
		url := serveClear(t, s, v)
		tr := &Transport{Cleartext: v}
		c := client(t, tr)
		var wait sync.WaitGroup
		wait.Go(func() {
			if _, got := fetch(t, c, request(t, "GET", url+"/slow", nil)); string(got) != "done" {
				t.Errorf("the request in flight: %q", got)
			}
		})
		<-arrived
		old := tr.Sessions()[0]
		wait.Go(func() {
			if err := s.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
		for !(&clientSession{Session: old}).ended() {
			time.Sleep(time.Millisecond)
		}
		close(leave)
		wait.Wait()
		if err := old.Wait(); !errors.Is(err, ErrClosed) {
			t.Errorf("the client's session ended with %v", err)
		}
	})
}

func TestTransportPersistsSettings(t *testing.T) {
	eachVersion(t, func(t *testing.T, v Version) {
		var back [][]Setting
		var mu sync.Mutex
		s := &Server{Config: Config{Settings: []Setting{{SettingCurrentCwnd, PersistValue, 32}, {SettingRoundTripTime, 0, 9}}}}
		s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			s.mu.Lock()
			defer s.mu.Unlock()
			back = append(back, s.sessions[len(s.sessions)-1].Persisted())
		})
		url := serveClear(t, s, v)
		tr := &Transport{Cleartext: v, Persist: true}
		c := client(t, tr)
		for range 2 {
			fetch(t, c, request(t, "GET", url, nil))
			old := tr.Sessions()[0]
			tr.CloseIdleConnections()
			_ = old.Wait()
			for len(tr.Sessions()) > 0 {
				time.Sleep(time.Millisecond)
			}
		}
		if want := [][]Setting{nil, {{SettingCurrentCwnd, 0, 32}}}; !reflect.DeepEqual(back, want) {
			t.Errorf("the server got back %v, want %v", back, want)
		}
	})
}

func TestRefusedRequestsAreSentAgain(t *testing.T) {
	t.Run("while the body is sent", func(t *testing.T) { refuseFirst(t, func(*Session) {}) })
	t.Run("before the body is sent", func(t *testing.T) { refuseFirst(t, func(s *Session) { <-s.done }) })
}

// refuseFirst sends a request to a server that answers the first with GOAWAY,
// which says that it was not processed. The first's body follows its fields once
// wait returns.
func refuseFirst(t *testing.T, wait func(*Session)) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	defer serving.Wait()
	defer l.Close()
	serving.Go(func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		f := NewFramer(V31, conn, conn, CompressNone)
		for {
			frame, err := f.ReadFrame()
			if err != nil {
				t.Error(err)
				return
			}
			if frame.Type() == TypeSynStream {
				break
			}
		}
		if err := f.WriteFrame(&GoAway{}); err != nil {
			t.Error(err)
		}
		defer conn.Close()
		if conn, err = l.Accept(); err != nil {
			return
		}
		s := &Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			_, _ = w.Write(b)
		})}
		_ = s.ServeConn(t.Context(), conn, V31)
	})
	tr := &Transport{Cleartext: V31}
	defer tr.Close()
	c := &http.Client{Transport: tr}
	var got, wrote sync.Once
	var first *Session
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		GotConn:      func(httptrace.GotConnInfo) { got.Do(func() { first = tr.Sessions()[0] }) }, // before the server has read anything
		WroteHeaders: func() { wrote.Do(func() { wait(first) }) },
	})
	r := request(t, "POST", "http://"+l.Addr().String(), strings.NewReader("again")).WithContext(ctx)
	if _, got := fetch(t, c, r); string(got) != "again" {
		t.Errorf("got %q", got)
	}
}

func TestTraceTellsOfEachStep(t *testing.T) {
	s := &Server{Handler: http.NotFoundHandler()}
	url, config := serveTLS(t, s)
	c := client(t, &Transport{TLSClientConfig: config})
	for _, want := range []string{
		"get connect shake shaken got:false headers request byte", "get got:true headers request byte",
	} {
		var steps []string
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
			GetConn:              func(string) { steps = append(steps, "get") },
			ConnectStart:         func(string, string) { steps = append(steps, "connect") },
			TLSHandshakeStart:    func() { steps = append(steps, "shake") },
			TLSHandshakeDone:     func(tls.ConnectionState, error) { steps = append(steps, "shaken") },
			GotConn:              func(i httptrace.GotConnInfo) { steps = append(steps, fmt.Sprint("got:", i.Reused)) },
			WroteHeaders:         func() { steps = append(steps, "headers") },
			WroteRequest:         func(httptrace.WroteRequestInfo) { steps = append(steps, "request") },
			GotFirstResponseByte: func() { steps = append(steps, "byte") },
		})
		fetch(t, c, request(t, "GET", url, nil).WithContext(ctx))
		if got := strings.Join(steps, " "); got != want {
			t.Errorf("steps: %s, want %s", got, want)
		}
	}
}

func TestCoalescingOnlyWhenAsked(t *testing.T) {
	url, config := serveTLS(t, &Server{Handler: http.NotFoundHandler()})
	port := url[strings.LastIndex(url, ":"):]
	for _, coalesce := range []bool{false, true} {
		tr := &Transport{TLSClientConfig: config, Coalesce: coalesce}
		c := client(t, tr)
		fetch(t, c, request(t, "GET", "https://127.0.0.1"+port, nil))
		fetch(t, c, request(t, "GET", "https://localhost"+port, nil))
		if want, got := map[bool]int{false: 2, true: 1}[coalesce], len(tr.Sessions()); got != want {
			t.Errorf("coalesce %v: %d sessions, want %d", coalesce, got, want)
		}
	}
}

// TestLargeBodiesUnderEveryRule sends 64 MiB both ways, through small windows
// and under each rule except never.
func TestLargeBodiesUnderEveryRule(t *testing.T) {
	if testing.Short() {
		t.Skip("64 MiB for each version and rule")
	}
	eachVersion(t, func(t *testing.T, v Version) {
		for rule := range UpdateNever {
			window := Config{Window: Window{Stream: 20_000, Session: 70_000, Update: rule, SessionUpdate: rule}}
			c, url := pair(t, v, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }, window, window)
			piece, sum, back := body(1<<20), sha256.New(), sha256.New()
			n := 16
			r := request(t, "POST", url, io.TeeReader(io.LimitReader(readerFunc(func(p []byte) (int, error) { return copy(p, piece), nil }), int64(n<<20)), sum))
			response, err := c.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.Copy(back, response.Body); err != nil || got != int64(n<<20) || !bytes.Equal(sum.Sum(nil), back.Sum(nil)) {
				t.Errorf("rule %d: %d octets came back, %v", rule, got, err)
			}
			_ = response.Body.Close()
		}
	})
}
