package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"wiretime/atomicfile"
)

// BuildOptions says what to build from. The zero value is right unless there is no Debian
// mirror or another Linux is wanted.
type BuildOptions struct {
	Source   string     // tarball of Linux, from kernel.org or out of Debian's linux-source; empty: Debian's, through apt
	SHA256   string     // required checksum of Source, hexadecimal; empty: any
	Progress func(Step) // called at each step and with each compiled file, from one goroutine at a time; may be nil
}

// Step is the progress of a build.
type Step struct {
	Name           string // what is being done
	Done, Expected int    // files compiled and about how many there will be, 0 if the step does not compile
	Note           bool   // Name is a note for the user rather than a step
}

func (o BuildOptions) step(format string, args ...any) {
	if o.Progress != nil {
		o.Progress(Step{Name: fmt.Sprintf(format, args...)})
	}
}

func (o BuildOptions) note(format string, args ...any) {
	if o.Progress != nil {
		o.Progress(Step{Name: fmt.Sprintf(format, args...), Note: true})
	}
}

// Build builds a kernel and returns it. If the user's cache holds a kernel from the same
// source, patches, configuration and compiler, Build returns that one without fetching
// anything. Otherwise it takes some minutes. Two builds by the same user run one after the
// other.
//
// The error wraps ErrUnsupported, ErrNoCompiler, ErrNoSource, ErrChecksum, ErrTooOld,
// ErrPatch or ErrSpace if that is the cause.
func Build(ctx context.Context, o BuildOptions) (Kernel, error) {
	if err := supported(runtime.GOOS, runtime.GOARCH); err != nil {
		return Kernel{}, err
	}
	compiler, err := findTools(ctx)
	if err != nil {
		return Kernel{}, err
	}
	root, err := folder()
	if err != nil {
		return Kernel{}, err
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return Kernel{}, fmt.Errorf("make the cache folder for kernels: %w", err)
	}
	from := source{name: known[0].String(), sha256: known[0].sha256}
	if o.Source != "" {
		if from, err = tarball(o.Source, o.SHA256); err != nil {
			return Kernel{}, err
		}
	}
	if k, ok := reuse(root, identity(from.sha256, compiler)); ok {
		return k, nil
	}
	unlock, err := lock(ctx, root, o)
	if err != nil {
		return Kernel{}, err
	}
	defer unlock()
	if k, ok := reuse(root, identity(from.sha256, compiler)); ok { // built by the process that this one has waited for
		return k, nil
	}
	return build(ctx, o, root, compiler, from)
}

// build does what Build does, once this process holds the lock.
func build(ctx context.Context, o BuildOptions, root, compiler string, from source) (k Kernel, err error) {
	leftovers, err := filepath.Glob(filepath.Join(root, "build-*"))
	if err != nil {
		return k, err
	}
	for _, dir := range leftovers { // left by killed builds: this one holds the lock, so none is running
		if err := os.RemoveAll(dir); err != nil {
			return k, fmt.Errorf("remove the leftovers of an earlier build: %w", err)
		}
	}
	work, err := os.MkdirTemp(root, "build-")
	if err != nil {
		return k, fmt.Errorf("make a folder to build in: %w", err)
	}
	defer func() { err = errors.Join(outOfSpace(err, root), os.RemoveAll(work)) }()
	if err := checkSpace(root); err != nil {
		return k, err
	}

	if from.path == "" {
		archive, offer, err := o.findSource(ctx, work)
		if errors.Is(err, ErrNoSource) {
			if k, missing := Find(); missing == nil { // from another source or compiler
				o.note("%v; keeping the existing kernel", err)
				return k, nil
			}
		}
		if err != nil {
			return k, err
		}
		if offer != known[0] {
			if k, ok := reuseFetched(root, offer.String(), compiler); ok {
				return k, nil
			}
		}
		o.step("downloading %s (about 160 MB)", offer)
		if from, err = archive.fetch(ctx, offer); err != nil {
			return k, err
		}
	}
	return makeKernel(ctx, o, root, work, compiler, from)
}

// findSource asks the Debian mirror which source to build from, and notes if it is another than the preferred one.
func (o BuildOptions) findSource(ctx context.Context, work string) (*apt, debianSource, error) {
	o.step("asking the Debian mirror for kernel sources")
	archive, offer, err := findDebianSource(ctx, work)
	if err == nil && offer != known[0] {
		o.note("%s is no longer on the mirror: using %s", known[0], offer)
	}
	return archive, offer, err
}

