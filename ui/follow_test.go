package ui

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"wiretime/store"
)

// watchdog is how long a test waits for what must come.
const watchdog = 60 * time.Second

// listener is a page that follows.
type listener struct {
	t      *testing.T
	events chan [2]string // name and data
	hangUp context.CancelFunc
}

// listen follows the run, 0 for the one that the server chooses.
func (p *live) listen(t *testing.T, query string) *listener {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), watchdog)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.host+"/api/events"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if got.StatusCode != 200 || got.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("following: status %d, headers %v", got.StatusCode, got.Header)
	}
	l := &listener{t, make(chan [2]string, 1000), cancel}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(l.events)
		lines := bufio.NewScanner(got.Body)
		lines.Buffer(nil, 1<<20)
		name := ""
		for lines.Scan() {
			if n, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				name = n
			}
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				l.events <- [2]string{name, data}
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		_ = got.Body.Close()
	})
	return l
}

// until waits for an event that is enough.
func (l *listener) until(what string, enough func(name, data string) bool) {
	l.t.Helper()
	for e := range l.events {
		if enough(e[0], e[1]) {
			return
		}
	}
	l.t.Fatalf("the events ended before one of them told of %s", what)
}

// progress waits for a progress that is enough.
func (l *listener) progress(what string, enough func(progress) bool) (last progress) {
	l.t.Helper()
	l.until(what, func(name, data string) bool {
		if name != "progress" {
			return false
		}
		last = progress{}
		if err := json.Unmarshal([]byte(data), &last); err != nil {
			l.t.Errorf("progress %s: %v", data, err)
		}
		return enough(last)
	})
	return last
}

// state waits for a state that is enough.
func (l *listener) state(what string, enough func(stateAnswer) bool) {
	l.t.Helper()
	l.until(what, func(name, data string) bool {
		if name != "state" {
			return false
		}
		var last stateAnswer
		if err := json.Unmarshal([]byte(data), &last); err != nil {
			l.t.Errorf("state %s: %v", data, err)
		}
		return enough(last)
	})
}

// TestFollow follows a run from before its store is there until it is done.
func TestFollow(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results", "store")
	s := shop{dir, 7}
	p := serve(t, dir, t.TempDir())
	l := p.listen(t, "")
	l.state("a store that is missing", func(s stateAnswer) bool { return s.Problem != "" && s.Running == nil })

	st := s.open(t)
	l.state("a writer", func(s stateAnswer) bool {
		return s.Problem == "" && s.Running != nil && !s.Running.Own && s.Running.Pid == os.Getpid()
	})
	run, err := st.BeginRun(s.spec())
	if err != nil {
		t.Fatal(err)
	}
	l.progress("a run that begins", func(p progress) bool { return p.Run == run && p.Planned == 28 && p.Done == 0 && p.Left == nil })
	pending, err := st.Pending(run)
	if err != nil {
		t.Fatal(err)
	}
	for _, planned := range pending[:14] {
		s.keep(t, st, planned)
	}
	half := l.progress("half of the loads", func(p progress) bool { return p.Done == 14 })
	if half.Left == nil || *half.Left <= 0 || half.Since.IsZero() || half.Valid != 12 || half.Invalid != 4 || half.Failed != 2 || half.Attempts != 18 || half.Late.Loads != 4 || half.Late.Worst != 40 {
		t.Errorf("half of the run is %+v", half)
	}
	if last := half.Last[0]; len(half.Last) != 18 || last.ID != "r1-0013-a1" || last.Cell != 1 || last.Label != "h3" || last.Validity != "failed" || !strings.Contains(last.Reason, "<script>") {
		t.Errorf("the last load of %d is %+v", len(half.Last), last)
	}
	if first := half.Last[len(half.Last)-1]; first.Metric != "onload" || *first.Value != 100 || *first.Late != 0.5 {
		t.Errorf("the first load is %+v", first)
	}
	if err := st.Close(); err != nil { // it was interrupted
		t.Fatal(err)
	}
	l.state("a run that can be resumed", func(s stateAnswer) bool {
		return s.Running == nil && s.Resumable != nil && s.Resumable.Done == 14 && s.Resumable.Planned == 28
	})

	st = s.open(t)
	for _, planned := range pending[14:] {
		s.keep(t, st, planned)
	}
	if err := st.FinishRun(run, time.Now()); err != nil {
		t.Fatal(err)
	}
	l.until("another list of runs", func(name, _ string) bool { return name == "runs" })
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	l.state("a run that is done", func(s stateAnswer) bool { return s.Running == nil && s.Resumable == nil })
	other := p.listen(t, "?run=1")
	if done := other.progress("the run as it is", func(p progress) bool { return true }); done.Done != 28 || done.Pending != 0 || done.Left != nil || len(done.Last) != shownLoads {
		t.Errorf("the run that is done is %+v", done)
	}
}

