// Package kernel makes and boots the kernel of the virtual clock: User-Mode
// Linux with time-travel=inf-cpu, an ordinary Linux that runs as a process of
// this machine, without root, and whose clock jumps whenever everything in it
// waits.
//
// Build makes the kernel once from a Linux source, our patches and our
// configuration, and keeps it in the user's cache folder; a release has one beside
// the program; Find finds it again; Boot starts a guest.
package kernel

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"wiretime/beside"
)

var (
	// ErrNotBuilt says that there is no kernel for this program, neither beside it nor built.
	ErrNotBuilt = errors.New("the virtual-time kernel is neither beside the program nor built: run 'wiretime kernel build'")
	// ErrUnsupported says that this machine cannot run the kernel at all.
	ErrUnsupported = errors.New("the virtual clock needs Linux on x86-64")
	// ErrNoCompiler says that build tools are missing.
	ErrNoCompiler = errors.New("programs to build the kernel are missing")
	// ErrNoSource says that no Linux source is available.
	ErrNoSource = errors.New("no Linux source to build from")
	// ErrChecksum says that a source does not have the expected checksum.
	ErrChecksum = errors.New("wrong checksum")
	// ErrTooOld says that a Linux source is too old.
	ErrTooOld = errors.New("the virtual clock needs Linux 7.2 or newer: an older one faults at the first instruction of its first process")
	// ErrPatch says that one of our patches does not fit a Linux source.
	ErrPatch = errors.New("patch does not apply")
	// ErrSpace says that there is too little space on disk to build a kernel.
	ErrSpace = errors.New("too little space on disk to build the kernel")
	// ErrMemory says that a guest's memory is too small or exceeds what this machine has.
	ErrMemory = errors.New("memory for the guest")
	// ErrForbidden says that this machine does not allow guests to run programs.
	ErrForbidden = errors.New("this machine forbids both seccomp and ptrace, of which the virtual clock needs one: " +
		"in a container, allow ptrace (docker run --cap-add SYS_PTRACE) or seccomp filters (--security-opt seccomp=unconfined)")
)

// Kernel is a kernel beside the program or in the user's cache folder.
type Kernel struct {
	Path    string // of the executable
	Version string // of Linux, such as 7.3.4
	Hash    string // hash of everything it was made from, hexadecimal
}

//go:embed patches/*.patch config.fragment
var made embed.FS

// recipe counts changes to this package that change the kernel even if source, patches and
// configuration stay the same.
const recipe = "1"

