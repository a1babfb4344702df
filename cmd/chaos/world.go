package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// These are the folders of the world, all in memory.
const (
	top      = "/tmp/chaos"
	diskSize = 512 << 20 // octets, for stores
)

// world is what the programs under test live in.
type world struct {
	options
	random  *rand.Rand
	began   time.Time
	mounts  string   // the namespace's mounts at the beginning
	counts  tally    // what was done, and what came of it
	unsound []string // what did not survive
	tracks  []*track // of programs that ran for more than a minute
	server  *program // the one that lasts, or nil before it starts
	asked   atomic.Int64

	unanswered atomic.Int64 // although the client was not killed
}

// newWorld mounts the folders and puts the program under test there.
func newWorld(o options) (*world, error) {
	program, err := os.ReadFile(o.wiretime)
	if err != nil {
		return nil, fmt.Errorf("read the program under test: %w (make build)", err)
	}
	cache, err := os.UserCacheDir() // the kernel of the virtual clock is there
	if err != nil {
		return nil, fmt.Errorf("find the user's cache folder: %w", err)
	}
	if err := unix.Mount("chaos", "/tmp", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777"); err != nil {
		return nil, fmt.Errorf("mount a /tmp of its own: %w", err)
	}
	w := &world{options: o, random: rand.New(rand.NewPCG(o.seed, 0)), began: time.Now(), counts: tally{}}
	for _, name := range []string{"disk", "home", "tmp", "site"} {
		if err := os.MkdirAll(w.path(name), 0o755); err != nil {
			return nil, err
		}
	}
	if err := unix.Mount("disk", w.path("disk"), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("size=%d", diskSize)); err != nil {
		return nil, fmt.Errorf("mount a small disk: %w", err)
	}
	if err := os.WriteFile(w.path("wiretime"), program, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(w.path("site", "file"), bytes.Repeat([]byte("chaos "), 10000), 0o644); err != nil {
		return nil, err
	}
	for name, value := range map[string]string{"HOME": w.path("home"), "TMPDIR": w.path("tmp"), "XDG_CACHE_HOME": cache} {
		if err := os.Setenv(name, value); err != nil {
			return nil, err
		}
	}
	text, err := os.ReadFile("/proc/self/mountinfo")
	w.mounts = string(text)
	return w, err
}

func (w *world) path(elem ...string) string {
	return filepath.Join(append([]string{top}, elem...)...)
}

// say prints a line of progress.
func (w *world) say(format string, values ...any) {
	fmt.Printf("%7s  %s\n", time.Since(w.began).Round(time.Second), fmt.Sprintf(format, values...))
}

// wrong notes something that did not survive.
func (w *world) wrong(format string, values ...any) {
	text := fmt.Sprintf(format, values...)
	w.unsound = append(w.unsound, text)
	w.say("WRONG: %s", text)
}

// program is a program under test that has been started.
type program struct {
	*exec.Cmd
	said  *lastWords // the end of its output
	ended chan struct{}
}

// start starts wiretime in a process group of its own. The harm that is done to it follows from the
// world's seed alone, as far as programs can be predicted.
func (w *world) start(args ...string) (*program, error) {
	p := &program{Cmd: exec.Command(w.path("wiretime"), args...), said: &lastWords{}, ended: make(chan struct{})}
	p.Dir, p.Stdout, p.Stderr = w.path("home"), p.said, p.said
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	p.WaitDelay = patience // for descendants that still have its output
	if err := p.Start(); err != nil {
		return nil, fmt.Errorf("start the program under test: %w", err)
	}
	go func() {
		_ = p.Wait() // ProcessState has its end
		close(p.ended)
	}()
	return p, nil
}

// lastWords keeps the end of a program's output.
type lastWords struct {
	mu   sync.Mutex
	text []byte
}

// Write keeps the latest output and drops older.
func (l *lastWords) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, b...)
	if extra := len(l.text) - 2000; extra > 0 {
		l.text = append(l.text[:0], l.text[extra:]...)
	}
	return len(b), nil
}

func (l *lastWords) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}

