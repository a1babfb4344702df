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
//   - nothing has been under way for [idle], and all that the page is known to ask for was due; or
//   - all that is under way has come in full, though the browser does not say that it has
//     ended, and nothing has happened for [settle]; or
//   - nothing new has come for a quarter of the time that the load has. What is still under
//     way, or is asked for again and again, is not waited for.
//
// The last is long enough for any answer that will come, since it is counted from the last
// news of all requests: on a slow path something arrives all the time.
const (
	idle   = 50 * time.Millisecond
	settle = time.Second
	// patience is the part of a load's time that a page may take without bringing anything new.
	patience = 4
)

// State is how far a page is.
type State struct {
	Loaded   bool // its load event has fired
	UnderWay int  // requests that have neither ended nor failed
	Whole    int  // of them, those whose answers have come in full
	News     int  // how often something new has come: see [News]
	// Next is how long it takes until the last of the requests is due that the page is known
	// to make ([Due]); negative or zero: none is to come.
	Next time.Duration
}

// ErrGone is what [Await] returns when the browser has hung up.
var ErrGone = errors.New("the browser has hung up")

// Await returns when a page counts as loaded, and says whether it gave up waiting for what is
// still under way. It looks at the page whenever changed holds a value. An error of look ends
// the wait, as do the ends of ctx and of the browser.
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
		} else if s.Loaded && s.UnderWay == s.Whole {
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

// News tells what is new to a page from what it has had before. A page asks for few things
// without end, so a page that goes on asking brings no news after a while. The zero value has
// seen nothing.
type News struct {
	count   int
	asked   map[string]bool
	answers map[string]bool
}

// Count is how often something new has come.
func (n *News) Count() int { return n.count }

// Came counts something new, as octets of an answer that is.
func (n *News) Came() { n.count++ }

// Ask notes a request, and says whether nothing like it has been asked for before: its URL
// differs from all others by more than its query.
func (n *News) Ask(method, address string) bool {
	return n.note(&n.asked, method+" "+withoutQuery(address))
}

// Answer notes the head of an answer, and says whether there has been none like it: to such
// a request, with that status and length. A length that is not known is -1.
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

// Length is the value of a Content-Length field; -1 if it is no length.
func Length(field string) int64 {
	n, err := strconv.ParseInt(field, 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// Why a load did not wait for a request, as HAR entries have it.
const (
	NeverEnded = "its answer began and did not end"
	Repeated   = "the page asks for it again and again"
	TooLate    = "the page asked for it when it counted as loaded"
)

// Left gathers the requests that a load did not wait for, those together that differ in
// nothing but their queries. The zero value has none.
type Left struct {
	kinds []leftKind
	times map[leftKind]int
}

type leftKind struct{ method, address, why string }

// Add takes in a request and why it was not waited for.
func (l *Left) Add(method, address, why string) {
	k := leftKind{method, withoutQuery(address), why}
	if l.times == nil {
		l.times = map[leftKind]int{}
	}
	if l.times[k]++; l.times[k] == 1 {
		l.kinds = append(l.kinds, k)
	}
}

// Note puts all of them into the notes.
func (l *Left) Note(notes *Notes) {
	for _, k := range l.kinds {
		if n := l.times[k]; n > 1 {
			notes.Add("the load did not wait for %d requests %s %s: %s", n, k.method, k.address, k.why)
		} else {
			notes.Add("the load did not wait for %s %s: %s", k.method, k.address, k.why)
		}
	}
}

// Unfinished is a request that was under way when a load ended.
type Unfinished struct {
	Method, URL string
	Answered    bool // the head of its answer has come
}

// Timeout says of a load that ran out of time what was under way.
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

// shown is how many requests a message names.
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

// short is a URL that may be long, as its beginning.
func short(address string) string {
	const most = 200
	if u, err := url.Parse(address); err == nil && len(address) > most {
		u.RawQuery, u.Fragment = "", ""
		address = u.String() + "?..."
	}
	return address[:min(len(address), 2*most)]
}

// maxNotes is how many notes of a page are kept.
const maxNotes = 20

// Notes are what was done in a visitor's place, and what else there is to say of a page. The
// zero value is empty.
type Notes struct {
	list []string
	more int
}

// Add takes in a sentence without its full stop.
func (n *Notes) Add(format string, values ...any) {
	if len(n.list) == maxNotes {
		n.more++
		return
	}
	n.list = append(n.list, fmt.Sprintf(format, values...))
}

// String is all notes in one line.
func (n *Notes) String() string {
	text := strings.Join(n.list, "; ")
	if n.more > 0 {
		text += fmt.Sprintf("; and %d notes more", n.more)
	}
	return text
}

// Dialog notes that a dialog was answered.
func (n *Notes) Dialog(kind, message string, accepted bool) {
	answer := "no"
	if accepted {
		answer = "yes"
	}
	n.Add("the page's %s dialog %.100q was answered with %s", kind, message, answer)
}

// AcceptDialog says whether a dialog is answered with yes: one that only tells something, or
// that asks whether to leave the page. To a question the answer is no.
func AcceptDialog(kind string) bool { return kind == "alert" || kind == "beforeunload" }
