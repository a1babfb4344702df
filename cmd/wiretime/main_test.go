package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"wiretime/loader/chromium"
)

// These tests run the program as its users do, as a process of its own.

// binary is the program under test, built once, where every user may run it.
var binary string

func TestMain(m *testing.M) {
	if os.Getenv(disturberMark) != "" {
		disturb()
	}
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "wiretime-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	binary = filepath.Join(dir, "wiretime")
	// As the Makefile builds it: guests show how long the program is.
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-X wiretime/runner.revision=0123456789ab+", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is shipped: guests have no libraries
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build the program under test:", err)
		return 1
	}
	return m.Run()
}

// nobody is the user and group number of an unprivileged user.
const nobody = 65534

// user is who runs the program, with a home of its own.
type user struct {
	name string
	id   int
	home string
}

// users are root and nobody, or just whoever runs the tests if that is not root.
func users(t *testing.T) []user {
	all := []user{{"self", os.Geteuid(), home(t, os.Geteuid())}}
	if os.Geteuid() == 0 {
		all = append(all, user{"nobody", nobody, home(t, nobody)})
	}
	return all
}

// home makes a folder that a user owns and can reach.
func home(t *testing.T, id int) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "wiretime-home-") //nolint:usetesting // t.TempDir's folder is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, id, id); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// command is the program with arguments, run by the user in its home.
func (u user) command(ctx context.Context, args ...string) *exec.Cmd {
	if args[0] == "run" {
		args = append(slices.Clone(args), "--wait", "0") // tests hold on any machine
	}
	return u.program(ctx, binary, args...)
}

func (u user) program(ctx context.Context, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = u.home
	c.Env = append(registries(), "HOME="+u.home, "PATH="+os.Getenv("PATH"), "TMPDIR="+u.home)
	c.SysProcAttr = &syscall.SysProcAttr{}
	c.WaitDelay = 10 * time.Second
	if u.id != os.Geteuid() {
		c.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(u.id), Gid: uint32(u.id)}
	}
	return c
}

// registries returns the variables by which this machine's npm finds its registry, and trusts it.
func registries() (all []string) {
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(strings.ToLower(variable), "=")
		if strings.HasPrefix(name, "npm_config_") || strings.HasSuffix(name, "_proxy") || name == "node_extra_ca_certs" {
			all = append(all, variable)
		}
	}
	return all
}

// result is what a finished program left.
type result struct {
	code        int
	out, errors string
}

func finish(t *testing.T, c *exec.Cmd) result {
	t.Helper()
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v: %v", c.Args, err)
	}
	return result{c.ProcessState.ExitCode(), out.String(), errs.String()}
}

// run runs the program to its end. It gives up after five minutes, far more than any run takes even on a busy machine.
func (u user) run(t *testing.T, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	return finish(t, u.command(ctx, args...))
}

// self is whoever runs the tests.
func self(t *testing.T) user { return user{"self", os.Geteuid(), home(t, os.Geteuid())} }

// write writes a file into the user's home and returns its path.
func (u user) write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(u.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		for p := path; p != u.home; p = filepath.Dir(p) {
			if err := os.Chown(p, u.id, u.id); err != nil {
				t.Fatal(err)
			}
		}
	}
	return path
}

// addPage adds a small site called "page": HTML, a stylesheet, a script and two
// pictures.
func (u user) addPage(t *testing.T) {
	t.Helper()
	u.write(t, "page/index.html", `<!doctype html><title>Page</title><link rel="icon" href="data:,">
<link rel="stylesheet" href="style.css"><script src="script.js" defer></script>
<p>A page to load.</p><img src="a.svg" width="9" height="9" alt="a"><img src="b.svg" width="9" height="9" alt="b">`)
	u.write(t, "page/style.css", "p { color: black }"+strings.Repeat("/* filler */", 2000))
	u.write(t, "page/script.js", "document.title = 'Loaded';")
	for _, name := range []string{"a", "b"} {
		u.write(t, "page/"+name+".svg", `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><!--`+strings.Repeat(name, 5000)+`--></svg>`)
	}
	if r := u.run(t, "site", "add", filepath.Join(u.home, "page")); r.code != 0 {
		t.Fatalf("add the site: exit code %d, %s", r.code, r.errors)
	}
}

// study writes a study of the page over all protocols.
func (u user) study(t *testing.T, repeats int) string {
	t.Helper()
	return u.write(t, "study.yaml", fmt.Sprintf(smallStudy, repeats, "50ms"))
}

// smallStudy is a study of the page with a number of repeats and a limit of
// lateness, which is wide where a test is not about punctuality.
const smallStudy = `name: small
repeats: %d
clock: real
matrix:
  sites: [page]
  protocols: [http/1.1, https/1.1, h2, h3]
  networks: [{name: quick, rate: 20mbit, rtt: 20ms, queue: 64kB}]
  loaders: [chromium]
options: {late_limit: %s, taken_limit: 100%%}
`

// needChromium ends the test where no browser can be had.
func needChromium(t *testing.T) {
	t.Helper()
	if _, err := chromium.Find(""); err != nil {
		t.Fatalf("%v (the tests load pages with it)", err)
	}
}
