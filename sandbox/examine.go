package sandbox

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Report says what contains programs on this machine, as it is stored with each run.
type Report struct {
	// Landlock is the version of Landlock's interface, 0 without Landlock.
	Landlock int `json:"landlock"`
	// User says whose rights browsers and servers have.
	User string `json:"user"`
	// Filtered says that system calls are filtered.
	Filtered bool `json:"system_calls_filtered"`
	// Nested says that browsers can have their own sandbox.
	Nested bool `json:"browsers_own_sandbox"`
}

const unprivilegedWords = "an unprivileged user"

// ErrUncontained means that a stranger's page was not loaded, since nothing would keep a browser that it has taken over
// from this machine.
var ErrUncontained = errors.New("nothing contains the browser")

// Suffices returns an error that wraps ErrUncontained if a browser that runs strangers' code for a user would have all of
// that user's rights, and the user is root.
func (r Report) Suffices(root bool) error {
	if !root || r.Landlock > 0 || r.User == unprivilegedWords {
		return nil
	}
	return fmt.Errorf("%w: this kernel has no Landlock, and root has no other user here to run it as; run this as another user", ErrUncontained)
}

// Examine finds out what contains browsers on this machine, by starting a program like one.
func Examine() Report {
	r := Report{Landlock: Landlock(), Filtered: Filtered(), Nested: Nests(), User: "the user's own, without capabilities"}
	if _, changes := newUser(Policy{}); changes {
		r.User = unprivilegedWords
	}
	return r
}

// String words the report for people.
func (r Report) String() string {
	parts := []string{"no Landlock"}
	if r.Landlock > 0 {
		parts[0] = "Landlock (interface " + strconv.Itoa(r.Landlock) + ")"
	}
	parts = append(parts, "as "+r.User)
	if r.Filtered {
		parts = append(parts, "system calls filtered")
	} else {
		parts = append(parts, "system calls not filtered")
	}
	if r.Nested {
		parts = append(parts, "browsers with their own sandbox")
	} else {
		parts = append(parts, "browsers without their own sandbox")
	}
	return strings.Join(parts, ", ")
}

// Landlock returns the version of Landlock's interface, or 0 if the kernel has none or has it switched off.
func Landlock() int {
	version, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return version
}

// probeCommand and nestedCommand make this program try what a browser does for its own sandbox.
const (
	probeCommand  = "probe-sandbox"
	nestedCommand = "probe-nested-sandbox"
)

// Nests reports whether a contained browser can have its own sandbox too: it needs user namespaces in which it may
// change its root. Chromium has none for root.
func Nests() bool {
	command := exec.Command("/proc/self/exe", probeCommand)
	if Contain(command, Policy{Namespaces: true}) != nil {
		return false
	}
	return command.Run() == nil
}

// probe is the contained program of Nests.
func probe() int {
	if unix.Geteuid() == 0 {
		return 1
	}
	runtime.LockOSThread()
	command := exec.Command("/proc/self/exe", nestedCommand)
	command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET, Pdeathsig: unix.SIGKILL,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: unix.Getuid(), HostID: unix.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: unix.Getgid(), HostID: unix.Getgid(), Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_CHROOT},
	}
	if command.Run() != nil {
		return 1
	}
	return 0
}

// nested is the program in the sandbox of probe.
func nested() int {
	if unix.Chroot("/proc/self/fdinfo") != nil {
		return 1
	}
	return 0
}
