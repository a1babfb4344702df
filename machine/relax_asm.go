//go:build amd64 || arm64

package machine

// relax spins for a moment with the instruction that leaves a core's other
// hyper-thread its share.
func relax()
