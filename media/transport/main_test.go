package transport

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"wiretime/lab/labtest"
)

// These select what this test program does when it is started in another role.
const (
	guestWord    = "transport-test"     // among the arguments of a guest's first program: guest_test.go
	transferMark = "TEST_TRANSFER_OVER" // in the environment, with a row's name: memory_test.go
	shortageMark = "TEST_SHORTAGE_OVER" // likewise: hostile_test.go
)

func TestMain(m *testing.M) {
	if os.Getpid() == 1 && slices.Contains(os.Args, guestWord) {
		fmt.Println("guest:", runInGuest(m))
		_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	}
	if row := os.Getenv(transferMark); row != "" {
		if err := transferAndTell(row); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if row := os.Getenv(shortageMark); row != "" {
		if err := serveInShortage(row); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	labtest.Main(m)
}
