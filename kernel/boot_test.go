package kernel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestCheckFindsAllThatTheVirtualClockNeeds(t *testing.T) {
	findings, err := built(t).Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		if t.Log(f.Name+":", f.Detail); !f.OK {
			t.Errorf("%s: %s", f.Name, f.Detail)
		}
	}
}

// machine configures a guest that runs this test program.
func machine(t *testing.T, args ...string) Machine {
	dir := t.TempDir()
	if err := layOut(dir); err != nil {
		t.Fatal(err)
	}
	return Machine{Root: filepath.Join(dir, "root"), Init: "/init", Memory: 64 << 20, Seed: 1, CPU: 0, Dir: dir, Args: args}
}

// TestFaults boots guests that fail: Wait must say why, and no process or file may remain.
func TestFaults(t *testing.T) {
	k := built(t)
	program, err := os.ReadFile(k.Path)
	if err != nil {
		t.Fatal(err)
	}
	file := func(t *testing.T, content []byte) string {
		path := filepath.Join(t.TempDir(), "linux")
		if err := os.WriteFile(path, content, 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tests := []struct {
		name string
		path func(t *testing.T) string // path of the kernel; nil for a good one
		args []string
		init string
		then func(g *Guest) // what happens to the guest
		says []string
	}{
		{"half a kernel", func(t *testing.T) string { return file(t, program[:len(program)/2]) }, nil, "/init", nil, []string{"killed by signal"}},
		{"no kernel but a program that fails", func(*testing.T) string { return "/bin/false" }, nil, "/init", nil, []string{"exit status 1", "printed nothing"}},
		{"no kernel but a program that does well", func(*testing.T) string { return "/bin/true" }, nil, "/init", nil, []string{"without powering off"}},
		{"no first program", nil, nil, "/absent", nil, []string{"kernel panicked", "Requested init /absent failed"}},
		{"a first program that quits", nil, []string{quitCommand}, "/init", nil, []string{"kernel panicked", "Attempted to kill init", "quitting"}},
		{"killed from outside", nil, []string{spinCommand}, "/init",
			func(g *Guest) { _ = syscall.Kill(g.command.Process.Pid, syscall.SIGKILL) }, []string{"killed by signal 9"}},
		{"killed by its owner", nil, []string{spinCommand}, "/init", (*Guest).Kill, []string{"killed by signal 9"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := machine(t, test.args...)
			m.Init = test.init
			tried := k
			if test.path != nil {
				tried.Path = test.path(t)
				m.Read = []string{"/usr", "/lib", "/lib64"} // for programs that are no kernels and have libraries
			}
			g, err := tried.Boot(t.Context(), m)
			if err == nil {
				if test.then != nil {
					test.then(g)
				}
				err = g.Wait()
				checkGone(t, g, m)
			}
			if err == nil {
				t.Fatal("no error")
			}
			for _, word := range test.says {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("the error does not say %q: %v", word, err)
				}
			}
		})
	}
}

func TestAGuestThatSpinsEndsWithItsContext(t *testing.T) {
	k, m := built(t), machine(t, spinCommand)
	stuck := errors.New("no progress")
	ctx, cancel := context.WithCancelCause(t.Context())
	var err error
	if m.Console, err = os.Create(filepath.Join(m.Dir, "console")); err != nil {
		t.Fatal(err)
	}
	defer m.Console.Close()
	g, err := k.Boot(ctx, m)
	if err != nil {
		t.Fatal(err)
	}
	awaitText(t, m.Console.Name(), "spinning")
	cancel(stuck)
	if err := g.Wait(); !errors.Is(err, stuck) || !strings.Contains(err.Error(), "spinning") {
		t.Errorf("Wait says %v, want the context's cause and what the guest printed last", err)
	}
	checkGone(t, g, m)
}

func TestAGuestEndsWithItsOwner(t *testing.T) {
	built(t)
	m := machine(t)
	owner := exec.CommandContext(t.Context(), "/proc/self/exe", ownCommand, m.Dir)
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(out, &pid); err != nil {
		t.Fatal(err)
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait() // says that it was killed
	awaitGone(t, pid)
}

// awaitText waits until a file holds a text.
func awaitText(t *testing.T, name, text string) {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if _, err := unix.InotifyAddWatch(fd, name, unix.IN_MODIFY); err != nil {
		t.Fatal(err)
	}
	for {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(content), text) {
			return
		}
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(poll, 30_000); n == 0 && err == nil {
			t.Fatalf("%s does not hold %q after half a minute, but: %s", name, text, content)
		}
		var events [4096]byte
		_, _ = unix.Read(fd, events[:])
	}
}

// checkGone checks that neither a process nor a file of the guest is left.
func checkGone(t *testing.T, g *Guest, m Machine) {
	t.Helper()
	awaitGone(t, g.command.Process.Pid)
	entries, err := os.ReadDir(m.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "root" && e.Name() != hostResults && e.Name() != "console" {
			t.Errorf("the guest has left %s", e.Name())
		}
	}
}

// awaitGone waits until a process group has no process. This process, not the machine's
// init, reaps the orphans (see TestMain).
func awaitGone(t *testing.T, group int) {
	t.Helper()
	gone := make(chan error)
	go func() {
		var err error
		for err == nil || errors.Is(err, unix.EINTR) {
			_, err = unix.Wait4(-group, nil, 0, nil)
		}
		gone <- err
	}()
	select {
	case err := <-gone:
		if !errors.Is(err, unix.ECHILD) {
			t.Fatalf("wait for process group %d: %v", group, err)
		}
	case <-time.After(10 * time.Second):
		t.Fatalf("processes of group %d are left", group)
	}
}

func TestMachinesThatCannotBe(t *testing.T) {
	tests := []struct {
		name   string
		change func(m *Machine)
		reason error
		says   []string
	}{
		{"memory too small", func(m *Machine) { m.Memory = 16 << 20 }, ErrMemory, []string{"16 MB", "at least 41 MB"}},
		{"memory beyond the machine", func(m *Machine) { m.Memory = 1 << 60 }, ErrMemory, []string{"/dev/shm", "free", os.TempDir()}},
		{"a root folder elsewhere", func(m *Machine) { m.Root = "/" }, nil, []string{"root folder / is not in"}},
		{"a processor that is not there", func(m *Machine) { m.CPU = 1023 }, nil, []string{"processor 1023"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			m := Machine{Root: filepath.Join(dir, "root"), Init: "/init", Memory: 64 << 20, CPU: -1, Dir: dir}
			test.change(&m)
			g, err := Kernel{Path: "/bin/false"}.Boot(t.Context(), m)
			if err == nil {
				g.Kill()
				t.Fatal("the guest was booted")
			}
			if test.reason != nil && !errors.Is(err, test.reason) {
				t.Errorf("%v is no %v", err, test.reason)
			}
			for _, word := range test.says {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("the error does not say %q: %v", word, err)
				}
			}
		})
	}
}

