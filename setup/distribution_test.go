package setup

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestAdviceByDistribution checks the commands for a machine without any of the programs,
// by its os-release(5).
func TestAdviceByDistribution(t *testing.T) {
	apt := "    apt-get install --no-install-recommends "
	for file, want := range map[string]string{
		"debian-12":    apt + "chromium-headless-shell gcc flex bison bc patch tar xz-utils binutils libc6-dev",
		"debian-13":    apt + "chromium-headless-shell gcc flex bison bc patch tar xz-utils binutils libc6-dev",
		"ubuntu-24.04": apt + "gcc flex bison bc patch tar xz-utils binutils libc6-dev\n    npx --yes @puppeteer/browsers install chrome-headless-shell@stable --install-deps --path /opt",
		"mint-22":      apt + "gcc flex bison bc patch tar xz-utils binutils libc6-dev\n    npx --yes @puppeteer/browsers install chrome-headless-shell@stable --install-deps --path /opt",
		"fedora-43":    "    dnf install chromium-headless gcc flex bison bc patch tar xz binutils glibc-static",
		"arch":         "    pacman -S --needed chromium gcc flex bison bc patch tar xz binutils glibc",
		"alpine-3.22":  "    apk add chromium gcc flex bison bc patch tar xz binutils musl-dev linux-headers",
		"nixos-25.05":  "    and, without a known package on NixOS: Chromium, gcc, flex, bison, bc, patch, tar, xz, ld, libc.a",
		"empty":        "    and, without a known package on this distribution: Chromium, gcc, flex, bison, bc, patch, tar, xz, ld, libc.a",
		"missing":      "    and, without a known package on this distribution: Chromium, gcc, flex, bison, bc, patch, tar, xz, ld, libc.a",
	} {
		t.Run(file, func(t *testing.T) {
			d, err := ReadDistribution(filepath.Join("testdata", file))
			if err != nil {
				t.Fatal(err)
			}
			if got := d.advice(pick(programs, Measuring|Compiling)); got != want {
				t.Errorf("advice:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// TestWhatCannotBeInstalled checks that the error names what is missing and how to get it,
// and that optional programs do not stop the set-up.
func TestWhatCannotBeInstalled(t *testing.T) {
	browser, compiler := pick(programs, Measuring), pick(programs, Compiling)
	for _, tt := range []struct {
		name, file string
		lacking    []program
		root       bool
		options    Options
		kernel     bool     // it must be built
		want       []string // in the error; none: no error
	}{
		{"root on Debian", "debian-12", programs, true, Options{Goal: Virtual}, true, nil},
		{"a user on Debian, with everything", "debian-12", nil, false, Options{Goal: Virtual}, true, nil},
		{"a user on Debian without a compiler", "debian-12", compiler, false, Options{Goal: Virtual}, true,
			[]string{"gcc, flex", "as root:\n    apt-get install --no-install-recommends gcc", "make run CLOCK=real"}},
		{"a user on Debian without a browser", "debian-12", browser, false, Options{Goal: Virtual}, false, []string{"Chromium: on Debian GNU/Linux, as root:\n    apt-get"}},
		{"only what is good to have", "fedora-43", pick(programs, Looking), false, Options{Goal: Real}, false, nil},
		{"root on Ubuntu without a browser", "ubuntu-24.04", programs, true, Options{Goal: Real}, false, []string{"npx --yes @puppeteer/browsers"}},
		{"Ubuntu's own kernel sources are too old", "ubuntu-24.04", compiler, true, Options{Goal: Virtual}, true, []string{"curl -LO", "make run KERNEL_SOURCE=linux-7.3.4.tar.xz"}},
		{"a tarball on Ubuntu", "ubuntu-24.04", compiler, true, Options{Goal: Virtual, KernelSource: "linux.tar.xz"}, true, nil},
		{"root on Fedora, whose packages it does not install", "fedora-43", compiler, false, Options{Goal: Virtual}, true, []string{"dnf install gcc", "curl -LO"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := ReadDistribution(filepath.Join("testdata", tt.file))
			if err != nil {
				t.Fatal(err)
			}
			err = d.impossible(tt.lacking, tt.root && d.hasAPT(), tt.options, tt.kernel)
			if (err != nil) != (tt.want != nil) {
				t.Fatalf("error %v, want one: %v", err, tt.want != nil)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q:\n%v", want, err)
				}
			}
		})
	}
}

// TestEveryProgramHasAPackage checks that Debian has a package for each program, and that
// other families have a package or an alternative.
func TestEveryProgramHasAPackage(t *testing.T) {
	for _, p := range programs {
		for id, f := range families {
			if p.from[f.family] == "" && p.otherwise[f.family] == "" && (id == "debian" || p.purpose != Testing) {
				t.Errorf("%s: nothing provides %s", id, p.name)
			}
		}
	}
}

// FuzzDistribution checks that any damaged os-release gives an unknown distribution.
func FuzzDistribution(f *testing.F) {
	f.Add("ID=debian\n")
	f.Add("NAME='Arch Linux\"\nID_LIKE=\"a b\nID==\x00")
	f.Fuzz(func(t *testing.T, text string) {
		if d := parseDistribution(text); d.Name == "" || (d.family == unknown) != (d.install == nil) {
			t.Errorf("%q is %+v", text, d)
		}
	})
}
