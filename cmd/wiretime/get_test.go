package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"wiretime/get"
	"wiretime/serve"
)

// serving is a 'wiretime serve' that runs.
type serving struct {
	command *exec.Cmd
	urls    map[string]string // by protocol
	ca      string            // file of the authority
	gets    [][]string        // arguments of the commands it prints
	log     *strings.Builder  // complete once it has ended
}

// serve starts 'wiretime serve' and reads what it prints.
func (u user) serve(t *testing.T, args ...string) *serving {
	t.Helper()
	return u.startServing(t, append([]string{"serve"}, args...)...)
}

// startServing starts a command that serves and reads what it prints.
func (u user) startServing(t *testing.T, args ...string) *serving {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	s := &serving{command: u.command(ctx, args...), urls: map[string]string{}, log: &strings.Builder{}}
	s.command.Stderr = s.log
	out, err := s.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for len(s.gets) < serve.Ports() && lines.Scan() {
		line := lines.Text()
		if command, ok := strings.CutPrefix(line, "wiretime "); ok {
			s.gets = append(s.gets, strings.Fields(command))
		} else if ca, ok := strings.CutPrefix(line, "Certificate authority: "); ok {
			s.ca = ca
		} else if fields := strings.Fields(line); strings.Contains(line, "://") {
			s.urls[strings.Join(fields[:len(fields)-1], " ")] = fields[len(fields)-1]
		}
	}
	if len(s.gets) != serve.Ports() || len(s.urls) != serve.Ports() || s.ca == "" {
		t.Fatalf("it printed %v, %v, %q: %v", s.urls, s.gets, s.ca, s.command.Wait())
	}
	return s
}

// end ends the program as Ctrl-C does, and returns its exit code.
func (s *serving) end(t *testing.T) int {
	t.Helper()
	if err := s.command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = s.command.Wait() // the code says it
	return s.command.ProcessState.ExitCode()
}

// TestGetFromServe runs the commands that 'wiretime serve' prints, as they are,
// and in other ways.
func TestGetFromServe(t *testing.T) {
	t.Parallel()
	for _, u := range users(t) {
		t.Run(u.name, func(t *testing.T) {
			u.write(t, "folder/index.html", "<!doctype html><title>Folder</title>\n")
			big := strings.Repeat("big", 100_000)
			u.write(t, "folder/big.txt", big)
			s := u.serve(t, filepath.Join(u.home, "folder"))
			for _, args := range s.gets {
				if r := u.run(t, args...); r.code != 0 || r.out != "<!doctype html><title>Folder</title>\n" {
					t.Errorf("%v: exit code %d, %q, %s", args, r.code, r.out, r.errors)
				}
			}
			for _, name := range get.Names() {
				r := u.run(t, "get", "--protocol", name, "--cacert", s.ca, "-o", "out", s.urls[name]+"big.txt", s.urls[name])
				got, err := os.ReadFile(filepath.Join(u.home, "out"))
				if r.code != 0 || err != nil || string(got) != big+"<!doctype html><title>Folder</title>\n" {
					t.Errorf("%s: exit code %d, %d octets, %s", name, r.code, len(got), r.errors)
				}
			}
			r := u.run(t, "get", "-v", "--protocol", "spdy/3.1", "--cacert", s.ca, "--window", "64KiB", "--update", "eighth", "--frames", "frames", s.urls["spdy/3.1"]+"big.txt")
			frames, _ := os.ReadFile(filepath.Join(u.home, "frames"))
			if r.code != 0 || !strings.Contains(r.errors, "SYN_STREAM    stream 1") || strings.Count(r.errors, "sent     WINDOW_UPDATE stream 1") < 20 || !strings.Contains(string(frames), `"frame_type":"syn_reply"`) {
				t.Errorf("exit code %d: %s", r.code, r.errors)
			}
			r = u.run(t, "get", "--protocol", "h3", "--cacert", s.ca, "--qlog", "qlog", s.urls["h3"])
			if qlog, _ := os.ReadFile(filepath.Join(u.home, "qlog")); r.code != 0 || !strings.Contains(string(qlog), "http3:frame_parsed") {
				t.Errorf("exit code %d: %s; qlog %q", r.code, r.errors, qlog)
			}
			tests := []struct {
				args []string
				code int
				says string
			}{
				{[]string{"--protocol", "spdy/3", "--cacert", s.ca, s.urls["h2"]}, exitFailure, "it offers h2"},
				{[]string{s.urls["h2"]}, exitFailure, "--insecure"},
				{[]string{"--fail", "-o", "missing", s.urls["http/1.1"] + "nosuch"}, exitFailure, "404"},
				{[]string{"-o", "/dev/null", s.urls["http/1.1"] + "nosuch"}, 0, ""},
				{[]string{"-X", "HEAD", s.urls["http/1.1"]}, 0, ""},
			}
			for _, test := range tests {
				r := u.run(t, append([]string{"get"}, test.args...)...)
				if r.code != test.code || !strings.Contains(r.errors, test.says) || r.out != "" {
					t.Errorf("%v: exit code %d, %q, %s", test.args, r.code, r.out, r.errors)
				}
			}
			if _, err := os.Stat(filepath.Join(u.home, "missing")); err == nil {
				t.Error("a failure left a file")
			}
			if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
				t.Error("/dev/null was replaced")
			}
			if code := s.end(t); code != 0 {
				t.Errorf("serve ended with %d: %s", code, s.log)
			}
			if want := "spdy/3.1  GET /big.txt 200 300000 B "; !strings.Contains(s.log.String(), want) {
				t.Errorf("the log does not say %q: %s", want, s.log)
			}
			if _, err := os.Stat(s.ca); err == nil {
				t.Error("the authority was left behind")
			}
		})
	}
}

