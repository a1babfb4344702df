package main

import (
	"bytes"
	"fmt"
	"strings"
	"sync"

	"wiretime/terminal"
)

// relayMark begins a line on standard error that is to be shown as the line that changes, by the program that has started this
// one.
const relayMark = "\t"

// relayed shows the standard error of a run that another program carries out, with its line that changes.
type relayed struct {
	to    terminal.Writer
	watch *terminal.Watch
	part  []byte // of a line

	mu   sync.Mutex
	line string
}

// relay begins to show a run; nil where no line can change.
func relay(to terminal.Writer) *relayed {
	r := &relayed{to: to}
	r.watch = to.Watch(func(int) terminal.Text {
		r.mu.Lock()
		defer r.mu.Unlock()
		return terminal.Text{{Words: r.line}}
	})
	if r.watch == nil {
		return nil
	}
	return r
}

// Write takes what the program says.
func (r *relayed) Write(b []byte) (int, error) {
	r.part = append(r.part, b...)
	for {
		end := bytes.IndexByte(r.part, '\n')
		if end < 0 {
			return len(b), nil
		}
		line := string(r.part[:end])
		r.part = r.part[end+1:]
		if status, is := strings.CutPrefix(line, relayMark); is {
			r.mu.Lock()
			r.line = status
			r.mu.Unlock()
			r.watch.Update()
		} else if _, err := fmt.Fprintln(r.to, line); err != nil {
			return 0, err
		}
	}
}

// end takes the line away, and shows what came last.
func (r *relayed) end() {
	r.watch.End()
	if len(r.part) > 0 {
		fmt.Fprintf(r.to, "%s", r.part)
	}
}
