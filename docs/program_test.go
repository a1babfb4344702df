package docs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// verb is a command of the program, with the flags that its help tells of.
type verb struct {
	flags map[string]bool
	verbs map[string]*verb
	help  string
}

// program builds wiretime once and asks it for the help of all its verbs.
var program = sync.OnceValues(func() (*told, error) {
	folder, err := os.MkdirTemp("", "wiretime-docs-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	binary := filepath.Join(folder, "program")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", binary, "./cmd/wiretime") // as make build does
	build.Dir, build.Env = top, append(os.Environ(), "CGO_ENABLED=0")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, err
	}
	all := &told{}
	say := func(args ...string) (string, error) {
		c := exec.Command(binary, args...)
		c.Env = append(os.Environ(), "XDG_DATA_HOME="+folder) // no sites but the built-in ones
		text, err := c.CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("wiretime %v: %w: %s", args, err, text)
		}
		return string(text), nil
	}
	if all.root, err = walk(say, nil); err != nil {
		return nil, err
	}
	for _, args := range [][]string{{"networks"}, {"site", "list"}} {
		text, err := say(args...)
		if err != nil {
			return nil, err
		}
		all.lists += text
	}
	return all, nil
})

// told is what the program says of itself.
type told struct {
	root  *verb
	lists string // the named networks and the built-in sites
}

var (
	subcommand = regexp.MustCompile(`(?m)^  ([a-z-]+) +\S`)
	flagLine   = regexp.MustCompile(`(?m)^ +(?:-(\w), |    )--([a-z0-9-]+)`)
)

// walk reads the help of a verb and of those below it.
func walk(say func(...string) (string, error), path []string) (*verb, error) {
	text, err := say(append(append([]string{}, path...), "--help")...)
	if err != nil {
		return nil, err
	}
	v := &verb{flags: map[string]bool{}, verbs: map[string]*verb{}, help: text}
	for _, m := range flagLine.FindAllStringSubmatch(text, -1) {
		v.flags["--"+m[2]] = true
		if m[1] != "" {
			v.flags["-"+m[1]] = true
		}
	}
	_, list, _ := strings.Cut(text, "Available Commands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	for _, m := range subcommand.FindAllStringSubmatch(list, -1) {
		if m[1] == "help" {
			continue
		}
		if v.verbs[m[1]], err = walk(say, append(append([]string{}, path...), m[1])); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// asked gives what the program says of itself, or ends the test.
func asked(t *testing.T) *told {
	t.Helper()
	p, err := program()
	if err != nil {
		t.Fatal("build the program and ask for its help: ", err)
	}
	return p
}

// allHelp is the help of a verb and of those below it.
func (v *verb) allHelp() string {
	text := v.help
	for _, below := range v.verbs {
		text += below.allHelp()
	}
	return text
}