// half answers each connection with half a response, tells that it has, and closes
// it at once or when the client is gone.
func half(t *testing.T, wait bool) (address string, answered <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	told, done := make(chan struct{}, 10), make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = bufio.NewReader(c).ReadString('\n')
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")
			told <- struct{}{}
			if wait {
				_, _ = io.Copy(io.Discard, c)
			}
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return "http://" + l.Addr().String() + "/", told
}

// TestGetWholeOrNot has a body break off, take too long, and be given up: what was
// there stays.
func TestGetWholeOrNot(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.write(t, "kept", "before")
	tests := []struct {
		name      string
		wait      bool // the server does not break off
		interrupt bool
		args      []string
		code      int
		says      string
	}{
		{"breaks off", false, false, nil, exitFailure, "receive the body"},
		{"takes too long", true, false, []string{"--max-time", "300ms"}, exitFailure, "--max-time 300ms"},
		{"is given up", true, true, nil, exitInterrupted, "canceled"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			address, answered := half(t, test.wait)
			for _, name := range []string{"fresh", "kept"} {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				c := u.command(ctx, append([]string{"get", "-o", name, address}, test.args...)...)
				var said strings.Builder
				c.Stderr = &said
				if err := c.Start(); err != nil {
					t.Fatal(err)
				}
				<-answered
				if test.interrupt {
					if err := c.Process.Signal(syscall.SIGINT); err != nil {
						t.Fatal(err)
					}
				}
				_ = c.Wait() // the code says it
				if code := c.ProcessState.ExitCode(); code != test.code || !strings.Contains(said.String(), test.says) {
					t.Errorf("exit code %d: %s", code, said.String())
				}
			}
			files, err := os.ReadDir(u.home)
			if err != nil || len(files) != 1 || files[0].Name() != "kept" {
				t.Errorf("left behind: %v", files)
			}
			if got, _ := os.ReadFile(filepath.Join(u.home, "kept")); string(got) != "before" {
				t.Errorf("the file is now %q", got)
			}
		})
	}
}

