package crowd

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// spareFiles is how many files the server and the clients' process may have open in addition to their
// connections.
const spareFiles = 500

// mostFiles is the largest number of files that a program of a crowd may have open.
const mostFiles = 1 << 18

// checkFiles returns why one process may not hold the connections of so many clients; "" if it may.
func checkFiles(clients, each int) string {
	need := uint64(clients*each + spareFiles)
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || need <= limit.Max {
		return ""
	}
	return fmt.Sprintf("%d clients with %d connections each need %d open files in one process, but the limit is %d; raise it with ulimit -Hn %d, or run as root",
		clients, each, need, limit.Max, need)
}

// RaiseFileLimit raises the hard limit on open files of this program, and of those that it starts, to what
// crowds may need. Only root outside of any user namespace may do that. For others nothing changes, and crowds
// that need more files are unsupported and say so.
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

// useFileLimit raises the soft limit on open files, for programs started from now on, to the hard limit. Go
// raises its own soft limit, but starts other programs with the one that it found.
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
