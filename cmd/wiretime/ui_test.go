package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"wiretime/store"
	"wiretime/study"
)

// pageServer is `wiretime ui`, which a test talks to as a page does.
type pageServer struct {
	*exec.Cmd
	t       *testing.T
	address string // http://127.0.0.1:PORT
	token   string
	events  *bufio.Scanner
}

// serveUI starts `wiretime ui` over a store and the studies in the user's home.
func (u user) serveUI(t *testing.T, dir string) *pageServer {
	t.Helper()
	token := filepath.Join(u.home, "token")
	p := &pageServer{t: t}
	c := u.command(t.Context(), "ui", "--store", dir, "--studies", u.home, "--listen", "127.0.0.1:0", "--token-file", token)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill() // it may have ended
		_ = c.Wait()
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("`wiretime ui` says nothing")
	}
	_, address, _ := strings.Cut(lines.Text(), "http://")
	address, p.token, _ = strings.Cut(address, "/?token=")
	p.address, p.Cmd = "http://"+address, c
	if kept, err := os.ReadFile(token); err != nil || strings.TrimSpace(string(kept)) != p.token || p.token == "" {
		t.Fatalf("the token is %q, the file has %q, error %v", p.token, kept, err)
	}
	return p
}

// ask sends a request and checks the answer's status.
func (p *pageServer) ask(method, path, body string, want int) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.address+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+p.token)
	r.Header.Set("Content-Type", "application/json")
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil || got.StatusCode != want {
		p.t.Fatalf("%s %s: status %d, want %d, error %v: %.500s", method, path, got.StatusCode, want, err, text)
	}
}

// follow opens the page's events.
func (p *pageServer) follow() {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.address+"/api/events", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+p.token)
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = got.Body.Close() })
	p.events = bufio.NewScanner(got.Body)
	p.events.Buffer(nil, 1<<20)
}

// uiState is a part of what events of states and of progress tell.
type uiState struct {
	Running *struct {
		Own, Stopping bool
	}
	Resumable     *struct{ Done, Planned int }
	Last          json.RawMessage // of a state: how the last run of the server ended
	Done, Planned int             // of progress
}

// last returns how the last run of the server ended.
func (s uiState) last(t *testing.T) (last struct {
	Code int
	Said string
}) {
	t.Helper()
	if err := json.Unmarshal(s.Last, &last); err != nil {
		t.Fatalf("no run has ended: %v", err)
	}
	return last
}

// until reads events until one of that name tells enough.
func (p *pageServer) until(event, what string, enough func(uiState) bool) uiState {
	p.t.Helper()
	name := ""
	for p.events.Scan() {
		if n, ok := strings.CutPrefix(p.events.Text(), "event: "); ok {
			name = n
		}
		data, ok := strings.CutPrefix(p.events.Text(), "data: ")
		if !ok || name != event {
			continue
		}
		var s uiState
		if err := json.Unmarshal([]byte(data), &s); err != nil {
			p.t.Fatalf("event %s: %v in %s", name, err, data)
		}
		if enough(s) {
			return s
		}
	}
	p.t.Fatalf("the events ended before %s: %v", what, p.events.Err())
	return uiState{}
}

// TestUIRuns starts a study of its folder from the page, stops and resumes it, stops one that a terminal started, and ends with a run
// under way: no load is lost, and no process stays.
func TestUIRuns(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	dir := filepath.Join(u.home, "kept")
	p := u.serveUI(t, dir)
	p.follow()
	text, err := json.Marshal(strings.Replace(fmt.Sprintf(virtualStudy, "virtual"), "repeats: 9", "repeats: 300", 1))
	if err != nil {
		t.Fatal(err)
	}
	p.ask("PUT", "/api/studies/files/small.yaml", `{"text": `+string(text)+`, "tag": ""}`, 200)
	p.ask("POST", "/api/run", `{"file": "small.yaml"}`, 202)
	p.until("state", "the run of the page", func(s uiState) bool { return s.Running != nil && s.Running.Own })
	p.until("progress", "a load", func(s uiState) bool { return s.Done > 0 && s.Planned == 2100 })
	p.ask("POST", "/api/run", `{"file": "small.yaml"}`, 409)
	p.ask("POST", "/api/run/stop", `{}`, 202)
	stopped := p.until("state", "a run that was stopped", func(s uiState) bool { return s.Running == nil })
	if last := stopped.last(t); last.Code != exitInterrupted || !strings.Contains(last.Said, "was interrupted") || stopped.Resumable == nil || stopped.Resumable.Done == 0 {
		t.Fatalf("the run that was stopped is %+v, %+v", last, stopped.Resumable)
	}

	other := u.command(t.Context(), "run", "--resume", "--store", dir)
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	p.until("state", "the run of the terminal", func(s uiState) bool { return s.Running != nil && !s.Running.Own })
	before := stopped.Resumable.Done
	p.until("progress", "another load", func(s uiState) bool { return s.Done > before })
	p.ask("POST", "/api/run/resume", `{}`, 409)
	p.ask("POST", "/api/run/stop", `{}`, 202)
	if err := other.Wait(); other.ProcessState.ExitCode() != exitInterrupted {
		t.Errorf("the run of the terminal ended with %v", err)
	}
	stopped = p.until("state", "the run of the terminal that was stopped", func(s uiState) bool { return s.Running == nil && s.Resumable != nil })

	p.ask("POST", "/api/run/resume", `{}`, 202)
	before = stopped.Resumable.Done
	p.until("progress", "one more load", func(s uiState) bool { return s.Done > before })
	if err := p.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("`wiretime ui` ended with %v", err)
		}
	case <-time.After(watchdog):
		t.Fatal("`wiretime ui` did not end")
	}
	if pid := store.Writer(dir); pid != 0 {
		t.Errorf("process %d still writes to the store", pid)
	}
	st, err := store.Open(dir, store.Read)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	run, unfinished, err := st.UnfinishedRun()
	if err != nil || !unfinished || run.Done <= before {
		t.Errorf("the run is %+v, unfinished %v, error %v", run, unfinished, err)
	}
	attempts, err := st.Attempts(run.ID)
	if err != nil || attempts[store.Valid] != run.Done {
		t.Errorf("%d loads are done, by %v attempts, error %v", run.Done, attempts, err)
	}
}

