package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// outsideMark tells the program inside whether it can reach the outside world:
// it holds the reason why it cannot, and is not set if it can.
const outsideMark = "WIRETIME_NO_OUTSIDE"

// outsideResolver is the address at which pasta passes DNS queries on to the
// machine's resolver. It is from the shared address space of RFC 6598.
const outsideResolver = "100.127.255.53"

// ErrNoOutside means that the program inside cannot reach the outside world.
var ErrNoOutside = errors.New("the outside world is not reachable from inside")

// EnterConnected is Enter, but the namespace inside is connected to what the
// machine is connected to, by pasta (package passt), which needs no root either.
// If that cannot be, connected says why and wraps ErrNoOutside.
//
// The loopback services of the machine are reachable at its gateway's address.
func EnterConnected() (p Privilege, connected, err error) {
	pasta, missing := exec.LookPath("pasta")
	switch {
	case missing != nil:
		_ = os.Setenv(outsideMark, "pasta was not found; install Debian's package passt")
	case os.Getenv(insideMark) == "":
		_ = os.Unsetenv(outsideMark)
	}
	p, err = enter(func(pid int) {
		if missing == nil {
			connect(pasta, pid)
		}
	})
	if err != nil {
		return p, nil, err
	}
	if why := os.Getenv(outsideMark); why != "" {
		_ = os.Unsetenv(outsideMark)
		return p, fmt.Errorf("%w: %s", ErrNoOutside, why), nil
	}
	if links, err := os.ReadFile("/proc/net/dev"); err != nil || strings.Count(string(links), ":") < 2 {
		return p, fmt.Errorf("%w: pasta could not connect the namespace (it said why above)", ErrNoOutside), nil
	}
	return p, nil, useResolver(outsideResolver)
}

// connect has pasta connect the namespace of process pid. pasta goes into the
// background once that is done and ends with the namespace.
func connect(pasta string, pid int) {
	args := []string{"--config-net", "--quiet", "--mtu", strconv.Itoa(mtu), "--dns-forward", outsideResolver,
		"--tcp-ports", "none", "--udp-ports", "none", "--tcp-ns", "none", "--udp-ns", "none"}
	if os.Geteuid() == 0 {
		// pasta would become nobody, who may not look into root's namespaces.
		args = append(args, "--runas", "0:0")
	}
	command := exec.Command(pasta, append(args, strconv.Itoa(pid))...)
	command.Stderr = os.Stderr
	// That it failed is seen inside by what is not there.
	_ = command.Run()
}

// useResolver makes this program and its children ask the DNS server at address.
func useResolver(address string) error {
	source := filepath.Join(Scratch, "resolv.conf")
	if err := os.WriteFile(source, []byte("nameserver "+address+"\n"), 0o644); err != nil {
		return fmt.Errorf("write a resolver configuration: %w", err)
	}
	if err := unix.Mount(source, "/etc/resolv.conf", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount a resolver configuration on /etc/resolv.conf: %w", err)
	}
	return nil
}
