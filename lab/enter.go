package lab

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"wiretime/lab/emulator"
	"wiretime/machine"
	"wiretime/process"
)

// insideMark tells a program that Enter started it; it says how.
const insideMark = "WIRETIME_INSIDE"

// gateFD is where the program inside finds the pipe that tells it to go on.
const gateFD = 3

// ErrForbidden means that this machine lets neither this user make user
// namespaces nor has the program been started by root.
var ErrForbidden = errors.New("this machine forbids user namespaces to this user")

// Privilege says how the program came to be allowed to make namespaces.
type Privilege string

const (
	// Rootless means in a user namespace of its own; no right beyond the user's.
	Rootless Privilege = "user namespace"
	// Root means that the machine forbids user namespaces and the program runs as root.
	Root Privilege = "root"
)

// Helper runs the program as one of a lab's helper processes if it was started
// as one, and never returns in that case. Every program that makes labs must
// call it first thing in main (a test: in TestMain), because the helpers are
// the same program started again.
func Helper() {
	if len(os.Args) < 2 {
		return
	}
	switch os.Args[1] {
	case emulator.Command:
		exit(emulator.Main())
	case enterCommand:
		exit(enterAndExec(os.Args[2:]))
	case probeCommand:
		exit(probe())
	case machine.AwakeCommand:
		exit(machine.AwakeMain())
	}
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "wiretime:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Enter makes sure that the program may make labs. Called outside, it starts
// the program again with the same arguments inside a user, mount and network
// namespace of its own, waits for it and exits with its status; called inside,
// it returns how it got there. Everything that the program mounts or
// configures inside goes away with its last process, however that ends. When the program inside has
// ended, so have all programs that it had started, even if it was killed.
//
// Inside, programs ask the lab's DNS server for names.
//
// It returns an error that wraps ErrForbidden if the machine allows neither way.
func Enter() (Privilege, error) {
	if !Inside() {
		if err := process.AdoptOrphans(); err != nil {
			return "", err
		}
	}
	p, err := enter(nil, process.EndDescendants)
	if err != nil {
		return p, err
	}
	return p, useLabResolver()
}

// Inside reports whether Enter has started this program, which has not called Enter yet itself. The
// program outside then decides about signals, and passes them on.
func Inside() bool { return os.Getenv(insideMark) != "" }

// EnterBeside is Enter without the lab's DNS server: names are resolved as
// outside. If beside is not nil, it is called outside with the id of the process
// inside, which waits until beside returns. The file that beside returns, if any,
// is closed when the process inside has ended.
func EnterBeside(beside func(pid int) *os.File) (Privilege, error) {
	return enter(beside, func() {})
}

// enter is EnterBeside, and calls ended outside when the process inside has ended.
func enter(beside func(pid int) *os.File, ended func()) (Privilege, error) {
	if p := os.Getenv(insideMark); p != "" {
		_ = os.Unsetenv(insideMark)
		// Reading ends when the program outside is done with its part.
		gate := os.NewFile(gateFD, "gate")
		_, _ = io.Copy(io.Discard, gate)
		_ = gate.Close()
		unix.CloseOnExec(urgencyFD)
		// What a browser leaves behind is then this program's to reap.
		if err := process.AdoptOrphans(); err != nil {
			return "", err
		}
		return Privilege(p), privateMounts()
	}
	shut, open, err := os.Pipe()
	if err != nil {
		return "", fmt.Errorf("make a pipe to the program inside: %w", err)
	}
	requests, urgency, err := os.Pipe()
	if err != nil {
		return "", fmt.Errorf("make a pipe from the program inside: %w", err)
	}
	child, err := startAgain(Rootless, shut, urgency)
	if err != nil && os.Geteuid() == 0 {
		child, err = startAgain(Root, shut, urgency)
	}
	if err != nil {
		return "", forbidden(err)
	}
	_ = shut.Close()
	_ = urgency.Close()
	go grantUrgency(requests) // ends with this program
	var held *os.File
	if beside != nil {
		held = beside(child.Command.Process.Pid)
	}
	_ = open.Close()
	code := waitInside(child)
	ended()
	_ = held.Close() // closing no file is no harm
	os.Exit(code)
	return "", nil
}

// startAgain starts this program inside new namespaces with the arguments it
// was given.
func startAgain(p Privilege, gate, urgency *os.File) (*process.Child, error) {
	command, err := inside(p, os.Args[1:]...)
	if err != nil {
		return nil, err
	}
	command.Args[0] = os.Args[0]
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.ExtraFiles = []*os.File{gate, urgency} // become gateFD and urgencyFD
	child, err := process.Start(command)
	if err != nil {
		return nil, fmt.Errorf("start inside new namespaces (%s): %w", p, err)
	}
	return child, nil
}

// inside is this program, about to be started inside new namespaces.
func inside(p Privilege, args ...string) (*exec.Cmd, error) {
	command := exec.Command("/proc/self/exe", args...)
	command.Env = append(os.Environ(), insideMark+"="+string(p),
		// Segmentation offload would hand the emulator QUIC packets in bunches
		// that no sender's pacing meant.
		"QUIC_GO_DISABLE_GSO=1", "QUIC_GO_DISABLE_RECEIVE_BUFFER_WARNING=1")
	attributes := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWNET}
	if p == Rootless {
		attributes.Cloneflags |= unix.CLONE_NEWUSER
		var err error
		if attributes.UidMappings, err = identities("/proc/self/uid_map", os.Geteuid()); err != nil {
			return nil, err
		}
		if os.Geteuid() != 0 {
			attributes.AmbientCaps = allCapabilities()
		}
		attributes.GidMappingsEnableSetgroups = os.Geteuid() == 0 // what root's programs may do to leave root's groups
		if attributes.GidMappings, err = identities("/proc/self/gid_map", os.Getegid()); err != nil {
			return nil, err
		}
	}
	command.SysProcAttr = attributes
	return command, nil
}