// recipeHash identifies what this program contributes to a kernel: patches, configuration
// and build steps.
func recipeHash() string {
	h := sha256.New()
	fmt.Fprintf(h, "recipe %s\n", recipe)
	for _, name := range append(patches(), "config.fragment") {
		text, err := made.ReadFile(name)
		if err != nil {
			panic("kernel: embedded file " + name + ": " + err.Error())
		}
		fmt.Fprintf(h, "%s %d\n%s", name, len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// patches returns the names of the embedded patches in the order in which they apply.
func patches() []string {
	names, err := fs.Glob(made, "patches/*.patch") // in lexical order
	if err != nil {
		panic("kernel: " + err.Error())
	}
	return names
}

// identity hashes everything that a kernel is made from.
func identity(sourceSHA256, compiler string) string {
	sum := sha256.Sum256([]byte(recipeHash() + "\n" + sourceSHA256 + "\n" + compiler + "\n"))
	return hex.EncodeToString(sum[:16])
}

// Record is the description that is kept next to a kernel, as kernel.json.
type Record struct {
	Version      string   `json:"version"`         // of Linux
	Source       string   `json:"source"`          // Debian package and version, or the name of the tarball
	SourceSHA256 string   `json:"source_sha256"`   // of the tarball
	Recipe       string   `json:"recipe"`          // hash of patches, configuration and way of building
	Patches      []string `json:"patches"`         // by name, in order
	Compiler     string   `json:"compiler"`        // as it names itself
	SHA256       string   `json:"sha256"`          // of the executable
	Size         int64    `json:"size"`            // of the executable, in bytes
	Unmet        []string `json:"unmet,omitempty"` // lines of our configuration that this source does not support
}

const (
	executable = "linux"
	recordFile = "kernel.json"
)

// folder returns the folder where kernels are kept.
func folder() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache folder for kernels: %w", err)
	}
	return filepath.Join(cache, "wiretime", "kernel"), nil
}

// Find returns the kernel that a release has beside this program (see Beside) or else, of those in the user's
// cache that match this program's patches and configuration, the one that was last built or reused. The error
// wraps ErrNotBuilt if no kernel is found, and ErrUnsupported if this machine cannot run it.
func Find() (Kernel, error) {
	if err := supported(runtime.GOOS, runtime.GOARCH); err != nil {
		return Kernel{}, err
	}
	k, refused := Beside()
	if refused == nil {
		return k, nil
	}
	root, err := folder()
	if err != nil {
		return Kernel{}, err
	}
	k, err = newest(root)
	if errors.Is(err, ErrNotBuilt) && !errors.Is(refused, ErrNotBuilt) {
		return Kernel{}, fmt.Errorf("%w. The one beside the program will not do: %w: install the whole release again", err, refused)
	}
	return k, err
}

// Beside returns the kernel that a release has beside this program, in ../lib/wiretime/kernel. It must be made with
// this program's patches and configuration, and have the checksum of its description. The error wraps ErrNotBuilt if
// the release has no kernel.
func Beside() (Kernel, error) {
	root, err := beside.Path("kernel")
	if err != nil {
		return Kernel{}, err
	}
	return inRelease(root)
}

// inRelease does what Beside does. Where a release was unpacked over another one, it finds its own kernel.
func inRelease(root string) (Kernel, error) {
	records, err := filepath.Glob(filepath.Join(root, "*", recordFile))
	if err != nil {
		return Kernel{}, fmt.Errorf("look for a kernel in %s: %w", root, err)
	}
	refused := ErrNotBuilt
	for _, name := range records {
		dir := filepath.Dir(name)
		_, r, err := load(dir)
		if err == nil && r.Recipe != recipeHash() {
			err = fmt.Errorf("%s is of another release: its patches or configuration are not this program's", dir)
		}
		var k Kernel
		if err == nil {
			k, err = Open(dir)
		}
		if err == nil {
			return k, nil
		}
		refused = err
	}
	return Kernel{}, refused
}

// newest returns the kernel in a cache folder that was last built or reused, among those that match this program.
func newest(root string) (Kernel, error) {
	records, err := filepath.Glob(filepath.Join(root, "*", recordFile))
	if err != nil {
		return Kernel{}, fmt.Errorf("look for kernels in %s: %w", root, err)
	}
	var found Kernel
	var newest time.Time
	for _, name := range records {
		info, err := os.Stat(name)
		if err != nil || !info.ModTime().After(newest) {
			continue
		}
		if k, r, err := load(filepath.Dir(name)); err == nil && r.Recipe == recipeHash() {
			found, newest = k, info.ModTime()
		}
	}
	if found.Path == "" {
		return Kernel{}, ErrNotBuilt
	}
	return found, nil
}

func supported(system, processor string) error {
	if system == "linux" && processor == "amd64" {
		return nil
	}
	return fmt.Errorf("%w: this is %s on %s; use the real clock", ErrUnsupported, system, processor)
}

// load reads the kernel in dir and fails if it is incomplete.
func load(dir string) (Kernel, Record, error) {
	var r Record
	text, err := os.ReadFile(filepath.Join(dir, recordFile))
	if err != nil {
		return Kernel{}, r, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return Kernel{}, r, fmt.Errorf("read %s: %w", filepath.Join(dir, recordFile), err)
	}
	k := Kernel{Path: filepath.Join(dir, executable), Version: r.Version, Hash: filepath.Base(dir)}
	info, err := os.Stat(k.Path)
	if err != nil {
		return Kernel{}, r, err
	}
	if info.Size() != r.Size {
		return Kernel{}, r, fmt.Errorf("%s has %d bytes, want %d: build it again", k.Path, info.Size(), r.Size)
	}
	return k, r, nil
}

// Open opens the kernel in a folder that is a copy of that of another kernel. Its executable must have the checksum of its
// description; otherwise the error wraps ErrChecksum.
func Open(dir string) (Kernel, error) {
	k, r, err := load(dir)
	if err != nil {
		return Kernel{}, fmt.Errorf("open the kernel in %s: %w", dir, err)
	}
	program, err := os.ReadFile(k.Path)
	if err != nil {
		return Kernel{}, fmt.Errorf("open the kernel in %s: %w", dir, err)
	}
	if got := fmt.Sprintf("%x", sha256.Sum256(program)); got != r.SHA256 {
		return Kernel{}, fmt.Errorf("open the kernel in %s: %w: %s, want %s", dir, ErrChecksum, got, r.SHA256)
	}
	return k, nil
}

// Record reads the description that was written when k was built.
func (k Kernel) Record() (Record, error) {
	_, r, err := load(filepath.Dir(k.Path))
	return r, err
}
