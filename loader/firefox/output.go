package firefox

import (
	"regexp"

	"wiretime/loader/browser"
)

// output is what the browser prints, including where it listens.
type output struct {
	browser.Output
	listening chan string // receives the endpoint's host and port, once
}

// announcement is the line that the browser prints when it accepts connections.
var announcement = regexp.MustCompile(`WebDriver BiDi listening on ws://([0-9.]+:[0-9]+)\s`)

func newOutput() *output {
	o := &output{listening: make(chan string, 1)}
	found := false
	o.Seen = func(text []byte) {
		if m := announcement.FindSubmatch(text); m != nil && !found {
			found = true
			o.listening <- string(m[1])
		}
	}
	return o
}
