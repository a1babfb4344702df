package machine

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"wiretime/process"
)

// TestUsedCountsAProcessAndItsDescendants measures a shell whose child has used the processor, and compares it
// with the shell alone.
func TestUsedCountsAProcessAndItsDescendants(t *testing.T) {
	const busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo; read x"
	command := exec.Command("sh", "-c", "("+busy+") & (read x) ; wait")
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	child, err := process.Start(command)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		_ = child.Wait()
	}()
	if _, err := out.Read(make([]byte, 1)); err != nil { // the child has counted
		t.Fatal(err)
	}
	shell := child.Command.Process.Pid
	all, err := Used(shell)
	if err != nil {
		t.Fatal(err)
	}
	own, err := processorTime(shell)
	if err != nil {
		t.Fatal(err)
	}
	if got := all.User + all.Kernel; got <= time.Duration(own) || got < time.Millisecond {
		t.Errorf("a shell whose child has counted to 200,000 used %v, and %v without the child", got, time.Duration(own))
	}
	if all.Resident <= 0 || all.Peak < all.Resident/2 {
		t.Errorf("their memory is %d octets, with a peak of %d", all.Resident, all.Peak)
	}
}

// TestUsedOfAProcessThatHasEnded reads a process that no longer exists.
func TestUsedOfAProcessThatHasEnded(t *testing.T) {
	command := exec.Command("true")
	if err := process.Run(command); err != nil {
		t.Fatal(err)
	}
	if got, err := Used(command.Process.Pid); err != nil || got != (Usage{}) {
		t.Errorf("a process that has ended used %+v, error %v; want nothing", got, err)
	}
}

func TestKilobytes(t *testing.T) {
	const list = "Name:\tVmHWM: 5 kB\nVmHWM:\t     1024 kB\nVmRSS:\nPss:  7 kB\n"
	for name, want := range map[string]int64{"VmHWM:": 1 << 20, "Pss:": 7 << 10, "VmRSS:": 0, "VmSwap:": 0} {
		if got := kilobytes([]byte(list), name); got != want {
			t.Errorf("%s is %d octets, want %d", name, got, want)
		}
	}
}

// TestCallsAreCounted has a shell make a known number of system calls, and a few others, in a process that it
// starts after counting has begun.
func TestCallsAreCounted(t *testing.T) {
	command := exec.Command("sh", "-c", "read x; (i=0; while [ $i -lt 500 ]; do echo; i=$((i+1)); done); read x")
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	child, err := process.Start(command)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		_ = child.Wait()
	}()
	calls, err := CountCalls(child.Command.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	before, err := calls.Count()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	lines := make([]byte, 500)
	for read := 0; read < len(lines); {
		n, err := out.Read(lines[read:])
		if err != nil {
			t.Fatal(err)
		}
		read += n
	}
	after, err := calls.Count()
	if err != nil {
		t.Fatal(err)
	}
	if got := after - before; got < 500 || got > 1000 {
		t.Errorf("a shell that wrote 500 lines, one by one, made %d system calls", got)
	}
	if err := calls.Close(); err != nil {
		t.Error(err)
	}
	if _, err := in.Write([]byte("\n")); err != nil { // the shell keeps running, and ends by itself
		t.Error(err)
	}
}

// TestCallsOfACounterThatIsKilled kills the counting process: neither a count nor Close hides it.
func TestCallsOfACounterThatIsKilled(t *testing.T) {
	command := exec.Command("sh", "-c", "read x")
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	child, err := process.Start(command)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		_ = child.Wait()
	}()
	calls, err := CountCalls(child.Command.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := calls.child.Command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if n, err := calls.Count(); err == nil {
		t.Errorf("a counting process that was killed counted %d system calls", n)
	}
	if err := calls.Close(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("closing it returns error %v, want one that says how it ended", err)
	}
}

// TestCallsOfAProcessThatHasEnded asks for the system calls of a process that no longer exists: the error says so.
func TestCallsOfAProcessThatHasEnded(t *testing.T) {
	command := exec.Command("true")
	if err := process.Run(command); err != nil {
		t.Fatal(err)
	}
	calls, err := CountCalls(command.Process.Pid)
	if err == nil {
		_ = calls.Close()
	}
	if want := fmt.Sprintf("count system calls with ptrace: list the threads of process %d: ", command.Process.Pid); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}
