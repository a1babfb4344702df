package sandbox_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"wiretime/process"
	"wiretime/sandbox"
	"wiretime/sandbox/sandboxtest"
)

// These are the other roles of this program: one that tries to escape, and one that waits.
const (
	escapeCommand = "escape"
	waitCommand   = "wait"
	ownerCommand  = "own" // starts a contained program that waits, and is killed
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case escapeCommand:
			escape()
			os.Exit(0)
		case waitCommand:
			fmt.Println("waiting")
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(0)
		case ownerCommand:
			own(os.Args[2])
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// target is what a program that tries to escape gets to know.
type target struct {
	Home, Secret, Own, Abstract string
	Parent                      int
	Harmless                    bool // try only what does no harm when it works
}

// harmless are the ways that a program without a sandbox may try.
var harmless = []string{"read a secret", "write to the home folder", "list the home folder", "read another program's environment",
	"connect to another program's abstract socket", "kill another program", "limit another program", "make a network socket"}

// attempts are ways out of a sandbox.
var attempts = []struct {
	name string
	try  func(target) error
}{
	{"read a secret", func(at target) error { _, err := os.ReadFile(at.Secret); return err }},
	{"write to the home folder", func(at target) error { return os.WriteFile(filepath.Join(at.Home, "written"), nil, 0o644) }},
	{"truncate a file of the home folder", func(at target) error { return os.Truncate(at.Secret, 0) }},
	{"list the home folder", func(at target) error { _, err := os.ReadDir(at.Home); return err }},
	{"make a hard link to a secret", func(at target) error { return os.Link(at.Secret, filepath.Join(at.Own, "link")) }},
	{"read a secret by a symbolic link", func(at target) error {
		link := filepath.Join(at.Own, "symbolic")
		if err := os.Symlink(at.Secret, link); err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
		_, err := os.ReadFile(link)
		return err
	}},
	{"read another program's environment", func(at target) error {
		_, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", at.Parent))
		return err
	}},
	{"read another program's memory", func(at target) error {
		_, err := os.Open(fmt.Sprintf("/proc/%d/mem", at.Parent))
		return err
	}},
	{"enter another program's root", func(at target) error {
		_, err := os.ReadDir(fmt.Sprintf("/proc/%d/root/etc", at.Parent))
		return err
	}},
	{"trace another program", func(at target) error { return unix.PtraceAttach(at.Parent) }},
	{"kill another program", func(at target) error { return unix.Kill(at.Parent, unix.SIGCONT) }},
	{"limit another program", func(at target) error { return unix.Prlimit(at.Parent, unix.RLIMIT_CPU, nil, new(unix.Rlimit)) }},
	{"connect to another program's abstract socket", func(at target) error {
		c, err := net.Dial("unix", at.Abstract)
		if err == nil {
			_ = c.Close()
		}
		return err
	}},
	{"mount a file system", func(at target) error { return unix.Mount("none", at.Own, "tmpfs", 0, "") }},
	{"set the clock", func(target) error { return unix.ClockSettime(unix.CLOCK_REALTIME, &unix.Timespec{Sec: 1}) }},
	{"load a program into Linux", func(target) error {
		_, _, errno := unix.Syscall(unix.SYS_BPF, 0, 0, 0)
		return refused(errno)
	}},
	{"start an io_uring", func(target) error {
		_, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, 0, 0)
		return refused(errno)
	}},
	{"become root", func(target) error {
		if os.Geteuid() == 0 {
			return errors.New("it is root of a user namespace without other users")
		}
		return unix.Setuid(0)
	}},
	{"gain rights by a program that has them", func(target) error {
		bit, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
		if err == nil && bit == 1 {
			return errors.New("it never gains rights")
		}
		return err
	}},
	{"keep a capability", func(target) error {
		text, err := os.ReadFile("/proc/self/status")
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			if set, ok := strings.CutPrefix(line, "CapEff:"); ok {
				have, err := strconv.ParseUint(strings.TrimSpace(set), 16, 64)
				if err != nil || have&^(1<<unix.CAP_DAC_READ_SEARCH) != 0 { // which lets it get to its own program
					return err
				}
			}
		}
		return errors.New("it has none")
	}},
}

