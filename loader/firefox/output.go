package firefox

import (
	"regexp"
	"strings"
	"sync"
)

// lastOutput keeps the end of what the browser printed, for the error that says
// why it died, and finds in it where the browser listens.
type lastOutput struct {
	listening chan string // receives the endpoint's host and port, once

	mu    sync.Mutex
	text  []byte
	found bool
}

const keptOutput = 2000

// announcement is the line that the browser prints when it can be connected to.
var announcement = regexp.MustCompile(`WebDriver BiDi listening on ws://([0-9.]+:[0-9]+)\s`)

func newLastOutput() *lastOutput { return &lastOutput{listening: make(chan string, 1)} }

func (o *lastOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, p...)
	if m := announcement.FindSubmatch(o.text); m != nil && !o.found {
		o.found = true
		o.listening <- string(m[1])
	}
	if extra := len(o.text) - keptOutput; extra > 0 {
		o.text = append(o.text[:0], o.text[extra:]...)
	}
	return len(p), nil
}

func (o *lastOutput) hint() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.text) == 0 {
		return ""
	}
	return "; the browser's last words: " + strings.TrimSpace(string(o.text))
}
