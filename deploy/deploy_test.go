// Package deploy holds what runs workers elsewhere: an image file, manifests for Kubernetes, and a unit for systemd. Its tests hold them to
// the program and to each other.
package deploy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"wiretime/interrupt"
	"wiretime/needtest"
)

// These are where things are in an image and for a unit.
const (
	binary     = "/usr/local/bin/wiretime"
	kernels    = "/usr/local/lib/wiretime/kernel" // beside the binary
	invitation = "/etc/wiretime/invitation"
	folder     = "/var/lib/wiretime"
)

// TestImage: the image starts a worker with flags that there are, as a user without rights who has a kernel, and is built by what builds
// the program here.
func TestImage(t *testing.T) {
	i := readImage(t)
	if i.user != "1000:1000" || i.one(t, "ENV") != "HOME=/home/wiretime" || !strings.Contains(i.one(t, "RUN"), "useradd --uid 1000 --create-home ") {
		t.Errorf("the user is %s, with %s", i.user, i.one(t, "ENV"))
	}
	copies := i.last["COPY"]
	for _, want := range []string{"--from=build /src/bin/wiretime " + binary, "--from=build /kernel " + kernels} {
		if !slices.ContainsFunc(copies, func(c string) bool { return strings.HasSuffix(c, want) }) {
			t.Errorf("nothing is copied by %q: %q", want, copies)
		}
	}
	if got := words(t, i.one(t, "ENTRYPOINT")); !slices.Equal(got, []string{filepath.Base(binary)}) {
		t.Errorf("the entry point is %q", got)
	}
	checkWorker(t, words(t, i.one(t, "CMD")), invitation, folder)

	_, packages, ok := strings.Cut(asked(t).lacks, "--no-install-recommends ")
	if !ok {
		t.Fatalf("without a compiler, kernel build says %q", asked(t).lacks)
	}
	for name := range strings.FieldsSeq(packages) {
		if !slices.Contains(strings.Fields(i.stages["build"]), name) {
			t.Errorf("the kernel is built without %s", name)
		}
	}
	module, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(module)
	if version == nil || !strings.HasPrefix(i.stages["build"], "FROM golang:"+string(version[1])+"-") {
		t.Errorf("the image is built with another Go than %s", version)
	}
}

// TestUnit: systemd understands the unit, which gives a worker little, starts it with flags that there are, and knows how it ends.
func TestUnit(t *testing.T) {
	const name = "wiretime-worker.service"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	unit := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^(\w+)=(.*)$`).FindAllStringSubmatch(string(text), -1) {
		unit[m[1]] = m[2]
	}
	command := strings.Fields(strings.NewReplacer("%d", "/run/credentials/"+name, "%S", filepath.Dir(folder)).Replace(unit["ExecStart"]))
	if command[0] != binary || unit["StateDirectory"] != filepath.Base(folder) {
		t.Errorf("it starts %q, with the folder %s", command, unit["StateDirectory"])
	}
	checkWorker(t, command[1:], "/run/credentials/"+name+"/invitation", folder)
	if _, file, _ := strings.Cut(unit["LoadCredential"], ":"); file != invitation {
		t.Errorf("the invitation is %s", file)
	}
	if stops, err := strconv.Atoi(unit["TimeoutStopSec"]); err != nil || time.Duration(stops)*time.Second <= interrupt.Limit {
		t.Errorf("it is killed after %s s, before it has given back its batches", unit["TimeoutStopSec"])
	}
	if unit["SuccessExitStatus"] != strconv.Itoa(interrupt.ExitCode) {
		t.Errorf("a worker that was stopped ends with %d, not %s", interrupt.ExitCode, unit["SuccessExitStatus"])
	}

	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		needtest.Program(t, "systemd-analyze", fmt.Errorf("%w: run make setup-test", err))
	}
	here := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(here, bytes.ReplaceAll(text, []byte(binary), []byte("/bin/true")), 0o644); err != nil { // the program need not be installed
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"verify", "--man=no", "--recursive-errors=no", here},
		{"security", "--offline=true", "--no-pager", "--threshold=20", here}, // of 100, most of which is the network
	} {
		out, err := exec.Command(analyze, args...).CombinedOutput()
		if err != nil || args[0] == "verify" && strings.Contains(string(out), name) {
			t.Errorf("systemd-analyze %s: %v\n%s", args[0], err, out)
		}
	}
}

// checkWorker: these are the arguments of a worker with an invitation and a folder, and the program has such flags.
func checkWorker(t *testing.T, args []string, invitation, folder string) {
	t.Helper()
	if want := []string{"worker", "--join", invitation, "--folder", folder}; len(args) < len(want) || !slices.Equal(args[:len(want)], want) {
		t.Errorf("the arguments are %q, want %q first", args, want)
	}
	for _, a := range args {
		if strings.HasPrefix(a, "--") && !regexp.MustCompile(`(?m)^ +`+regexp.QuoteMeta(a)+`\b`).MatchString(asked(t).worker) {
			t.Errorf("wiretime worker has no flag %s", a)
		}
	}
}

// image is an image file: each stage's text, and the instructions of the last one.
type image struct {
	stages map[string]string
	last   map[string][]string
	user   string
}

func readImage(t *testing.T) image {
	t.Helper()
	text, err := os.ReadFile("Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	i := image{stages: map[string]string{}}
	for line := range strings.Lines(regexp.MustCompile(`(?m)\\\n|^#.*\n`).ReplaceAllString(string(text), "")) {
		instruction, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch instruction {
		case "":
			continue
		case "FROM":
			i.last = map[string][]string{}
		}
		i.last[instruction] = append(i.last[instruction], rest)
		if _, name, ok := strings.Cut(i.last["FROM"][0], " AS "); ok {
			i.stages[name] += line
		}
	}
	i.user = i.one(t, "USER")
	return i
}

// one returns what an instruction of the last stage says that there is only one of.
func (i image) one(t *testing.T, instruction string) string {
	t.Helper()
	if len(i.last[instruction]) != 1 {
		t.Fatalf("the last stage has %d times %s", len(i.last[instruction]), instruction)
	}
	return i.last[instruction][0]
}

func words(t *testing.T, list string) (all []string) {
	t.Helper()
	if err := json.Unmarshal([]byte(list), &all); err != nil {
		t.Fatalf("%s: %v", list, err)
	}
	return all
}

// told is what the program says.
type told struct {
	worker string // the help of worker
	lacks  string // what kernel build says without a compiler
}

var program = sync.OnceValues(func() (told, error) {
	folder, err := os.MkdirTemp("", "wiretime-deploy-")
	if err != nil {
		return told{}, err
	}
	defer os.RemoveAll(folder)
	binary := filepath.Join(folder, "program")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", binary, "./cmd/wiretime") // as make build does
	build.Dir, build.Env, build.Stderr = "..", append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
	if err := build.Run(); err != nil {
		return told{}, err
	}
	help, err := exec.Command(binary, "worker", "--help").Output()
	if err != nil {
		return told{}, err
	}
	without := exec.Command(binary, "kernel", "build")
	without.Env = append(os.Environ(), "PATH=/nonexistent")
	lacks, err := without.CombinedOutput()
	if _, refuses := errors.AsType[*exec.ExitError](err); err != nil && !refuses {
		return told{}, err
	}
	return told{string(help), string(lacks)}, nil
})

// asked gives what the program says, or ends the test.
func asked(t *testing.T) told {
	t.Helper()
	p, err := program()
	if err != nil {
		t.Fatal("build the program and ask it: ", err)
	}
	return p
}
