package guest

import (
	"cmp"
	"context"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"wiretime/artefact"
	"wiretime/kernel"
	"wiretime/lab"
	"wiretime/scratch"
	"wiretime/server"
	"wiretime/site"
	"wiretime/workload"
	"wiretime/workload/workloads"
)

// Host holds what the guests of a run share. It is safe for concurrent use.
type Host struct {
	kernel kernel.Kernel
	folder *scratch.Folder
	dir    string            // of folder
	sites  map[string]string // reference -> name of its folder

	mu     sync.Mutex
	booted int
}

// NewHost prepares guests that run the kernel k and load these sites, keyed by the
// references that loads use. It copies this program and the sites into a folder in memory.
func NewHost(k kernel.Kernel, sites map[string]*site.Site) (*Host, error) {
	folder, err := scratch.Make(memoryDir(), "wiretime-guests-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for guests: %w", err)
	}
	h := &Host{kernel: k, folder: folder, dir: folder.Path, sites: map[string]string{}}
	if err := h.fill(sites); err != nil {
		return nil, errors.Join(fmt.Errorf("prepare guests: %w", err), h.Close())
	}
	return h, nil
}

// memoryDir returns the folder for files of running guests.
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
			target = real // hostfs follows only one link, and /opt may be a link itself
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

// copyProgram copies this program to be the guests' first one. Guests have no dynamic
// linker.
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
		return errors.New("this program is linked dynamically, but guests have no libraries: build it with CGO_ENABLED=0, as 'make build' does")
	}
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, from)
	return errors.Join(err, target.Close())
}

// Close removes what the guests shared. No guest may be running.
func (h *Host) Close() error { return h.folder.Remove() }

// Machine configures a guest.
type Machine struct {
	Seed   uint64 // seed of the randomness while the guest boots; loads have their own
	Memory int64  // bytes
	CPU    int    // which of the cores that this program may use the guest is pinned to, from 0
	// Limit is how long the guest may take for one load in real time; booting counts towards
	// the first.
	Limit time.Duration
}

// Lost is the error of a guest that ended before its batch was done.
type Lost struct {
	Load    string // the load that was running
	Cause   error
	Console string // the console's last lines, if Cause does not include them
}

func (l *Lost) Error() string {
	said := ""
	if l.Console != "" {
		said = "; its last words: " + l.Console
	}
	return fmt.Sprintf("the guest was lost at load %s: %v%s", l.Load, l.Cause, said)
}

func (l *Lost) Unwrap() error { return l.Cause }

// Result is the result of a load in a guest.
type Result struct {
	ID     string
	Dir    string           // the load's artefacts; removed when the batch is done
	Record workload.Outcome // nil if the station failed
	Failed error            // why the station failed
}

// Run boots a guest for a batch, waits until the batch is done, and ends the guest. It
// passes each finished load to done, in order, while the guest continues. If a guest hangs
// or ends early, the error is a *Lost; loads that it has finished count.
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
		Root: filepath.Join(dir, rootName), Init: "/init", Memory: m.Memory, Seed: m.Seed, CPU: m.CPU, Dir: dir, Console: console, Read: readable(dir),
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
		_ = g.Wait() // the cause of its end is known by now, or irrelevant
	}()

	c := collector{dir: dir, loads: b.Loads}
	if c.root, err = os.OpenRoot(dir); err != nil {
		return fmt.Errorf("prepare a guest: %w", err)
	}
	defer c.root.Close()
	c.done = func(r Result) error {
		if err := done(r); err != nil || c.next == len(c.loads)-1 {
			return err
		}
		return context.Cause(ctx) // the guest may have done more than is still needed
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
				return err // nil: the batch is done, and how the guest ends is irrelevant
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
			return &Lost{Load: c.loads[c.next].ID, Cause: fmt.Errorf("timed out after %v of real time; an endless script of the page can cause this, since virtual time stands still while a program computes", m.Limit), Console: tail(console)}
		} else if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
	}
	return nil // how the guest ends is irrelevant by now
}

// readable lists what a guest may read of the host: what the links of its folder lead to, and of /etc only what
// programs in guests get.
func readable(dir string) []string {
	var files []string
	for _, name := range []string{rootName, sitesName, usrName, optName, peersName} {
		files = append(files, filepath.Join(dir, name))
	}
	for _, name := range configuration {
		files = append(files, filepath.Join(hostFolders[etcName], name))
	}
	return files
}

