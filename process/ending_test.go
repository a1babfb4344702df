package process_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"wiretime/process"
)

// endMark makes the test program one that ends its descendants.
const endMark = "PROCESS_END"

// TestEndDescendants: a program ends its children, their groups and the orphans of both, stopped ones too. All of
// them have the other end of a pipe.
func TestEndDescendants(t *testing.T) {
	if os.Getenv(endMark) != "" {
		endAll(t)
	}
	held, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	c := exec.Command("/proc/self/exe", "-test.run=^TestEndDescendants$")
	c.Env = append(os.Environ(), endMark+"=1")
	c.ExtraFiles = []*os.File{theirs}
	out, err := c.CombinedOutput()
	_ = theirs.Close()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	// Whoever survived still holds the pipe, and reading would wait for it.
	if err := syscall.SetNonblock(int(held.Fd()), true); err != nil {
		t.Fatal(err)
	}
	if n, err := syscall.Read(int(held.Fd()), make([]byte, 1)); n != 0 || err != nil {
		t.Errorf("a descendant is still running: reading returns %d, %v", n, err)
	}
}

// endAll starts a child that leads a group, has a child in it, and has left an orphan with a group of its own.
func endAll(t *testing.T) {
	if err := process.AdoptOrphans(); err != nil {
		t.Fatal(err)
	}
	script := `(set -m; (sleep 1000 & kill -STOP $!; echo orphan $!)); sleep 1000 & echo child $!; kill -STOP $$`
	c := exec.Command("bash", "-c", script)
	c.ExtraFiles = []*os.File{os.NewFile(3, "pipe")}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range 2 {
		if !lines.Scan() {
			t.Fatal("the script printed too little")
		}
	}
	process.EndDescendants()
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.Process.Pid)); err == nil && !strings.Contains(string(stat), " Z ") {
		t.Fatalf("the child is still there: %s", stat)
	}
	os.Exit(0)
}
