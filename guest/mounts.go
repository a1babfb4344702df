package guest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/sys/unix"

	"wiretime/lab"
)

// These are names in the folder that is a guest's working directory on the host. The guest
// refers to host folders by them, so it never sees their real paths.
const (
	rootName   = "root"
	sharedName = "shared"
	sitesName  = "sites"
	usrName    = "usr"
	optName    = "opt"
	etcName    = "etc"
	peersName  = "peers"
)

// peers is the folder in a guest with the libraries of servers that are not in /usr.
const peers = "/peers"

// ErrUnseen says that guests cannot access a program of the host.
var ErrUnseen = errors.New("guests of the virtual clock can only run programs in /usr and /opt")

// Sees returns an error that wraps ErrUnseen if guests cannot access a program of the host.
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
	return fmt.Errorf("%w, but this one is %s: copy its folder to /opt, or use the real clock", ErrUnseen, real)
}

// hostFolders are the folders of the host that programs such as a browser need: programs
// and their configuration.
var hostFolders = map[string]string{usrName: "/usr", optName: "/opt", etcName: "/etc"}

// configuration lists what a guest takes from the host's /etc. The list is the same on
// every host, whether the names exist or not: what a guest does before its first load
// determines its random numbers and its time of day, and must not depend on what is
// installed.
var configuration = []string{
	"alternatives", "group", "ld.so.cache", "mime.types", "passwd", "pki", "protocols", "services", "ssl", // of many programs
	"apache2", "caddy", "h2o", "httpd", "nginx", // servers
	"java", "java-17-openjdk", "java-21-openjdk", "java-25-openjdk",
}

// folders lists the folders of a guest's read-only root.
var folders = []string{"dev", "etc", "opt", "proc", "run", "sys", "tmp", "usr", "var", "shared", "sites", "peers"}

// links lists the links in a guest's root to the host's programs and libraries.
var links = map[string]string{"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}

// mountDevices makes the kernel's devices visible, unless the kernel has done so itself.
func mountDevices() error {
	if err := unix.Mount("devtmpfs", "/dev", "devtmpfs", 0, ""); err != nil && err != unix.EBUSY {
		return fmt.Errorf("mount devtmpfs on /dev: %w", err)
	}
	return nil
}

// mountAll prepares a read-only root for programs. Writes go to memory, except in the
// folder shared with the host.
func mountAll() error {
	for _, m := range []struct {
		kind, target, options string
		flags                 uintptr
	}{
		{"proc", "/proc", "", 0},
		{"sysfs", "/sys", "", 0},
		{"tmpfs", "/tmp", "mode=1777", 0},
		{"tmpfs", "/run", "", 0},
		{"tmpfs", "/etc", "", 0},
		{"hostfs", shared, sharedName, 0},
		{"hostfs", sites, sitesName, unix.MS_RDONLY},
	} {
		if err := unix.Mount(m.kind, m.target, m.kind, m.flags, m.options); err != nil {
			return fmt.Errorf("mount %s on %s: %w", m.kind, m.target, err)
		}
	}
	if err := os.Mkdir("/dev/shm", 0o1777); err != nil && !os.IsExist(err) {
		return fmt.Errorf("make /dev/shm: %w", err)
	}
	if err := unix.Mount("tmpfs", "/dev/shm", "tmpfs", 0, "mode=1777"); err != nil {
		return fmt.Errorf("mount memory on /dev/shm: %w", err)
	}
	// A guest that runs out of memory must panic with a clear message. Otherwise Linux would
	// kill some program, which would fail for no apparent reason.
	if err := os.WriteFile("/proc/sys/vm/panic_on_oom", []byte("1"), 0o644); err != nil {
		return fmt.Errorf("make the kernel panic when memory runs out: %w", err)
	}
	if err := widenSocketMemory(); err != nil {
		return err
	}
	return lab.Prepare()
}

// needed is the memory that a guest needs besides its sockets' buffers, in octets.
const needed = 256 << 20

// widenSocketMemory raises the limits on the memory of all sockets together, which Linux
// derives from the machine's memory. A guest has little memory, and near the limits Linux
// shrinks windows, which does not happen on today's hosts. A small guest, which has small
// loads, keeps its limits.
func widenSocketMemory() error {
	var memory unix.Sysinfo_t
	if err := unix.Sysinfo(&memory); err != nil {
		return fmt.Errorf("read the guest's memory size: %w", err)
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

// mountPrograms mounts what programs need. Without it a guest has no access to the host.
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
		{"hostfs", peers, peersName, unix.MS_RDONLY},
	} {
		if err := os.MkdirAll(m.target, 0o755); err != nil {
			return err
		}
		err := unix.Mount(m.kind, m.target, m.kind, m.flags, m.options)
		if err != nil {
			return fmt.Errorf("mount %s on %s: %w", m.kind, m.target, err)
		}
	}
	for _, name := range configuration {
		if err := os.Symlink(filepath.Join(hostEtc, name), filepath.Join("/etc", name)); err != nil {
			return fmt.Errorf("copy the host's configuration: %w", err)
		}
	}
	return writeFonts()
}

// fontsConfiguration is the fontconfig file of a guest, which has a single font of its own.
// Otherwise a browser's start would depend on the host's fonts and font cache.
const fontsConfiguration = `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>/etc/fonts</dir><cachedir>/tmp/fontconfig</cachedir></fontconfig>
`

func writeFonts() error {
	if err := os.Mkdir("/etc/fonts", 0o755); err != nil {
		return fmt.Errorf("give the guest a font: %w", err)
	}
	if err := os.WriteFile("/etc/fonts/fonts.conf", []byte(fontsConfiguration), 0o644); err != nil {
		return fmt.Errorf("give the guest a font: %w", err)
	}
	if err := os.WriteFile("/etc/fonts/Go-Regular.ttf", goregular.TTF, 0o644); err != nil {
		return fmt.Errorf("give the guest a font: %w", err)
	}
	return nil
}
