package crowd

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// spareFiles is how many files the server and the clients' process may have open beside their
// connections.
const spareFiles = 500

// mostFiles is how many files a program of a crowd may have open, at most.
const mostFiles = 1 << 18

// checkFiles returns why a process may not hold the connections of so many clients, "" if it may.
func checkFiles(clients, each int) string {
	need := uint64(clients*each + spareFiles)
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || need <= limit.Max {
		return ""
	}
	return fmt.Sprintf("%d clients with %d connections each need %d open files in one process, and the limit is %d; raise it, as in ulimit -Hn %d, or run as root",
		clients, each, need, limit.Max, need)
}

// RaiseFileLimit lets this program, and those that it starts, open as many files as crowds may
// need, if it has the right to: only the machine's root has, outside of any user namespace. Where
// it fails, loads that need more are unsupported and say so.
func RaiseFileLimit() {
	most := uint64(mostFiles)
	if text, err := os.ReadFile("/proc/sys/fs/nr_open"); err == nil {
		if n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil {
			most = min(most, n)
		}
	}
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &now); err == nil && now.Max < most {
		_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: now.Cur, Max: most})
	}
}

// useFileLimit has the programs that this one starts from now on use the whole limit. Go raises its
// own limit by itself, and starts others with the one that it found.
func useFileLimit() error {
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &now); err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: now.Max, Max: now.Max}); err != nil {
		return fmt.Errorf("raise the limit on open files: %w", err)
	}
	return nil
}
