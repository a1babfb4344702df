package process_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

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

// TestStartOn: a child stays on the processor that it is started on, which is counted among those that its parent may use.
func TestStartOn(t *testing.T) {
	const last = "WIRETIME_TEST_LAST_PROCESSOR"
	all := processors(t, 0)
	if os.Getenv(last) == "" {
		c := exec.Command("/proc/self/exe", "-test.run", "^TestStartOn$")
		c.Env = append(os.Environ(), last+"=1")
		var said strings.Builder
		c.Stdout, c.Stderr = &said, &said
		child, err := process.StartOn(len(all)-1, c)
		must(t, err)
		if err := child.Wait(); err != nil {
			t.Errorf("on the last of %d processors: %v\n%s", len(all), err, said.String())
		}
	} else if len(all) != 1 {
		t.Errorf("this program may use the processors %v, want one", all)
	}
	e := newEcho(t)
	child, err := process.StartOn(0, e.Cmd)
	must(t, err)
	if got := processors(t, e.Process.Pid); !slices.Equal(got, all[:1]) {
		t.Errorf("the child may use the processors %v, want %v", got, all[:1])
	}
	_ = e.in.Close()
	must(t, child.Wait())
	if _, err := process.StartOn(len(all), exec.Command("true")); err == nil || !strings.Contains(err.Error(), "there is no processor") {
		t.Errorf("a processor too many: error %v", err)
	}
}

// processors returns the numbers of the processors that a process may use; 0 is this one.
func processors(t *testing.T, process int) (all []int) {
	t.Helper()
	var set unix.CPUSet
	must(t, unix.SchedGetaffinity(process, &set))
	for number := range 8 * int(unsafe.Sizeof(set)) {
		if set.IsSet(number) {
			all = append(all, number)
		}
	}
	return all
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
