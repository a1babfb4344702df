package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"wiretime/protocol"
	"wiretime/store"
	"wiretime/study"
	"wiretime/terminal/terminaltest"
)

// hostile is a name that sets a terminal's title, clears it and turns what follows around.
const hostile = "\x1b]0;owned\a\x1b[2J\u009b2J\x9b2J\u202e\rname"

// checkShown checks that a program has shown a hostile name, and nothing that a terminal
// obeys.
func checkShown(t *testing.T, r result, name string) {
	t.Helper()
	if !strings.Contains(r.out+r.errors, name) {
		t.Errorf("%q is not in %q, %q", name, r.out, r.errors)
	}
	for _, text := range []string{r.out, r.errors} {
		if i := strings.IndexFunc(text, func(c rune) bool {
			return c != '\n' && c != '\t' && (unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c))
		}); i >= 0 || !utf8.ValidString(text) {
			t.Errorf("it printed a control character: %q", text[max(0, i-40):])
		}
	}
}

// TestHostileArguments: each verb names what it could not use, in a form that a terminal
// shows.
func TestHostileArguments(t *testing.T) {
	t.Parallel()
	u := self(t)
	for _, args := range [][]string{
		{hostile},
		{"run", hostile},
		{"results", "--store", hostile},
		{"show", "--store", hostile, "1"},
		{"explain", "--store", hostile, "1"},
		{"reproduce", "--store", hostile, "1"},
		{"export", "csv", "--store", hostile},
		{"export", "json", "--store", hostile},
		{"export", "parquet", "--store", hostile},
		{"report", "--store", hostile},
		{"networks", "show", hostile},
		{"site", "add", hostile},
		{"site", "show", hostile},
		{"site", "check", hostile},
		{"site", "serve", hostile},
		{"site", "edit", hostile},
		{"site", "import", hostile},
		{"site", "make", hostile},
		{"site", "record", "--script", hostile, "https://a.test/"},
		{"get", "--protocol", "h2", "http://localhost:1/" + hostile},
		{"get", "--cacert", hostile, "https://localhost:1/"},
		{"stream", "--transport", hostile, "clip"},
		{"stream", "--server", "localhost:1", "--cacert", hostile, "clip"},
		{"serve", hostile},
		{"serve", "--media", hostile},
		{"link", "--network", hostile, "true"},
		{"kernel", "build", "--source", hostile},
		{"doctor", "--chromium", hostile},
	} {
		t.Run(strings.ReplaceAll(strings.Join(args, " "), hostile, "NAME"), func(t *testing.T) {
			checkShown(t, u.run(t, args...), "")
		})
	}
}

// TestHostileSite: a site's title, source and URLs come from whoever recorded it.
func TestHostileSite(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.addPage(t)
	files, err := filepath.Glob(filepath.Join(u.home, ".local/share/wiretime/sites/page/site.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the site is in %v, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	const title = `"title": "\u001b]0;owned\u0007\u009b2J\u202e\nforged line"`
	changed := regexp.MustCompile(`"title": "[^"]*"`).ReplaceAllLiteralString(string(text), title)
	changed = regexp.MustCompile(`"source": "[^"]*"`).ReplaceAllLiteralString(changed, strings.Replace(title, "title", "source", 1))
	if err := os.WriteFile(files[0], []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"site", "show", "page", "--resources"}, {"site", "list", "--long"}} {
		r := u.run(t, args...)
		checkShown(t, r, `\x1b]0;owned\x07\u009b2J\u202e\x0aforged line`)
		if r.code != 0 {
			t.Errorf("%v: exit code %d: %s", args, r.code, r.errors)
		}
	}
}

