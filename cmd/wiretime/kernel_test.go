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
	"wiretime/terminal"
)

// TestKernelWithoutOne asks for a kernel where there is none, and for one from a
// file that is not what it should be.
func TestKernelWithoutOne(t *testing.T) {
	t.Parallel()
	u := self(t)
	source := u.write(t, "linux-7.3.tar.gz", "no tarball")
	tests := []struct {
		name string
		args []string
		code int
		says []string
	}{
		{"path", []string{"kernel", "path"}, exitMachine, []string{"wiretime kernel build"}},
		{"check", []string{"kernel", "check"}, exitMachine, []string{"wiretime kernel build"}},
		{"wrong checksum", []string{"kernel", "build", "--source", source, "--sha256", strings.Repeat("0", 64)}, exitInput, []string{"wrong checksum", source}},
		{"checksum of nothing", []string{"kernel", "build", "--sha256", "00"}, exitInput, []string{"--source"}},
		{"no tarball", []string{"kernel", "build", "--source", source}, exitFailure, []string{"unpack linux-7.3.tar.gz"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := u.run(t, test.args...)
			if r.code != test.code {
				t.Errorf("exit code %d, want %d", r.code, test.code)
			}
			for _, word := range test.says {
				if !strings.Contains(r.errors, word) {
					t.Errorf("the error does not say %q:\n%s", word, r.errors)
				}
			}
		})
	}
}

// TestKernelOnAFullDisk has the kernel's cache on a small disk, and on one that
// something else fills while the source is unpacked.
func TestKernelOnAFullDisk(t *testing.T) {
	t.Parallel()
	u := self(t)
	source := filepath.Join(u.home, "linux-7.3.tar")
	for _, test := range []struct{ name, disk string }{
		{"small from the beginning", "size=20m"},
		// Sparse: it seems to have room for a build, and has no inode for a second file.
		{"full while the source is unpacked", "size=4g,nr_inodes=12"},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			r := finish(t, u.program(ctx, "unshare", "--user", "--map-root-user", "--mount", "sh", "-c", `
				mkdir -p disk linux-7.3 && for n in $(seq 30); do echo "$n" >linux-7.3/$n; done && tar -cf "$2" linux-7.3 &&
				mount -t tmpfs -o "$1" none disk && export XDG_CACHE_HOME="$PWD/disk" || exit 99
				"$0" kernel build --source "$2"; code=$?; find disk -path '*build-*' >&2; exit $code`, binary, test.disk, source))
			if r.code != exitMachine {
				t.Errorf("exit code %d, want %d: %s", r.code, exitMachine, r.errors)
			}
			for _, word := range []string{"too little space on disk", "disk/wiretime/kernel", "XDG_CACHE_HOME"} {
				if !strings.Contains(r.errors, word) {
					t.Errorf("the error does not say %q:\n%s", word, r.errors)
				}
			}
			if strings.Contains(r.errors, "\ndisk/wiretime/kernel/build-") {
				t.Errorf("the build has left something:\n%s", r.errors)
			}
		})
	}
}

func TestProgressWithoutATerminal(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	_, to := terminal.NewWriters(file, file)
	p := showSteps(to)
	p.show(kernel.Step{Name: "unpacking"})
	p.show(kernel.Step{Name: "something to know", Note: true})
	for n := range 100 {
		p.show(kernel.Step{Name: "compiling", Done: n, Expected: 50})
	}
	p.end()
	got, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	got = regexp.MustCompile(`, \d+s\n`).ReplaceAll(got, []byte("\n"))
	if want := "unpacking\nnote: something to know\ncompiling: 0 of about 50 files\n"; string(got) != want {
		t.Errorf("it shows\n%s\nwant\n%s", got, want)
	}
}
