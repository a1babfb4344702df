package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestBadInput gives the program what it cannot use: each time it says what is
// wrong and what to do, ends with the documented code and leaves nothing behind.
func TestBadInput(t *testing.T) {
	t.Parallel()
	u := self(t)
	study := func(matrix string) string { return "name: bad\nrepeats: 1\nmatrix:\n" + matrix }
	const rest = "  sites: [world-flags]\n  loaders: [chromium]\n"
	tests := []struct {
		name  string
		study string
		says  []string
	}{
		{"misspelt protocol", study("  protocols: [htp/1.1]\n  networks: [cable]\n" + rest), []string{"study.yaml:4:15", `"htp/1.1"`, "http/1.1"}},
		{"negative rate", study("  protocols: [h2]\n  networks: [{name: n, rate: -5mbit}]\n" + rest), []string{"study.yaml:5:", "-5mbit"}},
		{"unknown profile", study("  protocols: [h2]\n  networks: [cabel]\n" + rest), []string{"study.yaml:5:14", "cabel", "cable"}},
		{"empty matrix", study("  protocols: []\n  networks: [cable]\n" + rest), []string{"study.yaml:4:", "protocols is empty"}},
		{"unknown site", study("  protocols: [h2]\n  networks: [cable]\n  sites: [world-flag]\n  loaders: [chromium]\n"), []string{"study.yaml:6:11", "world-flags"}},
		{"misspelt strategy", study("  protocols: [h2]\n  networks: [cable]\n  strategies: [parallel-4, sequentail]\n" + rest), []string{"study.yaml:6:28", "sequentail", "sequential"}},
		{"strategy of no connection", study("  protocols: [h2]\n  networks: [cable]\n  strategies: [parallel-0]\n" + rest), []string{"study.yaml:6:16", "parallel-0"}},
		{"unknown visit", study("  protocols: [h2]\n  networks: [cable]\n  visits: [cold, warm]\n" + rest), []string{"study.yaml:6:18", "warm", "resumed"}},
		{"window of 0", study("  protocols: [h2]\n  networks: [cable]\n  client_windows: [64KiB, 0]\n" + rest), []string{"study.yaml:6:27", `client_window: invalid size "0"`, "1 to 2147483647 octets"}},
		{"misspelt preset", study("  protocols: [spdy/3.1]\n  networks: [cable]\n  server_windows: [modspdy]\n" + rest), []string{"study.yaml:6:20", `did you mean "mod_spdy"?`}},
		{"TCP window below a packet's", study("  protocols: [h2]\n  networks: [cable]\n  tcp_windows: [1]\n" + rest), []string{"study.yaml:6:17", "tcp_window", "4608"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := u.run(t, "run", u.write(t, "study.yaml", test.study), "--store", "kept")
			if r.code != exitInput {
				t.Errorf("exit code %d, want %d", r.code, exitInput)
			}
			for _, word := range test.says {
				if !strings.Contains(r.errors, word) {
					t.Errorf("the error does not say %q:\n%s", word, r.errors)
				}
			}
			if _, err := os.Stat(filepath.Join(u.home, "kept")); err == nil {
				t.Error("a store was left behind")
			}
		})
	}
}

