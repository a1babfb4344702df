package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestProgress: passing tests are silent, failing ones are shown whole, and long ones are named.
func TestProgress(t *testing.T) {
	var out strings.Builder
	p := newProgress(&out)
	var now time.Time
	p.now = func() time.Time { return now }
	for _, e := range []event{
		{Action: "start", Package: "a", Test: "", Output: ""},
		{Action: "output", Package: "a", Test: "", Output: "=== RUN   TestX\n"},
		{Action: "run", Package: "a", Test: "TestX", Output: ""},
		{Action: "output", Package: "a", Test: "TestX", Output: "    x_test.go:1: noise\n"},
		{Action: "pass", Package: "a", Test: "TestX", Output: ""},
		{Action: "run", Package: "a", Test: "TestY", Output: ""},
		{Action: "run", Package: "a", Test: "TestY/good", Output: ""},
		{Action: "output", Package: "a", Test: "TestY/good", Output: "    y_test.go:1: noise\n"},
		{Action: "pass", Package: "a", Test: "TestY/good", Output: ""},
		{Action: "run", Package: "a", Test: "TestY/bad", Output: ""},
	} {
		p.add(e)
	}
	now = now.Add(20 * time.Second)
	p.add(event{Action: "start", Package: "b", Test: "", Output: ""})
	p.tell()
	if got, want := out.String(), "...\ta\t20s\tTestY/bad (20s)\n"; got != want {
		t.Errorf("after 20 s: %q, want %q", got, want)
	}
	out.Reset()
	for _, e := range []event{
		{Action: "output", Package: "a", Test: "TestY/bad", Output: "    y_test.go:2: wrong\n"},
		{Action: "output", Package: "a", Test: "TestY/bad", Output: "    --- FAIL: TestY/bad (20.00s)\n"},
		{Action: "fail", Package: "a", Test: "TestY/bad", Output: ""},
		{Action: "output", Package: "a", Test: "TestY", Output: "--- FAIL: TestY (20.00s)\n"},
		{Action: "fail", Package: "a", Test: "TestY", Output: ""},
		{Action: "output", Package: "a", Test: "", Output: "FAIL\n"},
		{Action: "output", Package: "a", Test: "", Output: "FAIL\ta\t20.1s\n"},
		{Action: "fail", Package: "a", Test: "", Output: ""},
		{Action: "output", Package: "b", Test: "", Output: "PASS\n"},
		{Action: "output", Package: "b", Test: "", Output: "ok  \tb\t0.1s\n"},
		{Action: "pass", Package: "b", Test: "", Output: ""},
		{Action: "build-output", Package: "", Test: "", Output: "c.go:1: undefined: x\n"},
	} {
		p.add(e)
	}
	const want = "    y_test.go:2: wrong\n    --- FAIL: TestY/bad (20.00s)\n--- FAIL: TestY (20.00s)\nFAIL\nFAIL\ta\t20.1s\nok  \tb\t0.1s\nc.go:1: undefined: x\n"
	if got := out.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestRun: the end of a run of real packages says what failed, with its last lines and the command that repeats it,
// what was skipped and why, and how many tests there were.
func TestRun(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module m\n\ngo 1.26\n")
	write("good/x_test.go", `package good

import "testing"

func TestGood(t *testing.T) { t.Log("noise") }

func TestLacks(t *testing.T) { t.Skip("no h2o here") }
`)
	write("bad/x_test.go", `package bad

import "testing"

func TestBad(t *testing.T) {
	t.Run("one", func(t *testing.T) {})
	t.Run("a b", func(t *testing.T) {
		for i := range 30 {
			t.Log("line", i)
		}
		t.Fail()
	})
}
`)
	write("dies/x_test.go", "package dies\n\nimport \"testing\"\n\nfunc TestDies(t *testing.T) { panic(\"argh\") }\n")
	write("broken/x_test.go", "package broken\n\nfunc x() { undefined() }\n")
	t.Chdir(folder)
	t.Setenv("WIRETIME_NEED_KERNEL", "1")
	t.Setenv("WIRETIME_NEED_PEERS", "1")
	t.Setenv("WIRETIME_LONG", "1")
	t.Setenv("GOFLAGS", "-trimpath")
	goTest := part{name: "Go", command: []string{"go", "test", "-json", "./..."}, goTest: true}
	for _, c := range []struct {
		name  string
		parts []part
		code  int
		want  []string
		not   []string
	}{
		{"each fails in its own way", []part{{name: "linter", command: []string{"false"}}, goTest}, 1, []string{
			"   linter               0s  failed: exit status 1",
			"== Failed: m/bad TestBad/a_b\n   " + "    x_test.go:9: line 11\n",
			"   Repeat it: CGO_ENABLED=0 GOFLAGS='-trimpath' WIRETIME_LONG=1 WIRETIME_NEED_KERNEL=1 WIRETIME_NEED_PEERS=1 go test -count 1 -shuffle 7 -v -run '^TestBad$/^a_b$' ./bad\n",
			"== Failed: m/dies TestDies\n", "panic: argh",
			"== Failed: m/broken \n", "undefined: undefined",
			"== Skipped\n   no h2o here: m/good TestLacks\n",
			"seed 7", "tests: 2 passed, 3 failed, 1 skipped\n",
		}, []string{"noise", "line 10\n"}},
		{"the set-up fails", []part{{name: "set-up", command: []string{"sh", "-c", "exit 3"}, vital: true}, goTest}, 3, []string{
			"   set-up               0s  failed: exit status 3", "tests: 0 passed, 0 failed, 0 skipped\n",
		}, []string{"Go "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			if code := run(t.Context(), c.parts, "7", &out); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			_, end, _ := strings.Cut(out.String(), "== How long")
			for _, want := range c.want {
				if !strings.Contains(end, want) {
					t.Errorf("the end lacks %q:\n%s", want, end)
				}
			}
			for _, not := range c.not {
				if strings.Contains(end, not) {
					t.Errorf("the end has %q:\n%s", not, end)
				}
			}
		})
	}
}
