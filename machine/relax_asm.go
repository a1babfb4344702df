//go:build amd64 || arm64

package machine

// relax pauses for a moment with the instruction that yields the core to its
// other hyper-thread.
func relax()
