package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"wiretime/loader/browser"
	"wiretime/setup"
)

// nobody is the user and group number of an unprivileged user.
const nobody = 65534

// program builds the command under test where every user may run it.
func program(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "setup-test-") //nolint:usetesting // t.TempDir's folder is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "setup")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("build the program under test: %v: %s", err, out)
	}
	return binary
}

// unprivileged prepares the program for an unprivileged user without a virtual-clock
// kernel, with only a folder in PATH.
func unprivileged(binary, path string, args ...string) (c *exec.Cmd, said *bytes.Buffer) {
	c = exec.Command(binary, args...)
	c.Dir = filepath.Dir(binary)
	c.Env = []string{"HOME=" + filepath.Dir(binary), "PATH=" + path}
	if os.Geteuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	said = &bytes.Buffer{}
	c.Stdout, c.Stderr = said, said
	return c, said
}

// exitCode returns a program's exit code.
func exitCode(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	t.Fatal(err)
	return 0
}

// TestNoCompiler checks that a user without a compiler is told what to run, and how to do
// without.
func TestNoCompiler(t *testing.T) {
	c, said := unprivileged(program(t), "/nonexistent", "virtual")
	if code := exitCode(t, c.Run()); code != 3 {
		t.Errorf("exit code %d, want 3", code)
	}
	d, err := setup.ReadDistribution("/etc/os-release")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"gcc, flex, bison", "on " + d.Name + ", as root:\n    ", "make run CLOCK=real"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, said)
		}
	}
}

// TestInterruptedInEachStep interrupts the set-up while it waits for a program. The program
// must end, and the next set-up must succeed. The program is a stand-in for make that waits
// at one of the targets.
func TestInterruptedInEachStep(t *testing.T) {
	if binary, _ := browser.FindChromium(""); binary == "" {
		t.Fatal("no Chromium on this machine")
	}
	for _, target := range []string{"page", "build"} {
		t.Run(target, func(t *testing.T) {
			binary := program(t)
			path := filepath.Dir(binary)
			began := filepath.Join(path, "began")
			if err := unix.Mkfifo(began, 0o666); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(began, 0o666); err != nil { // whatever the umask is
				t.Fatal(err)
			}
			waits := "#!/bin/sh\n[ \"$2\" != " + target + " ] || { echo >'" + began + "'; exec /bin/sleep 1000 >>'" + began + "'; }\n"
			if err := os.WriteFile(filepath.Join(path, "make"), []byte(waits), 0o755); err != nil {
				t.Fatal(err)
			}
			c, said := unprivileged(binary, path, "real")
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			pipe, err := os.Open(began) // the stand-in has reached the target
			if err != nil {
				t.Fatal(err)
			}
			defer pipe.Close()
			if err := c.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			if code := exitCode(t, c.Wait()); code != 130 || !strings.Contains(said.String(), "run the same command again") {
				t.Errorf("exit code %d, want 130 and what to do: %s", code, said)
			}
			for rest := make([]byte, 64); err == nil; { // until no process has the other end any more
				_, err = pipe.Read(rest)
			}
			if err := os.WriteFile(filepath.Join(path, "make"), []byte("#!/bin/sh\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			c, said = unprivileged(binary, path, "real")
			if code := exitCode(t, c.Run()); code != 0 {
				t.Errorf("the next set-up: exit code %d: %s", code, said)
			}
		})
	}
}

func TestUnknownGoal(t *testing.T) {
	c, said := unprivileged(program(t), os.Getenv("PATH"), "reel")
	if code := exitCode(t, c.Run()); code != 2 || !strings.Contains(said.String(), "virtual") {
		t.Errorf("exit code %d, want 2 and the goals there are: %s", code, said)
	}
}
