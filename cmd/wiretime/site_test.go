package main

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wiretime/protocol"
)

// realHARs is a folder of HARs that others have recorded.
const realHARs = "../../../shared/data/har"

// ok runs the program, which must not fail, and returns what it printed.
func (u user) ok(t *testing.T, args ...string) string {
	t.Helper()
	r := u.run(t, args...)
	if r.code != 0 {
		t.Fatalf("wiretime %s: exit code %d\n%s%s", strings.Join(args, " "), r.code, r.out, r.errors)
	}
	return r.out + r.errors
}

// says fails if a text lacks one of the words.
func says(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("it does not say %q:\n%s", word, text)
		}
	}
}

func TestImportARealHAR(t *testing.T) {
	t.Parallel()
	har, err := os.ReadFile(filepath.Join(realHARs, "ferguson-2022-h2-h3.har"))
	if err != nil {
		t.Skipf("%v (recordings of others, ../shared/data/har beside the checkout)", err)
	}
	u := self(t)
	name := u.write(t, "ferguson.har", string(har))
	says(t, u.ok(t, "site", "import", name), "Repaired or left out", "Added site ferguson: 171 resources on 41 origins", "https://www.ferguson.com/")
	says(t, u.ok(t, "site", "list"), "ferguson", "world-flags")
	says(t, u.ok(t, "site", "show", "ferguson"), "generated bodies", "script", "www.ferguson.com", "RTT")
	says(t, u.ok(t, "site", "show", "ferguson", "--resources"), "https://connect.facebook.net/en_US/fbevents.js", "wait, ms")

	again := u.run(t, "site", "import", name)
	if again.code != exitInput || !strings.Contains(again.errors, "already exists") {
		t.Errorf("the second import ended with %d: %s", again.code, again.errors)
	}
	u.ok(t, "site", "import", name, "--replace", "--rename-host", "www.ferguson.com=www.pipes.test")
	says(t, u.ok(t, "site", "show", "ferguson"), "https://www.pipes.test/")

	u.ok(t, "site", "edit", "ferguson", "--as", "quick", "--drop", "*.kampyle.com", "--wait", "www.pipes.test/*=150ms", "--early", "stylesheet,script:5")
	shown := u.ok(t, "site", "show", "quick", "--resources")
	for line := range strings.Lines(shown) { // others may name it as what asked for them
		if f := strings.Fields(line); len(f) > 5 && strings.HasPrefix(f[5], "https://nebula-cdn.kampyle.com") {
			t.Errorf("a host that was dropped is still there: %s", line)
		}
	}
	says(t, shown, "150")
	says(t, u.ok(t, "site", "record", "--diff", "ferguson", "quick"), "nebula-cdn.kampyle.com")
}