// confined are ways out for programs that have no use for namespaces, tracing or the network.
var confined = []struct {
	name string
	try  func(target) error
}{
	{"make a user namespace", func(target) error {
		command := exec.Command("/proc/self/exe", "-test.list=^$")
		command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
		return command.Run()
	}},
	{"make a network socket", func(target) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
		if err == nil {
			_ = unix.Close(fd)
		}
		return err
	}},
	{"change its root", func(at target) error { return unix.Chroot(at.Own) }},
	{"find shared memory", func(target) error {
		_, err := unix.SysvShmGet(0x7769, 1, 0) // ENOENT, where it may look, since no segment has this key
		if errno, ok := errors.AsType[unix.Errno](err); ok {
			return refused(errno)
		}
		return err
	}},
	{"keep another program to a processor", func(at target) error {
		var all unix.CPUSet
		if err := unix.SchedGetaffinity(at.Parent, &all); err != nil {
			return nil
		}
		return unix.SchedSetaffinity(at.Parent, &all)
	}},
	{"schedule another program", func(at target) error {
		now, err := unix.SchedGetAttr(at.Parent, 0)
		if err != nil {
			return nil
		}
		return unix.SchedSetAttr(at.Parent, now, 0)
	}},
	{"slow another program down", func(at target) error { return unix.Setpriority(unix.PRIO_PROCESS, at.Parent, priorityNow()) }},
	{"slow the programs of its user down", func(target) error { return unix.Setpriority(unix.PRIO_USER, 0, priorityNow()) }},
	{"have another program wait for the disk", func(at target) error {
		_, _, errno := unix.Syscall(unix.SYS_IOPRIO_SET, 1, uintptr(at.Parent), 2<<13|4)
		return refused(errno)
	}},
}

// schedulers are ways to slow other programs of the same user down.
var schedulers = []string{"keep another program to a processor", "schedule another program", "slow another program down",
	"slow the programs of its user down", "have another program wait for the disk"}

// priorityNow returns the priority of this program, which setting again changes nothing.
func priorityNow() int {
	inverse, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return 0
	}
	return 20 - inverse // the system call returns 1 to 40 (getpriority(2))
}

// refused is nil if a system call was carried out, however it ended there.
func refused(errno unix.Errno) error {
	if errno == unix.EPERM || errno == unix.ENOSYS {
		return errno
	}
	return nil
}

// escape tries all ways out and reports which of them worked.
func escape() {
	var at target
	if err := json.NewDecoder(os.Stdin).Decode(&at); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	tried := map[string]string{}
	for _, a := range slices.Concat(attempts, confined) {
		if at.Harmless && !slices.Contains(harmless, a.name) {
			continue
		}
		tried[a.name] = ""
		if err := a.try(at); err != nil {
			tried[a.name] = err.Error()
		}
	}
	own := "fails"
	if err := os.WriteFile(filepath.Join(at.Own, "own"), []byte("mine"), 0o600); err == nil {
		own = "works"
	}
	tried["write to its own folder"] = own
	tried["environment"] = strings.Join(os.Environ(), " ")
	if err := json.NewEncoder(os.Stdout).Encode(tried); err != nil {
		os.Exit(1)
	}
}

