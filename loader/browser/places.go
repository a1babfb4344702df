package browser

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// chromiumFiles are where distributions and Chrome's own packages install the browser
// itself, best first, as patterns of filepath.Glob. The headless shell is Chromium without
// the user interface (windows, extensions, settings), and leaves more of a small machine to
// the load.
var chromiumFiles = []string{
	"/usr/lib/chromium/chromium-headless-shell",                                  // Debian's chromium-headless-shell
	"/usr/lib/chromium/chromium",                                                 // chromium of Debian, Arch and Alpine
	"/usr/lib64/chromium-browser/headless_shell",                                 // Fedora's chromium-headless
	"/usr/lib64/chromium-browser/chromium-browser",                               // Fedora's chromium
	"/usr/lib/chromium-browser/chromium-browser",                                 // Ubuntu's, before it was a snap
	"/opt/chrome-headless-shell/*/chrome-headless-shell-*/chrome-headless-shell", // Chrome for Testing, as npm's @puppeteer/browsers lays it out
	"/opt/chrome/*/chrome-linux64/chrome",                                        // likewise
	"/opt/google/chrome/chrome",                                                  // Google's packages
}

// FirefoxFiles are the paths of Firefox itself, not of the script around it, best
// first.
var FirefoxFiles = []string{
	"/usr/lib/firefox-esr/firefox-esr",
	"/usr/lib/firefox/firefox",
	"/usr/lib64/firefox/firefox",
	"/opt/firefox/firefox",
}

// chromiumNames are the browser's names in PATH.
var chromiumNames = []string{"chrome-headless-shell", "chromium-headless-shell", "headless_shell", "chromium", "chromium-browser", "chrome", "google-chrome", "google-chrome-stable"}

// FindChromium returns chosen if it is not empty and a program, otherwise the first
// Chromium, Chrome or chrome-headless-shell on this machine. It skips scripts around the
// browser, because they add flags of their own, and snaps, because snapd starts them in a
// confinement that no other program can enter. If there is none, looked says where it
// looked.
func FindChromium(chosen string) (binary, looked string) {
	if chosen != "" {
		return Find(chosen, nil)
	}
	return find(chromiumFiles, chromiumNames)
}

// find looks for the first match of the patterns, and then for the names in PATH.
func find(patterns, names []string) (binary, looked string) {
	for _, pattern := range patterns {
		files, _ := filepath.Glob(pattern) // its only error is a bad pattern
		slices.Reverse(files)              // later versions first
		if binary, _ := Find("", files); binary != "" {
			return binary, ""
		}
	}
	var snaps []string
	for _, name := range names {
		file, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		real, err := filepath.EvalSymlinks(file)
		switch {
		case err != nil:
		case isSnap(file, real):
			snaps = append(snaps, file+" is a snap, which cannot be used: only snapd can start it")
		case isELF(real):
			return real, ""
		}
	}
	looked = strings.Join(patterns, ", ") + ", and in PATH for " + strings.Join(names, ", ")
	return "", strings.Join(append([]string{looked}, snaps...), "; ")
}

// isSnap reports whether a program, or a script around it, belongs to snapd. real is the
// file that file's links lead to.
func isSnap(file, real string) bool {
	if strings.HasPrefix(file, "/snap/") || filepath.Base(real) == "snap" {
		return true
	}
	text, err := os.ReadFile(real) // Ubuntu's chromium-browser is a script that calls the snap
	return err == nil && bytes.HasPrefix(text, []byte("#!")) && bytes.Contains(text, []byte("/snap/bin/"))
}

// isELF reports whether a file is a program itself, not a script.
func isELF(name string) bool {
	file, err := os.Open(name)
	if err != nil {
		return false
	}
	defer file.Close()
	var magic [4]byte
	_, err = file.Read(magic[:])
	return err == nil && string(magic[:]) == "\x7fELF"
}
