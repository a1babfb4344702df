package kernel

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"wiretime/process"
)

// tree is an unpacked Linux source.
type tree struct {
	dir         string
	version     string
	environment []string
}

// leftOut lists files that this kernel never uses and that would take most of the unpacking
// time. Kconfig files and Makefiles stay because they refer to each other.
var leftOut = []string{
	"*.dts", "*.dtsi", "*.rs", "*.rst", "*/Documentation/*.yaml", "*/tools/perf/*", "*/tools/testing/*",
	"*/arch/[a-tvw]*/*.[chS]", "*/arch/xtensa/*.[chS]", "*/arch/x86/kvm/*.[ch]", "*/sound/*.[ch]",
	"*/drivers/[ad-hj-mo-su-z]*/*.[ch]", "*/drivers/b[b-z]*/*.[ch]", "*/drivers/c[a-gi-z]*/*.[ch]",
	"*/drivers/i[a-n]*/*.[ch]", "*/drivers/net/[a-z]*/*.[ch]", "*/fs/[bcgijlmoquvwxz]*/*.[ch]",
}

// expectedFiles is the approximate number of C and assembler files that a build compiles,
// including its own tools.
const expectedFiles = 680

// makeKernel unpacks, patches, configures and compiles the source in work, and publishes
// the result.
func makeKernel(ctx context.Context, o BuildOptions, root, work, compiler string, from source) (Kernel, error) {
	o.step("unpacking %s", from.name)
	t, err := unpack(ctx, work, from)
	if err != nil {
		return Kernel{}, err
	}
	if err := os.RemoveAll(filepath.Join(work, aptFolder)); err != nil { // the tarball is no longer needed
		return Kernel{}, fmt.Errorf("remove the downloaded source: %w", err)
	}
	r := Record{Version: t.version, Source: from.name, SourceSHA256: from.sha256, Recipe: recipeHash(), Compiler: compiler}
	for _, name := range patches() {
		r.Patches = append(r.Patches, filepath.Base(name))
		if err := t.patch(ctx, name); err != nil {
			return Kernel{}, err
		}
	}
	o.step("configuring Linux %s", t.version)
	if r.Unmet, err = t.configure(ctx); err != nil {
		return Kernel{}, err
	}
	if r.Unmet != nil {
		o.note("Linux %s does not support these lines of the configuration: %s", t.version, strings.Join(r.Unmet, ", "))
	}
	if err := t.compile(ctx, o); err != nil {
		return Kernel{}, err
	}
	o.step("stripping and keeping the kernel")
	built := filepath.Join(work, executable)
	if _, err := output(ctx, t.dir, t.environment, "strip", "-o", built, "linux"); err != nil {
		return Kernel{}, fmt.Errorf("strip the kernel: %w", err)
	}
	if r.SHA256, err = fileSHA256(built); err != nil {
		return Kernel{}, fmt.Errorf("read the finished kernel: %w", err)
	}
	info, err := os.Stat(built)
	if err != nil {
		return Kernel{}, fmt.Errorf("read the finished kernel: %w", err)
	}
	r.Size = info.Size()
	return publish(root, work, built, r)
}

func unpack(ctx context.Context, work string, from source) (*tree, error) {
	// The user's environment must not influence the kernel, and the compiler must not write
	// anywhere else.
	t := &tree{dir: filepath.Join(work, "tree"), environment: []string{
		"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "HOME=" + work, "TMPDIR=" + filepath.Join(work, "tmp"), "SOURCE_DATE_EPOCH=946684800",
		"KBUILD_BUILD_TIMESTAMP=2000-01-01 00:00:00 UTC", "KBUILD_BUILD_USER=wiretime", "KBUILD_BUILD_HOST=wiretime", "KBUILD_BUILD_VERSION=1",
	}}
	for _, dir := range []string{t.dir, filepath.Join(work, "tmp")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, fmt.Errorf("make a folder to build in: %w", err)
		}
	}
	path, err := filepath.Abs(from.path)
	if err != nil {
		return nil, err
	}
	args := []string{"-x", "-f", path, "--strip-components=1", "--no-same-owner"}
	if strings.HasSuffix(path, ".xz") {
		args = append(args, "--use-compress-program=xz -T0")
	}
	for _, pattern := range leftOut {
		args = append(args, "--exclude="+pattern)
	}
	if _, err := output(ctx, t.dir, t.environment, "tar", args...); err != nil {
		return nil, fmt.Errorf("unpack %s: %w", from.name, err)
	}
	if t.version, err = readVersion(filepath.Join(t.dir, "Makefile")); err != nil {
		return nil, fmt.Errorf("%w: %s is not Linux: %w", ErrNoSource, from.name, err)
	}
	if oldRelease(t.version) {
		return nil, fmt.Errorf("%s is Linux %s: %w", from.name, t.version, ErrTooOld)
	}
	return t, nil
}

var versionLine = regexp.MustCompile(`(?m)^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION)[ \t]*=[ \t]*(\S*)[ \t]*$`)

