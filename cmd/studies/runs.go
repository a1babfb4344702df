package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"wiretime/schedule"
	schedules "wiretime/schedule/builtin"
)

// wiretime is the program that measures; 'make studies' builds it first.
const wiretime = "bin/wiretime"

// runs are the studies' runs, each in a store of its own below a folder.
type runs struct {
	folder string
	read   map[string]*measuredRun // whole ones, by study
}

// measuredRun is a run whose loads are all done.
type measuredRun struct {
	name    string
	store   string
	results string // what 'wiretime results' prints, or the script
	machine string // of scripts: what they ran with
	export
	loads []load
	units map[string]string // of the metrics
}

// load is one valid load.
type load struct {
	axes   map[string]string // by the names that exports have
	repeat string
	values map[string]float64
}

// export is what Wiretime's JSON export has of a run.
type export struct {
	Run struct {
		StudyText   string         `json:"study_text"`
		Version     string         `json:"wiretime_version"`
		Environment map[string]any `json:"environment"`
		Finished    *time.Time     `json:"finished"`
	} `json:"run"`
	Published []published      `json:"published"`
	Rows      []map[string]any `json:"rows"`
}

// published is a figure of a paper.
type published struct {
	Metric    string `json:"metric"`
	Cell      string `json:"cell"` // AXIS=VALUE, with spaces between
	Statistic string `json:"statistic"`
	Printed   string `json:"printed"`
}

// notAxes are the columns of an export that are not about the cell.
var notAxes = []string{"run", "study", "load", "index", "repeat", "attempt", "seed", "started", "wall_ms", "worker", "validity", "reason", "metric", "unit", "value"}

func newRuns(folder string) *runs { return &runs{folder: folder, read: map[string]*measuredRun{}} }

