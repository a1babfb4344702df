package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/get"
	"wiretime/panics"
	"wiretime/terminal"
)

var pageSummary = regexp.MustCompile(`(?m)^DCL ([0-9.]+ ms|never), onLoad ([0-9.]+ ms|never): (\d+) requests? over (\d+) connections?, (\d+) octets?$`)

// TestGetPages loads a page from 'wiretime serve' over every row with every strategy: the
// table has its requests, and the number of connections is the strategy's.
func TestGetPages(t *testing.T) {
	t.Parallel()
	for _, u := range users(t) {
		t.Run(u.name, func(t *testing.T) {
			u.write(t, "folder/index.html", `<!doctype html><link rel=stylesheet href=a.css><img src=1.svg><img src=2.svg><img src=missing.svg>`)
			u.write(t, "folder/a.css", "body { background: url(3.svg) }")
			for i := range 3 {
				u.write(t, fmt.Sprintf("folder/%d.svg", i+1), `<svg xmlns="http://www.w3.org/2000/svg"/>`)
			}
			const requests = 6
			s := u.serve(t, filepath.Join(u.home, "folder"))
			for _, c := range []struct {
				strategy         string
				most, mostShared int // connections; 0: not supported
				least            int
			}{
				{"", 6, 1, 1}, {"browser", 6, 1, 1}, {"sequential", requests, requests, requests}, {"keep-alive", 1, 1, 1},
				{"threads-2", requests, requests, requests}, {"parallel-2", 2, 2, 1}, {"unlimited", requests, requests, 1}, {"pipelined", 1, 0, 1}, {"multiplexed", 0, 1, 1},
			} {
				for _, name := range get.Names() {
					most := c.mostShared
					if strings.HasSuffix(name, "/1.1") && !strings.HasPrefix(name, "spdy") {
						most = c.most
					}
					args := []string{"get", "--page", "--protocol", name, "--cacert", s.ca, "--har", "page.har", s.urls[name]}
					if c.strategy != "" {
						args = append(args, "--strategy", c.strategy)
					}
					r := u.run(t, args...)
					if most == 0 {
						if r.code != exitInput || !strings.Contains(r.errors, "--strategy: strategy "+c.strategy) {
							t.Errorf("%s over %s: exit code %d, %s", c.strategy, name, r.code, r.errors)
						}
						continue
					}
					m := pageSummary.FindStringSubmatch(r.out)
					if r.code != 0 || m == nil || m[1] == "never" || m[2] == "never" || m[3] != strconv.Itoa(requests) || m[5] == "0" {
						t.Errorf("%s over %s: exit code %d, %s\n%s", c.strategy, name, r.code, r.errors, r.out)
						continue
					}
					if n, _ := strconv.Atoi(m[4]); n < c.least || n > most {
						t.Errorf("%s over %s: %d connections, want %d to %d", c.strategy, name, n, c.least, most)
					}
					if strings.Count(r.out, "\n") != 1+requests+2 || strings.Count(r.out, " 404 ") != 1 || r.errors != "" {
						t.Errorf("%s over %s: the table is\n%s%s", c.strategy, name, r.out, r.errors)
					}
					har, err := capture.ReadHAR(filepath.Join(u.home, "page.har"))
					if err != nil || len(har.Log.Entries) != requests || len(har.Log.Pages) != 1 {
						t.Errorf("%s over %s: the HAR is %+v, %v", c.strategy, name, har, err)
					}
				}
			}
			for strategy, connections := range map[string]int{"sequential": 3, "keep-alive": 1} {
				r := u.run(t, "get", "--strategy", strategy, "--protocol", "h2", "--cacert", s.ca, s.urls["h2"]+"a.css", s.urls["h2"]+"1.svg", s.urls["h2"]+"2.svg")
				if want := "body { background: url(3.svg) }" + strings.Repeat(`<svg xmlns="http://www.w3.org/2000/svg"/>`, 2); r.code != 0 || r.out != want {
					t.Errorf("%s, %d connections: exit code %d, %q, %s", strategy, connections, r.code, r.out, r.errors)
				}
			}
			tests := []struct {
				args []string
				says string
			}{
				{[]string{s.urls["h2"]}, "or every certificate with --insecure"},
				{[]string{"--protocol", "spdy/3", "--cacert", s.ca, s.urls["h2"]}, "TLS handshake"},
				{[]string{"--cacert", s.ca, "https://localhost:1/"}, "connect to localhost"},
			}
			for _, test := range tests {
				r := u.run(t, append([]string{"get", "--page"}, test.args...)...)
				if r.code != exitFailure || strings.Count(r.errors, test.says) != 1 || !strings.Contains(r.out, "DCL never, onLoad never: 1 request over ") {
					t.Errorf("%v: exit code %d, %s\n%s", test.args, r.code, r.errors, r.out)
				}
			}
			// Two pages at once, one of which is not there.
			r := u.run(t, "get", "--page", "--cacert", s.ca, "-o", "table", s.urls["h2"], s.urls["h2"]+"nosuch")
			table, err := os.ReadFile(filepath.Join(u.home, "table"))
			if r.code != 0 || r.out != "" || err != nil || strings.Count(string(table), " 404 ") != 2 {
				t.Errorf("exit code %d, %s; the table is %s, %v", r.code, r.errors, table, err)
			}
			if code := s.end(t); code != 0 {
				t.Errorf("serve ended with %d: %s", code, s.log)
			}
		})
	}
}

