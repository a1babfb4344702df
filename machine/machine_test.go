package machine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"wiretime/needtest"

	"golang.org/x/sys/unix"
)

// TestMain lets this program be the processes that keep processors awake and that count system calls.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == AwakeCommand {
		if err := AwakeMain(); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 1 && os.Args[1] == CallsCommand {
		if err := CallsMain(os.Args[2:]); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 1 && os.Args[1] == forbiddenCommand {
		withoutSchedIdle()
	}
	os.Exit(m.Run())
}

func TestTicks(t *testing.T) {
	const stat = "cpu  30 3 300 3000 30 0 0 9 0 0\n" +
		"cpu0 10 1 100 1000 10 0 0 3 0 0\n" +
		"cpu1 20 2 200 2000 20 0 0 6 0 0\n" +
		"intr 1 2 3\n"
	later := strings.Replace(stat, "cpu1 20 2 200 2000 20 0 0 6", "cpu1 20 2 200 2100 25 0 0 13", 1)
	both := func(int) bool { return true }
	for _, c := range []struct {
		name   string
		wanted func(int) bool
		unused time.Duration
		steal  time.Duration
	}{
		{"all processors", both, 1050 * time.Millisecond, 70 * time.Millisecond},
		{"an idle processor", func(cpu int) bool { return cpu == 0 }, 0, 0},
		{"a processor that does not exist", func(cpu int) bool { return cpu == 7 }, 0, -1},
	} {
		before, after := parseTicks(stat, c.wanted), parseTicks(later, c.wanted)
		if got := after.unusedSince(before); got != c.unused {
			t.Errorf("%s: %v unused, want %v", c.name, got, c.unused)
		}
		if got := after.stealSince(before); got != c.steal && !(c.steal < 0 && got < 0) {
			t.Errorf("%s: %v of steal, want %v", c.name, got, c.steal)
		}
	}
	for name, text := range map[string]string{
		"nothing":        "",
		"an old kernel":  "cpu0 1 2 3 4\n",
		"not a number":   "cpu0 1 2 3 4 5 6 x 8\n",
		"only the total": "cpu 1 2 3 4 5 6 7 8\n",
	} {
		if got := parseTicks(text, both); got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func FuzzTicks(f *testing.F) {
	f.Add("cpu0 10 1 100 1000 10 0 0 3 0 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		if got := parseTicks(text, func(int) bool { return true }); got != nil && len(got) != tickKinds {
			t.Errorf("%d kinds of time", len(got))
		}
	})
}

