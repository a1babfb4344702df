package sandbox

import (
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// forbidden are system calls that change the machine, look into other processes, or have no use for a
// browser, a server or a guest's kernel but to attack Linux.
var forbidden = append(forbiddenHere,
	unix.SYS_ACCT, unix.SYS_ADD_KEY, unix.SYS_ADJTIMEX, unix.SYS_BPF, unix.SYS_CLOCK_ADJTIME, unix.SYS_CLOCK_SETTIME,
	unix.SYS_DELETE_MODULE, unix.SYS_FANOTIFY_INIT, unix.SYS_FINIT_MODULE, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSOPEN,
	unix.SYS_FSPICK, unix.SYS_INIT_MODULE, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_IO_URING_SETUP,
	unix.SYS_KEXEC_FILE_LOAD, unix.SYS_KEXEC_LOAD, unix.SYS_KEYCTL, unix.SYS_MOUNT, unix.SYS_MOUNT_SETATTR, unix.SYS_MOVE_MOUNT,
	unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_OPEN_TREE, unix.SYS_PERF_EVENT_OPEN, unix.SYS_PIVOT_ROOT,
	unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_REBOOT, unix.SYS_REQUEST_KEY, unix.SYS_SETDOMAINNAME, unix.SYS_SETHOSTNAME,
	unix.SYS_SETTIMEOFDAY, unix.SYS_SWAPOFF, unix.SYS_SWAPON, unix.SYS_SYSLOG, unix.SYS_UMOUNT2, unix.SYS_USERFAULTFD,
	unix.SYS_VHANGUP)

// tracing are system calls that look into other processes.
var tracing = []uint32{unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD}

// nesting are system calls that make or enter namespaces, beside clone with newNamespaces.
var nesting = []uint32{unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_CHROOT}

// exchanging are system calls that reach what other programs of the same user share by a number or a name that is no
// file's: System V's memory, semaphores and queues, and POSIX's queues.
var exchanging = []uint32{unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
	unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK}

// scheduling are system calls whose first argument is the process or thread to be scheduled.
var scheduling = []uint32{unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETATTR, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETSCHEDULER}

// These are arguments of system calls: the caller as a process, and IOPRIO_WHO_PROCESS (ioprio_set(2)).
const (
	self             = 0
	ioprioWhoProcess = 1
)

// newNamespaces are clone's flags for namespaces.
const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// The offsets of struct seccomp_data (seccomp(2)). Arguments have 64 bits, the lower half first.
const (
	offsetNumber       = 0
	offsetArchitecture = 4
	offsetArguments    = 16
)

// Filtered reports whether system calls can be filtered here: some containers forbid filters.
func Filtered() bool {
	action := uint32(unix.SECCOMP_RET_ERRNO)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return architecture != 0 && errno == 0
}

// filter keeps this thread, and the program that it becomes, from system calls that the policy does not allow, where
// that is possible.
func filter(p Policy) error {
	if !Filtered() {
		return nil
	}
	program, err := bpf.Assemble(instructions(p))
	if err != nil {
		return fmt.Errorf("assemble the filter of system calls: %w", err)
	}
	raw := make([]unix.SockFilter, len(program))
	for i, in := range program {
		raw[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	head := unix.SockFprog{Len: uint16(len(raw)), Filter: &raw[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&head)))
	runtime.KeepAlive(raw)
	if errno != 0 {
		return fmt.Errorf("filter system calls: %w", errno)
	}
	return nil
}

// instructions are the filter as a program: each rule ends in an answer, or goes on with the next one.
func instructions(p Policy) []bpf.Instruction {
	refuse := func(e unix.Errno) bpf.Instruction { return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(e)} }
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetArchitecture, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: architecture, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS},
		bpf.LoadAbsolute{Off: offsetNumber, Size: 4},
		// Numbers from here up are another way to make the same calls (x32).
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: 1 << 30, SkipTrue: 1},
		refuse(unix.ENOSYS),
	}
	refused := slices.Clone(forbidden)
	if !p.Trace {
		refused = append(refused, tracing...)
	}
	if !p.Namespaces {
		refused = append(refused, nesting...)
	}
	if p.Namespaces || p.Offline { // servers may need it among their own processes
		refused = append(refused, exchanging...)
	}
	for _, number := range refused {
		program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number, SkipTrue: 1}, refuse(unix.EPERM))
	}
	argument := func(number, n uint32, rules ...bpf.Instruction) {
		program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number, SkipTrue: uint8(len(rules) + 2)},
			bpf.LoadAbsolute{Off: offsetArguments + 8*n, Size: 4})
		program = append(append(program, rules...), bpf.LoadAbsolute{Off: offsetNumber, Size: 4})
	}
	if !p.Namespaces {
		// Filters cannot see the flags of clone3. C libraries use clone where there is no clone3.
		program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_CLONE3, SkipTrue: 1}, refuse(unix.ENOSYS))
		argument(unix.SYS_CLONE, 0, bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: newNamespaces, SkipTrue: 1}, refuse(unix.EPERM))
	}
	// A program could type into the terminal that this one runs in.
	argument(unix.SYS_IOCTL, 1,
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.TIOCSTI, SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.TIOCLINUX, SkipTrue: 1}, refuse(unix.EPERM))
	// These change any process of the same user, to which Landlock's rule for signals does not apply: a limit on
	// processor time ends it, the others slow it down.
	onlyIf := func(number, n, value uint32) {
		argument(number, n, bpf.JumpIf{Cond: bpf.JumpEqual, Val: value, SkipTrue: 1}, refuse(unix.EPERM))
	}
	onlyIf(unix.SYS_PRLIMIT64, 0, self)
	if p.Offline { // browsers and servers schedule their own threads, by their numbers
		for _, number := range scheduling {
			onlyIf(number, 0, self)
		}
		onlyIf(unix.SYS_SETPRIORITY, 0, unix.PRIO_PROCESS)
		onlyIf(unix.SYS_SETPRIORITY, 1, self)
		onlyIf(unix.SYS_IOPRIO_SET, 0, ioprioWhoProcess)
		onlyIf(unix.SYS_IOPRIO_SET, 1, self)
	}
	if p.Offline {
		argument(unix.SYS_SOCKET, 0, bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_UNIX, SkipTrue: 1}, refuse(unix.EPERM))
	}
	return append(program, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW})
}