// TestHostileStore: a store's reasons, violations and URLs come from whoever measured.
func TestHostileStore(t *testing.T) {
	t.Parallel()
	u := self(t)
	dir := filepath.Join(u.home, "store")
	spec := store.RunSpec{StudyName: hostile, StudyText: "name: kept", Metrics: []study.Metric{{Name: "plt", Unit: "ms", Title: "PLT", Definition: "until the last byte"}}}
	cell := pageCell(map[study.Axis]string{study.AxisProtocol: "h2", study.AxisClock: "real"})
	fill(t, dir, spec, []study.Cell{cell}, 2, func(r *store.LoadRecord) {
		r.Values = map[string]float64{"plt": 1}
		r.Pages = []study.Page{{URL: "https://page.test/" + hostile, OnLoad: 1, PLT: 1}}
		if r.Planned.Repeat == 1 {
			r.Validity, r.Reason = store.Unsupported, hostile
			r.Violations = []study.Violation{{Rule: 4, Detail: hostile}}
		}
	})
	st, err := store.Open(dir, store.Read)
	if err != nil {
		t.Fatal(err)
	}
	loads, err := st.Loads(1)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	checkShown(t, u.run(t, "results", "--store", dir), `owned\x07`)
	for _, l := range loads {
		checkShown(t, u.run(t, "show", "--store", dir, l.ID), `owned\x07`)
		checkShown(t, u.run(t, "explain", "--store", dir, l.ID), "")
	}
	checkShown(t, u.run(t, "report", "--store", dir, "-o", filepath.Join(u.home, "report.html")), "")
}

// TestForeignTextOnATerminal prints what programs read to a terminal, which gets it escaped, and elsewhere, where it
// stays as it is.
func TestForeignTextOnATerminal(t *testing.T) {
	t.Parallel()
	u := self(t)
	dir := filepath.Join(u.home, "store")
	spec := store.RunSpec{StudyName: "a\u009b2J\u202eb", StudyText: "name: kept", Metrics: []study.Metric{{Name: "plt", Unit: "ms", Title: "PLT", Definition: "until the last byte"}}}
	fill(t, dir, spec, []study.Cell{pageCell(map[study.Axis]string{study.AxisProtocol: "h2", study.AxisClock: "real"})}, 1, func(r *store.LoadRecord) {
		r.Values = map[string]float64{"plt": 1}
	})
	u.write(t, "folder/page.txt", spec.StudyName)
	s := u.serve(t, filepath.Join(u.home, "folder"))
	page := s.urls["http/1.1"] + "page.txt"
	for _, args := range [][]string{{"export", "csv", "--store", dir}, {"export", "json", "--store", dir}, {"get", page}, {"get", "-o", "/dev/tty", page}} {
		name := strings.Join(args[:2], " ")
		if shown := u.onTerminal(t, args...); !strings.Contains(shown, `a\u009b2J\u202eb`) || strings.Contains(shown, spec.StudyName) {
			t.Errorf("%s shows %q on a terminal", name, shown)
		}
		if r := u.run(t, args...); args[1] != "-o" && !strings.Contains(r.out, spec.StudyName) {
			t.Errorf("%s: exit code %d, %q, %q", name, r.code, r.out, r.errors)
		}
	}
	s.end(t)
}

// onTerminal runs the program on a terminal of its own, and returns what that got.
func (u user) onTerminal(t *testing.T, args ...string) string {
	t.Helper()
	on, running := u.startOnTerminal(t, 200, args...)
	err := running.Wait()
	text := on.Close()
	if err != nil {
		t.Errorf("%v: %v, %q", args, err, text)
	}
	return text
}

// startOnTerminal starts the program on a terminal of its own, of so many columns.
func (u user) startOnTerminal(t *testing.T, columns int, args ...string) (*terminaltest.Terminal, *exec.Cmd) {
	t.Helper()
	on := terminaltest.Open(t, columns)
	c := u.command(t.Context(), args...)
	c.Stdin, c.Stdout, c.Stderr = on.Side, on.Side, on.Side
	c.Env = append(c.Env, "TERM=xterm", "LANG=C.UTF-8", "NO_COLOR=1")
	c.SysProcAttr.Setsid, c.SysProcAttr.Setctty = true, true
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return on, c
}