// TestWorkersOfACampaign: the progress of a campaign names its workers, which describe themselves as they like.
func TestWorkersOfACampaign(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s := shop{dir, 7}
	st := s.open(t)
	run, err := st.BeginRun(s.spec())
	if err != nil {
		t.Fatal(err)
	}
	pending, err := st.Pending(run)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []struct{ name, described string }{{"lab-2", `{"host": "two.lab"}`}, {"silent", `[1]`}} {
		if err := st.PutWorker(run, w.name, []byte(w.described)); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range pending[:3] {
		if err := st.Commit(store.LoadRecord{Planned: p, Attempt: 1, Started: time.Now(), Validity: store.Valid, Worker: "lab-2"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	p := serve(t, dir, t.TempDir())
	l := p.listen(t, "?run=1")
	got := l.progress("the workers", func(p progress) bool { return true })
	if want := []worker{{"lab-2", "two.lab", 3}, {"silent", "", 0}}; !slices.Equal(got.Workers, want) {
		t.Errorf("the workers are %+v, want %+v", got.Workers, want)
	}
}

// TestFollowStudies tells of study files that another program changes.
func TestFollowStudies(t *testing.T) {
	studies := t.TempDir()
	mustWrite(t, filepath.Join(studies, "old.yaml"), "name: old")
	p := serve(t, filepath.Join(t.TempDir(), "store"), studies)
	l := p.listen(t, "")
	l.state("the beginning", func(stateAnswer) bool { return true })
	change := func(what, name string, tagged bool) {
		t.Helper()
		l.until(what, func(event, data string) bool {
			var study struct{ Name, Tag string }
			return event == "study" && json.Unmarshal([]byte(data), &study) == nil && study.Name == name && (study.Tag != "") == tagged
		})
	}
	mustWrite(t, filepath.Join(studies, "notes.txt"), "not a study")
	mustWrite(t, filepath.Join(studies, "new.yaml"), "name: new")
	change("a new file", "new.yaml", true)
	mustWrite(t, filepath.Join(studies, "old.yaml"), "name: changed")
	change("a file that has changed", "old.yaml", true)
	if err := os.Remove(filepath.Join(studies, "old.yaml")); err != nil {
		t.Fatal(err)
	}
	change("a file that is gone", "old.yaml", false)
}

// TestWatchFoldersThatAppear: a folder that is made while the watcher looks for it is watched all the same.
func TestWatchFoldersThatAppear(t *testing.T) {
	top := t.TempDir()
	for i := range 100 {
		folder := filepath.Join(top, strconv.Itoa(i), "results", "store")
		ctx, stop := context.WithTimeout(t.Context(), watchdog)
		changed := make(chan struct{}, 1)
		done := make(chan error, 1)
		go func() { done <- watch(ctx, []string{folder}, func() { signal(changed) }) }()
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		for round := range 8 { // the making of the folders is told in fewer
			mustWrite(t, filepath.Join(folder, "file"), strconv.Itoa(round))
			select {
			case <-changed:
			case <-ctx.Done():
				t.Fatalf("folder %d: a change in it is not told", i)
			}
		}
		stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

// TestTooManyPages: the server follows for so many pages, and for another one after one has gone.
func TestTooManyPages(t *testing.T) {
	p := serve(t, filepath.Join(t.TempDir(), "store"), t.TempDir())
	var all []*listener
	for range mostPages {
		all = append(all, p.listen(t, ""))
	}
	p.ask("GET", "/api/events", "", http.StatusServiceUnavailable, nil)
	all[0].hangUp()
	for range all[0].events { // it ends when the server has noticed
	}
	deadline := time.Now().Add(watchdog)
	for p.follow.count() == mostPages {
		if time.Now().After(deadline) {
			t.Fatal("the server does not notice that a page has gone")
		}
		<-time.After(time.Millisecond)
	}
	p.listen(t, "")
}

// TestNothingIsReadWithoutPages: while nobody looks, what a writer does goes unnoticed; the processor time that a server takes is that of no
// instruction. TestIdle in cmd/wiretime measures it.
func TestNothingIsReadWithoutPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s := shop{dir, 7}
	p := serve(t, dir, t.TempDir())
	l := p.listen(t, "")
	l.state("the beginning", func(stateAnswer) bool { return true })
	l.hangUp()
	for range l.events {
	}
	deadline := time.Now().Add(watchdog)
	for p.follow.count() > 0 {
		if time.Now().After(deadline) {
			t.Fatal("the server does not notice that the page has gone")
		}
		<-time.After(time.Millisecond)
	}
	s.fill(t)
	if len(p.follow.poked) > 0 && p.stores.st != nil {
		t.Error("a store that nobody looks at was opened")
	}
	if p.stores.st != nil {
		t.Error("a store that nobody looks at was opened")
	}
}

// TestWriter finds the process that writes to a store, and none that only has the number of one.
func TestWriter(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	if pid := store.Writer(dir); pid != 0 {
		t.Errorf("process %d writes to a store that is not there", pid)
	}
	st := shop{dir: dir}.open(t)
	if pid := store.Writer(dir); pid != os.Getpid() {
		t.Errorf("process %d writes to the store, want this one, %d", pid, os.Getpid())
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if pid := store.Writer(dir); pid != 0 {
		t.Errorf("process %d writes to a store that was closed", pid)
	}
	mustWrite(t, filepath.Join(dir, "lock"), "1\n")
	if pid := store.Writer(dir); pid != 0 {
		t.Errorf("process %d writes to the store, by its lock file alone", pid)
	}
}
