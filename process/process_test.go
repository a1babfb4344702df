package process_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"wiretime/process"
	"wiretime/process/processtest"
)

// parentMark in the environment makes the test program a parent that has a child and waits to be killed.
const parentMark = "WIRETIME_TEST_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentMark) == "" {
		os.Exit(m.Run())
	}
	child := exec.Command("cat")
	child.Stdin, child.Stdout = os.Stdin, os.Stdout
	if err := process.Run(child); err != nil {
		os.Exit(1)
	}
}

// echo is a child that says again what it is told.
type echo struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func newEcho(t *testing.T) *echo {
	t.Helper()
	c := exec.Command("cat")
	in, err := c.StdinPipe()
	must(t, err)
	out, err := c.StdoutPipe()
	must(t, err)
	return &echo{c, in, bufio.NewReader(out)}
}

// answers says whether the child is alive. A child that has been killed answers nothing, even
// if it is not gone yet.
func (e *echo) answers() bool {
	_, _ = io.WriteString(e.in, "hello\n")
	said, err := e.out.ReadString('\n')
	return err == nil && said == "hello\n"
}

// TestChildOutlivesThread starts a child from a thread that ends before the child does. Pdeathsig
// alone kills such a child, which shows that the test can fail.
func TestChildOutlivesThread(t *testing.T) {
	for _, c := range []struct {
		name  string
		start func(*exec.Cmd) (wait func() error, err error)
		lives bool
	}{
		{"process.Start", func(c *exec.Cmd) (func() error, error) {
			child, err := process.Start(c)
			if err != nil {
				return nil, err
			}
			return child.Wait, nil
		}, true},
		{"Pdeathsig alone", func(c *exec.Cmd) (func() error, error) {
			c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			return c.Wait, c.Start()
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEcho(t)
			var wait func() error
			var err error
			processtest.OnEndingThread(func() { wait, err = c.start(e.Cmd) })
			must(t, err)
			if got := e.answers(); got != c.lives {
				t.Errorf("the child is alive: %v, want %v", got, c.lives)
			}
			_ = e.in.Close()
			if err := wait(); (err == nil) != c.lives {
				t.Errorf("the child ended with %v", err)
			}
		})
	}
}

// TestChildDiesWithProgram kills a program that has a child. Its child holds the other end of a
// pipe, which the kernel closes when nobody has it any more.
func TestChildDiesWithProgram(t *testing.T) {
	parent := newEcho(t)
	parent.Path, parent.Args = "/proc/self/exe", []string{"parent"}
	parent.Env = append(os.Environ(), parentMark+"=1")
	must(t, parent.Start())
	if !parent.answers() {
		t.Fatal("the child did not start")
	}
	must(t, parent.Process.Kill())
	if said, err := parent.out.ReadString('\n'); err != io.EOF {
		t.Errorf("the child said %q (%v) after its parent's end", said, err)
	}
	_ = parent.Wait() // it was killed
}

func TestAttributesAreKept(t *testing.T) {
	e := newEcho(t)
	e.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	child, err := process.Start(e.Cmd)
	must(t, err)
	if group, err := syscall.Getpgid(e.Process.Pid); err != nil || group != e.Process.Pid {
		t.Errorf("the child %d is in process group %d (%v), want one of its own", e.Process.Pid, group, err)
	}
	_ = e.in.Close()
	must(t, child.Wait())
}

func TestStartOnStaysOnProcessor(t *testing.T) {
	var processors unix.CPUSet
	must(t, unix.SchedGetaffinity(0, &processors))
	first := 0
	for !processors.IsSet(first) {
		first++
	}
	e := newEcho(t)
	child, err := process.StartOn(first, e.Cmd)
	must(t, err)
	must(t, unix.SchedGetaffinity(e.Process.Pid, &processors))
	if processors.Count() != 1 || !processors.IsSet(first) {
		t.Errorf("the child may run on %d processors, want processor %d alone", processors.Count(), first)
	}
	_ = e.in.Close()
	must(t, child.Wait())
}

func TestHowChildrenEnd(t *testing.T) {
	if err := process.Run(exec.Command("true")); err != nil {
		t.Errorf("true ended with %v", err)
	}
	err := process.Run(exec.Command("sh", "-c", "exit 7"))
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 7 {
		t.Errorf("exit 7 ended with %v", err)
	}
	if err := process.Run(exec.Command("/nonexistent/program")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that is not there: %v", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
