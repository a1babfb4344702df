package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// What is counted.
const (
	killed       = "killed (SIGKILL)"
	stopped      = "stopped for a while (SIGSTOP)"
	filled       = "disk filled"
	taken        = "memory taken"
	exits        = "runs that ended with exit code"
	loadsKept    = "planned loads, each valid exactly once"
	cannotRun    = "planned loads that this machine cannot run"
	attemptsKept = "attempts kept"
)

// tally counts things by what they were done to.
type tally map[string]map[string]int

func (t tally) add(what, of string, n int) {
	if n == 0 {
		return
	}
	if t[what] == nil {
		t[what] = map[string]int{}
	}
	t[what][of] += n
}

// sum returns how often something was done to anything.
func (t tally) sum(what string) (n int) {
	for _, count := range t[what] {
		n += count
	}
	return n
}

// table returns what was done and what came of it, as a table of Markdown.
func (w *world) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n| what, with seed %d, in %v | to | times |\n| --- | --- | --- |\n", w.seed, time.Since(w.began).Round(time.Second))
	for _, what := range []string{killed, stopped, filled, taken, exits, loadsKept, cannotRun, attemptsKept} {
		for _, of := range slices.Sorted(maps.Keys(w.counts[what])) {
			fmt.Fprintf(&b, "| %s | %s | %d |\n", what, of, w.counts[what][of])
		}
		if len(w.counts[what]) > 1 {
			fmt.Fprintf(&b, "| %s | together | %d |\n", what, w.counts.sum(what))
		}
	}
	if n := w.asked.Load(); n > 0 {
		fmt.Fprintf(&b, "| requests to a server that lasts, every third client killed | | %d |\n", n)
	}
	if len(w.tracks) > 0 {
		b.WriteString("\n| program | seconds | open files, after a minute and at the end | threads | memory, MB |\n| --- | --- | --- | --- | --- |\n")
	}
	for _, t := range w.tracks {
		first, last := t.ends()
		fmt.Fprintf(&b, "| %s | %d | %d, %d | %d, %d | %d, %d |\n", t.name, len(t.samples), first.files, last.files, first.threads, last.threads, first.memory>>10, last.memory>>10)
	}
	if len(w.unsound) == 0 {
		b.WriteString("\nEverything survived: no load was lost or kept twice, and no process, mount, shared memory or temporary file was left.\n")
		return b.String()
	}
	b.WriteString("\nWrong:\n\n")
	for _, text := range w.unsound {
		fmt.Fprintf(&b, "- %s\n", text)
	}
	return b.String()
}
