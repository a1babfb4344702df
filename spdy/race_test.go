//go:build race

package spdy

// The race detector makes pools drop items at random.
const raceDetector = true
