package main

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// watchdog is how long processes may take to end: long enough for any machine, and shorter than what they would take
// if they waited for one another.
const watchdog = 2 * time.Minute

// interrupted is a program that was started to be interrupted.
type interrupted struct {
	*exec.Cmd
	lines *bufio.Scanner // of its standard error
	said  strings.Builder
}

// begin starts the program. This test becomes the parent of whatever the program leaves.
func (u user) begin(t *testing.T, args ...string) *interrupted {
	t.Helper()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) })
	return talking(t, u.command(t.Context(), args...))
}

// talking starts a program to listen to.
func talking(t *testing.T, c *exec.Cmd) *interrupted {
	t.Helper()
	p := &interrupted{Cmd: c}
	pipe, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewScanner(pipe)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// await reads until the program says something.
func (p *interrupted) await(t *testing.T, words string) {
	t.Helper()
	for p.lines.Scan() {
		p.said.WriteString(p.lines.Text() + "\n")
		if strings.Contains(p.lines.Text(), words) {
			return
		}
	}
	t.Fatalf("the program ended without %q:\n%s", words, &p.said)
}

func (p *interrupted) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// ends waits for the end of the program and of all that it has started, and checks its exit code. Meanwhile it repeats
// a signal, unless that is 0. It waits for all children of the test's process, so no other test may run beside one that calls it.
func (p *interrupted) ends(t *testing.T, again syscall.Signal) {
	t.Helper()
	all := make(chan struct{})
	go func() {
		defer close(all)
		for p.lines.Scan() {
			p.said.WriteString(p.lines.Text() + "\n")
		}
		_ = p.Wait() // the code says it
		for !errors.Is(reapAny(), unix.ECHILD) {
		}
	}()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	late := time.After(watchdog)
	for {
		select {
		case <-all:
			if got := p.ProcessState.ExitCode(); got != exitInterrupted {
				t.Errorf("exit code %d, want %d:\n%s", got, exitInterrupted, &p.said)
			}
			return
		case <-tick.C:
			if again != 0 {
				_ = p.Process.Signal(again) // it may have ended
			}
		case <-late:
			_ = p.Process.Kill()
			t.Fatal("the program, or what it has started, did not end")
		}
	}
}

func reapAny() error {
	_, err := unix.Wait4(-1, nil, 0, nil)
	return err
}

// descendants are the processes below one, by what their command lines hold.
func descendants(t *testing.T, ancestor int, holding string) (all []int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		line, _ := os.ReadFile(file) // it may have ended
		id, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(line), holding) {
			continue
		}
		for p := id; p > 1; p = parent(p) {
			if p == ancestor && id != ancestor {
				all = append(all, id)
			}
		}
	}
	slices.Sort(all)
	return all
}

func parent(id int) int {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(id) + "/stat")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	n, _ := strconv.Atoi(fields[1])
	return n
}

// stop stops the descendants of a process whose command lines hold a text. There may be none for a moment: guests come and go.
func stop(t *testing.T, ancestor int, holding string) {
	t.Helper()
	var ids []int
	for began := time.Now(); len(ids) == 0; ids = descendants(t, ancestor, holding) {
		if time.Since(began) > 2*time.Minute {
			t.Fatalf("there has been no process with %s for two minutes", holding)
		}
	}
	for _, id := range ids {
		if err := syscall.Kill(id, syscall.SIGSTOP); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
	}
}

// hung is the URL of a server that accepts connections and says nothing. asked receives a value with each.
func hung(t *testing.T) (url string, asked <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	came, served := make(chan struct{}, 100), make(chan struct{})
	go func() {
		defer close(served)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			if _, err := c.Read(make([]byte, 1)); err == nil {
				came <- struct{}{}
			}
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-served
	})
	return "http://" + l.Addr().String() + "/", came
}

// await waits until a server has been asked.
func await(t *testing.T, asked <-chan struct{}) {
	t.Helper()
	select {
	case <-asked:
	case <-time.After(2 * time.Minute):
		t.Fatal("the server has not been asked after two minutes")
	}
}

// TestFirstSignal: the first signal ends a program, whatever hangs or has been stopped, and nothing is left.
func TestFirstSignal(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run("get from a hung server, "+s.String(), func(t *testing.T) {
			if signal.Ignored(s) {
				t.Skipf("whoever has started this test ignores %v, as nohup does, and so does what it starts", s)
			}
			url, asked := hung(t)
			p := self(t).begin(t, "get", url)
			await(t, asked)
			p.signal(t, s)
			p.ends(t, 0)
		})
	}
	t.Run("record with a stopped browser", func(t *testing.T) {
		needChromium(t)
		u := self(t)
		url, asked := hung(t)
		p := u.begin(t, "site", "record", url)
		await(t, asked)
		stop(t, p.Process.Pid, "--headless")
		p.signal(t, syscall.SIGINT)
		p.ends(t, 0)
		onlyHolds(t, u.home)
	})
	t.Run("run with a stopped browser", func(t *testing.T) {
		needChromium(t)
		u := self(t)
		u.addPage(t)
		p := u.begin(t, "run", u.study(t, 100), "--store", "kept")
		p.await(t, "[")
		stop(t, p.Process.Pid, "--headless")
		p.signal(t, syscall.SIGINT)
		p.ends(t, 0)
	})
	t.Run("run with a stopped guest", func(t *testing.T) {
		u := self(t)
		u.addKernel(t)
		p := u.begin(t, "run", u.write(t, "study.yaml", strings.Replace(virtualStudyOf(100), "%s", "virtual", 1)), "--store", "kept")
		p.await(t, "[")
		stop(t, p.Process.Pid, "time-travel=inf-cpu")
		p.signal(t, syscall.SIGTERM)
		p.ends(t, 0)
	})
	t.Run("campaign with a stopped guest of its worker", func(t *testing.T) {
		u := self(t)
		u.addKernel(t)
		p := u.begin(t, "campaign", "run", u.write(t, "study.yaml", strings.Replace(virtualStudyOf(100), "%s", "virtual", 1)), "--store", "kept")
		p.await(t, "working for campaign")
		stop(t, p.Process.Pid, "time-travel=inf-cpu")
		p.signal(t, syscall.SIGINT)
		p.ends(t, 0)
		if !strings.Contains(p.said.String(), "campaign run --resume") {
			t.Errorf("it does not say how to go on:\n%s", &p.said)
		}
	})
}

