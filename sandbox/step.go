package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"
)

// A process that is the step before a contained program becomes that program before its main begins. If each program
// had to ask for it, one that did not would start itself again for ever.
func init() {
	if len(os.Args) < 2 {
		return
	}
	switch os.Args[1] {
	case Command:
		if err := become(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "wiretime:", err)
		}
		os.Exit(1)
	case probeCommand:
		os.Exit(probe())
	case nestedCommand:
		os.Exit(nested())
	}
}

// become gives up rights and becomes the program that the arguments name: a policy, the program, its arguments.
func become(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("%s needs a policy, a program and its arguments", Command)
	}
	var p sent
	if err := json.Unmarshal([]byte(args[0]), &p); err != nil {
		return fmt.Errorf("%s: read the policy: %w", Command, err)
	}
	// From here on the thread differs from the others, which end when it becomes the program.
	runtime.LockOSThread()
	if err := p.restrict(); err != nil {
		return fmt.Errorf("put %s into a sandbox: %w", args[1], err)
	}
	err := syscall.Exec(args[1], args[2:], os.Environ())
	return fmt.Errorf("run %s: %w", args[1], err)
}

// restrict gives up what the policy does not allow.
func (p sent) restrict() error {
	if err := limit(); err != nil {
		return err
	}
	parent := os.Getppid()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up the way to new rights: %w", err)
	}
	user, changes := newUser(p.Policy) // reads files that Landlock may close
	if err := p.landlock(); err != nil {
		return err
	}
	if err := giveUpRights(p, user, changes); err != nil {
		return err
	}
	// Linux forgets whom a process is to die with when its user changes.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("die with the program that started this one: %w", err)
	}
	if os.Getppid() != parent {
		return errors.New("the program that started this one has ended")
	}
	return filter(p.Policy)
}

// The limits of a contained program. The largest files are a guest's memory and the capture of a load.
const (
	largestFile = 64 << 30
	mostThreads = 32768 // of all programs of the same user together
	killedFirst = "500" // on the scale of /proc/self/oom_score_adj, where 1000 is killed before all else
)

func limit() error {
	for _, l := range []struct {
		what int
		most uint64
	}{{unix.RLIMIT_CORE, 0}, {unix.RLIMIT_FSIZE, largestFile}, {unix.RLIMIT_NPROC, mostThreads}} {
		var now unix.Rlimit
		if err := unix.Getrlimit(l.what, &now); err != nil {
			return fmt.Errorf("read a resource limit: %w", err)
		}
		most := min(l.most, now.Max)
		if err := unix.Setrlimit(l.what, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("set a resource limit: %w", err)
		}
	}
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte(killedFirst), 0) // a preference only
	return nil
}

// rules is the newest set of Landlock's restrictions that programs are held to, as far as the machine has it. Later
// ones restrict UDP, which browsers need to any port.
var rules = landlock.V9.BestEffort()

// landlock restricts files, signals and sockets.
func (p sent) landlock() error {
	read, write := p.Read, devices
	if !p.Bare {
		read = append(read, system...)
	}
	if p.Namespaces {
		write = append(write, "/proc") // its own maps of users; nothing else there belongs to it
	}
	var allowed []landlock.Rule
	for _, name := range read {
		allowed = append(allowed, rule(name, landlock.RODirs, landlock.ROFiles))
	}
	for _, name := range append(write, p.Write...) {
		allowed = append(allowed, rule(name, landlock.RWDirs, landlock.RWFiles))
	}
	restrict := rules.Restrict
	if !p.Offline {
		restrict = rules.RestrictPaths
	}
	if err := restrict(allowed...); err != nil {
		return fmt.Errorf("restrict files: %w", err)
	}
	if !p.Offline {
		if err := rules.RestrictScoped(); err != nil {
			return fmt.Errorf("restrict signals: %w", err)
		}
	}
	return nil
}

// rule allows what folder or file do, whichever name is.
func rule(name string, folder, file func(...string) landlock.FSRule) landlock.FSRule {
	if info, err := os.Stat(name); err == nil && !info.IsDir() {
		return file(name).IgnoreIfMissing()
	}
	return folder(name).IgnoreIfMissing()
}