// readVersion reads Linux's version from its Makefile.
func readVersion(makefile string) (string, error) {
	text, err := os.ReadFile(makefile)
	if err != nil {
		return "", err
	}
	part := map[string]string{}
	for _, m := range versionLine.FindAllSubmatch(text, 4) {
		part[string(m[1])] = string(m[2])
	}
	if part["VERSION"] == "" || part["PATCHLEVEL"] == "" {
		return "", errors.New("its Makefile has no VERSION and PATCHLEVEL")
	}
	version := part["VERSION"] + "." + part["PATCHLEVEL"]
	if part["SUBLEVEL"] != "" {
		version += "." + part["SUBLEVEL"]
	}
	return version + part["EXTRAVERSION"], nil
}

func (t *tree) patch(ctx context.Context, name string) error {
	text, err := made.ReadFile(name)
	if err != nil {
		return err
	}
	c := newCommand(ctx, t.dir, t.environment, "patch", "-p1", "--batch", "--forward", "--no-backup-if-mismatch", "--reject-file=-")
	c.Stdin = bytes.NewReader(text)
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	err = process.Run(c)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w: %s to Linux %s: %s; patches are known to apply to %s, which a release's file kernel-source.tar has: pass it with --source",
			ErrPatch, filepath.Base(name), t.version, misfit(said.String()), known[0])
	}
	return nil
}

// misfit extracts from patch's report the hunks that do not apply, and their files.
func misfit(said string) string {
	var file string
	var found []string
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "patching file "); ok {
			file = name
		}
		switch {
		case strings.HasPrefix(line, "Hunk ") && (strings.Contains(line, "FAILED") || strings.Contains(line, "ignored")):
			found = append(found, file+": "+line)
		case strings.HasPrefix(line, "|--- "):
			found = append(found, "no file "+strings.TrimPrefix(strings.Fields(line[5:])[0], "a/"))
		case strings.HasPrefix(line, "patch: ****"):
			found = append(found, line)
		}
	}
	if found == nil {
		return lastLines(said, 3)
	}
	return strings.Join(found, "; ")
}

// configure writes .config and returns our lines that are missing from it.
func (t *tree) configure(ctx context.Context) (unmet []string, err error) {
	fragment, err := made.ReadFile("config.fragment")
	if err != nil {
		return nil, err
	}
	name := filepath.Join(t.dir, "wiretime.config")
	if err := os.WriteFile(name, fragment, 0o644); err != nil {
		return nil, fmt.Errorf("configure Linux %s: %w", t.version, err)
	}
	for _, c := range [][]string{
		{"make", "ARCH=um", "defconfig"},
		{"scripts/kconfig/merge_config.sh", "-m", "-O", ".", ".config", name},
		{"make", "ARCH=um", "olddefconfig"},
	} {
		program := c[0]
		if strings.Contains(program, "/") {
			program = filepath.Join(t.dir, program)
		}
		if _, err := output(ctx, t.dir, t.environment, program, c[1:]...); err != nil {
			return nil, fmt.Errorf("configure Linux %s: %w", t.version, err)
		}
	}
	finished, err := os.ReadFile(filepath.Join(t.dir, ".config"))
	if err != nil {
		return nil, fmt.Errorf("configure Linux %s: %w", t.version, err)
	}
	return unmetLines(string(fragment), string(finished)), nil
}

// unmetLines returns the lines NAME=value of a fragment that a configuration lacks. A
// configuration omits options that are off or unknown.
func unmetLines(fragment, configuration string) (unmet []string) {
	set := map[string]string{}
	for line := range strings.Lines(configuration) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(name, "#") {
			set[name] = value
		}
	}
	for line := range strings.Lines(fragment) {
		line = strings.TrimSpace(line)
		name, value, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		if got, on := set[name]; value == "n" && on || value != "n" && got != value {
			unmet = append(unmet, line)
		}
	}
	return unmet
}

// compile builds the file linux in the tree. Warnings are off: nobody reads those of a
// successful build, and macros that files redefine after the precompiled headers (see the
// patch) would cause hundreds. With -O2 the kernel takes a quarter longer to compile than with -O1,
// and loads take 3 to 7 % less processor time.
func (t *tree) compile(ctx context.Context, o BuildOptions) error {
	c := newCommand(ctx, t.dir, t.environment, "make", "ARCH=um", fmt.Sprintf("-j%d", runtime.NumCPU()),
		"KCFLAGS=-w -O2 -ffile-prefix-map="+t.dir+"=.", "linux")
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.StdoutPipe()
	if err != nil {
		return fmt.Errorf("compile Linux %s: %w", t.version, err)
	}
	child, err := process.Start(c)
	if err != nil {
		return fmt.Errorf("compile Linux %s: %w", t.version, err)
	}
	s := Step{Name: "compiling Linux " + t.version, Expected: expectedFiles}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if f := strings.Fields(lines.Text()); len(f) > 0 && (f[0] == "CC" || f[0] == "AS") {
			s.Done++
		}
		if o.Progress != nil {
			o.Progress(s)
		}
	}
	if err := child.Wait(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("compile Linux %s: %s: %s", t.version, howEnded(err), lastLines(said.String(), 20))
	}
	return nil
}
