package kernel

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// These select what this test program does when it is started in another role.
const (
	spinCommand      = "spin"         // as a guest's first program: compute for ever
	quitCommand      = "quit"         // as a guest's first program: end without powering off
	wanderCommand    = "wander"       // as a guest's first program: try to reach the host's files, and power off
	controlsCommand  = "tcp-controls" // as a guest's first program: print the kernel's congestion controls and power off
	forbiddenCommand = "forbidden"    // on the host: boot a guest where system calls are forbidden
	ownCommand       = "own"          // on the host: boot a guest from the given folder, print its process number and wait for it
)

func TestMain(m *testing.M) {
	Helper()
	if os.Getpid() == 1 && slices.Contains(os.Args, spinCommand) {
		fmt.Println("spinning")
		for { //nolint:staticcheck // to spin is the point
		}
	}
	if os.Getpid() == 1 && slices.Contains(os.Args, quitCommand) {
		fmt.Println("quitting")
		os.Exit(3)
	}
	if os.Getpid() == 1 && slices.Contains(os.Args, wanderCommand) {
		fmt.Println("wandering:", wander())
		os.Exit(3)
	}
	if os.Getpid() == 1 && slices.Contains(os.Args, controlsCommand) {
		fmt.Println(printControls())
		os.Exit(3)
	}
	if len(os.Args) > 2 && os.Args[1] == forbiddenCommand {
		os.Exit(bootForbidden(os.Args[2:]))
	}
	if len(os.Args) > 2 && os.Args[1] == ownCommand {
		fmt.Println(own(os.Args[2]))
		os.Exit(1)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fmt.Println("become the parent of orphans:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func printControls() error {
	if err := unix.Mount("none", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	text, err := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control")
	if err != nil {
		return err
	}
	fmt.Printf("controls: %s", text)
	return unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

func own(dir string) error {
	k, err := Find()
	if err != nil {
		return err
	}
	g, err := k.Boot(context.Background(), Machine{
		Root: filepath.Join(dir, "root"), Init: "/init", Memory: 64 << 20, CPU: 0, Dir: dir, Args: []string{spinCommand},
	})
	if err != nil {
		return err
	}
	fmt.Println(g.command.Process.Pid)
	return g.Wait()
}

// bootForbidden checks the kernel after it has forbidden system calls to itself and its
// children, like a container's seccomp profile.
func bootForbidden(names []string) int {
	var numbers []uint32
	if slices.Contains(names, "ptrace") {
		numbers = append(numbers, unix.SYS_PTRACE)
	}
	if slices.Contains(names, "seccomp") {
		numbers = append(numbers, unix.SYS_SECCOMP)
	}
	if err := forbid(numbers); err != nil {
		fmt.Println("forbid system calls:", err)
		return 1
	}
	k, err := Find()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	findings, err := k.Check(context.Background())
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for _, f := range findings {
		fmt.Println(f.OK, f.Name, f.Detail)
	}
	return 0
}

// forbid makes system calls fail with EPERM.
func forbid(numbers []uint32) error {
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}} // the system call's number
	for i, number := range numbers {
		filter = append(filter, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: uint8(len(numbers) - i), K: number})
	}
	filter = append(filter, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)})
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	return nil
}

// built is the kernel that boots in tests.
func built(t *testing.T) Kernel {
	t.Helper()
	k, err := Find()
	if err == nil {
		err = checkStatic("/proc/self/exe")
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
