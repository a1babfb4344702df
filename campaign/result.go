package campaign

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"wiretime/runner"
	"wiretime/store"
	"wiretime/study"
)

// order is a batch as the stream of work holds it.
type order struct {
	Copy  int // 0: the first carrying out; others check it
	Batch runner.Batch
}

// name names an order in subjects. The name begins with the number of the batch's first load, by which the coordinator knows it.
func (o order) name() string {
	name := strconv.Itoa(o.Batch.Loads[0].Index)
	if o.Copy > 0 {
		name += "c" + strconv.Itoa(o.Copy)
	}
	return name
}

// parseName returns the first load and the copy of an order.
func parseName(name string) (first, number int, err error) {
	text, behind, isCopy := strings.Cut(name, "c")
	if first, err = strconv.Atoi(text); err == nil && isCopy {
		number, err = strconv.Atoi(behind)
	}
	if err != nil || (order{Copy: number, Batch: runner.Batch{Loads: []runner.BatchLoad{{Index: first}}}}).name() != name {
		return 0, 0, fmt.Errorf("%.40q names no batch", name)
	}
	return first, number, nil
}

// result says that a worker has carried out an order. The order and the worker are in the message's subject.
type result struct {
	ID     string // of the run
	Parcel string // the name and SHA-256 of the object with what the loads left
	Octets int64  // of the parcel
	Failed string `json:",omitzero"` // why there is no parcel
	// Clock compares the worker's clock with the coordinator's, when a batch of a place began.
	Clock *Comparison `json:",omitzero"`
}

// isDigest reports whether a text is a SHA-256 as this package writes it.
func isDigest(s string) bool {
	return len(s) == 2*sha256.Size && !strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) })
}

// longestFailure is how many octets a worker may use to say why a batch failed.
const longestFailure = 1000

// parseResult reads a result, which is foreign.
func parseResult(text []byte) (r result, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields() // other messages must not pass for a result
	if err := decoder.Decode(&r); err != nil {
		return result{}, fmt.Errorf("%w: its message: %w", ErrWrong, err)
	}
	if r.Failed == "" && (!isDigest(r.Parcel) || r.Octets <= 0) || len(r.Failed) > longestFailure {
		return result{}, fmt.Errorf("%w: its message names neither a parcel nor a failure", ErrWrong)
	}
	if r.Clock != nil && r.Clock.Bound < 0 {
		return result{}, fmt.Errorf("%w: its message bounds a clock's offset by %v", ErrWrong, r.Clock.Bound)
	}
	return r, nil
}

// attempt is an attempt at a load, as a parcel holds it.
type attempt struct {
	Index      int
	Attempt    int // from 1
	Started    time.Time
	Wall       time.Duration
	Validity   store.Validity
	Reason     string             `json:",omitzero"`
	Values     map[string]float64 `json:",omitempty"`
	Violations []study.Violation  `json:",omitempty"`
	Pages      []study.Page       `json:",omitempty"`
	Final      bool               `json:",omitzero"`
	Boot       int
	BootFor    int          // the attempt that the guest was booted for
	Files      []store.File `json:",omitempty"`
}

func attemptsOf(records []store.LoadRecord) []attempt {
	all := make([]attempt, len(records))
	for i, r := range records {
		all[i] = attempt{Index: r.Planned.Index, Attempt: r.Attempt, Started: r.Started, Wall: r.Wall, Validity: r.Validity, Reason: r.Reason,
			Values: r.Values, Violations: r.Violations, Pages: r.Pages, Final: r.Final, Files: r.Files}
		if r.Making != nil {
			all[i].Boot, all[i].BootFor = r.Making.Boot, r.Making.Attempt
		}
	}
	return all
}

// record returns an attempt as a store keeps it.
func (a attempt) record(p store.Planned, programs map[string]string, worker string) store.LoadRecord {
	r := store.LoadRecord{Planned: p, Attempt: a.Attempt, Started: a.Started, Wall: a.Wall, Validity: a.Validity, Reason: a.Reason,
		Values: a.Values, Violations: a.Violations, Pages: a.Pages, Final: a.Final, Files: a.Files, Worker: worker}
	if a.BootFor > 0 {
		r.Making = &store.Making{Programs: programs, Boot: a.Boot, Attempt: a.BootFor}
	}
	return r
}

