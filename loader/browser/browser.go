// Package browser holds what the loaders that drive real browsers share: finding the
// program, its processes and last output, and the page's own clock.
package browser

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"

	"wiretime/capture"
)

// Find returns chosen if it is not empty, otherwise the first candidate that is a
// program on this machine. If there is none, it returns where it looked.
func Find(chosen string, candidates []string) (binary string, looked string) {
	if chosen != "" {
		candidates = []string{chosen}
	}
	for _, c := range candidates {
		if info, err := os.Stat(c); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return c, ""
		}
	}
	return "", strings.Join(candidates, ", ")
}

// Output keeps the end of a browser's output, for the error that says why it died.
// Several goroutines may write to it.
type Output struct {
	// Seen, if not nil, is called with the kept text after each write.
	Seen func(text []byte)

	mu   sync.Mutex
	text []byte
}

const keptOutput = 2000

// Write keeps the latest output and drops older text.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, p...)
	if o.Seen != nil {
		o.Seen(o.text)
	}
	if extra := len(o.text) - keptOutput; extra > 0 {
		o.text = append(o.text[:0], o.text[extra:]...)
	}
	return len(p), nil
}

// Hint returns the end of the output, to be appended to an error.
func (o *Output) Hint() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.text) == 0 {
		return ""
	}
	return "; the browser's last output: " + strings.TrimSpace(string(o.text))
}

// Empty reports whether a response has no content by definition (RFC 9110, sections 6.4.1
// and 15.3.6), given the request's method and the response's status.
func Empty(method string, status int64) bool {
	switch status {
	case http.StatusNoContent, http.StatusResetContent, http.StatusNotModified:
		return true
	}
	return method == http.MethodHead
}

// Query returns the parameters of a URL's query, sorted by name.
func Query(rawURL string) []capture.Pair {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil
	}
	var out []capture.Pair
	for name, values := range u.Query() {
		for _, value := range values {
			out = append(out, capture.Pair{Name: name, Value: value})
		}
	}
	slices.SortStableFunc(out, func(a, b capture.Pair) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// ClockScript reads a page's own clock, for ReadClock to parse. Paint entries may arrive
// a frame after the load event, so it waits for them for a short time: a page may never
// paint.
const ClockScript = `(async () => {
	const seen = (type) => {
		const observer = new PerformanceObserver(() => {});
		observer.observe({type, buffered: true});
		const entries = observer.takeRecords();
		observer.disconnect();
		return entries;
	};
	const deadline = performance.now() + 200;
	let fcp = [], lcp = [];
	for (;;) {
		fcp = performance.getEntriesByName('first-contentful-paint');
		lcp = seen('largest-contentful-paint');
		if ((fcp.length && lcp.length) || performance.now() > deadline) break;
		await new Promise(done => setTimeout(done, 10));
	}
	const n = performance.getEntriesByType('navigation')[0];
	const resources = performance.getEntriesByType('resource');
	return JSON.stringify({
		dcl: n.domContentLoadedEventStart, onLoad: n.loadEventStart, ttfb: n.responseStart,
		fetchStart: n.fetchStart,
		fcp: fcp.length ? fcp[0].startTime : -1,
		lcp: lcp.length ? lcp[lcp.length - 1].startTime : -1,
		lastResource: resources.reduce((t, r) => Math.max(t, r.responseEnd), n.responseEnd),
	});
})()`

// ReadClock parses ClockScript's result: the page's timing without navigationStart, and
// when its fetch began, in ms since then.
func ReadClock(text string) (t capture.Timing, fetchStart float64, err error) {
	var clock struct {
		capture.Timing
		FetchStart float64 `json:"fetchStart"`
	}
	if err := json.Unmarshal([]byte(text), &clock); err != nil {
		return t, 0, fmt.Errorf("read the page's timing: %w", err)
	}
	return clock.Timing, clock.FetchStart, nil
}
