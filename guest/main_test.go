package guest

import (
	"context"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wiretime/capture"
	"wiretime/kernel"
	"wiretime/lab"
	"wiretime/network"
	"wiretime/site"
	"wiretime/station"
	"wiretime/workload"
	"wiretime/workload/pageload"
)

// These select what this test program does when it is started in another role.
const (
	// programMark is an environment variable that makes a guest's first program run one of
	// programs instead of a batch.
	programMark = "WIRETIME_TEST_PROGRAM"
	// These are the first argument after the restart for that role.
	pingsProgram     = "pings"     // pings_test.go
	comebacksProgram = "comebacks" // visits_test.go
	transfersProgram = "transfers" // transfer_test.go
	spinsProgram     = "spins"     // counts_test.go
	// browserSwitch is among the arguments when this program is started as a browser.
	browserSwitch = "--remote-debugging-pipe"
)

// programs are the roles of a guest besides batches.
var programs = map[string]func() error{pingsProgram: servePings, comebacksProgram: serveComebacks, transfersProgram: serveTransfers, spinsProgram: serveSpins}

func TestMain(m *testing.M) {
	if program := os.Getenv(programMark); os.Getpid() == 1 && program != "" {
		fmt.Println("guest:", restartFor(program))
		powerOff()
	}
	if program := programs[os.Args[0]]; program != nil {
		err := mountAll()
		if err == nil {
			awaitTimers()
			err = program()
		}
		if err != nil {
			fmt.Println("guest:", err)
		}
		powerOff()
	}
	Init()
	lab.Helper() // which starts real browsers
	if slices.Contains(os.Args, browserSwitch) {
		if err := os.WriteFile("/dev/console", []byte("spinning\n"), 0); err != nil {
			os.Exit(1)
		}
		for { //nolint:staticcheck // to spin is the point
		}
	}
	// A fuzzer's workers get files under the descriptors that Enter uses, and need no guest.
	fuzzes := slices.ContainsFunc(os.Args, func(arg string) bool { return strings.HasPrefix(arg, "-test.fuzz") })
	if fuzzes {
		os.Exit(m.Run())
	}
	if _, err := lab.Enter(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := hosts.close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// restartFor restarts the program for another role.
func restartFor(program string) error {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return err
	}
	return syscall.Exec("/init", []string{program}, []string{"GOMAXPROCS=1", "PATH=/usr/bin", "QUIC_GO_DISABLE_GSO=1", "QUIC_GO_DISABLE_RECEIVE_BUFFER_WARNING=1"})
}

// built is the kernel that boots in tests.
func built(t *testing.T) kernel.Kernel {
	t.Helper()
	k, err := kernel.Find()
	if err == nil {
		err = static()
	}
	if err == nil {
		return k
	}
	if os.Getenv("WIRETIME_NEED_KERNEL") != "" {
		t.Fatal(err)
	}
	t.Skipf("%v ('make kernel' builds the kernel)", err)
	return k
}

// static checks that this program can be a guest's first one.
func static() error {
	file, err := elf.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer file.Close()
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			return errors.New("this program needs shared libraries, which a guest does not have: build it with CGO_ENABLED=0")
		}
	}
	return nil
}

// hosts holds the host that tests share: each has a copy of this program.
var hosts shareable

type shareable struct {
	once sync.Once
	host *Host
	err  error
}

func (s *shareable) close() error {
	if s.host == nil {
		return nil
	}
	return s.host.Close()
}

// These are the sites of the tests' host.
const (
	tiny  = "objects@1x100B"
	small = "objects@10x5kB"
	large = "objects@20x1MB"
	many  = "magazine" // one resource of every kind, from three hosts
)

// host is the host that tests share.
func host(t *testing.T) *Host {
	t.Helper()
	k := built(t)
	hosts.once.Do(func() { hosts.host, hosts.err = newHost(k) })
	if hosts.err != nil {
		t.Fatal(hosts.err)
	}
	return hosts.host
}

func newHost(k kernel.Kernel) (*Host, error) {
	sites := map[string]*site.Site{}
	for _, reference := range []string{tiny, small, large, many} {
		s, err := site.Library{}.Open(context.Background(), reference)
		if err != nil {
			return nil, err
		}
		sites[reference] = s
	}
	return NewHost(k, sites)
}

