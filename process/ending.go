package process

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// EndingSignals returns the signals by which users and systems ask a program to end, without those
// that this program was started to ignore, as by nohup(1).
func EndingSignals() []os.Signal {
	var all []os.Signal
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			all = append(all, s)
		}
	}
	return all
}

// AdoptOrphans makes this program the parent of its descendants whose own parent has ended.
func AdoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the parent of orphans: %w", err)
	}
	return nil
}

// KillChildren kills this program's children (SIGKILL), each with its process group if it leads one.
// It does not wait for them.
func KillChildren() {
	for _, c := range children() {
		c.kill()
	}
}

// EndDescendants kills this program's children as KillChildren does and waits for them. After
// AdoptOrphans it goes on with their children, until none is left. Nothing else may wait for any of
// them meanwhile.
func EndDescendants() {
	for {
		all := children()
		if len(all) == 0 {
			return
		}
		for _, c := range all {
			c.kill()
			for errors.Is(reap(c.id), unix.EINTR) {
				continue
			}
		}
	}
}

func reap(id int) error {
	_, err := unix.Wait4(id, nil, 0, nil)
	return err
}

// child is a process as /proc/N/stat describes it.
type child struct{ id, group int }

func (c child) kill() {
	target := c.id
	if c.group == c.id {
		target = -c.id
	}
	_ = syscall.Kill(target, syscall.SIGKILL) // it may just have ended
}

// children lists this program's children.
func children() (all []child) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has just ended
		}
		// The second field, the program's name in parentheses, may hold anything.
		_, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+1:]), " ")
		fields := strings.Fields(rest) // state, parent, process group
		if len(fields) < 3 || fields[1] != strconv.Itoa(os.Getpid()) {
			continue
		}
		id, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil {
			continue
		}
		if group, err := strconv.Atoi(fields[2]); err == nil {
			all = append(all, child{id, group})
		}
	}
	return all
}