// share makes the folder that a guest can access.
func (h *Host) share(b Batch) (dir string, err error) {
	h.mu.Lock()
	h.booted++
	made := filepath.Join(cmp.Or(b.Disk, h.dir), fmt.Sprintf("guest-%d", h.booted))
	dir = made
	h.mu.Unlock()
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(made))
		}
	}()
	if err := os.MkdirAll(filepath.Join(dir, sharedName, outDir), 0o755); err != nil {
		return "", err
	}
	// Links must be absolute: hostfs does not resolve relative ones.
	links := maps.Clone(hostFolders)
	if folder, err := server.PeersFolder(); err == nil {
		links[peersName] = folder
	}
	links[rootName], links[sitesName] = filepath.Join(h.dir, rootName), filepath.Join(h.dir, sitesName)
	for name, target := range links {
		if real, err := filepath.EvalSymlinks(target); err == nil {
			target = real // hostfs follows only one link, and /opt may be a link itself
		}
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			return "", err
		}
	}
	for _, name := range []string{optName, peersName} { // a host may lack these, which must make no difference to guests
		if !exists(filepath.Join(dir, name)) {
			_ = os.Remove(filepath.Join(dir, name)) // a dangling link
			if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
				return "", err
			}
		}
	}
	if err := writeJSON(filepath.Join(dir, sharedName, stationFile), settings{b.Station, b.Programs, b.Count}); err != nil {
		return "", err
	}
	for i, l := range b.Loads {
		sent := sentLoad{ID: l.ID, Seed: l.Seed, Order: workloads.Order{Order: l.Order}}
		if l.Site != "" {
			name, ok := h.sites[l.Site]
			if !ok {
				return "", fmt.Errorf("load %s: this host was not prepared for site %s", l.ID, l.Site)
			}
			sent.Site = name
		}
		if err := writeJSON(filepath.Join(dir, sharedName, orderFile(i)), sent); err != nil {
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

// collector passes on finished loads in order. What a guest leaves is foreign: a page may have taken the guest over.
type collector struct {
	dir   string   // of the guest
	root  *os.Root // the same, which no link leads out of
	loads []Load
	next  int
	done  func(Result) error
}

func (c *collector) collect() error {
	for ; c.next < len(c.loads); c.next++ {
		r := Result{ID: c.loads[c.next].ID}
		left, taken := path.Join(sharedName, outDir, r.ID), "taken-"+r.ID
		if _, err := c.root.Lstat(left); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		// Where the guest cannot reach it, nothing in the folder can become something else once it was checked.
		r.Dir = filepath.Join(c.dir, taken)
		if r.Failed = c.root.Rename(left, taken); r.Failed == nil {
			r.Record, r.Failed = take(r.Dir, c.loads[c.next].Order.Workload())
		}
		if r.Failed != nil {
			r.Record = nil
		}
		if err := c.done(r); err != nil {
			return err
		}
		if err := os.RemoveAll(r.Dir); err != nil {
			return fmt.Errorf("remove the leftovers of a guest: %w", err)
		}
	}
	return nil
}

// take reads what a load of a workload has left in a folder. Whatever is wrong with it is a failure of that load.
func take(dir string, sent workload.Workload) (workload.Outcome, error) {
	if err := checkLeft(dir); err != nil {
		return nil, fmt.Errorf("take what a guest left: %w", err)
	}
	if err := takeCounts(dir); err != nil {
		return nil, fmt.Errorf("take the counts that a guest left: %w", err)
	}
	return readOutcome(dir, sent)
}

// Limits of what a load may leave: how many files, and how many octets its capture may have. Other files may have as
// many as artefacts may.
const (
	mostFiles      = 1000
	largestCapture = 64 << 30
)

// checkLeft makes sure that a load left nothing but plain files within the limits.
func checkLeft(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%w: %s is not a folder", artefact.ErrUnfit, filepath.Base(dir))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	folder, err := root.Open(".")
	if err != nil {
		return err
	}
	defer folder.Close()
	names, err := folder.Readdirnames(mostFiles + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if len(names) > mostFiles {
		return fmt.Errorf("%w: more than %d files", artefact.ErrUnfit, mostFiles)
	}
	for _, name := range names {
		file, err := artefact.OpenIn(root, name)
		if err != nil {
			return err
		}
		info, err := file.Stat()
		if err = errors.Join(err, file.Close()); err != nil {
			return err
		}
		most := int64(artefact.Largest)
		if name == lab.CaptureFile {
			most = largestCapture
		}
		if info.Size() > most {
			return fmt.Errorf("%w: %s has %d octets, more than %d", artefact.ErrUnfit, name, info.Size(), most)
		}
	}
	return nil
}

// watch opens a file that becomes readable whenever a folder is moved into dir.
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

// tail returns the end of the guest's console.
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
		if !kernel.Routine(line) {
			said.WriteString(line)
		}
	}
	return strings.TrimSpace(said.String())
}