// reuse returns the complete kernel with that identity, if there is one, and makes it the
// one that Find prefers.
func reuse(root, identity string) (Kernel, bool) {
	dir := filepath.Join(root, identity)
	k, _, err := load(dir)
	if err != nil {
		return k, false
	}
	now := time.Now()
	_ = os.Chtimes(filepath.Join(dir, recordFile), now, now) // in a read-only cache it is still usable
	return k, true
}

// reuseFetched does what reuse does, for a source whose checksum is unknown until it has
// been fetched.
func reuseFetched(root, name, compiler string) (Kernel, bool) {
	records, err := filepath.Glob(filepath.Join(root, "*", recordFile))
	if err != nil {
		return Kernel{}, false
	}
	for _, path := range records {
		if _, r, err := load(filepath.Dir(path)); err == nil && r.Source == name && r.Compiler == compiler && r.Recipe == recipeHash() {
			return reuse(root, filepath.Base(filepath.Dir(path)))
		}
	}
	return Kernel{}, false
}

// publish moves a finished executable and its record into place.
func publish(root, work, built string, r Record) (Kernel, error) {
	fresh := filepath.Join(work, "finished")
	if err := os.Mkdir(fresh, 0o755); err != nil {
		return Kernel{}, fmt.Errorf("keep the kernel: %w", err)
	}
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return Kernel{}, fmt.Errorf("describe the kernel: %w", err)
	}
	if err := os.Rename(built, filepath.Join(fresh, executable)); err != nil {
		return Kernel{}, fmt.Errorf("keep the kernel: %w", err)
	}
	if err := os.WriteFile(filepath.Join(fresh, recordFile), append(text, '\n'), 0o644); err != nil {
		return Kernel{}, fmt.Errorf("describe the kernel: %w", err)
	}
	dir := filepath.Join(root, identity(r.SourceSHA256, r.Compiler))
	if err := os.RemoveAll(dir); err != nil { // an existing kernel is incomplete, or it would have been reused
		return Kernel{}, fmt.Errorf("replace a damaged kernel: %w", err)
	}
	if err := atomicfile.MoveFolder(fresh, dir); err != nil {
		return Kernel{}, fmt.Errorf("keep the kernel: %w", err)
	}
	k, _, err := load(dir)
	return k, err
}

// lock waits until no other process builds a kernel in root.
func lock(ctx context.Context, root string, o BuildOptions) (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(root, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock the cache folder for kernels: %w", err)
	}
	again := time.NewTicker(300 * time.Millisecond)
	defer again.Stop()
	for waited := false; ; waited = true {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			_ = file.Close()
			return nil, fmt.Errorf("lock %s: %w", file.Name(), err)
		}
		if !waited {
			o.step("waiting for another build by this user")
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			_ = file.Close()
			return nil, context.Cause(ctx)
		}
	}
}

// tools lists the programs that a build needs and their Debian packages.
var tools = []struct{ program, debian string }{
	{"gcc", "gcc libc6-dev"}, {"make", "make"}, {"flex", "flex"}, {"bison", "bison"}, {"bc", "bc"},
	{"patch", "patch"}, {"tar", "tar"}, {"xz", "xz-utils"}, {"ld", "binutils"}, {"strip", "binutils"},
}

// findTools checks that all build tools are installed, and returns the compiler's version
// line.
func findTools(ctx context.Context) (compiler string, err error) {
	var missing, packages []string
	for _, t := range tools {
		if _, err := exec.LookPath(t.program); err != nil {
			missing, packages = append(missing, t.program), append(packages, t.debian)
		}
	}
	if missing != nil {
		return "", fmt.Errorf("%w: %s; on Debian, as root: apt-get install --no-install-recommends %s",
			ErrNoCompiler, strings.Join(missing, ", "), strings.Join(packages, " "))
	}
	version, err := output(ctx, "", nil, "gcc", "--version")
	if err != nil {
		return "", fmt.Errorf("%w: gcc does not run: %w", ErrNoCompiler, err)
	}
	compiler, _, _ = strings.Cut(string(version), "\n")
	libc, err := output(ctx, "", nil, "gcc", "-print-file-name=libc.a")
	if err != nil || !filepath.IsAbs(string(libc)) {
		return "", fmt.Errorf("%w: the C library to link statically with; on Debian, as root: apt-get install --no-install-recommends libc6-dev",
			ErrNoCompiler)
	}
	return compiler, nil
}