// TestBadArguments gives the verbs arguments that they cannot use.
func TestBadArguments(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.write(t, "empty/readme.txt", "no index here")
	u.write(t, "placed.yaml", "name: placed\nrepeats: 1\nclock: real\nmatrix:\n  sites: [objects]\n  protocols: [h2]\n  networks: [cable]\n  loaders: [builtin]\n  at: [frankfurt, home-dsl]\n")
	u.write(t, "placed-week.yaml", "name: week\nstudies: [placed.yaml]\nat: [\"00:00\"]\ndays: 1\n")
	u.write(t, "linked/index.html", "<!doctype html><title>x</title>")
	if err := os.Symlink("/etc/passwd", filepath.Join(u.home, "linked", "secret.html")); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		args []string
		code int
		says []string
	}{
		{"no study", []string{"run"}, exitInput, []string{"first-look"}},
		{"study that is not there", []string{"run", "first-lok"}, exitInput, []string{"first-lok", "first-look"}},
		{"no Chromium", []string{"run", "first-look", "--chromium", "/nonexistent"}, exitMachine, []string{"/nonexistent", "install"}},
		{"site without index.html", []string{"site", "add", "empty"}, exitInput, []string{"index.html"}},
		{"site with a link out of it", []string{"site", "add", "linked"}, exitInput, []string{"secret.html"}},
		{"store that is not there", []string{"results", "--store", "nowhere"}, exitStore, []string{"nowhere"}},
		{"places on one machine", []string{"run", "placed.yaml"}, exitInput, []string{"frankfurt, home-dsl", "wiretime campaign run"}},
		{"places on a schedule", []string{"schedule", "placed-week.yaml"}, exitInput, []string{"study placed is measured at frankfurt", "say with --listen where they reach this machine"}},
		{"unknown flag", []string{"run", "--nosuch"}, exitInput, []string{"--nosuch"}},
		{"flags that exclude each other", []string{"papers", "--json", "--markdown"}, exitInput, []string{"--json and --markdown exclude each other", "wiretime papers --help"}},
		{"a flag that needs another", []string{"run", "first-look", "--schedule-slot", "1"}, exitInput, []string{"--schedule-diary is missing: the other flags need it"}},
		{"unknown network", []string{"networks", "cabel"}, exitInput, []string{"cable"}},
		{"unknown export", []string{"export", "xml"}, exitInput, []string{"xml"}},
		{"link with a bad rate", []string{"link", "--rate", "-5mbit", "--", "true"}, exitInput, []string{"--rate", "-5mbit"}},
		{"link with a bad loss", []string{"link", "--loss", "1", "--", "true"}, exitInput, []string{"--loss", "1%"}},
		{"link without its trace", []string{"link", "--trace", "nosuch.trace", "--", "true"}, exitInput, []string{"nosuch.trace"}},
		{"link without its command", []string{"link", "--", "nosuchprogram"}, exitInput, []string{"nosuchprogram"}},
		{"load that is not there", []string{"show", "r1-0000-a1", "--store", "nowhere"}, exitStore, []string{"nowhere"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := u.run(t, test.args...)
			if r.code != test.code {
				t.Errorf("exit code %d, want %d: %s", r.code, test.code, r.errors)
			}
			for _, word := range test.says {
				if !strings.Contains(r.errors, word) {
					t.Errorf("the error does not say %q:\n%s", word, r.errors)
				}
			}
		})
	}
	if left, _ := os.ReadDir(filepath.Join(u.home, ".local", "share", "wiretime", "sites")); len(left) > 0 {
		t.Errorf("a site was left behind: %v", left)
	}
}

// TestMachineLacks runs the program where the machine gives less than it needs.
func TestMachineLacks(t *testing.T) {
	t.Parallel()
	needChromium(t)
	u := self(t)
	u.addPage(t)
	file := u.study(t, 1)
	tests := []struct {
		name   string
		script string
		says   []string
	}{
		{"no /dev/net/tun",
			`mkdir empty && mount --bind empty /dev/net && exec "$0" run "$1" --store kept`,
			[]string{"/dev/net/tun", "mknod"}},
		{"no user namespaces",
			`echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all "$0" run "$1" --store kept`,
			[]string{"user namespaces", "max_user_namespaces"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			r := finish(t, u.program(ctx, "unshare", "--user", "--map-root-user", "--mount", "sh", "-c", test.script, binary, file))
			if r.code != exitMachine {
				t.Errorf("exit code %d, want %d: %s", r.code, exitMachine, r.errors)
			}
			for _, word := range test.says {
				if !strings.Contains(r.errors, word) {
					t.Errorf("the error does not say %q:\n%s", word, r.errors)
				}
			}
			if _, err := os.Stat(filepath.Join(u.home, "kept")); err == nil {
				t.Error("a store was left behind")
			}
			_ = os.Remove(filepath.Join(u.home, "empty"))
		})
	}
}

// TestDoctor finds this machine fit: the other tests load pages on it.
func TestDoctor(t *testing.T) {
	t.Parallel()
	needChromium(t)
	for _, u := range users(t) {
		t.Run(u.name, func(t *testing.T) {
			r := u.run(t, "doctor")
			if r.code != 0 || !strings.Contains(r.out, "labs need no root") {
				t.Errorf("exit code %d:\n%s%s", r.code, r.out, r.errors)
			}
		})
	}
}

// TestAProgramThatFailsIsTold: the error of a program that Wiretime runs is printed, and its exit code is not Wiretime's.
func TestAProgramThatFailsIsTold(t *testing.T) {
	t.Parallel()
	u := self(t)
	npm := u.write(t, "bin/npm", "#!/bin/sh\necho the registry is away >&2\nexit 7\n")
	if err := os.Chmod(npm, 0o755); err != nil {
		t.Fatal(err)
	}
	c := u.command(t.Context(), "site", "show", "world-flags")
	c.Env = append(c.Env, "PATH="+filepath.Dir(npm)+":"+os.Getenv("PATH"))
	if r := finish(t, c); r.code == 0 || r.code == 7 || !strings.Contains(r.errors, "npm pack: exit status 7: the registry is away") {
		t.Errorf("exit code %d: %s%s", r.code, r.out, r.errors)
	}
}
