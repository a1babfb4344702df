package kernel

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"wiretime/atomicfile"
)

// checkCommand, as a word of a guest's command line, makes this program the guest's first
// one, which runs the checks and powers off the guest.
const checkCommand = "wiretime-check"

// checkCalls is the environment variable with the number of system calls that the guest
// makes to measure the cost of one.
const checkCalls = "CHECK_CALLS"

// sight holds what a guest observes about itself.
type sight struct {
	Version string        // as uname has it
	Slept   time.Duration // duration of a sleep of checkSleep on the guest's clock
	Random  string        // the first bytes of the random stream, hexadecimal
	Missing []string      // features that a lab needs and this kernel lacks
}

const checkSleep = 1000 * time.Second

// These are the paths of the guest's result folder, in the guest and relative to
// Machine.Dir.
const (
	guestResults = "/out"
	hostResults  = "out"
	resultFile   = "check.json"
)

// Helper runs the guest's side of Check if this process is the first one of a guest, and
// then does not return. A program that calls Check must call Helper first in main;
// elsewhere it does nothing.
func Helper() {
	if os.Getpid() != 1 || !slices.Contains(os.Args[1:], checkCommand) {
		return
	}
	if err := lookAround(); err != nil {
		fmt.Fprintln(os.Stderr, "check of the guest:", err)
		os.Exit(1) // the kernel panics without its first process, and Wait says so
	}
	err := unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	fmt.Fprintln(os.Stderr, "power off the guest:", err)
	os.Exit(1)
}

func lookAround() error {
	if err := unix.Mount("none", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	if err := unix.Mount("none", guestResults, "hostfs", 0, hostResults); err != nil {
		return fmt.Errorf("mount the host's folder for results: %w", err)
	}
	var s sight
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return fmt.Errorf("read the kernel's version: %w", err)
	}
	s.Version = unix.ByteSliceToString(name.Release[:]) + " " + unix.ByteSliceToString(name.Version[:])
	random := make([]byte, 32)
	if _, err := rand.Read(random); err != nil {
		return fmt.Errorf("read random bytes: %w", err)
	}
	s.Random = hex.EncodeToString(random)
	for _, need := range []struct {
		name string
		try  func() error
	}{
		{"SCTP", func() error { return trySocket(unix.IPPROTO_SCTP) }},
		{"MPTCP", func() error { return trySocket(unix.IPPROTO_MPTCP) }},
		{"TUN devices", tryTUN},
		{"network namespaces", func() error { return unix.Unshare(unix.CLONE_NEWNET) }},
	} {
		if err := need.try(); err != nil {
			s.Missing = append(s.Missing, fmt.Sprintf("%s (%v)", need.name, err))
		}
	}
	if err := burn(os.Getenv(checkCalls)); err != nil {
		return err
	}
	var err error
	if s.Slept, err = sleep(checkSleep); err != nil {
		return err
	}
	return leave(s)
}

func trySocket(protocol int) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func tryTUN() error {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// burn makes cheap system calls.
func burn(count string) error {
	if count == "" {
		return nil
	}
	n, err := strconv.Atoi(count)
	if err != nil {
		return fmt.Errorf("%s: %w", checkCalls, err)
	}
	for range n {
		_, _, _ = unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0)
	}
	return nil
}

// sleep measures a sleep on the guest's own clock. It uses raw system calls, since Go's
// timers are too coarse for this.
func sleep(d time.Duration) (time.Duration, error) {
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("remove the timer slack: %w", err)
	}
	var before, after unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &before); err != nil {
		return 0, fmt.Errorf("read the clock: %w", err)
	}
	until := unix.NsecToTimespec(before.Nano() + int64(d))
	for {
		err := unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &until, nil)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EINTR) {
			return 0, fmt.Errorf("sleep: %w", err)
		}
	}
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &after); err != nil {
		return 0, fmt.Errorf("read the clock: %w", err)
	}
	return time.Duration(after.Nano() - before.Nano()), nil
}

// leave writes the results to the host as a whole.
func leave(s sight) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := atomicfile.WriteBytes(filepath.Join(guestResults, resultFile), text); err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	return nil
}
