package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wiretime/loader/firefox"
	"wiretime/needtest"
	"wiretime/store"
)

// TestStudyWithFirefox runs a small study over all protocols with Firefox, as root
// and as an unprivileged user.
func TestStudyWithFirefox(t *testing.T) {
	needtest.Long(t)
	t.Parallel()
	needFirefox(t)
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

// needFirefox skips the test where there is no Firefox, or fails it where WIRETIME_NEED_PEERS asks for one.
func needFirefox(t *testing.T) {
	t.Helper()
	_, err := firefox.Find("")
	needtest.Program(t, "Firefox", err)
}

// TestFirefoxInAGuest loads a page with Firefox on the virtual clock over every protocol that it speaks. Repeated loads
// agree, and loads that are carried out again are the same in every byte.
func TestFirefoxInAGuest(t *testing.T) {
	needtest.Long(t)
	t.Parallel()
	needFirefox(t)
	u := self(t)
	u.addKernel(t)
	u.addPage(t)
	file := u.write(t, "study.yaml", `name: firefox
repeats: 2
clock: virtual
matrix:
  sites: [page]
  protocols: [http/1.1, https/1.1, spdy/3, h2, h3]
  networks: [{name: quick, rate: 10mbit, rtt: 50ms}]
  loaders: [firefox]
`)
	r := u.runs(t, 0, "run", file, "--store", "kept", "--count", "--verify-determinism", "1")
	kept := filepath.Join(u.home, "kept")
	if v := verdicts(t, kept); v[store.Valid] != 8 || v[store.Unsupported] != 2 {
		t.Errorf("verdicts %v, want 8 valid loads, and that SPDY is unsupported", v)
	}
	if n := strings.Count(r.out, "the same in every metric and every byte"); n != 1 {
		t.Errorf("%d loads came out the same when carried out again, want 1:\n%s", n, r.out)
	}
	decrypts(t, kept)
	opensElsewhere(t, kept)

	const reading, roundTrip = 1, 50 // ms
	onLoad := map[string][]float64{}
	for _, l := range loadsIn(t, kept) {
		if l.Validity == store.Valid {
			onLoad[l.Cell.Over()] = append(onLoad[l.Cell.Over()], l.Values["onload"])
		}
	}
	for protocol, times := range onLoad {
		spread := float64(reading)
		if strings.HasSuffix(protocol, "/1.1") {
			spread += roundTrip // connections become ready at once, and which of them takes a request is left to Firefox's threads
		}
		if first, last := slices.Min(times), slices.Max(times); first <= 0 || last-first > spread {
			t.Errorf("%s: onLoad after %.3f to %.3f ms, want the same within %.0f ms", protocol, first, last, spread)
		}
	}
}

// TestFirefoxDoesNotSpinInAGuest limits how often Firefox may call the guest's kernel in one load. If it polled for
// something without a pause, for instance for the end of a tab that was closed, it would do so some 100,000 times in a
// second of virtual time.
func TestFirefoxDoesNotSpinInAGuest(t *testing.T) {
	needtest.Long(t)
	t.Parallel()
	needFirefox(t)
	u := self(t)
	u.addKernel(t)
	u.addPage(t)
	loads := u.countLoads(t, u.write(t, "study.yaml", `name: spin
repeats: 1
clock: virtual
matrix:
  sites: [page]
  protocols: [http/1.1]
  networks: [{name: slow, rate: 1mbit, rtt: 500ms}]
  loaders: [firefox]
`), "kept")
	const most = 100_000
	if rounds := loads["http/1.1"].Programs["firefox-esr"].Rounds; rounds == 0 || rounds > most {
		t.Errorf("Firefox took %d rounds, want %d at most", rounds, most)
	} else {
		t.Logf("Firefox took %d rounds", rounds)
	}
}
