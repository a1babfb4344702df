package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wiretime/loader/firefox"
	"wiretime/store"
)

// TestStudyWithFirefox runs a small study over all protocols with Firefox, as root
// and as an unprivileged user.
func TestStudyWithFirefox(t *testing.T) {
	if _, err := firefox.Find(""); err != nil {
		if os.Getenv("WIRETIME_NEED_PEERS") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	for _, u := range users(t) {
		t.Run(u.name, func(t *testing.T) {
			u.addPage(t)
			file := u.write(t, "study.yaml", `name: firefox
repeats: 1
clock: real
matrix:
  sites: [page]
  protocols: [http/1.1, https/1.1, spdy/3.1, h2, h3]
  networks: [{name: quick, rate: 20mbit, rtt: 20ms, queue: 64kB}]
  loaders: [firefox]
options: {late_limit: 50ms, taken_limit: 100%}
`)
			if r := u.run(t, "run", file, "--store", "none", "--firefox", "/nonexistent/firefox"); r.code != exitMachine || !strings.Contains(r.errors, "/nonexistent/firefox") {
				t.Errorf("without a browser: exit code %d, want %d and where it looked: %s", r.code, exitMachine, r.errors)
			}
			r := u.run(t, "run", file, "--store", "kept")
			if r.code != 0 {
				t.Fatalf("exit code %d: %s", r.code, r.errors)
			}
			kept := filepath.Join(u.home, "kept")
			if v := verdicts(t, kept); v[store.Valid] != 4 || v[store.Unsupported] != 1 {
				t.Errorf("verdicts %v, want 4 valid loads, and that SPDY is unsupported", v)
			}
			s, err := store.Open(kept, store.Read)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			runs, err := s.Runs()
			if err != nil {
				t.Fatal(err)
			}
			if environment := string(runs[0].Environment); !strings.Contains(environment, `"firefox":"Mozilla Firefox `) {
				t.Errorf("the browser's version is not in the environment %s", environment)
			}
			decrypts(t, kept)
		})
	}
}
