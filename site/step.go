package site

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/andybalholm/cascadia"
)

// Step is what a user does on a page, as an entry of a site's journey.
type Step struct {
	Click  string // a CSS selector: the first element that it finds is clicked on
	Scroll int    // CSS pixels to scroll down
	Bottom bool   // scrolls down to the page's end, a screen at a time
}

// The words that steps begin with.
const (
	clickWord  = "click "
	scrollWord = "scroll "
	bottomWord = "bottom"
)

// maxScroll is how far one step may scroll, in CSS pixels.
const maxScroll = 1_000_000

// ParseStep reads an entry of a journey: "click SELECTOR", "scroll PIXELS" or "scroll bottom". is is false for a URL,
// which is a page to visit.
func ParseStep(entry string) (s Step, is bool, err error) {
	switch {
	case strings.Contains(entry, "://"):
		return Step{}, false, nil
	case strings.HasPrefix(entry, clickWord):
		s.Click = strings.TrimSpace(entry[len(clickWord):])
		if _, err := cascadia.Parse(s.Click); err != nil {
			return Step{}, true, fmt.Errorf("%q: parse the selector: %w", entry, err)
		}
		return s, true, nil
	case entry == scrollWord+bottomWord:
		return Step{Bottom: true}, true, nil
	case strings.HasPrefix(entry, scrollWord):
		s.Scroll, err = strconv.Atoi(entry[len(scrollWord):])
		if err != nil || s.Scroll < 1 || s.Scroll > maxScroll {
			return Step{}, true, fmt.Errorf("%q: want scroll bottom, or 1 to %d CSS pixels, as in scroll 2000", entry, maxScroll)
		}
		return s, true, nil
	}
	return Step{}, true, fmt.Errorf("%q: want the URL of a page, click SELECTOR, scroll PIXELS or scroll bottom", entry)
}

// HasSteps reports whether the site's journey has steps within a page.
func (s *Site) HasSteps() bool {
	return slices.ContainsFunc(s.Journey, func(entry string) bool {
		_, is, err := ParseStep(entry)
		return is && err == nil
	})
}

// Visited returns the URLs of the pages that a load of the site navigates to: its page, those of its journey and those
// that steps lead to, and its tabs.
func (s *Site) Visited() []string {
	pages := []string{s.Page}
	for i, entry := range s.Journey {
		if _, is, _ := ParseStep(entry); !is {
			pages = append(pages, entry)
		} else if to := s.Leads(i + 1); to != "" {
			pages = append(pages, to)
		}
	}
	return append(pages, s.Tabs...)
}

// Leads returns the URL of the page that the step with that number in the journey, from 1, navigates to; empty if it stays on
// its page.
func (s *Site) Leads(step int) string {
	for i := range s.Resources {
		if r := &s.Resources[i]; r.Step == step && r.Kind == documentKind {
			return r.URL
		}
	}
	return ""
}

// documentKind is the Kind of a document that is navigated to.
const documentKind = "document"

// checkJourney makes sure that the journey's pages can be navigated to, that its steps can be read, and that each
// resource which belongs to an entry belongs to a step.
func (s *Site) checkJourney() error {
	step := make([]bool, len(s.Journey)+1)
	for i, entry := range s.Journey {
		_, is, err := ParseStep(entry)
		if err == nil && !is {
			err = s.checkPage(fmt.Sprintf("journey %d", i), entry)
		} else if err != nil {
			err = fmt.Errorf("journey %d: %w", i, err)
		}
		if err != nil {
			return err
		}
		step[i+1] = is
	}
	for i := range s.Resources {
		r := &s.Resources[i]
		if r.Step < 0 || r.Step > len(s.Journey) {
			return fmt.Errorf("%s: step is %d, want 0 to %d, the entries of the journey", r.URL, r.Step, len(s.Journey))
		}
		if r.Step > 0 && !step[r.Step] {
			return errors.New(r.URL + ": the entry of the journey that causes it is a page, not a step: leave step out")
		}
	}
	return nil
}
