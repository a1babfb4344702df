package guest

import (
	"context"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"wiretime/kernel"
	"wiretime/lab"
	"wiretime/server"
	"wiretime/site"
)

// Host is what the guests of a run have in common. It is safe for concurrent
// use.
type Host struct {
	kernel kernel.Kernel
	dir    string
	sites  map[string]string // reference -> name of its folder

	mu     sync.Mutex
	booted int
}

// NewHost prepares for guests that run the kernel k and load these sites, by the
// reference that loads use. It copies this program and the sites into a folder in
// memory.
func NewHost(k kernel.Kernel, sites map[string]*site.Site) (*Host, error) {
	dir, err := os.MkdirTemp(memoryDir(), "wiretime-guests-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for guests: %w", err)
	}
	h := &Host{kernel: k, dir: dir, sites: map[string]string{}}
	if err := h.fill(sites); err != nil {
		return nil, errors.Join(fmt.Errorf("prepare for guests: %w", err), h.Close())
	}
	return h, nil
}

// memoryDir is where files of guests are kept while they run.
func memoryDir() string {
	if unix.Access("/dev/shm", unix.W_OK|unix.X_OK) == nil {
		return "/dev/shm"
	}
	return os.TempDir()
}

func (h *Host) fill(sites map[string]*site.Site) error {
	root := filepath.Join(h.dir, rootName)
	if err := os.Mkdir(root, 0o755); err != nil {
		return err
	}
	for _, f := range folders {
		if err := os.Mkdir(filepath.Join(root, f), 0o755); err != nil {
			return err
		}
	}
	for name, target := range links {
		if real, err := filepath.EvalSymlinks(target); err == nil {
			target = real // hostfs follows the one link alone, and /opt may be another
		}
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			return err
		}
	}
	if err := copyProgram(filepath.Join(root, "init")); err != nil {
		return fmt.Errorf("copy this program: %w", err)
	}
	if err := os.Mkdir(filepath.Join(h.dir, sitesName), 0o755); err != nil {
		return err
	}
	for reference, s := range sites {
		name := strconv.Itoa(len(h.sites))
		if err := s.Save(filepath.Join(h.dir, sitesName, name)); err != nil {
			return err
		}
		h.sites[reference] = name
	}
	return nil
}

// copyProgram copies this program to be the first of guests, where there is no
// dynamic linker.
func copyProgram(to string) error {
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer from.Close()
	program, err := elf.NewFile(from)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(program.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return errors.New("it is linked dynamically, and a guest has no libraries for it: build it with CGO_ENABLED=0, as 'make build' does")
	}
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, from)
	return errors.Join(err, target.Close())
}

// Close removes what guests had in common. None may be running.
func (h *Host) Close() error { return os.RemoveAll(h.dir) }

// Machine is what a guest is given.
type Machine struct {
	Seed   uint64 // of everything random in the guest but the paths
	Memory int64  // bytes
	CPU    int    // the core it is bound to
	// Limit is how long, in real time, the guest may take for one load; booting
	// counts with the first.
	Limit time.Duration
}

// Lost says that a guest ended before it had done its batch.
type Lost struct {
	Load    string // the load it was at
	Cause   error
	Console string // its last lines, if Cause does not give them
}

func (l *Lost) Error() string {
	said := ""
	if l.Console != "" {
		said = "; its last words: " + l.Console
	}
	return fmt.Sprintf("the guest was lost at load %s: %v%s", l.Load, l.Cause, said)
}

func (l *Lost) Unwrap() error { return l.Cause }

// Result is a load that a guest has done.
type Result struct {
	ID     string
	Dir    string      // the load's artefacts; removed when the batch is done
	Record *lab.Record // nil if the station failed
	Failed error       // why the station failed
}