// allCapabilities lists the capabilities that Linux has. Inside, the program needs those of root without being root: a
// browser that is root has no sandbox of its own.
func allCapabilities() []uintptr {
	last, err := strconv.Atoi(read("/proc/sys/kernel/cap_last_cap"))
	if err != nil {
		last = unix.CAP_LAST_CAP
	}
	var all []uintptr
	for c := range uintptr(last) + 1 {
		all = append(all, c)
	}
	return all
}

// identities says which user or group numbers there are inside: all of them for root, and else the user's own. They stay
// as they are, so that users still own what they owned.
func identities(file string, own int) ([]syscall.SysProcIDMap, error) {
	if os.Geteuid() != 0 {
		return []syscall.SysProcIDMap{{ContainerID: own, HostID: own, Size: 1}}, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read which users there are: %w", err)
	}
	var maps []syscall.SysProcIDMap
	for line := range strings.Lines(string(text)) {
		var inside, outside, size int
		if _, err := fmt.Sscan(line, &inside, &outside, &size); err != nil {
			return nil, fmt.Errorf("read line %q of %s: %w", line, file, err)
		}
		maps = append(maps, syscall.SysProcIDMap{ContainerID: inside, HostID: inside, Size: size})
	}
	return maps, nil
}

// waitInside waits for the program inside and returns its exit status.
func waitInside(child *process.Child) int {
	err := WaitRelaying(child)
	if child.Command.ProcessState == nil {
		fmt.Fprintln(os.Stderr, "wiretime: wait for the program inside:", err)
		return 1
	}
	status := child.Command.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// WaitRelaying waits for a child and passes on to it the signals that would end this
// program. The terminal sends Ctrl-C to both.
func WaitRelaying(child *process.Child) error {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, append(process.EndingSignals(), syscall.SIGQUIT)...)
	defer signal.Stop(signals)
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	for {
		select {
		case s := <-signals:
			if s != syscall.SIGINT || !sharesTerminal() {
				_ = child.Command.Process.Signal(s) // it may just have ended
			}
		case err := <-ended:
			return err
		}
	}
}

// sharesTerminal says whether this process is in its terminal's foreground
// group, where the terminal sends Ctrl-C to the child as well.
func sharesTerminal() bool {
	for fd := range 3 { // any of the three may be redirected
		if group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err == nil {
			return group == unix.Getpgrp()
		}
	}
	return false
}

func forbidden(cause error) error {
	hint := "run it as root, or allow user namespaces"
	if !isMountPoint("/") {
		hint = "it runs in a chroot, where Linux allows them to nobody (unshare(2)): run it as root, or enter the folder with a program " +
			"that makes it the root of a mount namespace, such as bwrap or podman --rootfs"
	} else if n := read("/proc/sys/user/max_user_namespaces"); n == "0" {
		hint += ": sysctl user.max_user_namespaces=10000"
	} else if read("/proc/sys/kernel/unprivileged_userns_clone") == "0" {
		hint += ": sysctl kernel.unprivileged_userns_clone=1"
	} else if read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1" {
		hint += ": sysctl kernel.apparmor_restrict_unprivileged_userns=0"
	}
	return fmt.Errorf("%w: %w; %s", ErrForbidden, cause, hint)
}

