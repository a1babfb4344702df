package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wiretime/network"
	"wiretime/store"
	"wiretime/study"
)

// TestCommandsOfAStoreAreConfirmed resumes runs whose study starts programs.
func TestCommandsOfAStoreAreConfirmed(t *testing.T) {
	withCommand := func(words ...string) *study.Study {
		return &study.Study{Name: "s", OwnServers: []study.Server{{Name: "mine", Command: words, Protocols: []string{"h2"}}}}
	}
	own, foreign, another := withCommand("mine", "{port}"), withCommand("rm", "-rf", "/"), withCommand("curl", "\x1b[2J")
	resumed := runOptions{store: "kept", resume: true}
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	for _, c := range []struct {
		name    string
		options runOptions
		study   *study.Study
		refused string // what the error names; "": none
	}{
		{"a stranger's", resumed, foreign, `["rm" "-rf" "/"]`},
		{"a stranger's, again", resumed, foreign, "--" + storedCommandsFlag},
		{"with escapes for the terminal", resumed, another, `"\x1b[2J"`},
		{"no commands", resumed, &study.Study{Name: "s"}, ""},
		{"the user's own study", runOptions{study: "mine.yaml"}, own, ""},
		{"the user's own, resumed", resumed, own, ""},
		{"a stranger's, with the study named", runOptions{study: "foreign.yaml", resume: true}, withCommand("named"), ""},
		{"a stranger's, allowed", runOptions{store: "kept", resume: true, storedCommands: true}, foreign, ""},
		{"a stranger's, allowed before", resumed, foreign, ""},
		{"another's", resumed, another, "curl"},
	} {
		t.Setenv(confirmedMark, "")
		err := confirmCommands(c.options, c.study)
		if c.refused == "" && err != nil || c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused) || strings.Contains(err.Error(), "\x1b")) {
			t.Errorf("%s: %v, want it to say %q", c.name, err, c.refused)
		}
	}
	t.Setenv(confirmedMark, "")
	t.Setenv("XDG_STATE_HOME", filepath.Join(state, "wiretime", "commands")) // another user's
	if err := confirmCommands(resumed, own); err == nil {
		t.Error("another user's confirmation counts")
	}
}

// TestAskingNeedsAYes answers the question.
func TestAskingNeedsAYes(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]bool{"y\n": true, "YES\n": true, "\n": false, "n\n": false, "": false, "yesterday\n": false} {
		var out strings.Builder
		if err := ask(strings.NewReader(answer), &out, "these\n"); (err == nil) != want || !strings.HasPrefix(out.String(), "These\n") {
			t.Errorf("%q: %v, asked %q", answer, err, out.String())
		}
	}
}

// TestAForeignStoreRunsNothing resumes a store that a stranger has made: its study's server is a command that leaves a file.
func TestAForeignStoreRunsNothing(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.addPage(t)
	left := filepath.Join(u.home, "left-behind")
	text := `name: foreign
repeats: 1
clock: real
servers: [{name: mine, command: "touch ` + left + `", protocols: [h2]}]
matrix: {sites: [page], protocols: [h2], networks: [cable], loaders: [builtin], servers: [mine]}
options: {retries: 0}
`
	st, err := store.Open(filepath.Join(u.home, "kept"), store.Create)
	if err != nil {
		t.Fatal(err)
	}
	cell := study.NewCell(study.Pages(), map[study.Axis]string{study.AxisSite: "page", study.AxisProtocol: "h2", study.AxisNetwork: "cable", study.AxisLoader: "builtin", study.AxisServer: "mine"}, network.Path{Name: "cable"})
	_, err = st.BeginRun(store.RunSpec{
		StudyName: "foreign", StudyText: text, Environment: json.RawMessage("{}"), Started: time.Now(),
		Cells: []study.Cell{cell}, Plan: []study.PlannedLoad{{Cell: cell}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	r := u.run(t, "run", "--resume", "--store", "kept")
	if r.code != exitInput || !strings.Contains(r.errors, `"touch"`) || !strings.Contains(r.errors, "--"+storedCommandsFlag) {
		t.Errorf("exit code %d, want %d and the command: %s", r.code, exitInput, r.errors)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("the command was run")
	}
}
