package browser

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// A page counts as loaded when its load event has fired and
//
//   - nothing has been in flight for [idle], and all requests that the page is known to
//     make were due; or
//   - all responses in flight are complete, though the browser does not report their end,
//     and nothing has happened for [settle]; or
//   - nothing new has arrived for a quarter of the load's time limit. Requests still in
//     flight, or repeated again and again, are not waited for.
//
// The last limit is long enough for any response that will come, since it counts from the
// last news of all requests: on a slow path something arrives all the time.
const (
	idle   = 50 * time.Millisecond
	settle = time.Second
	// patience is the divisor of a load's time limit that gives how long a page may bring
	// nothing new.
	patience = 4
)

// State is how far a page has loaded.
type State struct {
	Loaded   bool // its load event has fired
	UnderWay int  // requests that have neither ended nor failed
	Whole    bool // the responses to all of them are complete
	News     int  // how often something new has arrived: see [News]
	// Next is the time until the last request that the page is known to make is due
	// ([Due]); negative or zero if none is pending.
	Next time.Duration
}

// ErrGone is what [Await] returns when the browser has hung up.
var ErrGone = errors.New("the browser has hung up")

// Await returns when a page counts as loaded, and whether it gave up waiting for requests
// in flight. It examines the page whenever changed holds a value. An error of look ends the
// wait, and so does the end of ctx or of the browser.
func Await(ctx context.Context, changed, gone <-chan struct{}, look func() (State, error)) (gaveUp bool, err error) {
	limit := time.Hour
	if deadline, ok := ctx.Deadline(); ok {
		limit = time.Until(deadline) / patience
	}
	stale := time.NewTimer(limit)
	defer stale.Stop()
	var last State
	for {
		s, err := look()
		if err != nil {
			return false, err
		}
		if s.News != last.News || s.Loaded != last.Loaded {
			stale.Reset(limit)
		}
		last = s
		var quiet <-chan time.Time
		if s.Loaded && s.UnderWay == 0 {
			quiet = time.After(idle + max(0, s.Next))
		} else if s.Loaded && s.Whole {
			quiet = time.After(settle + max(0, s.Next))
		}
		select {
		case <-changed:
		case <-quiet:
			return false, nil
		case <-stale.C:
			if s.Next > 0 {
				stale.Reset(s.Next + settle)
			} else if s.Loaded {
				return true, nil
			}
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-gone:
			return false, ErrGone
		}
	}
}

// News distinguishes what is new to a page from what it has had before. Pages make only few
// different requests endlessly, so a page that keeps requesting brings no news after a
// while. The zero value has seen nothing.
type News struct {
	count   int
	asked   map[string]bool
	answers map[string]bool
}

// Count returns how often something new has arrived.
func (n *News) Count() int { return n.count }

// Came counts something new, such as octets of a new response.
func (n *News) Came() { n.count++ }

// Ask records a request, and reports whether it is new: its URL differs from all earlier
// ones by more than its query.
func (n *News) Ask(method, address string) bool {
	return n.note(&n.asked, method+" "+withoutQuery(address))
}

// Answer records the head of a response, and reports whether it is new: no similar request
// had one with that status and length. An unknown length is -1.
func (n *News) Answer(method, address string, status, length int64) bool {
	return n.note(&n.answers, fmt.Sprintf("%s %s %d %d", method, withoutQuery(address), status, length))
}

func (n *News) note(seen *map[string]bool, what string) bool {
	if (*seen)[what] {
		return false
	}
	if *seen == nil {
		*seen = map[string]bool{}
	}
	(*seen)[what] = true
	n.count++
	return true
}

func withoutQuery(address string) string {
	address, _, _ = strings.Cut(address, "#")
	address, _, _ = strings.Cut(address, "?")
	return address
}

// Length parses a Content-Length field; -1 if it is invalid.
func Length(field string) int64 {
	n, err := strconv.ParseInt(field, 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// The reasons for not waiting for a request, as in HAR entries.
const (
	NeverEnded = "its answer began and did not end"
	Repeated   = "the page asks for it again and again"
	TooLate    = "the page asked for it when it counted as loaded"
)

// Left collects the requests that a load did not wait for, and groups those that differ
// only in their queries. The zero value is empty.
type Left struct {
	kinds []leftKind
	times map[leftKind]int
}

type leftKind struct{ method, address, why string }

// Add adds a request with the reason why it was not waited for.
func (l *Left) Add(method, address, why string) {
	k := leftKind{method, withoutQuery(address), why}
	if l.times == nil {
		l.times = map[leftKind]int{}
	}
	if l.times[k]++; l.times[k] == 1 {
		l.kinds = append(l.kinds, k)
	}
}

// Note adds all of them to the notes.
func (l *Left) Note(notes *Notes) {
	for _, k := range l.kinds {
		if n := l.times[k]; n > 1 {
			notes.Add("the load did not wait for %d requests %s %s: %s", n, k.method, k.address, k.why)
		} else {
			notes.Add("the load did not wait for %s %s: %s", k.method, k.address, k.why)
		}
	}
}

// Unfinished is a request that was in flight when a load ended.
type Unfinished struct {
	Method, URL string
	Answered    bool // the head of its response has arrived
}

// Timeout returns the error of a load that ran out of time, with the requests
// in flight.
func Timeout(cause error, loaded bool, list []Unfinished) error {
	event := "its load event had not fired"
	if loaded {
		event = "its load event had fired"
	}
	if len(list) == 0 {
		return fmt.Errorf("%w: %s, and no request was under way: a script of the page may run without end", cause, event)
	}
	return fmt.Errorf("%w: %s; under way: %s", cause, event, name(list))
}

// shown is how many requests a message lists.
const shown = 5

func name(list []Unfinished) string {
	var names []string
	for _, u := range list[:min(shown, len(list))] {
		how := "not answered"
		if u.Answered {
			how = "answered, not ended"
		}
		names = append(names, fmt.Sprintf("%s %s (%s)", u.Method, short(u.URL), how))
	}
	if more := len(list) - shown; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// short returns the beginning of a long URL.
func short(address string) string {
	const most = 200
	if u, err := url.Parse(address); err == nil && len(address) > most {
		u.RawQuery, u.Fragment = "", ""
		address = u.String() + "?..."
	}
	return address[:min(len(address), 2*most)]
}

// The limits of a page's notes.
const (
	maxNotes = 20
	maxNote  = 1000 // octets
)

// Notes says what was done in a visitor's place, and other remarks on a page. The zero
// value is empty.
type Notes struct {
	list []string
	more int
}

// Add adds a sentence without its full stop.
func (n *Notes) Add(format string, values ...any) {
	if len(n.list) == maxNotes {
		n.more++
		return
	}
	text := fmt.Sprintf(format, values...)
	if len(text) > maxNote {
		text = strings.ToValidUTF8(text[:maxNote], "") + "..."
	}
	n.list = append(n.list, text)
}

// String returns all notes in one line.
func (n *Notes) String() string {
	text := strings.Join(n.list, "; ")
	if n.more > 0 {
		text += fmt.Sprintf("; and %d notes more", n.more)
	}
	return text
}

// Dialog records that a dialog was answered.
func (n *Notes) Dialog(kind, message string, accepted bool) {
	answer := "no"
	if accepted {
		answer = "yes"
	}
	n.Add("the page's %s dialog %.100q was answered with %s", kind, message, answer)
}

// AcceptDialog reports whether a dialog is answered with yes: one that only informs, or
// that asks whether to leave the page. Other questions are answered with no.
func AcceptDialog(kind string) bool { return kind == "alert" || kind == "beforeunload" }