// TestForbiddenSystemCalls runs the check on a host that forbids what guests need: either
// seccomp or ptrace is enough, and with neither the error says what to allow.
func TestForbiddenSystemCalls(t *testing.T) {
	built(t)
	tests := []struct {
		forbidden []string
		fails     bool
		says      string
	}{
		{[]string{"ptrace"}, false, "by seccomp"},
		{[]string{"seccomp"}, false, "by ptrace"},
		{[]string{"ptrace", "seccomp"}, true, ErrForbidden.Error()},
	}
	for _, test := range tests {
		t.Run(strings.Join(test.forbidden, " and "), func(t *testing.T) {
			said, err := exec.CommandContext(t.Context(), "/proc/self/exe", append([]string{forbiddenCommand}, test.forbidden...)...).CombinedOutput()
			if failed := err != nil; failed != test.fails {
				t.Errorf("it ended with %v", err)
			}
			if !strings.Contains(string(said), test.says) {
				t.Errorf("it does not say %q, but:\n%s", test.says, said)
			}
		})
	}
}

func TestSupported(t *testing.T) {
	for _, test := range []struct {
		system, processor string
		want              error
	}{
		{"linux", "amd64", nil}, {"linux", "arm64", ErrUnsupported}, {"linux", "386", ErrUnsupported}, {"darwin", "amd64", ErrUnsupported},
	} {
		if err := supported(test.system, test.processor); !errors.Is(err, test.want) {
			t.Errorf("%s on %s: %v, want %v", test.system, test.processor, err, test.want)
		}
	}
}
