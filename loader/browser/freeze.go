package browser

import (
	_ "embed"
	"fmt"
	"strings"
	"time"
)

// Freeze takes from a page what makes each of its loads ask for other URLs: the time of
// day and chance.
//
// Date stands still at At, however long the load takes: over a slow network a page asks
// for the same URLs as over a fast one. Since some scripts wait for time to pass, it
// jumps ahead by a second whenever a frame or worker has looked at it a thousand times.
// (Web Page Replay moves its clock by 50 ms every 25 looks, so that what a URL holds
// depends on how often a timer has fired before.) Math.random, crypto.getRandomValues and
// crypto.randomUUID draw from generators that start from Seed and the URL of the frame or
// worker. Performance.now and performance.timeOrigin are as always, since loads are
// measured by them; a URL made of those differs each time. So may one made of Intl's or
// Temporal's idea of now, or of a key that crypto.subtle has made.
type Freeze struct {
	At   time.Time
	Seed uint64
}

//go:embed freeze.js
var freezeScript string

// Script is an expression in JavaScript that freezes the frame or worker in which it is
// evaluated. It must be before any other script, and does nothing the second time.
func (f Freeze) Script() string {
	call := fmt.Sprintf("(%d, %d, %d)", f.At.UnixMilli(), uint32(f.Seed>>32), uint32(f.Seed))
	return "(" + strings.TrimSpace(freezeScript) + ")" + call
}
