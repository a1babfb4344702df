// Package processtest shows whether a child outlives the thread that started it.
package processtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"syscall"
)

// OnEndingThread calls f on a thread that ends when f returns, and returns when the kernel has no
// such thread any more. By then the kernel has killed the children that were to die with it.
func OnEndingThread(f func()) {
	thread := make(chan int)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if id := syscall.Gettid(); id != os.Getpid() {
			f()
			thread <- id
			return
		}
		// A program's first thread never ends. While this goroutine waits on it, f runs on another.
		OnEndingThread(f)
		runtime.UnlockOSThread()
		thread <- 0
	}()
	id := <-thread
	for id != 0 {
		if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", id)); errors.Is(err, fs.ErrNotExist) {
			return
		}
		runtime.Gosched()
	}
}