// machine configures a guest for the built-in loader. A guest that shares a processor with
// computing programs can take a hundred times as long.
func machine(seed uint64) Machine {
	return Machine{Seed: seed, Memory: 128 << 20, CPU: 0, Limit: 5 * time.Minute}
}

// labConfig is a lab in virtual time with so many access links, for programs that
// are all in Go.
func labConfig(links int) lab.Config {
	return lab.Config{AccessLinks: links, InstantDNS: true, Virtual: true, Unblocked: true,
		TCPRmem: network.TCPRmem(), TCPWmem: network.TCPWmem()}
}

// cubic is Linux's default, named.
var cubic = lab.TCPOptions{Congestion: "cubic", InitCwnd: 10}

// order returns an order for a load by the built-in loader.
func order(protocol string, path network.Path, seed uint64) *pageload.Order {
	return &pageload.Order{Loader: pageload.Fetch, Protocol: protocol, Path: path, Seed: seed, TCP: cubic, Timeout: time.Minute}
}

// oneLink is a path with equal links up and down.
func oneLink(link network.Link) network.Path {
	return network.Path{Name: "one", Access: []network.Access{{Name: "access", Up: link, Down: link}}}
}

// inGuest runs a program in a guest: its input goes in as JSON in one file, its results
// come back in another. It returns the folder of both.
func inGuest(t *testing.T, program, in string, what any, out string, outcome any) string {
	t.Helper()
	h := host(t)
	dir, err := h.share(Batch{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	text, err := json.Marshal(what)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, sharedName, in), text, 0o644); err != nil {
		t.Fatal(err)
	}
	console, err := os.Create(filepath.Join(dir, "console"))
	if err != nil {
		t.Fatal(err)
	}
	defer console.Close()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Minute, errors.New("it did not end"))
	defer cancel()
	g, err := h.kernel.Boot(ctx, kernel.Machine{
		Root: filepath.Join(dir, rootName), Init: "/init", Memory: 128 << 20, Seed: 1, CPU: 0, Dir: dir, Console: console,
		Args: []string{programMark + "=" + program},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, sharedName, outDir)
	if text, err = os.ReadFile(filepath.Join(folder, out)); err != nil {
		t.Fatalf("%v; the guest said: %s", err, tail(console))
	}
	if err := json.Unmarshal(text, outcome); err != nil {
		t.Fatal(err)
	}
	return folder
}

// done is the result of a load in a guest.
type done struct {
	record workload.Outcome
	files  map[string][]byte // by name
}

// run runs a batch in a guest.
func run(t *testing.T, h *Host, m Machine, b Batch) map[string]done {
	t.Helper()
	loads, err := carryOut(t.Context(), h, m, b)
	if err != nil {
		t.Fatal(err)
	}
	return loads
}

func carryOut(ctx context.Context, h *Host, m Machine, b Batch) (map[string]done, error) {
	loads := map[string]done{}
	err := h.Run(ctx, m, b, func(r Result) error {
		if r.Failed != nil {
			return fmt.Errorf("load %s: %w", r.ID, r.Failed)
		}
		d := done{r.Record, map[string][]byte{}}
		entries, err := os.ReadDir(r.Dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if d.files[e.Name()], err = os.ReadFile(filepath.Join(r.Dir, e.Name())); err != nil {
				return err
			}
		}
		loads[r.ID] = d
		return nil
	})
	if err == nil && len(loads) != len(b.Loads) {
		err = fmt.Errorf("%d of %d loads came back", len(loads), len(b.Loads))
	}
	return loads, err
}

// packets reads a load's capture.
func (d done) packets(t *testing.T) *capture.Packets {
	t.Helper()
	return readCapture(t, d.files[lab.CaptureFile])
}

// text is a load's record as a guest writes it.
func (d done) text(t *testing.T) string {
	t.Helper()
	text, err := json.Marshal(d.record)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// stationConfig is a station with so many access links and without a browser.
func stationConfig(links int) station.Config { return station.Config{Lab: labConfig(links)} }

// name makes a file name of a protocol's.
func name(protocol string) string { return strings.ReplaceAll(protocol, "/", "-") }