// try has a contained program try all ways out. It returns what became of each.
func try(t *testing.T, p sandbox.Policy, contain bool) map[string]string {
	t.Helper()
	at := target{Home: t.TempDir(), Own: sandboxtest.Folder(t), Abstract: fmt.Sprintf("@wiretime-sandbox-%d", os.Getpid()), Parent: os.Getpid(), Harmless: !contain}
	at.Secret = filepath.Join(at.Home, "secret")
	if err := os.WriteFile(at.Secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", at.Abstract)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	told, err := json.Marshal(at)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command("/proc/self/exe", escapeCommand)
	command.Stdin, command.Stderr = strings.NewReader(string(told)), os.Stderr
	if contain {
		p.Write = append(p.Write, at.Own)
		if err := sandbox.Contain(command, p); err != nil {
			t.Fatal(err)
		}
	}
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var tried map[string]string
	if err := json.Unmarshal(out, &tried); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if own := tried["write to its own folder"]; own != "works" {
		t.Errorf("writing to its own folder %s", own)
	}
	return tried
}

// TestEscape: a contained program gets out in none of these ways, and reaches what it is given.
func TestEscape(t *testing.T) {
	if sandbox.Landlock() < 6 {
		t.Skipf("this machine's Landlock has interface %d: signals and abstract sockets are contained from 6 on", sandbox.Landlock())
	}
	t.Setenv("WIRETIME_SECRET", "password")
	for _, policy := range []struct {
		name string
		p    sandbox.Policy
		not  []string // ways that this policy leaves open
	}{
		{"a server", sandbox.Policy{}, append([]string{"make a network socket", "find shared memory"}, schedulers...)},
		{"a browser", sandbox.Policy{Namespaces: true}, append([]string{"make a network socket", "make a user namespace", "change its root"}, schedulers...)},
		{"a guest's kernel", sandbox.Policy{KeepUser: true, Trace: true, Offline: true}, nil},
		{"one that may read nothing", sandbox.Policy{Bare: true, Offline: true, Read: []string{"/proc"}}, nil},
	} {
		t.Run(policy.name, func(t *testing.T) {
			tried := try(t, policy.p, true)
			all := attempts
			for _, c := range confined {
				if !slices.Contains(policy.not, c.name) {
					all = append(all, c)
				}
			}
			for _, a := range all {
				if a.name == "become root" && policy.p.KeepUser {
					continue // it stays root in name, and has none of root's rights
				}
				if tried[a.name] == "" {
					t.Errorf("it can %s", a.name)
				}
			}
			if text := tried["environment"]; text != "" {
				t.Errorf("its environment is %q", text)
			}
		})
	}
}

// TestUncontained: without containment the attempts work, so those of TestEscape fail for its sake.
func TestUncontained(t *testing.T) {
	tried := try(t, sandbox.Policy{}, false)
	for _, name := range harmless {
		if tried[name] != "" {
			t.Errorf("it cannot %s: %s", name, tried[name])
		}
	}
}

// own starts a contained program that waits, tells its process number, and waits itself.
func own(folder string) {
	command := exec.Command("/proc/self/exe", waitCommand)
	command.Stdin = os.Stdin
	said, err := command.StdoutPipe()
	if err != nil || sandbox.Contain(command, sandbox.Policy{Write: []string{folder}}) != nil {
		return
	}
	child, err := process.Start(command)
	if err != nil {
		return
	}
	if _, err := said.Read(make([]byte, 100)); err != nil {
		return
	}
	fmt.Println(command.Process.Pid)
	_ = child.Wait()
}

// TestDiesWithItsOwner: changing the user makes Linux forget that a program is to die with the one that started it.
func TestDiesWithItsOwner(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	command := exec.Command("/proc/self/exe", ownerCommand, sandboxtest.Folder(t))
	// The end of the owner must not end the contained program's input too: it would leave by itself.
	input, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	defer hold.Close()
	command.Stdin = input
	said, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(said, &pid); err != nil {
		t.Fatal(err)
	}
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait()
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, 0, nil); err != nil || status.Signal() != unix.SIGKILL {
		t.Errorf("the contained program ended with %v, %v", status, err)
	}
}

// TestExamine: what this machine has is worded for people.
func TestExamine(t *testing.T) {
	r := sandbox.Examine()
	t.Log(r)
	if want := sandbox.Landlock(); r.Landlock != want || want > 0 && !strings.Contains(r.String(), fmt.Sprintf("Landlock (interface %d)", want)) {
		t.Errorf("%+v is worded %q", r, r)
	}
	if os.Geteuid() == 0 && r.Suffices(true) != nil {
		t.Errorf("%+v does not suffice for root: %v", r, r.Suffices(true))
	}
}

// TestSuffices: root's browsers must be contained by something.
func TestSuffices(t *testing.T) {
	for _, test := range []struct {
		report sandbox.Report
		root   bool
		want   error
	}{
		{sandbox.Report{User: "root"}, true, sandbox.ErrUncontained},
		{sandbox.Report{User: "root", Nested: true, Filtered: true}, true, sandbox.ErrUncontained},
		{sandbox.Report{User: "root", Landlock: 1}, true, nil},
		{sandbox.Report{User: "an unprivileged user"}, true, nil},
		{sandbox.Report{User: "the user's own"}, false, nil},
	} {
		if err := test.report.Suffices(test.root); !errors.Is(err, test.want) {
			t.Errorf("%+v, root %v: %v, want %v", test.report, test.root, err, test.want)
		}
	}
}
