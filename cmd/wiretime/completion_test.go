package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wiretime/terminal/terminaltest"
)

// completed are words that shells complete, and some of what they may become.
var completed = []struct {
	line  string // the last word is to be completed
	has   []string
	lacks string
}{
	{"wiretime ru", []string{"run"}, "results"},
	{"wiretime run first-", []string{"first-look", "first-stream", "first-upload"}, "lulic-2"},
	{"wiretime run mine", []string{"mine.yaml"}, "page.html"},
	{"wiretime run first-look --st", []string{"--store"}, "--clock"},
	{"wiretime run first-look --clock v", []string{"virtual"}, "real"},
	{"wiretime run first-look --keep m", []string{"median"}, "none"},
	{"wiretime show r1-000", []string{"r1-0000-a1", "r1-0001-a1"}, "first-look"},
	{"wiretime explain --store other r2-", []string{"r2-0007-a1"}, "r1-0000-a1"},
	{"wiretime networks 3g-", []string{"3g-weak"}, "lte"},
	{"wiretime site show world-", []string{"world-flags", "world-flags-sprite"}, "gallery"},
	{"wiretime link --profile lt", []string{"lte"}, "cable"},
	{"wiretime site check gallery --protocol h2,sp", []string{"h2,spdy/3.1"}, "h2,h2"},
	{"wiretime export c", []string{"csv"}, "json"},
	{"wiretime papers lu", []string{"lulic"}, "kim"},
}

// place gives the user a folder with a study and two stores.
func (u user) place(t *testing.T) {
	t.Helper()
	u.write(t, "mine.yaml", "name: mine")
	u.write(t, "page.html", "page")
	for _, file := range []string{"results/loads/r1-0000-a1/load.har", "results/loads/r1-0001-a1/load.har", "other/loads/r2-0007-a1/load.har"} {
		u.write(t, file, "")
	}
	if err := os.Symlink(binary, filepath.Join(u.home, "wiretime")); err != nil {
		t.Fatal(err)
	}
}

// shell runs a script in a shell that finds wiretime, or skips the test if there is no such shell.
func (u user) shell(t *testing.T, script string, shell ...string) string {
	t.Helper()
	if _, err := exec.LookPath(shell[0]); err != nil {
		t.Skipf("%s is not installed", shell[0])
	}
	c := u.program(t.Context(), shell[0], append(shell[1:], script)...)
	c.Env = append(c.Env, "PATH="+u.home+":"+os.Getenv("PATH"), "TERM=dumb", "LC_ALL=C.UTF-8")
	r := finish(t, c)
	if r.code != 0 || r.errors != "" {
		t.Fatalf("%s: exit code %d, %s", shell[0], r.code, r.errors)
	}
	return r.out
}

// checkCompleted checks what a shell has made of the words.
func checkCompleted(t *testing.T, complete func(line string) string) {
	t.Helper()
	for _, c := range completed {
		got := strings.Fields(complete(c.line))
		for _, want := range c.has {
			if !slices.Contains(got, want) {
				t.Errorf("%s: %q is not in %q", c.line, want, got)
			}
		}
		if slices.Contains(got, c.lacks) {
			t.Errorf("%s: %q is in %q", c.line, c.lacks, got)
		}
	}
}

// TestCompletionInBash has bash complete words, without the package bash-completion.
func TestCompletionInBash(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.place(t)
	// Here bash is not completing by itself, of which the script's compopt would complain.
	script := "source <(wiretime completion bash)\n"
	for _, c := range completed {
		words := strings.Fields(c.line)
		script += "COMP_WORDS=(" + strings.Join(words, " ") + ") COMP_CWORD=$((${#COMP_WORDS[@]}-1)) COMP_LINE='" + c.line + "' COMP_POINT=${#COMP_LINE} COMP_TYPE=9 COMPREPLY=()\n" +
			"__start_wiretime 2>/dev/null; echo \"${COMPREPLY[@]}\"\n"
	}
	answers := strings.Split(u.shell(t, script, "bash", "--norc", "-c"), "\n")
	i := -1
	checkCompleted(t, func(string) string { i++; return answers[i] })
}

// TestCompletionTyped types a word and a tab at bash's prompt.
func TestCompletionTyped(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.place(t)
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
	on := terminaltest.Open(t, 100)
	c := u.program(t.Context(), "bash", "--norc", "--noprofile", "-i")
	c.Stdin, c.Stdout, c.Stderr = on.Side, on.Side, on.Side
	c.Env = append(c.Env, "PATH="+u.home+":"+os.Getenv("PATH"), "TERM=xterm", "PS1=ready> ", "INPUTRC=/dev/null", "HISTFILE=")
	c.SysProcAttr.Setsid, c.SysProcAttr.Setctty = true, true
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	on.Await(t, "ready> ")
	on.Type(t, "source <(wiretime completion bash) && echo sour''ced\n")
	on.Await(t, "sourced")
	on.Type(t, "wiretime networks satellite-g\t")
	on.Await(t, "networks satellite-geo ")
	on.Type(t, "\x15exit\n")
	_ = c.Wait() // with the code of what was typed
	on.Close()
}

// TestCompletionInZsh loads the script, and asks the program as it does.
func TestCompletionInZsh(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.place(t)
	out := u.shell(t, "autoload -Uz compinit && compinit -u -D && source <(wiretime completion zsh) && whence -w _wiretime && print -r ${_comps[wiretime]}", "zsh", "-f", "-c")
	if out != "_wiretime: function\n_wiretime\n" {
		t.Errorf("zsh has %q", out)
	}
}

// TestCompletionInFish has fish complete words.
func TestCompletionInFish(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.place(t)
	checkCompleted(t, func(line string) string {
		out := u.shell(t, "wiretime completion fish | source; complete -C '"+line+"'", "fish", "--no-config", "-c")
		var words []string
		for line := range strings.Lines(out) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			words = append(words, word)
		}
		return strings.Join(words, " ")
	})
}

// TestManualPages: each verb has a page, which tells of each of its flags.
func TestManualPages(t *testing.T) {
	t.Parallel()
	u := self(t)
	if r := u.run(t, "man", "man1"); r.code != 0 {
		t.Fatalf("exit code %d: %s", r.code, r.errors)
	}
	for page, wants := range map[string][]string{
		"wiretime.1":          {`\fBwiretime\-run\fR(1)`, `\fBwiretime\-site\fR(1)`, "130  interrupted"},
		"wiretime-run.1":      {`\fB\-\-capture\-memory\fR \fIMB\fR`, `\fB\-v\fR, \fB\-\-verbose\fR`},
		"wiretime-site-add.1": {"site add DIR"},
	} {
		text, err := os.ReadFile(filepath.Join(u.home, "man1", page))
		for _, want := range wants {
			if err != nil || !strings.Contains(string(text), want) {
				t.Errorf("%s: %q is not in it (%v):\n%s", page, want, err, text)
			}
		}
		if strings.Contains(string(text), `schedule\-slot`) {
			t.Errorf("%s tells of a hidden flag", page)
		}
	}
}