func TestMakeASite(t *testing.T) {
	t.Parallel()
	u := self(t)
	flags := []string{"--objects", "20", "--domains", "4", "--size", "127.3kB", "--depth", "2", "--seed", "7"}
	u.ok(t, append([]string{"site", "make", "one"}, flags...)...)
	says(t, u.ok(t, "site", "show", "one"), "20, 127.30 kB, on 4 hosts", "depth      2: ")
	u.ok(t, append([]string{"site", "make", "two"}, flags...)...)
	manifest := func(name string) string {
		text, err := os.ReadFile(filepath.Join(u.home, ".local/share/wiretime/sites", name, "bodies"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if len(manifest("one")) != len(manifest("two")) {
		t.Error("the same flags made pages of different lengths")
	}
	says(t, u.ok(t, "site", "list", "--long"), "kim-google-play", "1592.43", "one")
}

// TestCheckASite loads pages over every protocol that the browser speaks.
func TestCheckASite(t *testing.T) {
	t.Parallel()
	needChromium(t)
	u := self(t)
	u.write(t, "shop/index.html", `<!doctype html><link rel=icon href="data:,"><script src=/a.js></script><p>A shop.`)
	u.write(t, "shop/a.js", `new Image().src = "/seen.png?at=1";`)
	u.write(t, "shop/seen.png", "not really one")
	u.ok(t, "site", "add", filepath.Join(u.home, "shop"))
	whole := u.ok(t, "site", "check", "shop", "--learn")
	says(t, whole, "75.0 %", "Inexact", "https://www.shop.test/seen.png?at=1 by https://www.shop.test/seen.png", "over all 4 protocols", "Learned the initiators of 1 resource")
	says(t, u.ok(t, "site", "show", "shop", "--resources"), "https://www.shop.test/a.js\n")
	// The loader that runs no scripts has learned what they ask for.
	says(t, u.ok(t, "site", "check", "shop", "--loader", "builtin"), "spdy/3.1", "over all 7 protocols")

	u.write(t, "shop/a.js", `new Image().src = "/gone.png"; new Image().src = "https://elsewhere.test/x";`)
	u.ok(t, "site", "add", filepath.Join(u.home, "shop"), "--name", "broken", "--host", "www.shop.test")
	r := u.run(t, "site", "check", "broken", "--protocol", "h2,https/1.1")
	if r.code != exitFailure {
		t.Errorf("a site that lacks resources ends the check with %d, want %d", r.code, exitFailure)
	}
	says(t, r.out+r.errors, "Misses", "https://www.shop.test/gone.png", "Failed", "https://elsewhere.test/x", "but not requested", "is incomplete")
}

func TestServeASite(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.ok(t, "site", "make", "small", "--objects", "5", "--domains", "2", "--size", "20kB", "--depth", "1")
	s := u.startServing(t, "site", "serve", "small")
	for _, get := range s.gets {
		if page := u.ok(t, get...); !strings.Contains(page, "<!DOCTYPE html>") || !strings.Contains(page, "s1.small.test") {
			t.Errorf("wiretime %s fetches %.300q, want a page with parts on two hosts", strings.Join(get, " "), page)
		}
	}
	if code := s.end(t); code != 0 {
		t.Errorf("it ended with %d", code)
	}
}

// TestRecordASiteThatIsServed records a made site from where it is served: what comes out is
// what went in, and is replayed whole.
func TestRecordASiteThatIsServed(t *testing.T) {
	t.Parallel()
	needChromium(t)
	u := self(t)
	u.ok(t, "site", "make", "first", "--objects", "12", "--domains", "3", "--size", "60kB", "--depth", "2")
	authority := filepath.Join(u.home, "ca")
	s := u.startServing(t, "site", "serve", "first", "--ca", authority)
	at, err := url.Parse(s.urls["h2"])
	if err != nil {
		t.Fatal(err)
	}
	ca, err := protocol.OpenAuthority(authority)
	if err != nil {
		t.Fatal(err)
	}
	u.write(t, "steps.txt", "scroll bottom\nwait 10ms\n")
	record := []string{"site", "record", "https://www.first.test/", "--name", "second", "--script", "steps.txt", "--limit", "1m",
		"--host-rules", "MAP * 127.0.0.1:" + at.Port(), "--spki", ca.SPKIHash()}
	says(t, u.ok(t, record...), "scroll bottom", "Added site second")
	if again := u.run(t, record...); again.code != exitInput || !strings.Contains(again.errors, "already exists") {
		t.Errorf("the second time it ended with %d: %s", again.code, again.errors)
	}
	says(t, u.ok(t, append(record, "--replace")...), "Added site second")
	if code := s.end(t); code != 0 {
		t.Errorf("the server ended with %d", code)
	}
	if d := u.run(t, "site", "record", "--diff", "first", "second"); d.code != 0 || d.out != "The two are the same.\n" {
		t.Errorf("the recording differs from what was served: %s%s", d.out, d.errors)
	}
	says(t, u.ok(t, "site", "show", "second"), "127.0.0.1", "RTT")
	says(t, u.ok(t, "site", "check", "second", "--protocol", "h2,http/1.1"), "100.0 %")
}

func TestSiteBadInput(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.write(t, "empty.har", "")
	u.write(t, "cut.har", `{"log": {"version": "1.2", "entries": [`)
	u.write(t, "other.bin", "\x00\x01\x02 nothing that is known")
	u.write(t, "two.har", `{"log":{"pages":[{"id":"a","title":"A"},{"id":"b","title":"B"}],"entries":[{"pageref":"a","startedDateTime":"2026-01-01T00:00:00Z","request":{"method":"GET","url":"https://www.x.test/"},"response":{"status":200,"content":{"size":5,"mimeType":"text/html","text":"Hello"}}}]}}`)
	u.write(t, "list.txt", "https://www.x.test/a.png 20kB\nhttps://www.x.test/b.png 20parsecs\n")
	u.write(t, "steps.txt", "scroll bottom\njump 3\n")
	u.write(t, "plain/index.html", "x")
	if err := os.Mkdir(filepath.Join(u.home, "void"), 0o755); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		args []string
		says []string
	}{
		{"file that is not there", []string{"import", "nowhere.har"}, []string{"nowhere.har"}},
		{"empty file", []string{"import", "empty.har"}, []string{"empty.har", "empty"}},
		{"truncated HAR", []string{"import", "cut.har"}, []string{"cut.har", "har"}},
		{"file of no kind", []string{"import", "other.bin"}, []string{"other.bin", "--format", "warc"}},
		{"unknown format", []string{"import", "two.har", "--format", "hat"}, []string{"hat", "har, warc"}},
		{"page that is not there", []string{"import", "two.har", "--page", "c"}, []string{`"c"`, "a", "b"}},
		{"folder with an index", []string{"import", "plain"}, []string{"site add plain"}},
		{"folder of nothing", []string{"import", "void"}, []string{"void", "save."}},
		{"bad size in a list", []string{"import", "list.txt"}, []string{"list.txt", "line 2, column 26", "20parsecs"}},
		{"name that is no name", []string{"import", "two.har", "--name", "A B"}, []string{"A B"}},
		{"host that is not there", []string{"import", "two.har", "--rename-host", "a.test=b.test"}, []string{"--rename-host", "a.test", "www.x.test"}},
		{"unknown site", []string{"show", "nosuch"}, []string{"nosuch", "site list"}},
		{"edit of a built-in site", []string{"edit", "magazine", "--title", "x"}, []string{"built-in site"}},
		{"rule of no kind", []string{"edit", "magazine", "--as", "m", "--preload", "styles"}, []string{"--preload", "styles", "stylesheet"}},
		{"wait that is no time", []string{"edit", "magazine", "--as", "m", "--wait", "*=soon"}, []string{"--wait", "soon"}},
		{"nothing to drop", []string{"edit", "magazine", "--as", "m", "--drop", "nowhere.test"}, []string{"--drop", "nowhere.test"}},
		{"more domains than objects", []string{"make", "m", "--objects", "3", "--domains", "4"}, []string{"domains", "4"}},
		{"size that is none", []string{"make", "m", "--size", "big"}, []string{"--size", "big"}},
		{"record of no URL", []string{"record", "example.org"}, []string{"example.org", "https://"}},
		{"two URLs to record", []string{"record", "https://a.test/", "https://b.test/"}, []string{"one URL"}},
		{"bad step", []string{"record", "https://a.test/", "--script", "steps.txt"}, []string{"steps.txt:2:1", "jump"}},
		{"check over no protocol", []string{"check", "magazine", "--protocol", "h4"}, []string{"--protocol", "h4"}},
		{"check over SPDY in Chromium", []string{"check", "magazine", "--protocol", "spdy/3.1"}, []string{"spdy/3.1", "builtin"}},
		{"learning from no browser", []string{"check", "magazine", "--loader", "builtin", "--learn"}, []string{"--learn", "chromium"}},
		{"port out of range", []string{"serve", "magazine", "--port", "70000"}, []string{"--port"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := u.run(t, append([]string{"site"}, test.args...)...)
			if r.code != exitInput {
				t.Errorf("exit code %d, want %d: %s", r.code, exitInput, r.errors)
			}
			says(t, r.errors, test.says...)
		})
	}
	left, _ := os.ReadDir(filepath.Join(u.home, ".local", "share", "wiretime", "sites"))
	if slices.ContainsFunc(left, func(os.DirEntry) bool { return true }) {
		t.Errorf("a site was left behind: %v", left)
	}
}
