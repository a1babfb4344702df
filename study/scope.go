package study

import (
	"fmt"
	"strconv"
	"strings"
)

// Scope says for which of a claim's ratios its range is claimed. The zero value stands for each ratio by itself.
type Scope struct {
	Mean    bool // for the arithmetic mean of all ratios
	AllBut  int  // for all ratios but so many; 0: not so
	AtLeast int  // for at least so many ratios; 0: not so
}

// The words of scopes, which follow the range.
const (
	onAverage = " on average"
	inAllBut  = " in all but "
	inAtLeast = " in at least "
)

// CutScope splits a claim's ratio, as a study writes it, into its range and its scope, as in "below 1 in all but 2",
// "at least 2 in at least 1" or "0.7 to 0.8 on average". The number is at least 1.
func CutScope(ratio string) (within string, s Scope, err error) {
	if within, ok := strings.CutSuffix(ratio, onAverage); ok {
		return within, Scope{Mean: true}, nil
	}
	for words, number := range map[string]*int{inAllBut: &s.AllBut, inAtLeast: &s.AtLeast} {
		before, after, ok := strings.Cut(ratio, words)
		if !ok {
			continue
		}
		if *number, err = strconv.Atoi(after); err != nil || *number < 1 {
			return "", Scope{}, fmt.Errorf("invalid ratio %.60q: after %q comes how many, 1 or more", ratio, strings.TrimSpace(words))
		}
		return before, s, nil
	}
	return ratio, Scope{}, nil
}

// Single reports whether the range is claimed for each ratio by itself.
func (s Scope) Single() bool { return s == Scope{} }

// Needed returns for how many of the ratios the range is claimed.
func (s Scope) Needed(ratios int) int {
	if s.AtLeast > 0 {
		return s.AtLeast
	}
	return max(ratios-s.AllBut, 0)
}
