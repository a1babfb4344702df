package main

import (
	"os"
	"os/exec"
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
		{"start", "a", "", ""},
		{"output", "a", "", "=== RUN   TestX\n"},
		{"run", "a", "TestX", ""},
		{"output", "a", "TestX", "    x_test.go:1: noise\n"},
		{"pass", "a", "TestX", ""},
		{"run", "a", "TestY", ""},
		{"run", "a", "TestY/good", ""},
		{"output", "a", "TestY/good", "    y_test.go:1: noise\n"},
		{"pass", "a", "TestY/good", ""},
		{"run", "a", "TestY/bad", ""},
	} {
		p.add(e)
	}
	now = now.Add(20 * time.Second)
	p.add(event{"start", "b", "", ""})
	p.tell()
	if got, want := out.String(), "...\ta\t20s\tTestY/bad (20s)\n"; got != want {
		t.Errorf("after 20 s: %q, want %q", got, want)
	}
	out.Reset()
	for _, e := range []event{
		{"output", "a", "TestY/bad", "    y_test.go:2: wrong\n"},
		{"output", "a", "TestY/bad", "    --- FAIL: TestY/bad (20.00s)\n"},
		{"fail", "a", "TestY/bad", ""},
		{"output", "a", "TestY", "--- FAIL: TestY (20.00s)\n"},
		{"fail", "a", "TestY", ""},
		{"output", "a", "", "FAIL\n"},
		{"output", "a", "", "FAIL\ta\t20.1s\n"},
		{"fail", "a", "", ""},
		{"output", "b", "", "PASS\n"},
		{"output", "b", "", "ok  \tb\t0.1s\n"},
		{"pass", "b", "", ""},
		{"build-output", "", "", "c.go:1: undefined: x\n"},
	} {
		p.add(e)
	}
	const want = "    y_test.go:2: wrong\n    --- FAIL: TestY/bad (20.00s)\n--- FAIL: TestY (20.00s)\nFAIL\nFAIL\ta\t20.1s\nok  \tb\t0.1s\nc.go:1: undefined: x\n"
	if got := out.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestRun: what go test says of real packages comes through, with its exit code.
func TestRun(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Fatal(err)
	}
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
	write("good/x_test.go", "package good\n\nimport \"testing\"\n\nfunc TestGood(t *testing.T) { t.Log(\"noise\") }\n")
	write("dies/x_test.go", "package dies\n\nimport \"testing\"\n\nfunc TestDies(t *testing.T) { panic(\"argh\") }\n")
	write("broken/x_test.go", "package broken\n\nfunc x() { undefined() }\n")
	t.Chdir(folder)
	for _, c := range []struct {
		folder string
		code   int
		want   []string
	}{
		{"./good", 0, []string{"ok  \tm/good\t"}},
		{"./dies", 1, []string{"panic: argh", "--- FAIL: TestDies", "x_test.go:5", "FAIL\tm/dies\t"}},
		{"./broken", 1, []string{"undefined: undefined", "FAIL\tm/broken [build failed]"}},
	} {
		var out, complaints strings.Builder
		code, err := run(t.Context(), []string{c.folder}, &out, &complaints)
		if err != nil || code != c.code {
			t.Errorf("%s: exit code %d, %v, want %d", c.folder, code, err, c.code)
		}
		for _, want := range c.want {
			if !strings.Contains(out.String()+complaints.String(), want) {
				t.Errorf("%s printed %q and %q, want %q", c.folder, out.String(), complaints.String(), want)
			}
		}
		if strings.Contains(out.String(), "noise") {
			t.Errorf("%s printed %q", c.folder, out.String())
		}
	}
}
