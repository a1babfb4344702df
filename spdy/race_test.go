//go:build race

package spdy

// The race detector has pools forget at random.
const raceDetector = true
