//go:build !race

package spdy

const raceDetector = false
