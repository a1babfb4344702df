package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"wiretime/atomicfile"
)

// scriptRun is what a script of scripts/ printed, kept in a file beside the studies' stores.
type scriptRun struct {
	Tables string // Markdown
	With   string // the versions and the machine it ran with, and the day
}

func scriptPath(name string) string { return filepath.Join("scripts", name) }

// isScript reports whether a name that pages show belongs to a script. Studies come first.
func isScript(name string) bool {
	if _, err := studyFile(name); err == nil {
		return false
	}
	_, err := os.Stat(scriptPath(name))
	return err == nil
}

func (r *runs) scriptFile(name string) string { return filepath.Join(r.folder, name+".json") }

// runScript runs a script, unless its output is there, and keeps what it printed.
func (r *runs) runScript(ctx context.Context, name string) error {
	file := r.scriptFile(name)
	if _, err := os.Stat(file); err == nil {
		fmt.Printf("   %s is whole; delete it to run the script again\n", file)
		return nil
	}
	tables, err := output(ctx, scriptPath(name))
	if err != nil {
		return err
	}
	with, err := thisMachine(ctx)
	if err != nil {
		return err
	}
	text, err := json.Marshal(scriptRun{string(tables), with})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(r.folder, 0o755); err != nil {
		return err
	}
	return atomicfile.WriteBytes(file, text)
}

// loadScript returns a script's run, nil if it has not been run.
func (r *runs) loadScript(name string) (*measuredRun, error) {
	text, err := os.ReadFile(r.scriptFile(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var run scriptRun
	if err := json.Unmarshal(text, &run); err != nil {
		return nil, fmt.Errorf("read %s: %w", r.scriptFile(name), err)
	}
	return &measuredRun{name: name, results: run.Tables, machine: run.With}, nil
}

// thisMachine names the program's version, the kernel, the processors and the day.
func thisMachine(ctx context.Context) (string, error) {
	version, err := output(ctx, wiretime, "--version")
	if err != nil {
		return "", err
	}
	fields := strings.Fields(string(version))
	var system unix.Utsname
	if err := unix.Uname(&system); err != nil {
		return "", fmt.Errorf("find out the kernel's release: %w", err)
	}
	cpus, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "", err
	}
	defer cpus.Close()
	model := "unknown"
	for lines := bufio.NewScanner(cpus); lines.Scan(); {
		if key, value, _ := strings.Cut(lines.Text(), ":"); strings.TrimSpace(key) == "model name" {
			model = strings.TrimSpace(value)
			break
		}
	}
	return fmt.Sprintf("Wiretime %s, Linux %s, %d processors (%s), %s", fields[len(fields)-1], unix.ByteSliceToString(system.Release[:]),
		runtime.NumCPU(), model, time.Now().UTC().Format(time.DateOnly)), nil
}
