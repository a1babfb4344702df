package setup

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"wiretime/loader/browser"
)

// Purpose says what programs are needed for. Purposes may be joined by |.
type Purpose int

// These are the purposes.
const (
	Measuring Purpose = 1 << iota // any clock needs it
	Looking                       // optional: to inspect captures and to run commands behind links
	Compiling                     // makes the kernel of the virtual clock
	Testing                       // the tests need it
)

// program is a program to look for on the machine, and its packages.
type program struct {
	name      string            // name in PATH, or a description if found is set
	found     func() bool       // nil: look for the name in PATH and sbin
	purpose   Purpose           // what it is needed for
	from      map[family]string // the package; none if there is no entry
	otherwise map[family]string // what to do instead where a family has no package
}

// Ubuntu has the browser only as a snap, whose confinement Wiretime cannot use.
const chromeForTesting = "npx --yes @puppeteer/browsers install chrome-headless-shell@stable --install-deps --path /opt"

// everywhere returns a package with the same name in all families.
func everywhere(name string) map[family]string { return named(name, name, name, name) }

// named returns a package's names in Debian and Ubuntu, Fedora, Arch and Alpine; "" means
// none.
func named(inDebian, inFedora, inArch, inAlpine string) map[family]string {
	all := map[family]string{debian: inDebian, ubuntu: inDebian, fedora: inFedora, arch: inArch, alpine: inAlpine}
	for f, name := range all {
		if name == "" {
			delete(all, f)
		}
	}
	return all
}

// programs lists everything that Wiretime needs besides Go, make and Node.js.
var programs = []program{
	{
		name: "Chromium", found: hasChromium, purpose: Measuring,
		from:      map[family]string{debian: "chromium-headless-shell", fedora: "chromium-headless", arch: "chromium", alpine: "chromium"},
		otherwise: map[family]string{ubuntu: chromeForTesting},
	},
	{name: "tshark", purpose: Looking, from: named("tshark", "wireshark-cli", "wireshark-cli", "tshark")},
	{name: "pasta", purpose: Looking, from: everywhere("passt")},
	{name: "gcc", purpose: Compiling, from: everywhere("gcc")},
	{name: "flex", purpose: Compiling, from: everywhere("flex")},
	{name: "bison", purpose: Compiling, from: everywhere("bison")},
	{name: "bc", purpose: Compiling, from: everywhere("bc")},
	{name: "patch", purpose: Compiling, from: everywhere("patch")},
	{name: "tar", purpose: Compiling, from: everywhere("tar")},
	{name: "xz", purpose: Compiling, from: named("xz-utils", "xz", "xz", "xz")},
	{name: "ld", purpose: Compiling, from: everywhere("binutils")},
	{name: "libc.a", found: hasStaticLibrary, purpose: Compiling, from: named("libc6-dev", "glibc-static", "glibc", "musl-dev linux-headers")},
	{name: "curl", purpose: Testing, from: everywhere("curl")},
	{name: "python3", found: hasPython, purpose: Testing, from: named("python3", "python3", "python", "python3")},
	{name: "setpriv", purpose: Testing, from: named("util-linux", "util-linux", "util-linux", "setpriv")},
	{name: "unshare", purpose: Testing, from: named("util-linux", "util-linux", "util-linux", "util-linux-misc")},
	{name: "ps", purpose: Testing, from: named("procps", "procps-ng", "procps-ng", "procps-ng")},
	{name: "javac", purpose: Testing, from: named("default-jdk-headless", "java-latest-openjdk-devel", "jdk-openjdk", "openjdk21-jdk")},
	{name: "mvn", purpose: Testing, from: everywhere("maven")},
	{name: "Firefox", found: hasFirefox, purpose: Testing, from: named("firefox-esr", "firefox", "firefox", "firefox-esr")},
	{name: "caddy", purpose: Testing, from: everywhere("caddy")},
	{name: "nginx", purpose: Testing, from: everywhere("nginx")},
	{name: "h2o", purpose: Testing, from: named("h2o", "h2o", "", "h2o")},
	{name: "sqlite3", purpose: Testing, from: named("sqlite3", "sqlite", "sqlite", "sqlite")},
	{name: "iperf3", purpose: Testing, from: everywhere("iperf3")},
	{name: "systemd-analyze", purpose: Testing, from: named("systemd", "systemd", "systemd", "")},
	{name: "ip", purpose: Testing, from: named("iproute2", "iproute", "iproute2", "iproute2")},
	{name: "nft", purpose: Testing, from: everywhere("nftables")},
	{name: "apache2", purpose: Testing, from: named("apache2-bin", "httpd-core", "apache", "apache2")},
}

// isThere reports whether the machine has the program.
func (p program) isThere() bool {
	if p.found != nil {
		return p.found()
	}
	if _, err := exec.LookPath(p.name); err == nil {
		return true
	}
	_, err := exec.LookPath(filepath.Join("/usr/sbin", p.name)) // servers, which are not in a user's PATH
	return err == nil
}

func hasChromium() bool {
	binary, _ := browser.FindChromium("")
	return binary != ""
}

func hasFirefox() bool {
	binary, _ := browser.Find("", browser.FirefoxFiles)
	return binary != ""
}

// hasPython reports whether there is a Python with its whole library, which Debian's python3-minimal lacks.
func hasPython() bool { return exec.Command("python3", "-c", "import http.server").Run() == nil }

// hasStaticLibrary reports whether gcc finds a C library for static linking.
func hasStaticLibrary() bool {
	out, err := exec.Command("gcc", "-print-file-name=libc.a").Output()
	if err != nil {
		return false
	}
	_, err = os.Stat(strings.TrimSpace(string(out)))
	return err == nil
}

// missing returns the programs for these purposes that the machine lacks.
func missing(purposes Purpose) []program {
	return slices.DeleteFunc(slices.Clone(programs), func(p program) bool { return p.purpose&purposes == 0 || p.isThere() })
}
