package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"wiretime/kernel"
)

// TestKernelWithoutOne asks for a kernel where there is none, and for one from a
// file that is not what it should be.
func TestKernelWithoutOne(t *testing.T) {
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

func TestProgressWithoutATerminal(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	p := newProgress(file)
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
