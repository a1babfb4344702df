//go:build !amd64 && !arm64

package machine

// relax spins for a moment.
func relax() {
	for range 1024 {
	}
}