// TestGetBadInput gives flags that cannot be used.
func TestGetBadInput(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.write(t, "empty.pem", "no certificate")
	u.write(t, "linked/index.html", "<!doctype html><title>x</title>")
	if err := os.Symlink("/etc/passwd", filepath.Join(u.home, "linked", "secret.html")); err != nil {
		t.Fatal(err)
	}
	const clear, secure = "http://127.0.0.1:1/", "https://127.0.0.1:1/"
	tests := []struct {
		args []string
		says string
	}{
		{[]string{"get"}, "arg"},
		{[]string{"get", "--protocol", "spdi/3.1", secure}, `mean "spdy/3.1"`},
		{[]string{"get", "--protocol", "h3", clear}, "https URL"},
		{[]string{"get", "--protocol", "http/1.1", secure}, "https/1.1"},
		{[]string{"get", "ftp://a.test/"}, "https://HOST"},
		{[]string{"get", "-H", "no field", clear}, "Name: value"},
		{[]string{"get", "-X", "NO METHOD", clear}, "--request"},
		{[]string{"get", "-d", "@nosuch", clear}, "nosuch"},
		{[]string{"get", "--cacert", "nosuch.pem", secure}, "nosuch.pem"},
		{[]string{"get", "--cacert", "empty.pem", secure}, "no certificate"},
		{[]string{"get", "--resolve", "a.test:443", secure}, "HOST:PORT:ADDRESS"},
		{[]string{"get", "--max-time", "soon", clear}, "--max-time"},
		{[]string{"get", "--page", "--max-body", "much", clear}, "--max-body"},
		{[]string{"get", "--page", "--max-page", "0", clear}, "--max-page"},
		{[]string{"get", "--page", "--max-requests", "0", clear}, "--max-requests"},
		{[]string{"get", "--window", "64KiB", secure}, "--protocol"},
		{[]string{"get", "--protocol", "spdy/2", "--window", "64KiB", secure}, "spdy/3"},
		{[]string{"get", "--protocol", "spdy/3", "--window", "3GB", secure}, "64KiB"},
		{[]string{"get", "--protocol", "spdy/3", "--window", "0", secure}, "64KiB"},
		{[]string{"get", "--protocol", "spdy/3", "--update", "third", secure}, "eighth"},
		{[]string{"get", "--frames", "f", secure}, "spdy/3.1"},
		{[]string{"get", "--qlog", "f", secure}, "h3"},
		{[]string{"get", "-o", "nosuch/file", clear}, "nosuch/file"},
		{[]string{"get", "-o", ".", clear}, "folder"},
		{[]string{"get", "--har", "f", clear}, "--har needs --page"},
		{[]string{"get", "--page", "-v", clear}, "--verbose cannot be combined with --page or --strategy"},
		{[]string{"get", "--page", "--protocol", "spdy/3", "--frames", "f", secure}, "--frames cannot be combined with --page"},
		{[]string{"get", "--strategy", "sequential", "--protocol", "h3", "--qlog", "f", secure}, "--qlog cannot be combined with --page"},
		{[]string{"get", "--page", "--protocol", "spdy/3", "--window", "64KiB", secure}, "--window cannot be combined with --page"},
		{[]string{"get", "--page", "-H", "A: b", clear}, "--header cannot be combined with --page"},
		{[]string{"get", "--page", "-X", "HEAD", clear}, "--request cannot be combined with --page"},
		{[]string{"get", "--page", "-d", "data", clear}, "--data cannot be combined with --page"},
		{[]string{"get", "--page", "-L", clear}, "--location cannot be combined with --page"},
		{[]string{"get", "--page", "--fail", clear}, "--fail cannot be combined with --page"},
		{[]string{"get", "--page", clear, secure}, "https/1.1"},
		{[]string{"get", "--page", "--har", "nosuch/file", clear}, "nosuch/file"},
		{[]string{"get", "--strategy", "parallel-0", clear}, "parallel"},
		{[]string{"get", "--strategy", "sequental", clear}, "sequential"},
		{[]string{"get", "--strategy", "pipelined", secure}, "only HTTP/1.1 has pipelining"},
		{[]string{"get", "--strategy", "multiplexed", clear}, "multiplexed"},
		{[]string{"serve"}, "arg"},
		{[]string{"serve", "nosuch"}, "nosuch"},
		{[]string{"serve", "linked"}, "secret.html"},
		{[]string{"serve", "--port", "65530", "."}, "65528"},
		{[]string{"serve", "--host", "a/b", "."}, "a/b"},
	}
	for _, test := range tests {
		r := u.run(t, test.args...)
		if r.code != exitInput || !strings.Contains(r.errors, test.says) {
			t.Errorf("%v: exit code %d, not saying %q: %s", test.args, r.code, test.says, r.errors)
		}
	}
	if files, _ := os.ReadDir(u.home); len(files) != 2 {
		t.Errorf("left behind: %v", files)
	}
}

// TestGetPosts sends data given on the command line, in a file, and on standard
// input.
func TestGetPosts(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.write(t, "data.txt", "from a file")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	heads := make(chan string, 1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			b := make([]byte, 4096)
			var text strings.Builder
			for !strings.Contains(text.String(), "from") {
				n, err := c.Read(b)
				if err != nil {
					break
				}
				text.Write(b[:n])
			}
			heads <- text.String()
			_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
			_ = c.Close()
		}
	}()
	defer l.Close()
	for data, body := range map[string]string{"from here": "from here", "@data.txt": "from a file", "@-": "from standard input"} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		c := u.command(ctx, "get", "-d", data, "-H", "X-Some: thing", "http://"+l.Addr().String()+"/")
		c.Stdin = strings.NewReader("from standard input")
		r := finish(t, c)
		cancel()
		head := <-heads
		if r.code != 0 || !strings.HasPrefix(head, "POST / HTTP/1.1\r\n") || !strings.HasSuffix(head, "\r\n\r\n"+body) || !strings.Contains(head, "X-Some: thing\r\n") {
			t.Errorf("%s: exit code %d, %s: %q", data, r.code, r.errors, head)
		}
	}
}
