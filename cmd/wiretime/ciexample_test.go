package main

import (
	"context"
	"encoding/xml"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"wiretime/needtest"

	"github.com/goccy/go-yaml"
)

// ciFolder has the worked example of docs/ci.md.
const ciFolder = "../../examples/ci"

// ciStep is a step of shell in a CI's file.
type ciStep struct {
	name  string
	shell string
}

// githubSteps returns the steps of the example for GitHub Actions that are shell, with the one that installs Wiretime apart.
func githubSteps(t *testing.T) (install ciStep, steps []ciStep) {
	t.Helper()
	var file struct {
		On   string
		Jobs map[string]struct {
			Env   map[string]string
			Steps []struct{ Name, Uses, Run string }
		}
	}
	readYAML(t, ".github/workflows/page-speed.yml", &file)
	job := file.Jobs["compare"]
	if file.On != "pull_request" || job.Env["BASE"] != "${{ github.event.pull_request.base.sha }}" {
		t.Errorf("the workflow runs on %q with %v", file.On, job.Env)
	}
	for _, s := range job.Steps {
		switch {
		case s.Uses != "":
		case s.Name == "Install Wiretime":
			install = ciStep{s.Name, s.Run}
		default:
			steps = append(steps, ciStep{s.Name, s.Run})
		}
	}
	if install.shell == "" || len(steps) != 4 {
		t.Errorf("the workflow has %d steps of shell, and installs by %q", len(steps), install.shell)
	}
	for _, s := range steps {
		if strings.Contains(s.shell, "${{") {
			t.Errorf("step %q has an expression in its shell, which a branch's name could end", s.name)
		}
	}
	return install, steps
}

// gitlabSteps returns the lines of the scripts of the example for GitLab.
func gitlabSteps(t *testing.T) (install ciStep, steps []ciStep) {
	t.Helper()
	var file map[string]struct {
		Install   []string `yaml:"before_script"`
		Script    []string
		Artifacts struct {
			When    string
			Reports map[string]string
		}
	}
	readYAML(t, ".gitlab-ci.yml", &file)
	job := file["page-speed"]
	if job.Artifacts.When != "always" || job.Artifacts.Reports["junit"] != "page-speed.xml" {
		t.Errorf("its artefacts are %+v", job.Artifacts)
	}
	return ciStep{"before_script", strings.Join(job.Install, "\n")}, []ciStep{{"script", strings.Join(job.Script, "\n")}}
}

func readYAML(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(ciFolder, name))
	if err == nil {
		err = yaml.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// cis read the examples of the two CIs.
var cis = map[string]func(*testing.T) (install ciStep, steps []ciStep){"GitHub": githubSteps, "GitLab": gitlabSteps}

// ciRepository makes a repository of the example's files with two commits, of which change makes the second, and returns the first's hash.
func (u user) ciRepository(t *testing.T, change func(dir string)) (base string) {
	t.Helper()
	dir := filepath.Join(u.home, "repository")
	if err := os.CopyFS(dir, os.DirFS(ciFolder)); err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) string {
		c := u.program(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=Test", "-c", "user.email=test@example.org"}, args...)...)
		r := finish(t, c)
		if r.code != 0 {
			t.Fatalf("git %v: %s", args, r.errors)
		}
		return strings.TrimSpace(r.out)
	}
	git("init", "-q")
	git("add", "-A")
	git("commit", "-qm", "The shop")
	base = git("rev-parse", "HEAD")
	change(dir)
	git("add", "-A")
	git("commit", "-qm", "The change")
	return base
}

// carryOut carries out steps as the CI would, each by a shell of its own, until one fails. It returns the failed one's name, or "", and
// what it printed.
func (u user) carryOut(t *testing.T, steps []ciStep, base string) (failed string, last result) {
	t.Helper()
	dir := filepath.Join(u.home, "repository")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for _, s := range steps {
		c := u.program(ctx, "bash", "-e", "-c", s.shell)
		c.Dir = dir
		c.Env = append(c.Env, "PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"),
			"BASE="+base, "RUNNER_TEMP="+u.home, "GITHUB_PATH="+filepath.Join(u.home, "path"), "GITHUB_STEP_SUMMARY="+filepath.Join(dir, "page-speed.md"),
			"CI_MERGE_REQUEST_DIFF_BASE_SHA="+base, "CI_BUILDS_DIR="+u.home)
		if last = finish(t, c); last.code != 0 {
			return s.name, last
		}
	}
	return "", last
}

