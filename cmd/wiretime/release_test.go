package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"wiretime/kernel"
)

// TestVersionOfTheProgram: it is one word of SemVer, with the revision that the linker was given.
func TestVersionOfTheProgram(t *testing.T) {
	r := self(t).run(t, "--version")
	if !regexp.MustCompile(`^wiretime version \d+\.\d+\.\d+(-dev)?\+0123456789ab\.dirty\n$`).MatchString(r.out) {
		t.Errorf("it says %q", r.out)
	}
}

// release unpacks what a release has: the program, and beside it the kernel of the virtual clock if this machine has one.
func release(t *testing.T) (program, kernels string) {
	t.Helper()
	k, err := kernel.Find()
	if err != nil {
		if os.Getenv("WIRETIME_NEED_KERNEL") != "" {
			t.Fatal(err)
		}
		t.Skipf("%v ('make kernel' builds the kernel)", err)
	}
	prefix := home(t, os.Geteuid())
	program, kernels = filepath.Join(prefix, "bin", "wiretime"), filepath.Join(prefix, "lib", "wiretime", "kernel")
	if err := os.Chmod(prefix, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Dir(program), filepath.Dir(kernels)} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(binary, program); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(kernels, k.Hash), os.DirFS(filepath.Dir(k.Path))); err != nil {
		t.Fatal(err)
	}
	return program, kernels
}

// TestRelease: the kernel beside the program is used by whoever calls it, from a folder that nobody can write to, before any that
// the user has built.
func TestRelease(t *testing.T) {
	program, kernels := release(t)
	for path, mode := range map[string]os.FileMode{"": 0o555, "*": 0o555, "*/kernel.json": 0o444, "*/linux": 0o555} {
		found, err := filepath.Glob(filepath.Join(kernels, path))
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: %q, %v", path, found, err)
		}
		if err := os.Chmod(found[0], mode); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(found[0], 0o755) })
	}
	for _, u := range users(t) {
		for _, test := range []struct {
			args []string
			code int
			says string
		}{
			{[]string{"kernel", "path"}, 0, kernels},
			{[]string{"kernel", "check"}, 0, "The virtual clock works on this machine."},
			{[]string{"kernel", "build"}, 0, kernels},
			{[]string{"kernel", "build", "--source", "linux-7.4.tar.xz"}, exitInput, "copy the program alone to another folder"},
		} {
			t.Run(u.name+" "+strings.Join(test.args, " "), func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				r := finish(t, u.program(ctx, program, test.args...))
				if r.code != test.code || !strings.Contains(r.out+r.errors, test.says) {
					t.Errorf("exit code %d, want %d, and it does not say %q:\n%s%s", r.code, test.code, test.says, r.out, r.errors)
				}
			})
		}
		if _, err := os.Stat(filepath.Join(u.home, ".cache", "wiretime", "kernel")); err == nil {
			t.Errorf("%s has got a kernel", u.name)
		}
	}
}

// TestReleaseWithAForeignKernel: a kernel that was made for another program is refused, and the error says so.
func TestReleaseWithAForeignKernel(t *testing.T) {
	program, kernels := release(t)
	record, err := filepath.Glob(filepath.Join(kernels, "*", "kernel.json"))
	if err != nil || len(record) != 1 {
		t.Fatalf("%q, %v", record, err)
	}
	text, err := os.ReadFile(record[0])
	if err != nil {
		t.Fatal(err)
	}
	foreign := regexp.MustCompile(`"recipe": "[0-9a-f]+"`).ReplaceAll(text, []byte(`"recipe": "0123"`))
	if err := os.WriteFile(record[0], foreign, 0o644); err != nil {
		t.Fatal(err)
	}
	r := finish(t, self(t).program(t.Context(), program, "kernel", "path"))
	if r.code != exitMachine || !strings.Contains(r.errors, kernels) || !strings.Contains(r.errors, "another release") || !strings.Contains(r.errors, "install the whole release again") {
		t.Errorf("exit code %d: %s%s", r.code, r.out, r.errors)
	}
}

// TestReleaseHasTheFlags: the site of the first study needs neither npm nor a network.
func TestReleaseHasTheFlags(t *testing.T) {
	packages, err := filepath.Glob("../../.cache/svg-country-flags-*.tgz")
	if err != nil || len(packages) != 1 {
		t.Skip("the flags were not fetched: the tests of site do so")
	}
	program, kernels := release(t)
	text, err := os.ReadFile(packages[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(kernels), filepath.Base(packages[0])), text, 0o644); err != nil {
		t.Fatal(err)
	}
	c := self(t).program(t.Context(), program, "site", "show", "world-flags")
	c.Env = append(c.Env, "PATH=/nonexistent")
	if r := finish(t, c); r.code != 0 || !strings.Contains(r.out, "world-flags") {
		t.Errorf("exit code %d: %s%s", r.code, r.out, r.errors)
	}
}