// code is the program's exit code, or -1 for one that was killed.
func (p *program) code() int { return p.ProcessState.ExitCode() }

// lastLine is the last line that the program said.
func (p *program) lastLine() string {
	lines := strings.Split(strings.TrimSpace(p.said.String()), "\n")
	return lines[len(lines)-1]
}

// patience is how long processes may take to end once they have been killed, and a whole run once it
// is left alone.
const patience = 20 * time.Second

// settle waits until no descendants but those of the spared programs are left, and notes those that
// do not end.
func (w *world) settle(spared ...*program) {
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		left := w.strays(spared)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			for _, p := range left {
				w.wrong("process %d (%s, state %s) outlived its run", p.id, p.command, p.state)
				_ = syscall.Kill(p.id, syscall.SIGKILL)
			}
			return
		}
	}
}

// strays reaps what has ended, and lists the descendants that belong to no spared program.
func (w *world) strays(spared []*program) (left []proc) {
	all := processes()
	for _, p := range all.below(os.Getpid()) {
		if slices.ContainsFunc(spared, func(s *program) bool { return p.id == s.Process.Pid || all.isBelow(p.id, s.Process.Pid) }) {
			continue
		}
		if p.state == "Z" && p.parent == os.Getpid() {
			_, _ = unix.Wait4(p.id, nil, unix.WNOHANG, nil) // an orphan that has ended
			continue
		}
		left = append(left, p)
	}
	return left
}

// leftovers notes the files, shared memory and mounts that are left when no program under test runs.
func (w *world) leftovers() {
	for _, place := range []struct {
		dir  string
		ours []string
	}{
		{"/tmp", []string{"chaos"}}, {w.path("tmp"), nil}, {"/dev/shm", []string{"wiretime"}}, {"/dev/shm/wiretime", nil}, {w.path("disk"), nil},
		{w.path("home"), []string{".cache", ".config", ".local", "study.yaml"}}, {w.path(), []string{"disk", "home", "site", "tmp", "wiretime"}},
	} {
		entries, err := os.ReadDir(place.dir)
		if err != nil {
			w.wrong("%v", err)
		}
		for _, e := range entries {
			if !slices.Contains(place.ours, e.Name()) {
				w.wrong("%s is left", filepath.Join(place.dir, e.Name()))
			}
		}
	}
	hidden := 0
	err := filepath.WalkDir(w.path("home"), func(_ string, e fs.DirEntry, err error) error {
		if err == nil && (strings.HasPrefix(e.Name(), ".unfinished-") || strings.HasPrefix(e.Name(), ".ca-") || strings.HasSuffix(e.Name(), ".tmp")) {
			hidden++
		}
		return err
	})
	if err != nil || hidden > 0 {
		w.wrong("%d unfinished files are left in the home folder (error %v)", hidden, err)
	}
	if text, err := os.ReadFile("/proc/self/mountinfo"); err != nil || string(text) != w.mounts {
		w.wrong("mounts are left (error %v):\n%s", err, text)
	}
}

// finish runs each verb that makes temporary files once more, undisturbed, and checks that nothing is left.
func (w *world) finish() {
	for _, args := range [][]string{{"stream", "--clock", "virtual", "--for", "1s"}, {"stream", "--for", "1s"}} {
		if err := w.undisturbed(context.Background(), args...); err != nil {
			w.wrong("%v", err)
		}
	}
	w.settle()
	w.leftovers()
	for _, t := range w.tracks {
		if why := t.grown(); why != "" {
			w.wrong("%s: %s", t.name, why)
		}
	}
}

// undisturbed runs wiretime to its end.
func (w *world) undisturbed(ctx context.Context, args ...string) error {
	p, err := w.start(args...)
	if err != nil {
		return err
	}
	select {
	case <-p.ended:
	case <-ctx.Done():
		_ = p.Process.Kill()
		<-p.ended
		return context.Cause(ctx)
	}
	if p.code() != 0 {
		return fmt.Errorf("wiretime %s: exit code %d: %s", strings.Join(args, " "), p.code(), p.lastLine())
	}
	return nil
}
