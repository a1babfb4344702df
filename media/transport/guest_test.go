package transport

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"wiretime/kernel"
	"wiretime/lab"
	"wiretime/needtest"
)

const allWell = "guest: all tests passed"

// TestOverTheGuestsKernel runs the tests of this package again in a guest on the virtual
// clock, whose kernel has SCTP and MPTCP even if this machine's does not.
func TestOverTheGuestsKernel(t *testing.T) {
	needtest.Long(t)
	if os.Getpid() == 1 {
		t.Skip("this is the guest")
	}
	k, err := kernel.Find()
	if err == nil {
		err = checkStatic("/proc/self/exe")
	}
	if err != nil {
		if os.Getenv("WIRETIME_NEED_KERNEL") != "" {
			t.Fatal(err)
		}
		t.Skipf("%v ('make kernel' builds the kernel)", err)
	}
	dir := t.TempDir()
	for _, folder := range []string{"root/proc", "root/sys", "root/dev", "root/tmp", "root/etc"} {
		must(t, os.MkdirAll(filepath.Join(dir, folder), 0o755))
	}
	must(t, copyProgram(filepath.Join(dir, "root", "init")))
	console, err := os.Create(filepath.Join(dir, "console"))
	must(t, err)
	defer console.Close()
	g, err := k.Boot(t.Context(), kernel.Machine{
		Root: filepath.Join(dir, "root"), Init: "/init", Memory: 512 << 20, Seed: 1, CPU: -1, Dir: dir, Args: []string{guestWord}, Console: console,
	})
	must(t, err)
	err = g.Wait()
	said, _ := os.ReadFile(console.Name())
	if err != nil || !strings.Contains(string(said), allWell) {
		t.Errorf("%v; the guest said:\n%s", err, said)
	}
	for _, row := range []string{"sctp", "mptcp"} {
		if strings.Contains(string(said), "--- SKIP: TestSegmentsComeWhole/"+row) {
			t.Errorf("the guest's kernel lacks %s", row)
		}
	}
	t.Logf("%s", said)
}

// checkStatic checks that a program needs no other files, since a guest has none.
func checkStatic(path string) error {
	program, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer program.Close()
	for _, p := range program.Progs {
		if p.Type == elf.PT_INTERP {
			return errors.New("this program is linked dynamically: build it with CGO_ENABLED=0")
		}
	}
	return nil
}

func copyProgram(to string) error {
	program, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer program.Close()
	file, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, program); err != nil {
		return err
	}
	return file.Close()
}

// runInGuest is what the guest's first program does.
func runInGuest(m *testing.M) error {
	for target, kind := range map[string]string{"/proc": "proc", "/sys": "sysfs", "/tmp": "tmpfs", "/etc": "tmpfs"} {
		if err := unix.Mount(kind, target, kind, 0, ""); err != nil {
			return fmt.Errorf("mount %s: %w", target, err)
		}
	}
	if err := os.Mkdir("/dev/shm", 0o1777); err != nil {
		return err
	}
	if err := lab.Prepare(); err != nil {
		return err
	}
	os.Args = []string{os.Args[0], "-test.v"}
	if code := m.Run(); code != 0 {
		return fmt.Errorf("the tests ended with status %d", code)
	}
	fmt.Println(allWell)
	return nil
}