// TestGetPageThatNeverFinishes has a page with an image that is answered by nobody: at
// the limit, and when it is given up, the table and the HAR hold what there was.
func TestGetPageThatNeverFinishes(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stuck, over := make(chan struct{}, 10), make(chan struct{})
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stuck.png" {
			stuck <- struct{}{}
			<-over
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<!doctype html><img src=/stuck.png>`))
	})}
	go func() { _ = server.Serve(l) }()
	defer server.Close()
	defer close(over)
	for _, c := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"its limit", []string{"--max-time", "2s"}, exitFailure, "timed out after --max-time 2s"},
		{"Ctrl-C", nil, exitInterrupted, "interrupt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := self(t)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			command := u.command(ctx, append([]string{"get", "--page", "--har", "page.har", "-o", "table", "http://" + l.Addr().String() + "/"}, c.args...)...)
			said, err := command.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			<-stuck
			if c.args == nil {
				if err := command.Process.Signal(syscall.SIGINT); err != nil {
					t.Fatal(err)
				}
			}
			var errors strings.Builder
			_, _ = bufio.NewReader(said).WriteTo(&errors)
			_ = command.Wait() // the code says it
			if code := command.ProcessState.ExitCode(); code != c.code || !strings.Contains(errors.String(), c.says) || !strings.Contains(errors.String(), "/stuck.png: the load has ended") {
				t.Errorf("exit code %d: %s", code, errors.String())
			}
			table, err := os.ReadFile(filepath.Join(u.home, "table"))
			if err != nil || !strings.Contains(string(table), "failed         0  image http") || !strings.Contains(string(table), "onLoad never: 2 requests over ") {
				t.Errorf("the table is %s, %v", table, err)
			}
			har, err := capture.ReadHAR(filepath.Join(u.home, "page.har"))
			if err != nil || len(har.Log.Entries) != 2 || har.Log.Entries[0].Response.Status != 200 || har.Log.Entries[1].Response.Error == "" || har.Log.Entries[1].Time <= 0 {
				t.Errorf("the HAR is %+v, %v", har, err)
			}
		})
	}
}

// TestGetPagesWithInvalidGrids loads pages whose grids have invalid columns.
func TestGetPagesWithInvalidGrids(t *testing.T) {
	t.Parallel()
	u := users(t)[0]
	columns := []string{"repeat", "repeat(,1fr)", "repeat(auto-fill,minmax)"}
	for i, c := range columns {
		u.write(t, fmt.Sprintf("folder/%d.html", i), `<div style="display:grid;grid-template-columns:`+c+`">`)
	}
	s := u.serve(t, filepath.Join(u.home, "folder"))
	for i, c := range columns {
		r := u.run(t, "get", "--page", "--cacert", s.ca, s.urls["h2"]+fmt.Sprintf("%d.html", i))
		if m := pageSummary.FindStringSubmatch(r.out); r.code != 0 || m == nil || m[2] == "never" {
			t.Errorf("%s: exit code %d, %s\n%s", c, r.code, r.errors, r.out)
		}
	}
	if code := s.end(t); code != 0 {
		t.Errorf("serve ended with %d: %s", code, s.log)
	}
}

// TestPanicIsReported checks what the program says of a bug that ended a load: with the stack, on standard error.
func TestPanicIsReported(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	before := stderr
	stderr = terminal.NewWriter(w)
	code := explain(fmt.Errorf("load a page: %w", panics.Run(t.Context(), func(context.Context) error { panic("boom") }, nil)))
	stderr = before
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if code != exitFailure || !strings.Contains(string(said), "wiretime: load a page: this is a bug of Wiretime: panic: boom\n") || !strings.Contains(string(said), "TestPanicIsReported") {
		t.Errorf("exit code %d: %s", code, said)
	}
}

// TestGetPageLimits loads a page that is larger than each of the limits: the error names the flag that raises it. Without
// the flag the page is loaded.
func TestGetPageLimits(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<!doctype html><img src=/a.png><img src=/b.png>`))
	})}
	go func() { _ = server.Serve(l) }()
	defer server.Close()
	u := self(t)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{nil, 0, ""},
		{[]string{"--max-body", "10"}, exitFailure, "limit of 10 octets without content codings (wiretime get raises it with --max-body)"},
		{[]string{"--max-page", "10"}, exitFailure, "limit of 10 octets without content codings (wiretime get raises it with --max-page)"},
		{[]string{"--max-requests", "2"}, exitFailure, "limit of 2 requests (wiretime get raises it with --max-requests)"},
	} {
		r := u.run(t, append([]string{"get", "--page", "http://" + l.Addr().String() + "/"}, c.args...)...)
		if r.code != c.code || !strings.Contains(r.errors, c.says) {
			t.Errorf("%v: exit code %d, %s", c.args, r.code, r.errors)
		}
	}
	if said := (getOptions{maxTime: defaultMaxTime}).timeError().Error(); !strings.Contains(said, "10m0s, the default of --max-time") {
		t.Errorf("the default limit's error is %q", said)
	}
}
