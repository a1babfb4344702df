package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"wiretime/lab/emulator"
	"wiretime/machine"
)

// proc is a process.
type proc struct {
	id, parent int
	state      string // of proc_pid_stat(5): R, S, D, Z, T ...
	command    string // the program's name
	arguments  []string
}

// verb returns the first argument, or "" for a process that has just ended, whose arguments are gone.
func (p proc) verb() string {
	if len(p.arguments) < 2 {
		return ""
	}
	return p.arguments[1]
}

// procs are processes by number.
type procs map[int]proc

// processes lists the processes of this machine.
func processes() procs {
	all := procs{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // its only error is a bad pattern
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has just ended
		}
		before, after, _ := strings.Cut(string(text), "(")
		end := strings.LastIndexByte(after, ')')
		fields := strings.Fields(after[end+1:])
		id, err := strconv.Atoi(strings.TrimSpace(before))
		parent, wrong := strconv.Atoi(fields[1])
		if err != nil || wrong != nil {
			continue
		}
		p := proc{id: id, parent: parent, state: fields[0], command: after[:end]}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline")) // empty for one that has just ended
		p.arguments = strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
		all[id] = p
	}
	return all
}

// isBelow reports whether a process descends from another.
func (all procs) isBelow(id, ancestor int) bool {
	for id != 0 && id != ancestor {
		id = all[id].parent
	}
	return id == ancestor && id != 0
}

// below lists the descendants of a process, by number.
func (all procs) below(ancestor int) (list []proc) {
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if id != ancestor && all.isBelow(id, ancestor) {
			list = append(list, all[id])
		}
	}
	return list
}

// The kinds of processes of a run.
const (
	outside    = "runner, outside"
	worker     = "worker of a campaign"
	inside     = "runner, inside"
	emulating  = "emulator"
	guest      = "guest"
	inGuest    = "program of a guest"
	browser    = "browser"
	browserAid = "process of a browser"
	server     = "server"
	awake      = "keeper of the processors"
)

// kinds are all of them.
var kinds = []string{outside, inside, worker, emulating, guest, inGuest, browser, browserAid, server, awake}

// byKind divides the processes of a run that was started as process root.
func byKind(root int) map[string][]proc {
	all := processes()
	divided := map[string][]proc{}
	for _, p := range append([]proc{all[root]}, all.below(root)...) {
		if kind := all.kind(p, root); kind != "" && p.state != "Z" {
			divided[kind] = append(divided[kind], p)
		}
	}
	return divided
}

func (all procs) kind(p proc, root int) string {
	parent := all[p.parent]
	switch {
	case p.id == root:
		return outside
	case p.verb() == emulator.Command:
		return emulating
	case p.verb() == machine.AwakeCommand:
		return awake
	case p.verb() == "worker":
		return worker
	case isGuest(parent):
		return inGuest
	case isGuest(p):
		return guest
	case isBrowser(p):
		if isBrowser(parent) {
			return browserAid
		}
		return browser
	case slices.ContainsFunc([]string{"nginx", "caddy", "h2o", "apache2"}, func(name string) bool { return strings.Contains(p.command, name) }):
		return server
	case p.parent == root && p.verb() != "" && p.verb() == all[root].verb():
		return inside
	}
	return ""
}

// isGuest reports whether a process is a guest's kernel.
func isGuest(p proc) bool { return slices.Contains(p.arguments, "time-travel=inf-cpu") }

func isBrowser(p proc) bool {
	return slices.ContainsFunc([]string{"chrom", "headless", "firefox"}, func(name string) bool {
		return len(p.arguments) > 0 && strings.Contains(filepath.Base(p.arguments[0]), name)
	})
}
