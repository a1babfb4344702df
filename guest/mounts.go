package guest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"wiretime/lab"
)

// Names in the folder that is a guest's working directory on the host. The
// guest names host folders by them, so that it never sees where on the host it is.
const (
	rootName   = "root"
	sharedName = "shared"
	sitesName  = "sites"
	usrName    = "usr"
	optName    = "opt"
	etcName    = "etc"
	cacheName  = "fontcache"
	peersName  = "peers"
)

// peers is where a guest finds the libraries of servers that are not in /usr.
const peers = "/peers"

// ErrUnseen says that a guest does not see a program of the host.
var ErrUnseen = errors.New("a guest of the virtual clock sees programs in /usr and /opt only")

// Sees returns an error that wraps ErrUnseen if guests do not see a program of the host.
func Sees(program string) error {
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return fmt.Errorf("look for a program: %w", err)
	}
	for _, name := range []string{usrName, optName} {
		if strings.HasPrefix(real, hostFolders[name]+"/") {
			return nil
		}
	}
	return fmt.Errorf("%w, and this is %s: copy its folder to /opt, or use the real clock", ErrUnseen, real)
}

// hostFolders are what programs, such as a browser, need of the host: programs, their configuration,
// and the list of fonts, which would take seconds to make anew.
var hostFolders = map[string]string{usrName: "/usr", optName: "/opt", etcName: "/etc", cacheName: "/var/cache/fontconfig"}

// folders are those of a guest's root, which is read-only.
var folders = []string{"dev", "etc", "opt", "proc", "run", "sys", "tmp", "usr", "var", "shared", "sites", "peers"}

// links of a guest's root lead into the host's programs and libraries.
var links = map[string]string{"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}

// mountAll makes a read-only root fit for programs. What is written goes to
// memory, but for the folder shared with the host.
func mountAll() error {
	for _, m := range []struct {
		kind, target, options string
		flags                 uintptr
	}{
		{"proc", "/proc", "", 0},
		{"sysfs", "/sys", "", 0},
		{"devtmpfs", "/dev", "", 0},
		{"tmpfs", "/tmp", "mode=1777", 0},
		{"tmpfs", "/run", "", 0},
		{"tmpfs", "/etc", "", 0},
		{"hostfs", shared, sharedName, 0},
		{"hostfs", sites, sitesName, unix.MS_RDONLY},
	} {
		err := unix.Mount(m.kind, m.target, m.kind, m.flags, m.options)
		if err == unix.EBUSY && m.kind == "devtmpfs" {
			continue // the kernel has done it
		}
		if err != nil {
			return fmt.Errorf("mount %s on %s: %w", m.kind, m.target, err)
		}
	}
	if err := os.Mkdir("/dev/shm", 0o1777); err != nil && !os.IsExist(err) {
		return fmt.Errorf("make /dev/shm: %w", err)
	}
	if err := unix.Mount("tmpfs", "/dev/shm", "tmpfs", 0, "mode=1777"); err != nil {
		return fmt.Errorf("mount memory on /dev/shm: %w", err)
	}
	// A guest whose memory is too small is lost, and says so: without this, whatever
	// program Linux kills for it fails for a reason that nobody understands.
	if err := os.WriteFile("/proc/sys/vm/panic_on_oom", []byte("1"), 0o644); err != nil {
		return fmt.Errorf("ask for an end when memory runs out: %w", err)
	}
	if err := widenSocketMemory(); err != nil {
		return err
	}
	return lab.Prepare()
}

// needed is how much memory a guest needs beside what its sockets hold, in octets.
const needed = 256 << 20

// widenSocketMemory keeps transports from the limits on what all sockets hold together,
// which Linux derives from a machine's memory and a guest has little of: near them it
// shrinks windows, as no host with the memory of today does. A small guest, which has
// small loads, keeps its limits.
func widenSocketMemory() error {
	var memory unix.Sysinfo_t
	if err := unix.Sysinfo(&memory); err != nil {
		return fmt.Errorf("ask for the guest's memory: %w", err)
	}
	left := int64(memory.Totalram)*int64(memory.Unit) - needed
	if left < needed {
		return nil
	}
	pages := left / int64(os.Getpagesize())
	for _, name := range []string{"ipv4/tcp_mem", "ipv4/udp_mem", "sctp/sctp_mem"} {
		if err := os.WriteFile("/proc/sys/net/"+name, fmt.Appendf(nil, "%d %d %d", pages, pages, pages), 0o644); err != nil {
			return fmt.Errorf("widen the memory of sockets: %w", err)
		}
	}
	return nil
}

// mountPrograms adds what programs need. Without it a guest sees nothing of the
// host that it runs on.
func mountPrograms() error {
	const hostEtc = "/run/etc"
	for _, m := range []struct {
		kind, target, options string
		flags                 uintptr
	}{
		{"tmpfs", "/var", "", 0},
		{"hostfs", "/usr", usrName, unix.MS_RDONLY},
		{"hostfs", "/opt", optName, unix.MS_RDONLY},
		{"hostfs", hostEtc, etcName, unix.MS_RDONLY},
		{"hostfs", "/var/cache/fontconfig", cacheName, unix.MS_RDONLY},
		{"hostfs", peers, peersName, unix.MS_RDONLY},
	} {
		if err := os.MkdirAll(m.target, 0o755); err != nil {
			return err
		}
		err := unix.Mount(m.kind, m.target, m.kind, m.flags, m.options)
		if err == unix.ENOENT && (m.options == optName || m.options == cacheName || m.options == peersName) {
			continue // then no program is there, fonts are looked for, and no load needs the peers
		}
		if err != nil {
			return fmt.Errorf("mount %s on %s: %w", m.kind, m.target, err)
		}
	}
	entries, err := os.ReadDir(hostEtc)
	if err != nil {
		return fmt.Errorf("look at the host's configuration: %w", err)
	}
	for _, e := range entries {
		// What the guest has already, how to look names up, is its own.
		err := os.Symlink(filepath.Join(hostEtc, e.Name()), filepath.Join("/etc", e.Name()))
		if err != nil && !os.IsExist(err) {
			return fmt.Errorf("take over the host's configuration: %w", err)
		}
	}
	return nil
}
