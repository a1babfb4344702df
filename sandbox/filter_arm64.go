package sandbox

import "golang.org/x/sys/unix"

const architecture = unix.AUDIT_ARCH_AARCH64

// forbiddenHere are the forbidden system calls that only this kind of processor has.
var forbiddenHere []uint32