// isMountPoint reports whether something is mounted on a folder, as on / unless this program runs in a chroot.
func isMountPoint(folder string) bool {
	for line := range strings.Lines(read("/proc/self/mountinfo")) {
		if fields := strings.Fields(line); len(fields) > 4 && fields[4] == folder {
			return true
		}
	}
	return false
}

func read(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// Scratch is a folder in memory that no other program sees and that goes away
// with the program, even if it is killed. It exists after Enter.
const Scratch = "/dev/shm/wiretime"

// privateMounts gives the program its own /dev/shm.
func privateMounts() error {
	if err := makeMountsPrivate(); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("wiretime", "/dev/shm", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777"); err != nil {
		return fmt.Errorf("mount a folder in memory on /dev/shm: %w", err)
	}
	if err := os.Mkdir(Scratch, 0o711); err != nil { // contained programs must get to their own folders in it
		return fmt.Errorf("make the scratch folder: %w", err)
	}
	// Inside, there is a fresh network namespace with its loopback down.
	return loopbackUp()
}

// makeMountsPrivate keeps what this program mounts from the mount namespace that it comes from.
func makeMountsPrivate() error {
	err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	if !errors.Is(err, unix.EINVAL) {
		return err
	}
	// In a chroot / is no mount point, and the mount that holds it cannot be named. Root may leave a chroot (chroot(2)), and
	// comes back to the folders that it has kept open.
	const flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC
	root, err := unix.Open("/", flags, 0)
	if err != nil {
		return err
	}
	defer unix.Close(root)
	working, err := unix.Open(".", flags, 0)
	if err != nil {
		return err
	}
	defer unix.Close(working)
	if err := errors.Join(unix.Chdir("/"), unix.Chroot("/proc")); err != nil { // the working folder is now outside of the root
		return fmt.Errorf("leave the chroot: %w", err)
	}
	err = toTop()
	if err == nil {
		err = unix.Mount("none", ".", "", unix.MS_REC|unix.MS_PRIVATE, "")
	}
	return errors.Join(err, unix.Fchdir(root), unix.Chroot("."), unix.Fchdir(working))
}

// toTop goes to the uppermost folder above the working folder.
func toTop() error {
	for {
		var here, above unix.Stat_t
		if err := errors.Join(unix.Stat(".", &here), unix.Stat("..", &above)); err != nil {
			return err
		}
		if here.Dev == above.Dev && here.Ino == above.Ino {
			return nil
		}
		if err := unix.Chdir(".."); err != nil {
			return err
		}
	}
}

// guestNice is the nice value of programs that run in a lab. A busy browser must
// not keep the emulator from its packets; with the machine to itself it loses
// nothing by it.
const guestNice = 10

// enterCommand is the first argument of a program that is to enter a network
// namespace and become another program.
const enterCommand = "enter-namespace"

// serverNice is the nice value of servers that are programs of their own: Wiretime's own
// server, which is part of this program, has no other.
const serverNice = 0

// Command arranges for command to run inside the namespace.
func (n *Namespace) Command(command *exec.Cmd) { n.command(command, guestNice) }

func (n *Namespace) command(command *exec.Cmd, nice int) {
	command.Args = append([]string{"wiretime", enterCommand, n.Path(), strconv.Itoa(nice), command.Path}, command.Args...)
	command.Path = "/proc/self/exe"
	command.Err = nil
}

// enterAndExec does what Command arranged: namespace, nice value, program, its arguments.
func enterAndExec(args []string) error {
	if len(args) < 4 {
		return fmt.Errorf("%s needs a namespace, a nice value, a program and its arguments", enterCommand)
	}
	nice, err := strconv.Atoi(args[1])
	if err != nil {
		return fmt.Errorf("%s: the nice value is %q", enterCommand, args[1])
	}
	program := args[2]
	runtime.LockOSThread()
	fd, err := unix.Open(args[0], unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open network namespace %s: %w", args[0], err)
	}
	if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter network namespace %s: %w", args[0], err)
	}
	// A program that was itself started with a higher nice value may not go below it.
	if err := unix.Setpriority(unix.PRIO_PROCESS, 0, nice); err != nil && !errors.Is(err, unix.EACCES) {
		return fmt.Errorf("set the priority of %s: %w", program, err)
	}
	err = syscall.Exec(program, args[3:], os.Environ())
	return fmt.Errorf("run %s: %w", program, err)
}

// Prepare does for the first program of a guest what Enter does elsewhere: the
// guest's kernel has no other programs, and its first one has all rights.
func Prepare() error {
	if err := os.Mkdir(Scratch, 0o700); err != nil {
		return fmt.Errorf("make the scratch folder: %w", err)
	}
	for name, text := range resolverFiles {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return fmt.Errorf("write the lab's resolver configuration: %w", err)
		}
	}
	return loopbackUp()
}
