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

// Names in the folder that is a guest's working directory on the host. The
// guest names host folders by them, so that it never sees where on the host it is.
const (
	rootName   = "root"
	sharedName = "shared"
	sitesName  = "sites"
	usrName    = "usr"
	optName    = "opt"
	etcName    = "etc"
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

// hostFolders are what programs, such as a browser, need of the host: programs and their
// configuration.
var hostFolders = map[string]string{usrName: "/usr", optName: "/opt", etcName: "/etc"}

// configuration is what a guest takes over of the host's /etc. It is the same list on every
// host, whether a name is there or not: what a guest does before its first load decides its
// random numbers and the time of day, and so must not depend on what else is installed.
var configuration = []string{
	"alternatives", "group", "ld.so.cache", "mime.types", "passwd", "pki", "protocols", "services", "ssl", // of many programs
	"apache2", "caddy", "h2o", "httpd", "nginx", // servers
	"java", "java-17-openjdk", "java-21-openjdk", "java-25-openjdk",
}

// folders are those of a guest's root, which is read-only.
var folders = []string{"dev", "etc", "opt", "proc", "run", "sys", "tmp", "usr", "var", "shared", "sites", "peers"}

// links of a guest's root lead into the host's programs and libraries.
var links = map[string]string{"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}

// mountDevices makes the kernel's devices visible, if it has not done so itself.
func mountDevices() error {
	if err := unix.Mount("devtmpfs", "/dev", "devtmpfs", 0, ""); err != nil && err != unix.EBUSY {
		return fmt.Errorf("mount devtmpfs on /dev: %w", err)
	}
	return nil
}

// mountAll makes a read-only root fit for programs. What is written goes to
// memory, but for the folder shared with the host.
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
			return fmt.Errorf("take over the host's configuration: %w", err)
		}
	}
	return writeFonts()
}

// fontsConfiguration is fontconfig's of a guest, which has one font: its own. Which fonts a
// host has, and whether it keeps a list of them, would decide what a browser does as it starts.
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
