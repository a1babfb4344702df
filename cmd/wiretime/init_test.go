package main

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wiretime/site"
	"wiretime/study"
)

// TestInit answers by flags and by lines.
func TestInit(t *testing.T) {
	t.Parallel()
	u := self(t)
	for _, c := range []struct {
		name  string
		args  []string
		typed string
		code  int
		says  string   // in what is printed
		wants []string // lines of the study
	}{
		{"nothing is said", []string{"usual.yaml"}, "", 0, "usual.yaml is written: 6 cells, 42 loads.", []string{"name: usual", "repeats: 7", "  sites: [world-flags]", "  protocols: [https/1.1, h2, h3]", "  networks: [cable, lte]"}},
		{"lines", []string{"lines.yaml"}, "gallery\nh2,h3\n\n real \n3\n", 0, "4 cells, 12 loads", []string{"repeats: 3", "clock: real", "  sites: [gallery]", "  protocols: [h2, h3]"}},
		{"flags", []string{"my flags.yml", "--site", "objects@4x1kB", "--protocols", "spdy/3.1", "--networks", "3g", "--clock", "auto", "--repeats", "1"}, "ignored\n", 0, "1 cell, 1 load.",
			[]string{"name: my-flags", "clock: auto", "  sites: [objects@4x1kB]", "  loaders: [builtin] # browsers no longer speak SPDY"}},
		{"flags and lines", []string{"both.yaml", "--site", "gallery", "--repeats", "6"}, "h2\nlte\n", 0, "1 cell, 6 loads", []string{"  protocols: [h2]", "  networks: [lte]"}},
		{"a real page", []string{"live.yaml", "--site", "https://www.page.test/a,b?c"}, "h2\n9\n", 0, "1 cell, 9 loads", []string{"clock: live", `  sites: ["https://www.page.test/a,b?c"]`, "repeats: 9"}},
		{"an unknown site", []string{"wrong.yaml"}, "world-flgs\n", exitInput, `--site world-flgs: unknown site "world-flgs": the nearest name is "world-flags"`, nil},
		{"an unknown network", []string{"wrong.yaml", "--networks", "ltee"}, "", exitInput, `did you mean "lte"?`, nil},
		{"too few loads", []string{"wrong.yaml", "--repeats", "0"}, "", exitInput, "--repeats 0: ", nil},
		{"a list where one is wanted", []string{"wrong.yaml", "--clock", "real, virtual"}, "", exitInput, "--clock real, virtual: ", nil},
		{"more YAML than an answer", []string{"wrong.yaml", "--clock", "real\nservers: []"}, "", exitInput, "unknown clock", nil},
		{"a file that is there", []string{"usual.yaml"}, "", exitInput, "usual.yaml is there already; name another file", []string{"repeats: 7"}},
		{"no such folder", []string{"none/a.yaml"}, "", exitFailure, "write a study: ", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := u.command(t.Context(), append([]string{"init"}, c.args...)...)
			p.Stdin = strings.NewReader(c.typed)
			r := finish(t, p)
			if r.code != c.code || !strings.Contains(r.errors, c.says) {
				t.Errorf("exit code %d, want %d; %q is not in %s", r.code, c.code, c.says, r.errors)
			}
			text, err := os.ReadFile(filepath.Join(u.home, c.args[0]))
			if c.wants == nil {
				if err == nil {
					t.Errorf("it wrote\n%s", text)
				}
				return
			}
			for _, want := range c.wants {
				if !slices.Contains(strings.Split(string(text), "\n"), want) {
					t.Errorf("there is no line %q in\n%s", want, text)
				}
			}
			if r := u.run(t, "run", c.args[0], "--dry-run"); c.code == 0 && r.code != 0 {
				t.Errorf("the study cannot be read: %s", r.errors)
			}
		})
	}
}

// TestInitOnATerminal asks again after a wrong answer, and writes a study that runs.
func TestInitOnATerminal(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	u.addPage(t)
	on, running := u.startOnTerminal(t, 80, "init")
	for _, step := range []struct{ asks, answer string }{
		{"Which page", "pag"}, {`the nearest name is "page"`, "page"}, {"Which protocols", "h2, spdy/3.1"}, {"Which networks", "cable"}, {"Which clock", "virtual"}, {"How many loads", "1"},
	} {
		on.Await(t, step.asks)
		on.Type(t, step.answer+"\n")
	}
	if err := running.Wait(); err != nil {
		t.Errorf("%v: %s", err, on.Close())
	}
	if shown := on.Close(); !strings.Contains(shown, "study.yaml is written: 2 cells, 2 loads.") {
		t.Errorf("it shows %q", shown)
	}
	if r := u.run(t, "run", "study.yaml", "--store", "kept"); r.code != 0 || !strings.Contains(r.out, "2 of 2 loads done") {
		t.Errorf("exit code %d: %s%s", r.code, r.out, r.errors)
	}
}

// TestInitGivenUp ends the input of a terminal.
func TestInitGivenUp(t *testing.T) {
	t.Parallel()
	u := self(t)
	on, running := u.startOnTerminal(t, 80, "init")
	on.Await(t, "Which page")
	on.Type(t, "\x04")
	err := running.Wait()
	if shown := on.Close(); running.ProcessState.ExitCode() != exitInput || !strings.Contains(shown, "nothing is written") {
		t.Errorf("%v: it shows %q", err, shown)
	}
	if _, err := os.Stat(filepath.Join(u.home, "study.yaml")); err == nil {
		t.Error("a study is written")
	}
}

// FuzzInit checks that init writes a study with exactly the answers that it was given, or writes nothing.
func FuzzInit(f *testing.F) {
	f.Add("gallery", "h2, h3", "lte", "virtual", "7")
	f.Add("https://page.test/\"], x: [", "h2]\nseed: 3", "#", "live", "1 # 2")
	f.Fuzz(func(t *testing.T, page, protocols, networks, clock, repeats string) {
		i := interview{in: bufio.NewReader(strings.NewReader("")), out: io.Discard, file: "study.yaml", library: site.Library{},
			answers: answers{"site": page, "protocols": protocols, "networks": networks, "clock": clock, "repeats": repeats}}
		s, err := i.study()
		if err != nil {
			return
		}
		var said []string
		for word := range strings.SplitSeq(protocols, ",") {
			if word = strings.TrimSpace(word); word != "" {
				said = append(said, word)
			}
		}
		if len(said) > 0 && !slices.Equal(s.Matrix[study.AxisProtocol], said) || page != "" && !slices.Equal(s.Matrix[study.AxisSite], []string{page}) || s.Seed != 1 {
			t.Errorf("%q over %q gives\n%s", page, protocols, s.Source)
		}
	})
}
