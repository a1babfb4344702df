package sandbox

import "golang.org/x/sys/unix"

const architecture = unix.AUDIT_ARCH_X86_64

// forbiddenHere are the forbidden system calls that only this kind of processor has.
var forbiddenHere = []uint32{unix.SYS_CREATE_MODULE, unix.SYS_IOPERM, unix.SYS_IOPL, unix.SYS_USELIB, unix.SYS__SYSCTL}
