package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"golang.org/x/sys/unix"

	"wiretime/kernel"
	"wiretime/machine"
	"wiretime/sandbox"
	"wiretime/server"
	"wiretime/study"
)

// Environment describes the machine and the programs of a run, for the store.
// cpu_load is the machine's load average over the last minute when the run began.
// studyFile is the file that the study was read from, if that is known; relative paths in the study are relative
// to it. servers are those of the study; the environment has the versions of third-party servers
// that are installed. k is the kernel of the virtual clock, empty if no load needs it. m is the
// state of the machine, nil if no load needs the real clock. quick says that the run measures
// only the study's quick part.
func Environment(ctx context.Context, privilege string, b Browsers, servers []string, k kernel.Kernel, m *machine.State, studyFile string, quick bool) (json.RawMessage, error) {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return nil, fmt.Errorf("read the kernel's name: %w", err)
	}
	versions, err := b.describe(ctx)
	if err != nil {
		return nil, err
	}
	text := func(b [65]byte) string { return string(b[:bytes.IndexByte(b[:], 0)]) }
	e := map[string]any{
		"kernel":      text(name.Release),
		"machine":     text(name.Machine),
		"cpu":         cpuModel(),
		"cores":       runtime.NumCPU(),
		"cpu_load":    firstField("/proc/loadavg"),
		"privilege":   privilege,
		"go":          runtime.Version(),
		"quic-go":     moduleVersion("github.com/quic-go/quic-go"),
		"pion-sctp":   moduleVersion("github.com/pion/sctp"),
		"quic-go_gso": os.Getenv("QUIC_GO_DISABLE_GSO") == "",
		"wiretime":    Version(),
		"containment": sandbox.Examine(),
	}
	if studyFile != "" {
		e[studyFileKey] = studyFile
	}
	if quick {
		e[study.QuickKey] = true
	}
	for key, said := range versions {
		e[key] = said
	}
	for _, name := range servers {
		if version, err := serverVersion(ctx, name); err == nil {
			e[study.ServerVersionKey(name)] = version
		} else if !errors.Is(err, server.ErrMissing) {
			return nil, err
		}
	}
	if m != nil {
		best, awake := m.Better()
		e["punctuality"], e["processors_kept_awake"], e["processors_others"] = best, awake, m.Others
		e["pressure"], e["unchecked"] = machine.Pressure(), m.Unchecked
	}
	if k.Path != "" {
		e["virtual_kernel"], e["virtual_kernel_hash"] = k.Version, k.Hash
	}
	return json.Marshal(e)
}

// AddToEnvironment adds what else is known of a run's surroundings to its environment.
func AddToEnvironment(environment json.RawMessage, more map[string]any) (json.RawMessage, error) {
	e := map[string]any{}
	if err := json.Unmarshal(environment, &e); err != nil {
		return nil, fmt.Errorf("read the environment: %w", err)
	}
	maps.Copy(e, more)
	return json.Marshal(e)
}

// serverVersion asks a server for its version. The error wraps server.ErrMissing if the server is
// not installed, or is not a third-party one.
func serverVersion(ctx context.Context, name string) (string, error) {
	k, err := server.Lookup(name)
	if err != nil { // ours, or the study's own
		return "", server.ErrMissing
	}
	return k.Version(ctx)
}

// studyFileKey is the key of the study's file name in the environment.
const studyFileKey = "study_file"

// StudyFile returns the file that a run's study was read from, "" if the run's environment does
// not name it.
func StudyFile(environment json.RawMessage) string {
	var e map[string]any
	if err := json.Unmarshal(environment, &e); err != nil {
		return ""
	}
	name, _ := e[studyFileKey].(string)
	return name
}

// release is the number of this version (semver.org), which packages and documentation take from here. Between
// releases it is the next one's, followed by -dev.
const release = "0.1.0"

// revision is the commit that the program was built from, padded with spaces, with a plus if the
// tree had uncommitted changes. The Makefile has the linker set it.
var revision string

// Version returns the version of this program: its release and, as SemVer's build metadata, the commit it was
// built from, as the Makefile or the Go command wrote it into the binary. Both are one word, such as
// 0.1.0+f048b4137bf1, with .dirty behind it if the tree had uncommitted changes.
func Version() string {
	commit := strings.TrimSpace(revision)
	if info, ok := debug.ReadBuildInfo(); ok && commit == "" {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				commit = s.Value[:min(12, len(s.Value))]
			}
		}
	}
	if commit == "" {
		return release
	}
	if clean, dirty := strings.CutSuffix(commit, "+"); dirty {
		commit = clean + ".dirty"
	}
	return release + "+" + commit
}

func moduleVersion(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == path {
				return m.Version
			}
		}
	}
	return "unknown"
}

func cpuModel() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func firstField(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return "unknown"
	}
	field, _, _ := strings.Cut(string(text), " ")
	return field
}