func TestStat(t *testing.T) {
	for _, c := range []struct {
		text        string
		pid, parent int
	}{
		{"12 (sh) S 3 12 12 0", 12, 3},
		{"12 (a) b (c)) R 4 1", 12, 4},
	} {
		pid, parent, err := parseStat(c.text)
		if err != nil || pid != c.pid || parent != c.parent {
			t.Errorf("%q: %d, %d, %v; want %d and %d", c.text, pid, parent, err, c.pid, c.parent)
		}
	}
	for _, text := range []string{"", "x (sh) S 3", "12 (sh) S", "12 sh"} {
		if _, _, err := parseStat(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func FuzzStat(f *testing.F) {
	f.Add("12 (a) b (c)) R 4 1")
	f.Fuzz(func(_ *testing.T, text string) {
		_, _, _ = parseStat(text)
		_, _ = parseSchedstat(text)
	})
}

func TestSchedstat(t *testing.T) {
	if waited, err := parseSchedstat("5134110 83402 12\n"); err != nil || waited != 83402 {
		t.Errorf("%d, %v", waited, err)
	}
	if _, err := parseSchedstat("0"); err == nil {
		t.Error("a schedstat of one figure was accepted")
	}
}

// TestShift checks how much longer a load can have taken.
func TestShift(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name  string
		taken Taken
		want  time.Duration
	}{
		{"others took one of two processors", Taken{Elapsed: 1000 * ms, Others: 900 * ms, Waited: 800 * ms}, 450 * ms},
		{"its threads waited for each other", Taken{Elapsed: 1000 * ms, Others: 4 * ms, Waited: 80 * ms}, 2 * ms},
		{"others ran while nobody waited", Taken{Elapsed: 1000 * ms, Others: 500 * ms, Waited: 3 * ms}, 3 * ms},
		{"the hypervisor stopped running threads", Taken{Elapsed: 1000 * ms, Others: 48 * ms, Steal: 40 * ms, Waited: 80 * ms}, 44 * ms},
		{"steal that mostly came before the load", Taken{Elapsed: 1000 * ms, Others: 3 * ms, Steal: 10 * ms, Waited: 80 * ms}, 3 * ms},
		{"the kernel has no schedstat", Taken{Elapsed: 1000 * ms, Others: 44 * ms, Waited: -1}, 22 * ms},
		{"more than the load lasted", Taken{Elapsed: 100 * ms, Others: 150 * ms, Steal: 150 * ms, Waited: 900 * ms}, 100 * ms},
	} {
		c.taken.Processors = 2
		if got := c.taken.Shift(); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestMeter runs one program as the load's own and then as somebody else's.
func TestMeter(t *testing.T) {
	const work = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"
	for _, c := range []struct {
		name string
		own  bool
	}{{"the load's own", true}, {"another", false}} {
		awake, err := KeepAwake()
		if err != nil {
			t.Skip(err)
		}
		// The work runs in a child process, which the meter has to find.
		command := exec.Command("sh", "-c", "("+work+"; echo done; read x; true)")
		out, err := command.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		in, err := command.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		m := Meter{Awake: awake.PID()}
		before := m.Read()
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		if c.own {
			m.Programs = []int{command.Process.Pid}
		}
		if _, err := io.ReadFull(out, make([]byte, len("done"))); err != nil {
			t.Fatal(err)
		}
		used, err := processorTime(child(t, command.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		taken := m.Read().Since(before)
		if err := errors.Join(in.Close(), command.Wait(), awake.Close()); err != nil {
			t.Fatal(err)
		}
		// Whatever else the machine does, the program's own time is in one sum and not in the other.
		if c.own && taken.Own < time.Duration(used) {
			t.Errorf("%s: the program used %v, but the load's programs only %v", c.name, time.Duration(used), taken.Own)
		}
		if !c.own && taken.Others < time.Duration(used) {
			t.Errorf("%s: the program used %v, but others only %v", c.name, time.Duration(used), taken.Others)
		}
	}
}

// child returns the only child of a process.
func child(t *testing.T, pid int) int {
	t.Helper()
	children := childrenByParent()[pid]
	if len(children) != 1 {
		t.Fatalf("process %d has the children %v, want one", pid, children)
	}
	return children[0]
}

// forbiddenCommand is the first argument that makes this program keep processors awake
// without permission to change its scheduling policy.
const forbiddenCommand = "without-sched-idle"

// withoutSchedIdle examines the machine under a filter of sched_setattr(2), as sandboxes
// have, and prints what was not checked.
func withoutSchedIdle() {
	runtime.LockOSThread()
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the system call's number
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_SCHED_SETATTR, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	if _, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program))); e != 0 {
		fmt.Println("filter system calls:", e)
		os.Exit(1)
	}
	s, err := Examine(context.Background(), 20*time.Millisecond)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	_, awake := s.Better()
	fmt.Println(awake, s.Others, strings.Join(s.Unchecked, "; "))
	os.Exit(0)
}

// TestWithoutSchedIdle expects the machine to be measured as it is, and the
// missing policy to be reported.
func TestWithoutSchedIdle(t *testing.T) {
	said, err := exec.Command("/proc/self/exe", forbiddenCommand).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	const want = "false -1 "
	if text := string(said); !strings.HasPrefix(text, want) || !strings.Contains(text, "keep the processors awake: SCHED_IDLE is not available: operation not permitted") {
		t.Errorf("%q", text)
	}
}

// TestAwakeEnds closes the process's standard input, as the kernel does when the
// owner dies.
func TestAwakeEnds(t *testing.T) {
	awake, err := KeepAwake()
	if err != nil {
		t.Skip(err)
	}
	if err := awake.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := processorTime(awake.PID()); err == nil {
		t.Error("the process is still running")
	}
}

func TestMeasureStops(t *testing.T) {
	gone := errors.New("gone")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(gone)
	if _, err := Measure(ctx, time.Hour); !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
}

func TestBetter(t *testing.T) {
	const ms = time.Millisecond
	late := func(p99 time.Duration) Punctuality { return Punctuality{P99: p99, Worst: 10 * ms} }
	awake := func(p99 time.Duration) *Punctuality { p := late(p99); return &p }
	for _, c := range []struct {
		name    string
		state   State
		virtual bool
		awake   bool
		unfit   string
	}{
		{"a virtual machine that wakes slowly", State{AsIs: late(2 * ms), Awake: awake(ms / 10)}, true, true, ""},
		{"a virtual machine that stays slow when kept awake", State{AsIs: late(4 * ms), Awake: awake(2 * ms)}, true, true, "this machine wakes programs up to 10.00 ms late"},
		{"staying awake makes it worse", State{AsIs: late(ms / 2), Awake: awake(2 * ms)}, true, false, ""},
		{"both are punctual", State{AsIs: late(ms / 10), Awake: awake(ms / 9)}, true, true, ""},
		{"a physical machine", State{AsIs: late(ms / 2), Awake: awake(ms / 10)}, false, false, ""},
		{"a physical machine that wakes slowly", State{AsIs: late(2 * ms), Awake: awake(ms / 10)}, false, true, ""},
		{"a kernel without SCHED_IDLE", State{AsIs: late(ms / 2)}, true, false, ""},
		{"busy neighbours", State{AsIs: late(ms / 10), Awake: awake(ms / 10), Others: 0.3}, true, true, "others take 30 % of this machine's processors"},
	} {
		c.state.Virtual = c.virtual
		if _, got := c.state.Better(); got != c.awake {
			t.Errorf("%s: kept awake: %v", c.name, got)
		}
		if got := c.state.Unfit(); got != c.unfit {
			t.Errorf("%s: %q, want %q", c.name, got, c.unfit)
		}
	}
}

func TestHypervisor(t *testing.T) {
	for text, want := range map[string]bool{
		"flags\t\t: fpu vme hypervisor lahf_lm\n": true,
		"flags\t\t: fpu vme lahf_lm\n":            false,
		"Features\t: fp asimd\n":                  false,
	} {
		if got := hasHypervisor(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestClockWatch sets the machine's clock forward by a microsecond, and back again. Every load that runs on the machine at that
// moment becomes invalid, so this is a long test.
func TestClockWatch(t *testing.T) {
	for _, set := range []bool{false, true} {
		if set && !needtest.IsLong() {
			t.Skip("set WIRETIME_LONG to let this test set the machine's clock forward by a microsecond, and back again")
		}
		watch, err := WatchClock()
		if err != nil {
			t.Fatal(err)
		}
		if set {
			const second = int64(time.Second)
			for _, offset := range []unix.Timeval{{Usec: 1000}, {Sec: -1, Usec: second - 1000}} { // Usec is in ns, by ADJ_NANO
				if _, err := unix.Adjtimex(&unix.Timex{Modes: unix.ADJ_SETOFFSET | unix.ADJ_NANO, Time: offset}); err != nil {
					t.Skip("this machine does not let the test set its clock: ", err)
				}
			}
		}
		if got, err := watch.Stop(); got != set || err != nil {
			t.Errorf("the clock was set: %v, %v, want %v", got, err, set)
		}
	}
}