// virtualStudyOf is a study with so many repeats.
func virtualStudyOf(repeats int) string {
	return strings.NewReplacer("repeats: 9", "repeats: "+strconv.Itoa(repeats), "%%", "%").Replace(virtualStudy)
}

// TestSecondSignal: a program that cannot stop in good order leaves at the second Ctrl-C, with all that it has
// started. Its part in the lab's namespaces is stopped here, and a server has a request in flight.
func TestSecondSignal(t *testing.T) {
	again := func(t *testing.T, p *interrupted) {
		t.Helper()
		p.signal(t, syscall.SIGINT)
		p.await(t, "press Ctrl-C again")
		p.ends(t, syscall.SIGINT)
		if !strings.Contains(p.said.String(), "leaving at once") {
			t.Errorf("it did not leave because of the second signal:\n%s", &p.said)
		}
	}
	t.Run("run on the real clock", func(t *testing.T) {
		needChromium(t)
		u := self(t)
		u.addPage(t)
		p := u.begin(t, "run", u.study(t, 100), "--store", "kept")
		p.await(t, "[")
		stop(t, p.Process.Pid, "study.yaml")
		again(t, p)
	})
	t.Run("run on the virtual clock", func(t *testing.T) {
		u := self(t)
		u.addKernel(t)
		p := u.begin(t, "run", u.write(t, "study.yaml", strings.Replace(virtualStudyOf(100), "%s", "virtual", 1)), "--store", "kept")
		p.await(t, "[")
		stop(t, p.Process.Pid, "study.yaml")
		again(t, p)
	})
	t.Run("serve", func(t *testing.T) {
		u := self(t)
		// A site of the library, larger than what sockets hold: the answer stays in flight.
		u.write(t, "folder/large", strings.Repeat("large", 10_000_000))
		p := &interrupted{Cmd: u.command(t.Context(), "serve", "folder")}
		errs, err := p.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := p.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		p.lines = bufio.NewScanner(errs)
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		url := ""
		for lines := bufio.NewScanner(out); url == "" && lines.Scan(); {
			if _, rest, found := strings.Cut(lines.Text(), "http://localhost:"); found {
				url = "127.0.0.1:" + strings.TrimSuffix(strings.TrimSpace(rest), "/")
			}
		}
		c, err := net.Dial("tcp4", url)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); err != nil { // it is in flight
			t.Fatal(err)
		}
		again(t, p)
		leftFolder(t, u, "wiretime-serve-") // for the next program to sweep
	})
}

// TestNohup: a program that was told to ignore SIGHUP goes on.
func TestNohup(t *testing.T) {
	t.Parallel()
	u := self(t)
	url, asked := hung(t)
	c := u.program(t.Context(), "nohup", binary, "get", url)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM} {
		if err := c.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	_ = c.Wait() // the code says it
	if code := c.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit code %d, want %d", code, exitInterrupted)
	}
}

// leftFolder checks that the user's home has one temporary folder with such a name.
func leftFolder(t *testing.T, u user, prefix string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(u.home, prefix+"*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("there are the folders %q (error %v), want one", found, err)
	}
}

// onlyHolds checks that a home holds nothing but these.
func onlyHolds(t *testing.T, home string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(home)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(names, e.Name()) {
			t.Errorf("%s is left", e.Name())
		}
	}
}

// TestSweep: what a killed program, or one whose reader has gone, leaves in the temporary folder, the library or beside
// an output is removed by the next one.
func TestSweep(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.write(t, "folder/file", "content")
	u.write(t, "page/index.html", "<!doctype html><title>Page</title>\n")
	for _, killing := range []syscall.Signal{syscall.SIGKILL, syscall.SIGPIPE} {
		p := u.command(t.Context(), "serve", "folder")
		out, err := p.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if killing == syscall.SIGPIPE {
			_ = out.Close()
		}
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		if killing == syscall.SIGKILL {
			for lines := bufio.NewScanner(out); lines.Scan() && !strings.HasPrefix(lines.Text(), "Certificate"); {
			}
			if err := p.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		_ = p.Wait() // it was killed
		leftFolder(t, u, "wiretime-serve-")
	}
	u.write(t, "data/wiretime/sites/.unfinished-1/bodies", "half a body")
	u.write(t, ".out.1.tmp", "half a response")
	s := u.serve(t, filepath.Join(u.home, "folder"))
	if r := u.run(t, "get", "-o", "out", s.urls["http/1.1"]+"file"); r.code != 0 {
		t.Errorf("exit code %d: %s", r.code, r.errors)
	}
	if code := s.end(t); code != 0 {
		t.Errorf("serve: exit code %d", code)
	}
	add := u.command(t.Context(), "site", "add", "page")
	add.Env = append(add.Env, "XDG_DATA_HOME="+filepath.Join(u.home, "data"))
	if r := finish(t, add); r.code != 0 {
		t.Fatalf("site add: exit code %d: %s", r.code, r.errors)
	}
	onlyHolds(t, u.home, "folder", "page", "data", "out")
	onlyHolds(t, filepath.Join(u.home, "data/wiretime/sites"), "page")
}