// studyFile is a study's file: built in, or one that is only for the documentation, in docs/studies.
func studyFile(name string) (string, error) {
	for _, path := range []string{filepath.Join("study", "builtin", name+".yaml"), filepath.Join("docs", "studies", name+".yaml")} {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("find study %q: it is neither in study/builtin nor in docs/studies", name)
}

var realClock = regexp.MustCompile(`(?m)^clock:.*\breal\b`)

// needsRealClock reports whether some loads of a study are measured on the real clock. Scripts are: they print
// how fast the machine is.
func needsRealClock(name string) (bool, error) {
	if isScript(name) {
		return true, nil
	}
	path, err := studyFile(name)
	if err != nil {
		return false, err
	}
	text, err := os.ReadFile(path)
	return realClock.Match(text), err
}

var tableFile = regexp.MustCompile(`\b(?:trace|ride): *([^\s,}]+)`)

// missingTables returns the traces and rides that a study names and that are not there. Those of others are not
// part of the sources.
func missingTables(name string) ([]string, error) {
	if isScript(name) {
		return nil, nil
	}
	path, err := studyFile(name)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, found := range tableFile.FindAllSubmatch(text, -1) {
		table := filepath.Join(filepath.Dir(path), string(found[1]))
		if _, err := os.Stat(table); err != nil {
			missing = append(missing, table)
		}
	}
	return missing, nil
}

// measure runs a study to its end, from where an earlier run was interrupted. It returns at once if the study's
// store is whole. Loads without a valid attempt are no error: pages show what came out.
func (r *runs) measure(ctx context.Context, name string) error {
	if isScript(name) {
		return r.runScript(ctx, name)
	}
	path, err := studyFile(name)
	if err != nil {
		return err
	}
	if filepath.Dir(path) == filepath.Join("study", "builtin") {
		path = name
	}
	begun, err := r.open(ctx, name)
	if err != nil {
		return err
	}
	command := []string{"run", path, "--resume", "--store", filepath.Join(r.folder, name)}
	if _, scheduled := schedules.File(name); scheduled {
		command = []string{"schedule", name, "--store", r.folder}
		if begun == nil { // a diary of a store that was deleted
			if err := os.Remove(schedule.Path(r.folder, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	if begun != nil && begun.Run.Finished != nil {
		fmt.Printf("   %s is whole, by Wiretime %s; delete it to measure anew\n", begun.store, strings.TrimSpace(begun.Run.Version))
		return nil
	}
	if begun != nil {
		version, err := output(ctx, wiretime, "--version")
		if err != nil {
			return err
		}
		if had := strings.TrimSpace(begun.Run.Version); !strings.HasSuffix(strings.TrimSpace(string(version)), " "+had) {
			return fmt.Errorf("resume %s: Wiretime %s began it, and this is %s; delete it to measure anew", begun.store, had, strings.TrimSpace(string(version)))
		}
	}
	if err := os.MkdirAll(r.folder, 0o755); err != nil {
		return err
	}
	c := exec.CommandContext(ctx, wiretime, command...)
	c.Stderr = os.Stderr
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGINT) }
	c.WaitDelay = time.Minute
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C reaches it once, by Cancel
	err = c.Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// 1: not all loads have a valid attempt.
	if err != nil && c.ProcessState.ExitCode() != 1 {
		return fmt.Errorf("measure %s: %w", name, err)
	}
	if whole, err := r.load(ctx, []string{name}); err != nil || whole == nil {
		return fmt.Errorf("measure %s: its run is not finished: %w", name, err)
	}
	return nil
}

// load gives the whole runs of studies, nil if one of them is not whole or not there.
func (r *runs) load(ctx context.Context, names []string) ([]*measuredRun, error) {
	var all []*measuredRun
	for _, name := range names {
		if r.read[name] == nil {
			run, err := r.whole(ctx, name)
			if err != nil || run == nil {
				return nil, err
			}
			r.read[name] = run
		}
		all = append(all, r.read[name])
	}
	return all, nil
}

// whole reads a whole run with its results, nil if it is not whole or not there.
func (r *runs) whole(ctx context.Context, name string) (*measuredRun, error) {
	if isScript(name) {
		return r.loadScript(name)
	}
	run, err := r.open(ctx, name)
	if err != nil || run == nil || run.Run.Finished == nil {
		return nil, err
	}
	text, err := output(ctx, wiretime, "results", "--store", run.store)
	if err != nil {
		return nil, err
	}
	run.results = string(text)
	run.gather()
	return run, nil
}

// open reads a study's run as far as it has come, nil if there is none.
func (r *runs) open(ctx context.Context, name string) (*measuredRun, error) {
	run := &measuredRun{name: name, store: filepath.Join(r.folder, name)}
	if _, err := os.Stat(filepath.Join(run.store, "wiretime.db")); err != nil {
		return nil, nil //nolint:nilerr // nothing has been measured yet
	}
	text, err := output(ctx, wiretime, "export", "json", "--store", run.store)
	if err != nil && strings.Contains(err.Error(), "it holds no run yet") {
		return nil, nil // it was interrupted before its run began
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &run.export); err != nil {
		return nil, fmt.Errorf("read the export of %s: %w", run.store, err)
	}
	return run, nil
}

// gather makes valid loads of the export's rows, which have one metric each.
func (m *measuredRun) gather() {
	places := map[any]int{}
	m.units = map[string]string{}
	for _, row := range m.Rows {
		if row["validity"] != "valid" {
			continue
		}
		i, known := places[row["load"]]
		if !known {
			i = len(m.loads)
			places[row["load"]] = i
			axes := map[string]string{}
			for name, value := range row {
				if value != nil && !slices.Contains(notAxes, name) {
					axes[name] = fmt.Sprint(value)
				}
			}
			m.loads = append(m.loads, load{axes: axes, repeat: fmt.Sprint(row["repeat"]), values: map[string]float64{}})
		}
		if v, ok := row["value"].(float64); ok {
			metric := fmt.Sprint(row["metric"])
			m.loads[i].values[metric], m.units[metric] = v, fmt.Sprint(row["unit"])
		}
	}
	m.Rows = nil
}

// with names the versions that the run was measured with, and the day.
func (m *measuredRun) with() string {
	if m.machine != "" {
		return m.machine
	}
	said := func(key string) string {
		if s, ok := m.Run.Environment[key].(string); ok {
			return s
		}
		return ""
	}
	parts := []string{"Wiretime " + strings.TrimSpace(m.Run.Version)}
	clocks := map[string]bool{}
	for _, l := range m.loads {
		clocks[l.axes["clock"]] = true
	}
	if clocks["real"] {
		parts = append(parts, "Linux "+said("kernel"), fmt.Sprintf("%v processors (%s)", m.Run.Environment["cores"], said("cpu")))
	}
	if clocks["virtual"] {
		parts = append(parts, "Linux "+said("virtual_kernel")+" on the virtual clock")
	}
	for _, browser := range []string{"browser", "firefox"} {
		if b := said(browser); b != "" {
			parts = append(parts, b)
		}
	}
	return strings.Join(append(parts, m.Run.Finished.Format(time.DateOnly)), ", ")
}

// output runs a program and returns what it printed; its errors hold what it said.
func output(ctx context.Context, name string, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, name, args...)
	var said strings.Builder
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	return out, nil
}