// digest is the SHA-256 of all that attempts on the virtual clock leave, which is the same wherever and whenever they are made.
// An attempt whose guest was lost, to a lack of memory for instance, says nothing about its load and is left out.
func digest(attempts []attempt) (string, error) {
	same := slices.DeleteFunc(slices.Clone(attempts), func(a attempt) bool { return a.BootFor == 0 })
	slices.SortFunc(same, func(a, b attempt) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.Attempt, b.Attempt))
	})
	counted := map[int]int{}
	for i := range same {
		counted[same[i].Index]++
		same[i].Attempt, same[i].Final = counted[same[i].Index], false
		same[i].Started, same[i].Wall = time.Time{}, 0
		same[i].Files = slices.DeleteFunc(slices.Clone(same[i].Files), runner.Unrepeatable)
	}
	text, err := json.Marshal(same) // maps in the order of their keys
	if err != nil {
		return "", fmt.Errorf("take the checksum of a batch: %w", err)
	}
	return sum(text), nil
}

// ErrWrong is wrapped by errors about results that cannot be what a batch has left.
var ErrWrong = errors.New("the result cannot be right")

// Limits of what one attempt may claim to have left.
const (
	mostFiles   = 1000
	rules       = 7        // of validity
	mostEntries = 10_000   // values, violations or pages
	longestText = 64 << 10 // octets, of a reason or a violation
)

// mostAttempts is how many attempts can be made at the pending loads of a batch.
func mostAttempts(b runner.Batch, retries int) (n int) {
	for _, l := range b.Loads {
		if !l.Done {
			n += max(0, retries+1-l.Attempts)
		}
	}
	return n
}

// check makes sure that the attempts can be what a worker that carried out a batch sends: those of its pending loads, in the
// order that attempts are made in, until each load is done.
func check(b runner.Batch, retries int, attempts []attempt) error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrWrong, fmt.Sprintf(format, args...))
	}
	next, done := map[int]int{}, map[int]bool{}
	for _, l := range b.Loads {
		next[l.Index], done[l.Index] = l.Attempts+1, l.Done
	}
	for _, a := range attempts {
		want, known := next[a.Index]
		switch {
		case !known:
			return wrong("load %d is not in its batch", a.Index)
		case a.Attempt != want:
			return wrong("load %d has an attempt %d, want %d", a.Index, a.Attempt, want)
		case done[a.Index]:
			return wrong("load %d needs no attempt %d", a.Index, a.Attempt)
		case !slices.Contains([]store.Validity{store.Valid, store.Invalid, store.Failed, store.Unsupported}, a.Validity):
			return wrong("load %d is %.20q, which is no verdict", a.Index, a.Validity)
		case a.Validity != store.Unsupported && a.Final != (a.Attempt > retries):
			return wrong("load %d has its last attempt at another place than after %d further ones", a.Index, retries)
		case len(a.Reason) > longestText || (a.Reason == "") != (a.Validity == store.Valid):
			return wrong("load %d is %s, with a reason of %d octets", a.Index, a.Validity, len(a.Reason))
		}
		for _, v := range a.Violations {
			if v.Rule < 1 || v.Rule > rules {
				return wrong("load %d breaks a rule %d", a.Index, v.Rule)
			}
			if len(v.Detail) > longestText {
				return wrong("load %d breaks a rule with %d octets of text", a.Index, len(v.Detail))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(a.Values)) {
			if v := a.Values[name]; math.IsNaN(v) || math.IsInf(v, 0) {
				return wrong("load %d has metric %.40q of %v", a.Index, name, v)
			}
		}
		next[a.Index]++
		done[a.Index] = a.Final || a.Validity == store.Valid
	}
	for _, l := range b.Loads {
		if !done[l.Index] {
			return wrong("load %d has no attempt that ends it", l.Index)
		}
	}
	return nil
}