// TestAllTextIsEscaped: only what programs read and other programs' own output go to standard output or standard error without an escaping writer.
func TestAllTextIsEscaped(t *testing.T) {
	t.Parallel()
	raw := map[string]int{
		"confirm.go": 1, // whether it is a terminal
		"output.go":  3, // the escaping writers, and that for programs
		"link.go":    2, // of the command
		"export.go":  1, // whether it is a terminal
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	comment := regexp.MustCompile(`//.*`)
	direct := regexp.MustCompile(`os\.Stdout|os\.Stderr|fmt\.Print|\bprintln?\(|\blog\.(Print|Fatal|Panic)`)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := direct.FindAllString(comment.ReplaceAllString(string(text), ""), -1); len(found) != raw[name] {
			t.Errorf("%s uses %q: print text for people to stdout and stderr, or count it here", name, found)
		}
	}
}

// TestOldKeyIsNoted: a store of an older version has a key that should not be published.
func TestOldKeyIsNoted(t *testing.T) {
	t.Parallel()
	u := self(t)
	dir := filepath.Join(u.home, "store")
	kept(t, dir, "real")
	if r := u.run(t, "results", "--store", dir); r.code != 0 || r.errors != "" {
		t.Errorf("exit code %d, %q", r.code, r.errors)
	}
	key := u.write(t, "store/ca/intermediate.key", "key")
	if r := u.run(t, "results", "--store", dir); r.code != 0 || !strings.Contains(r.errors, key) || !strings.Contains(r.errors, "delete the folder") {
		t.Errorf("exit code %d, %q", r.code, r.errors)
	}
}

// TestServeLimitsItsAuthority: one made by --ca is for the names that are served; one of an
// older version is used, with a remark; one for other names is not.
func TestServeLimitsItsAuthority(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.write(t, "folder/page.html", "page")
	folder, ca := filepath.Join(u.home, "folder"), filepath.Join(u.home, "ca")
	for range 2 {
		s := u.serve(t, folder, "--ca", ca, "--allow-host", "other.test")
		if r := u.run(t, "get", "--protocol", "h2", "--cacert", s.ca, s.urls["h2"]+"page.html"); r.out != "page" {
			t.Errorf("exit code %d, %q, %s", r.code, r.out, r.errors)
		}
		if code := s.end(t); code != 0 || strings.Contains(s.log.String(), "note:") {
			t.Errorf("exit code %d: %s", code, s.log)
		}
	}
	if r := u.run(t, "serve", folder, "--ca", ca, "--host", "page.test"); r.code != exitInput || !strings.Contains(r.errors, "valid for localhost, other.test, not for page.test") {
		t.Errorf("exit code %d: %s", r.code, r.errors)
	}
	old := filepath.Join(u.home, "old")
	if _, err := protocol.OpenAuthority(old); err != nil {
		t.Fatal(err)
	}
	s := u.serve(t, folder, "--ca", old)
	if r := u.run(t, "get", "--protocol", "h2", "--cacert", s.ca, s.urls["h2"]+"page.html"); r.out != "page" {
		t.Errorf("exit code %d, %q, %s", r.code, r.out, r.errors)
	}
	if code := s.end(t); code != 0 || !strings.Contains(s.log.String(), "may issue certificates for any name") {
		t.Errorf("exit code %d: %s", code, s.log)
	}
}

// TestServeSaysWhomItServes: media at an address that is not loopback's are for everyone.
func TestServeSaysWhomItServes(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.write(t, "media/song", "la")
	s := u.serveMedia(t, "--address", "0.0.0.0", filepath.Join(u.home, "media"))
	if code := s.end(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if log := s.log.String(); !strings.Contains(log, "everyone who can reach any address of this machine can read the media in "+filepath.Join(u.home, "media")+", without a password, over tcp") {
		t.Errorf("it says %s", log)
	}
}