// Run boots a guest for a batch, waits until it has done it, and ends it. done is told of
// each load, in their order, while the guest goes on. A guest that is stuck, or
// ends early, is an error of type *Lost; loads that it has done count.
func (h *Host) Run(ctx context.Context, m Machine, b Batch, done func(Result) error) (err error) {
	dir, err := h.share(b)
	if err != nil {
		return fmt.Errorf("prepare a guest: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	console, err := os.Create(filepath.Join(dir, "console"))
	if err != nil {
		return fmt.Errorf("prepare a guest: %w", err)
	}
	defer console.Close()
	arrivals, err := watch(filepath.Join(dir, sharedName, outDir))
	if err != nil {
		return fmt.Errorf("watch a guest: %w", err)
	}
	defer arrivals.Close()

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	g, err := h.kernel.Boot(ctx, kernel.Machine{
		Root: filepath.Join(dir, rootName), Init: "/init", Memory: m.Memory, Seed: m.Seed, CPU: m.CPU, Dir: dir, Console: console,
		Args: []string{initMark + "=" + phaseBoot},
	})
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		ended <- g.Wait()
		_ = arrivals.SetReadDeadline(time.Now()) // nothing more will arrive
	}()
	defer func() {
		g.Kill()
		_ = g.Wait() // how it ended is known by now, or does not matter
	}()

	c := collector{dir: filepath.Join(dir, sharedName, outDir), loads: b.Loads}
	c.done = func(r Result) error {
		if err := done(r); err != nil || c.next == len(c.loads)-1 {
			return err
		}
		return context.Cause(ctx) // a guest may have done more than what is still wanted
	}
	for c.next < len(c.loads) {
		if err := arrivals.SetReadDeadline(time.Now().Add(m.Limit)); err != nil {
			return err
		}
		if err := c.collect(); err != nil {
			return err
		}
		if c.next == len(c.loads) {
			break
		}
		select {
		case err := <-ended:
			if err := c.collect(); err != nil || c.next == len(c.loads) {
				return err // nil: it has done its batch, and how it ends is of no interest
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				return &Lost{Load: c.loads[c.next].ID, Cause: err}
			}
			return &Lost{Load: c.loads[c.next].ID, Cause: errors.New("it powered off early"), Console: tail(console)}
		default:
		}
		if err := awaitArrival(arrivals); errors.Is(err, os.ErrDeadlineExceeded) && len(ended) == 0 {
			return &Lost{Load: c.loads[c.next].ID, Cause: fmt.Errorf("it had not done it after %v of real time; a script of the page that never ends does that, since no time passes on the virtual clock while something computes", m.Limit), Console: tail(console)}
		} else if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
	}
	return nil // how it ends is of no interest any more
}

// share makes the folder that a guest sees.
func (h *Host) share(b Batch) (string, error) {
	h.mu.Lock()
	h.booted++
	dir := filepath.Join(h.dir, fmt.Sprintf("guest-%d", h.booted))
	h.mu.Unlock()
	if err := os.MkdirAll(filepath.Join(dir, sharedName, outDir), 0o755); err != nil {
		return "", err
	}
	// Absolute ones: hostfs loses its way at a relative one.
	links := maps.Clone(hostFolders)
	if folder, err := server.PeersFolder(); err == nil {
		links[peersName] = folder
	}
	links[rootName], links[sitesName] = filepath.Join(h.dir, rootName), filepath.Join(h.dir, sitesName)
	for name, target := range links {
		if real, err := filepath.EvalSymlinks(target); err == nil {
			target = real // hostfs follows the one link alone, and /opt may be another
		}
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			return "", err
		}
	}
	for _, name := range []string{optName, peersName} { // a host may lack these, and guests are to see no difference
		if !exists(filepath.Join(dir, name)) {
			_ = os.Remove(filepath.Join(dir, name)) // a link that leads nowhere
			if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
				return "", err
			}
		}
	}
	if err := writeJSON(filepath.Join(dir, sharedName, stationFile), settings{b.Station, b.Programs}); err != nil {
		return "", err
	}
	for i, l := range b.Loads {
		if l.Order.Stream == nil {
			name, ok := h.sites[l.Site]
			if !ok {
				return "", fmt.Errorf("site %s of load %s is not among those of this host", l.Site, l.ID)
			}
			l.Site = name
		}
		if err := writeJSON(filepath.Join(dir, sharedName, orderFile(i)), l); err != nil {
			return "", err
		}
	}
	return dir, nil
}

func writeJSON(name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o644)
}

// collector hands on the loads that have been put in place, in order.
type collector struct {
	dir   string
	loads []Load
	next  int
	done  func(Result) error
}

func (c *collector) collect() error {
	for ; c.next < len(c.loads); c.next++ {
		r := Result{ID: c.loads[c.next].ID}
		r.Dir = filepath.Join(c.dir, r.ID)
		if !exists(r.Dir) {
			return nil
		}
		var failed *StationError
		var err error
		if r.Record, err = readRecord(r.Dir); errors.As(err, &failed) {
			r.Failed = failed
		} else if err != nil {
			return err
		}
		if err := c.done(r); err != nil {
			return err
		}
		if err := os.RemoveAll(r.Dir); err != nil {
			return fmt.Errorf("remove what a guest has left: %w", err)
		}
	}
	return nil
}

// watch opens a file from which something can be read whenever a folder has been
// put in place in dir.
func watch(dir string) (*os.File, error) {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return nil, err
	}
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_MOVED_TO); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("watch %s: %w", dir, err)
	}
	return os.NewFile(uintptr(fd), "inotify"), nil
}

func awaitArrival(arrivals *os.File) error {
	var events [4096]byte
	_, err := arrivals.Read(events[:])
	return err
}

// tail is the end of what the guest said.
func tail(console *os.File) string {
	const most = 1500
	info, err := console.Stat()
	if err != nil {
		return ""
	}
	text := make([]byte, most)
	n, _ := console.ReadAt(text, max(0, info.Size()-most))
	var said strings.Builder
	for line := range strings.Lines(string(text[:n])) {
		if !strings.Contains(line, "setup_one_line failed") { // Linux, of each terminal that it is not to have
			said.WriteString(line)
		}
	}
	return strings.TrimSpace(said.String())
}
