package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"wiretime/counts"
	"wiretime/lab/emulator"
	"wiretime/panics"
	"wiretime/protocol"
	"wiretime/server"
	"wiretime/site"
	"wiretime/station"
	"wiretime/workload"
)

// initMark is the environment variable that marks a guest's first program: the kernel turns
// unknown words of its command line into environment variables. Its value is the phase.
const initMark = "WIRETIME_GUEST"

const (
	phaseBoot  = "boot"
	phaseTimed = "timed" // restarted so that all threads have exact timers
)

// These are the paths in a guest of the folder it shares with the host, and of the sites.
const (
	shared = "/shared"
	sites  = "/sites"
)

// Init runs a guest's first program. It returns at once in any other program, and never
// returns in a guest. Every program that boots guests must call it first in main (a test:
// in TestMain).
func Init() {
	phase := os.Getenv(initMark)
	if phase == "" || !first(os.Getpid(), emulator.WireDevice) {
		return
	}
	if phase == phaseBoot {
		if err := restart(); err != nil {
			fmt.Println("guest:", err)
			powerOff()
		}
	}
	_ = os.Unsetenv(initMark)
	if err := serve(); err != nil {
		fmt.Println("guest:", err)
	}
	powerOff()
}

// first reports whether this is the first process of a guest: what it does would mount over folders of any other machine
// and switch it off. Containers have a first process too, but no packet device, which only a guest's kernel has.
func first(pid int, device string) bool {
	info, err := os.Lstat(device)
	return pid == 1 && err == nil && info.Mode()&os.ModeCharDevice != 0
}

// restart executes this program again with timers that fire on time: PR_SET_TIMERSLACK is
// inherited by new threads and programs.
func restart() error {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("request exact timers: %w", err)
	}
	if err := mountDevices(); err != nil {
		return err
	}
	device, err := openDevice()
	if err != nil {
		return err
	}
	if err := begin(device, 0); err != nil { // before the program that runs the loads draws its first random number
		return err
	}
	if err := device.Close(); err != nil {
		return err
	}
	var memory unix.Sysinfo_t
	if err := unix.Sysinfo(&memory); err != nil {
		return fmt.Errorf("read the guest's memory size: %w", err)
	}
	environment := []string{initMark + "=" + phaseTimed, "GOMAXPROCS=1", "GOGC=800",
		fmt.Sprintf("GOMEMLIMIT=%d", memory.Totalram*uint64(memory.Unit)/2), // collect garbage rarely, but before memory runs out
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin", "HOME=/tmp",
		"QUIC_GO_DISABLE_GSO=1", "QUIC_GO_DISABLE_RECEIVE_BUFFER_WARNING=1", server.PeersVariable + "=" + peers}
	return fmt.Errorf("start again: %w", syscall.Exec("/init", []string{"wiretime"}, environment))
}

func powerOff() {
	unix.Sync()
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	select {}
}

// awaitTimers waits until timers fire on time. A freshly booted kernel checks them only at
// its ticks, every 10 ms, until the first tick.
func awaitTimers() { time.Sleep(50 * time.Millisecond) }

// serve runs the batch.
func serve() error {
	if err := mountAll(); err != nil {
		return err
	}
	awaitTimers()
	var batch settings
	if err := readJSON(stationFile, &batch); err != nil {
		return err
	}
	c := batch.Station
	if batch.Programs {
		if err := mountPrograms(); err != nil {
			return err
		}
	}
	// Each guest makes its own authority from its own random numbers: a lasting one would make
	// results depend on the store that keeps it.
	device, err := openDevice()
	if err != nil {
		return err
	}
	defer device.Close()
	if err := begin(device, 0); err != nil {
		return err
	}
	if c.Authority, err = protocol.OpenAuthority("/tmp/ca"); err != nil {
		return err
	}
	w := worker{config: c, count: batch.Count, device: device, sites: map[string]*site.Site{}}
	for place := 0; ; place++ {
		var l sentLoad
		err := readJSON(orderFile(place), &l)
		if errors.Is(err, fs.ErrNotExist) {
			return w.close()
		}
		if err == nil {
			err = w.load(context.Background(), l)
		}
		if err != nil {
			return err
		}
	}
}

func readJSON(name string, into any) error {
	text, err := os.ReadFile(filepath.Join(shared, name))
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("read the batch: %w", err)
	}
	return nil
}

// worker runs loads one after the other.
type worker struct {
	config  station.Config
	count   bool
	device  *os.File
	station *station.Station
	sites   map[string]*site.Site
}

// load runs one load and moves its folder into place. An error means that the guest is no
// longer usable.
func (w *worker) load(ctx context.Context, l sentLoad) error {
	part := filepath.Join(shared, outDir, l.ID+".part")
	if err := os.Mkdir(part, 0o755); err != nil {
		return fmt.Errorf("make a folder for load %s: %w", l.ID, err)
	}
	var record workload.Outcome
	failed := panics.Run(ctx, func(ctx context.Context) (err error) {
		record, err = w.run(ctx, l, part)
		return err
	}, giveUp)
	if errors.Is(failed, emulator.ErrEnded) {
		// With another emulator, later loads would come out slightly differently than in a guest that
		// nothing happened to.
		return fmt.Errorf("load %s: %w", l.ID, failed)
	}
	if failed != nil {
		failed = errors.Join(failed, panics.Do(w.close))
	}
	if err := writeOutcome(part, record, failed); err != nil {
		return err
	}
	if err := os.Rename(part, filepath.Join(shared, outDir, l.ID)); err != nil {
		return fmt.Errorf("publish the folder of load %s: %w", l.ID, err)
	}
	return nil
}

// giveUp ends a guest in which a load waits for ever after a panic. The console tells the host why.
func giveUp(p *panics.Panic) {
	fmt.Println("guest:", p.Report())
	powerOff()
}

func (w *worker) run(ctx context.Context, l sentLoad, dir string) (r workload.Outcome, err error) {
	page := w.sites[l.Site]
	if page == nil && l.Site != "" {
		if page, err = site.Open(filepath.Join(sites, l.Site)); err != nil {
			return nil, err
		}
		w.sites[l.Site] = page
	}
	if w.station == nil {
		if w.station, err = station.Open(ctx, w.config); err != nil {
			return nil, err
		}
	}
	if err := begin(w.device, l.Seed); err != nil {
		return nil, err
	}
	if !w.count {
		return l.Order.RunOn(ctx, w.station, page, dir)
	}
	before, err := counts.Read()
	if err != nil {
		return nil, err
	}
	if r, err = l.Order.RunOn(ctx, w.station, page, dir); err != nil {
		return nil, err
	}
	after, err := counts.Read()
	if err != nil {
		return nil, err
	}
	return r, leaveCounts(dir, before, after)
}

func (w *worker) close() error {
	if w.station == nil {
		return nil
	}
	s := w.station
	w.station = nil
	return s.Close()
}