// slower makes the example's page wait for a script that asks for another, as a change might that nobody looked at twice.
func slower(t *testing.T, dir string) {
	t.Helper()
	page := filepath.Join(dir, "site/index.html")
	text, err := os.ReadFile(page)
	if err == nil {
		err = os.WriteFile(page, []byte(strings.Replace(string(text), "<script", `<script src="analytics.js"></script><script`, 1)), 0o644)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "site/analytics.js"), []byte("// "+strings.Repeat("measures everything ", 10000)), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestCIExample carries out the steps of the worked example of docs/ci.md: a change that slows the page fails, with a report of its failures,
// and one that leaves it alone is identical to the nanosecond. Unless the test is a long one, each CI has one of the two.
func TestCIExample(t *testing.T) {
	t.Parallel()
	quick := map[string]bool{"GitHub": true, "GitLab": false} // whether the change slows the page
	for _, name := range slices.Sorted(maps.Keys(cis)) {
		_, steps := cis[name](t)
		for _, slows := range []bool{true, false} {
			if slows != quick[name] && !needtest.IsLong() {
				continue
			}
			u := self(t)
			u.addKernel(t)
			base := u.ciRepository(t, func(dir string) {
				if slows {
					slower(t, dir)
				} else {
					u.write(t, "repository/README.md", "# A shop\n")
				}
			})
			failed, last := u.carryOut(t, steps, base)
			if !slows {
				if failed != "" || strings.Count(last.out, "identical to the nanosecond") != 2 || !strings.Contains(last.out, "the same bytes in all") {
					t.Errorf("%s, a change beside the page: step %q failed: %s%s", name, failed, last.out, last.errors)
				}
				continue
			}
			if failed != steps[len(steps)-1].name || last.code != exitFailure || !strings.Contains(last.errors, "onload p50 > +3% is true in 2 of 2 cells") {
				t.Errorf("%s, a change that slows the page: step %q ended with exit code %d: %s%s", name, failed, last.code, last.out, last.errors)
			}
			checkReports(t, filepath.Join(u.home, "repository"))
		}
	}
}

// TestCIExamplesInstallARelease carries out all steps of the examples in roots of Debian 13 that have neither Wiretime nor a compiler: they
// install what make dist has made, and then measure a change that slows the page.
func TestCIExamplesInstallARelease(t *testing.T) {
	needtest.Long(t)
	for _, name := range slices.Sorted(maps.Keys(cis)) {
		t.Run(name, func(t *testing.T) {
			u := self(t)
			root := filepath.Join(u.home, "root")
			scripts, err := filepath.Abs("../../scripts")
			if err != nil {
				t.Fatal(err)
			}
			here := func(program string, args ...string) result {
				c := exec.CommandContext(t.Context(), filepath.Join(scripts, program), args...)
				return finish(t, c)
			}
			if r := here("fresh-root", "--bare", "trixie", root); r.code != 0 {
				t.Fatalf("make a root: %s", r.errors)
			}
			base := u.ciRepository(t, func(dir string) { slower(t, dir) })
			for from, to := range map[string]string{filepath.Join(u.home, "repository"): "repository", "../../dist": "release"} {
				if err := os.CopyFS(filepath.Join(root, to), os.DirFS(from)); err != nil {
					t.Fatalf("%v (make dist makes the release)", err)
				}
			}
			install, steps := cis[name](t)
			script := strings.NewReplacer("$BASE", base).Replace(`set -e
cd /repository
export BASE=$BASE RELEASE=file:///release WIRETIME_RELEASE=file:///release RUNNER_TEMP=/tmp GITHUB_STEP_SUMMARY=/tmp/page-speed.md
export CI_MERGE_REQUEST_DIFF_BASE_SHA=$BASE CI_BUILDS_DIR=/tmp HOME=/root
`)
			for _, s := range append([]ciStep{install}, steps...) {
				script += "bash -e <<'END'\n" + s.shell + "\nEND\n"
			}
			if err := os.WriteFile(filepath.Join(root, "steps"), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			if r := here("in-root", root, "bash", "/steps"); r.code != exitFailure || !strings.Contains(r.errors, "onload p50 > +3% is true in 2 of 2 cells") {
				t.Errorf("exit code %d: %s%s", r.code, r.out, r.errors)
			}
		})
	}
}

// checkReports reads the JUnit file and the table of a comparison that failed in two cells.
func checkReports(t *testing.T, dir string) {
	t.Helper()
	var suites struct {
		Suites []struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
			Cases    []struct {
				Failure *struct {
					Message string `xml:"message,attr"`
					Text    string `xml:",chardata"`
				} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	text, err := os.ReadFile(filepath.Join(dir, "page-speed.xml"))
	if err == nil {
		err = xml.Unmarshal(text, &suites)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := suites.Suites
	if len(s) != 1 || s[0].Tests != 2 || s[0].Failures != 2 || len(s[0].Cases) != 2 || s[0].Cases[0].Failure == nil || !strings.Contains(s[0].Cases[0].Failure.Text, "slower") {
		t.Errorf("the JUnit file has other cases: %s", text)
	}
	table, err := os.ReadFile(filepath.Join(dir, "page-speed.md"))
	if err != nil || strings.Count(string(table), "**slower**") != 2 || !strings.Contains(string(table), "| --- |") {
		t.Errorf("the table of the pull request: %v\n%s", err, table)
	}
}

// TestCIExampleOfGitLabIsValid: gitlab-ci-local, which has GitLab's schema, finds no fault in the file, and finds one in another file.
func TestCIExampleOfGitLabIsValid(t *testing.T) {
	t.Parallel()
	validator := filepath.Join(readersFolder(t), "node_modules/gitlab-ci-local/src/index.js")
	u := self(t)
	u.ciRepository(t, func(dir string) { u.write(t, "repository/README.md", "# A shop\n") })
	validate := func() result {
		c := u.program(t.Context(), "node", validator, "--list")
		c.Dir = filepath.Join(u.home, "repository")
		return finish(t, c)
	}
	if r := validate(); r.code != 0 || !strings.Contains(r.out+r.errors, "json schema validated") {
		t.Errorf("exit code %d: %s%s", r.code, r.out, r.errors)
	}
	u.write(t, "repository/.gitlab-ci.yml", "job:\n  script: [date]\n  artefacts: {}\n")
	if r := validate(); r.code == 0 || !strings.Contains(r.out+r.errors, "'artefacts' property is not expected") {
		t.Errorf("of a file with a mistake: exit code %d: %s%s", r.code, r.out, r.errors)
	}
}

// TestCIExampleOfALibrary: the study of the example for a library is one that this program accepts.
func TestCIExampleOfALibrary(t *testing.T) {
	t.Parallel()
	study, err := filepath.Abs(filepath.Join(ciFolder, "quic-library.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if r := self(t).run(t, "run", study, "--dry-run"); r.code != 0 || !strings.Contains(r.out, "32 loads of 4 cells") {
		t.Errorf("exit code %d: %s%s", r.code, r.out, r.errors)
	}
}