func TestUIRefuses(t *testing.T) {
	t.Parallel()
	u := self(t)
	p := u.serveUI(t, filepath.Join(u.home, "kept"))
	taken := strings.TrimPrefix(p.address, "http://")
	for name, c := range map[string]struct {
		args  []string
		words string
	}{
		"a port that is taken":            {[]string{"--listen", taken}, "--listen"},
		"an address that others reach":    {[]string{"--listen", "0.0.0.0:0"}, "loopback"},
		"studies in no folder":            {[]string{"--studies", filepath.Join(u.home, "none")}, "--studies"},
		"a token that anyone might guess": {[]string{"--token-file", u.write(t, "guess", "1234")}, "token"},
	} {
		r := u.run(t, append([]string{"ui"}, c.args...)...)
		if r.code != exitInput || !strings.Contains(r.errors, c.words) {
			t.Errorf("%s: exit code %d, %s", name, r.code, r.errors)
		}
	}
}

// TestIdle: `wiretime ui` takes no processor time of a run while no page is open, and hardly any wake-up.
func TestIdle(t *testing.T) {
	t.Parallel()
	u := self(t)
	dir := filepath.Join(u.home, "kept")
	bigStore(t, dir, 8, 200, madeUp())
	p := u.serveUI(t, dir)
	p.ask("GET", "/api/runs/1", "", 200)
	http.DefaultClient.CloseIdleConnections()

	st, err := store.Open(dir, store.Write)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	run, err := st.BeginRun(again(t, st))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := st.Plan(run)
	if err != nil {
		t.Fatal(err)
	}
	was, switches := p.used()
	for _, planned := range plan {
		if err := st.Commit(store.LoadRecord{Planned: planned, Attempt: 1, Started: time.Now(), Wall: time.Millisecond, Validity: store.Valid, Values: map[string]float64{"plt": 1}}); err != nil {
			t.Fatal(err)
		}
	}
	now, later := p.used()
	t.Logf("while %d loads were kept, the server took %v of processor time in %d turns", len(plan), now-was, later-switches)
	// Go's runtime may wake by itself, for instance to collect garbage every two minutes.
	if now-was > 20*time.Millisecond || later-switches > 50 {
		t.Errorf("the server took %v of processor time in %d turns while nobody looked", now-was, later-switches)
	}
}

// again is the run of a made-up store once more.
func again(t *testing.T, st *store.Store) store.RunSpec {
	t.Helper()
	cells, err := st.Cells(1)
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := st.Metrics(1)
	if err != nil {
		t.Fatal(err)
	}
	spec := store.RunSpec{StudyName: "again", StudyText: "name: again\n", Environment: json.RawMessage(`{}`), Started: time.Now(), Metrics: metrics, Cells: cells}
	for i := range 200 {
		spec.Plan = append(spec.Plan, study.PlannedLoad{Cell: cells[i%len(cells)], Repeat: i / len(cells)})
	}
	return spec
}

// used returns how much processor time the server has used, and how often it was given a processor (proc(5), schedstat).
func (p *pageServer) used() (taken time.Duration, turns int) {
	p.t.Helper()
	threads, err := filepath.Glob("/proc/" + strconv.Itoa(p.Process.Pid) + "/task/*/schedstat")
	if err != nil || len(threads) == 0 {
		p.t.Fatalf("find the server's threads: %v", errors.Join(err, os.ErrNotExist))
	}
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if err != nil {
			p.t.Fatal(err)
		}
		var ran, waited, times int64
		if _, err := fmt.Sscan(string(text), &ran, &waited, &times); err != nil {
			p.t.Fatal(err)
		}
		taken += time.Duration(ran)
		turns += int(times)
	}
	return taken, turns
}
