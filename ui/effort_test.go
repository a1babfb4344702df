package ui

import (
	"testing"
	"time"
)

// TestWaitingIsNoEffort: on a machine that stalls, a page is not left without news for a multiple of the stall.
func TestWaitingIsNoEffort(t *testing.T) {
	e := begin()
	<-time.After(200 * time.Millisecond)
	if took := e.took(); took < 0 || took > 150*time.Millisecond {
		t.Errorf("waiting for 200 ms took %v of processor time", took)
	}
}
