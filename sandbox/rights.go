package sandbox

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// unprivileged is the user that contained programs of root run as. Nobody has it: the numbers from 61184 to 65519 are
// those that systemd gives to services for a while.
const unprivileged = 64321

// newUser returns the user that a program is to run as, if it is not to be this program's own: root's
// programs get another, unless this user namespace has no others.
func newUser(p Policy) (user int, changes bool) {
	if p.KeepUser || os.Geteuid() != 0 {
		return 0, false
	}
	mayLeaveGroups, err := os.ReadFile("/proc/self/setgroups")
	return unprivileged, err == nil && strings.TrimSpace(string(mayLeaveGroups)) == "allow" &&
		mapped(unprivileged, "/proc/self/uid_map") && mapped(unprivileged, "/proc/self/gid_map")
}

// mapped reports whether a user namespace has a user or group, by its map (user_namespaces(7)).
func mapped(id int, file string) bool {
	text, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		var inside, outside, size int
		if _, err := fmt.Sscan(line, &inside, &outside, &size); err == nil && id >= inside && id-inside < size {
			return true
		}
	}
	return false
}

// The bits of a thread's security (capabilities(7)): root's programs have no more rights than others, and a change of the user
// changes no capabilities, both for ever. Without the second one, access(2) would not heed the capability to get past closed
// folders, and a Java program in one would not find its own libraries.
const (
	noRoot         = 1<<0 | 1<<1
	noChangeByUser = 1<<2 | 1<<3
)

// giveUpRights changes this thread's user and gives up all capabilities but those of the policy, for the program that
// the thread becomes too.
func giveUpRights(p sent, user int, changes bool) error {
	var kept uint64
	if p.Ports {
		kept |= 1 << unix.CAP_NET_BIND_SERVICE
	}
	if p.Search && Landlock() > 0 {
		kept |= 1 << unix.CAP_DAC_READ_SEARCH
	}
	have, err := capabilities()
	if err != nil {
		return err
	}
	kept &= have
	if have&(1<<unix.CAP_SETPCAP) != 0 {
		// Root's programs would get all capabilities again when they are started.
		if err := unix.Prctl(unix.PR_SET_SECUREBITS, noRoot|noChangeByUser, 0, 0, 0); err != nil {
			return fmt.Errorf("give up root's rights: %w", err)
		}
	}
	if changes {
		if err := changeUser(user); err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("give up ambient capabilities: %w", err)
	}
	if err := setCapabilities(kept); err != nil {
		return err
	}
	for c := uint64(0); kept>>c != 0; c++ {
		if kept>>c&1 == 1 {
			if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, uintptr(c), 0, 0); err != nil {
				return fmt.Errorf("keep capability %d: %w", c, err)
			}
		}
	}
	return nil
}

// changeUser changes the thread's user and group, and leaves all other groups. Raw system calls change this thread only,
// which is the one that becomes the program.
func changeUser(user int) error {
	id := uintptr(user)
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); errno != 0 {
		return fmt.Errorf("leave root's groups: %w", errno)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESGID, id, id, id); errno != 0 {
		return fmt.Errorf("become group %d: %w", user, errno)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, id, id, id); errno != 0 {
		return fmt.Errorf("become user %d: %w", user, errno)
	}
	return nil
}

// capabilities returns the capabilities that this thread may use, as bits.
func capabilities() (uint64, error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return 0, fmt.Errorf("read capabilities: %w", err)
	}
	return uint64(data[1].Permitted)<<32 | uint64(data[0].Permitted), nil
}

func setCapabilities(kept uint64) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	low, high := uint32(kept), uint32(kept>>32)
	data := [2]unix.CapUserData{{Effective: low, Permitted: low, Inheritable: low}, {Effective: high, Permitted: high, Inheritable: high}}
	if err := unix.Capset(&header, &data[0]); err != nil {
		return fmt.Errorf("give up capabilities: %w", err)
	}
	return nil
}
