package terminal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wiretime/terminal"
	"wiretime/terminal/terminaltest"
)

// clean gives a test a terminal's environment of its own.
func clean(t *testing.T, set map[string]string) {
	t.Helper()
	for _, name := range []string{"TERM", "NO_COLOR", "LC_ALL", "LC_CTYPE", "LANG"} {
		t.Setenv(name, set[name])
	}
}

func TestScreen(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	wide, silent := terminaltest.Open(t, 132), terminaltest.Open(t, 0)
	for _, c := range []struct {
		name        string
		file        *os.File
		environment map[string]string
		want        terminal.Screen
	}{
		{"a terminal", wide.Side, map[string]string{"TERM": "xterm-256color", "LANG": "de_CH.UTF-8"}, terminal.Screen{Columns: 132, Changes: true, Coloured: true, Unicode: true}},
		{"one that does not tell its width", silent.Side, map[string]string{"TERM": "vt100"}, terminal.Screen{Columns: 80, Changes: true, Coloured: true}},
		{"without colours", wide.Side, map[string]string{"TERM": "xterm", "NO_COLOR": "1"}, terminal.Screen{Columns: 132, Changes: true}},
		{"a dumb one", wide.Side, map[string]string{"TERM": "dumb"}, terminal.Screen{Columns: 132}},
		{"one of which nothing is known", wide.Side, nil, terminal.Screen{Columns: 132}},
		{"LC_ALL comes first", wide.Side, map[string]string{"TERM": "dumb", "LC_ALL": "C", "LANG": "C.UTF-8"}, terminal.Screen{Columns: 132}},
		{"LC_CTYPE comes before LANG", wide.Side, map[string]string{"TERM": "dumb", "LC_CTYPE": "ko_KR.utf8", "LANG": "C"}, terminal.Screen{Columns: 132, Unicode: true}},
		{"a file", file, map[string]string{"TERM": "xterm", "LANG": "C.UTF-8"}, terminal.Screen{Unicode: true}},
		{"no file", nil, map[string]string{"TERM": "xterm"}, terminal.Screen{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			clean(t, c.environment)
			if got := terminal.ScreenOf(c.file); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestWidthOfText(t *testing.T) {
	rich, poor := terminal.Screen{Unicode: true}, terminal.Screen{}
	for _, c := range []struct {
		text                      string
		width                     int
		cut, shortened, shortPoor string // to nine columns
	}{
		{"", 0, "", "", ""},
		{"protocol", 8, "protocol", "protocol", "protocol"},
		{"https://www.page.test/a.js", 26, "https://…", "http…a.js", "http...js"},
		{"지하철 와이파이", 15, "지하철 …", "지하…파이", "지하..이"},
		{"Zu\u0308rich", 6, "Zu\u0308rich", "Zu\u0308rich", "Zu\u0308rich"},
		{"12345678901", 11, "12345678…", "1234…8901", "1234..901"},
	} {
		if got := terminal.Width(c.text); got != c.width {
			t.Errorf("Width(%q) is %d, want %d", c.text, got, c.width)
		}
		for _, got := range []string{rich.Cut(c.text, 9), rich.Shorten(c.text, 9), poor.Shorten(c.text, 9)} {
			if terminal.Width(got) > 9 {
				t.Errorf("%q is wider than nine columns", got)
			}
		}
		if got := rich.Cut(c.text, 9); got != c.cut {
			t.Errorf("Cut(%q) is %q, want %q", c.text, got, c.cut)
		}
		if got := rich.Shorten(c.text, 9); got != c.shortened {
			t.Errorf("Shorten(%q) is %q, want %q", c.text, got, c.shortened)
		}
		if got := poor.Shorten(c.text, 9); got != c.shortPoor {
			t.Errorf("Shorten(%q) without Unicode is %q, want %q", c.text, got, c.shortPoor)
		}
	}
}

// TestPrintln: foreign text in a coloured line stays text.
func TestPrintln(t *testing.T) {
	clean(t, map[string]string{"TERM": "xterm"})
	for name, want := range map[string]string{"": "a \x1b[31m\\x1b[2Jb\x1b[0m\r\n", "1": "a \\x1b[2Jb\r\n"} {
		t.Setenv("NO_COLOR", name)
		on := terminaltest.Open(t, 80)
		line := terminal.Text{{Words: "a "}, {Style: terminal.Red, Words: "\x1b[2Jb"}}
		if err := terminal.Println(terminal.NewWriter(on.Side), line); err != nil {
			t.Fatal(err)
		}
		if got := on.Close(); got != want {
			t.Errorf("NO_COLOR=%q: got %q, want %q", name, got, want)
		}
		var out strings.Builder
		if err := terminal.Println(&out, line); err != nil || out.String() != "a \\x1b[2Jb\n" {
			t.Errorf("it printed %q, %v", out.String(), err)
		}
	}
}

// TestWatch follows a line that changes, with text printed meanwhile, on a terminal that becomes narrower.
func TestWatch(t *testing.T) {
	clean(t, map[string]string{"TERM": "xterm", "NO_COLOR": "1", "LANG": "C.UTF-8"})
	on := terminaltest.Open(t, 30)
	out, errs := terminal.NewWriters(on.Side, on.Side)
	done := 1
	watch := errs.Watch(func(int) terminal.Text {
		return terminal.Text{{Words: fmt.Sprintf("[%d/9] ", done)}, {Words: "a page\nover a network"}}
	})
	const erase = "\r\x1b[K"
	on.Await(t, erase+`[1/9] a page\x0aover a netwo…`)
	fmt.Fprintln(out, "a finding")
	on.Await(t, erase+"a finding\r\n"+erase+"[1/9] ")
	on.Resize(t, 10)
	done = 2
	watch.Update()
	on.Await(t, erase+"[2/9] a …")
	watch.End()
	fmt.Fprintln(errs, "the end")
	shown := on.Close()
	if !strings.HasSuffix(shown, erase+"the end\r\n") {
		t.Errorf("it ends with %q", shown[max(0, len(shown)-40):])
	}
	if strings.Count(shown, "\n") != 2 {
		t.Errorf("lines other than those printed stay: %q", shown)
	}
}

// TestNothingChangesElsewhere: a dumb terminal, and what is none, get no line that changes.
func TestNothingChangesElsewhere(t *testing.T) {
	clean(t, map[string]string{"TERM": "dumb"})
	on := terminaltest.Open(t, 80)
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, to := range []*os.File{on.Side, file} {
		_, errs := terminal.NewWriters(to, to)
		if errs.Watch(func(int) terminal.Text { return nil }) != nil {
			t.Errorf("%s has a line that changes", to.Name())
		}
	}
	if terminal.NewWriter(on.Side).Watch(func(int) terminal.Text { return nil }) != nil {
		t.Error("a Writer of its own has a line that changes")
	}
}

func TestSparkline(t *testing.T) {
	rich, poor := terminal.Screen{Unicode: true}, terminal.Screen{}
	for _, c := range []struct {
		name      string
		values    []float64
		low, high float64
		rich      string
		poor      string
	}{
		{"nothing", nil, 0, 1, "        ", "        "},
		{"one value", []float64{5}, 0, 10, "    █   ", "    @   "},
		{"the ends", []float64{0, 0, 10}, 0, 10, "█      ▄", "@      ="},
		{"outside", []float64{-5, 50}, 0, 10, "█      █", "@      @"},
		{"all alike", []float64{7, 7, 7}, 7, 7, "█       ", "@       "},
		{"two humps", []float64{1, 1, 1, 1, 2, 8, 8, 9}, 0, 10, "█▂    ▄▂", "@:    =:"},
	} {
		if got := rich.Sparkline(c.values, c.low, c.high, 8); got != c.rich {
			t.Errorf("%s: got %q, want %q", c.name, got, c.rich)
		}
		if got := poor.Sparkline(c.values, c.low, c.high, 8); got != c.poor {
			t.Errorf("%s, without Unicode: got %q, want %q", c.name, got, c.poor)
		}
	}
}
