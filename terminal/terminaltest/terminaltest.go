// Package terminaltest makes terminals for tests.
package terminaltest

import (
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Terminal is a terminal with somebody before it, who reads all that is shown and may type.
type Terminal struct {
	Side *os.File // what a program has as its terminal
	own  *os.File

	mu    sync.Mutex
	shown strings.Builder
	more  chan struct{} // closed, and made anew, when more is shown
	ended chan struct{}
}

// Open makes a terminal that is so many columns wide; 0: it does not tell its width. It skips the test on a machine without terminals
// to make.
func Open(t testing.TB, columns int) *Terminal {
	t.Helper()
	own, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this machine has no terminals to make: %v", err)
	}
	if err := unix.IoctlSetPointerInt(int(own.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	side, _, errno := unix.Syscall(unix.SYS_IOCTL, own.Fd(), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY)
	if errno != 0 {
		t.Fatal(errno)
	}
	terminal := &Terminal{Side: os.NewFile(side, "terminal"), own: own, more: make(chan struct{}), ended: make(chan struct{})}
	terminal.Resize(t, columns)
	go terminal.read()
	t.Cleanup(func() { terminal.Close() })
	return terminal
}

// Resize changes the width.
func (t *Terminal) Resize(tb testing.TB, columns int) {
	tb.Helper()
	if err := unix.IoctlSetWinsize(int(t.own.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(columns)}); err != nil {
		tb.Fatal(err)
	}
}

// read keeps what is shown until the last program has closed its side.
func (t *Terminal) read() {
	defer close(t.ended)
	buffer := make([]byte, 4096)
	for {
		n, err := t.own.Read(buffer)
		t.mu.Lock()
		t.shown.Write(buffer[:n])
		close(t.more)
		t.more = make(chan struct{})
		t.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Type types text.
func (t *Terminal) Type(tb testing.TB, text string) {
	tb.Helper()
	if _, err := io.WriteString(t.own, text); err != nil {
		tb.Fatal(err)
	}
}

// Await waits until something has been shown, and returns all that was.
func (t *Terminal) Await(tb testing.TB, text string) string {
	tb.Helper()
	late := time.After(time.Minute)
	for {
		t.mu.Lock()
		shown, more := t.shown.String(), t.more
		t.mu.Unlock()
		if strings.Contains(shown, text) {
			return shown
		}
		select {
		case <-more:
		case <-late:
			tb.Fatalf("the terminal does not show %q, but %q", text, shown[max(0, len(shown)-500):])
		}
	}
}

// Close closes the program's side, and returns all that was shown once all programs have closed theirs.
func (t *Terminal) Close() string {
	_ = t.Side.Close()
	<-t.ended
	_ = t.own.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.shown.String()
}
