package metric

import (
	"cmp"
	"slices"
	"time"

	"wiretime/capture"
)

// Page is what a load's captures say of one of its pages. Times are ms, -1 where
// unknown.
type Page struct {
	URL     string  // that was navigated to
	Started float64 // navigationStart, since that of the load's first page
	DCL     float64 // since the page's own navigationStart, as the next two
	OnLoad  float64
	PLT     float64
}

// Pages are the pages of a load that has several: those of a journey, which
// follow one another, or of tabs, which are opened together. They are in the
// order of the HAR. A load of one page has none.
func (l *Load) Pages() []Page {
	if l.HAR == nil || len(l.HAR.Log.Pages) < 2 {
		return nil
	}
	list := l.HAR.Log.Pages
	pages := make([]Page, len(list))
	for i := range list {
		p := Page{
			URL: list[i].Title, Started: milliseconds(int64(list[i].Started.Sub(list[0].Started))),
			DCL: list[i].Timings.OnContentLoad, OnLoad: list[i].Timings.OnLoad, PLT: -1,
		}
		if entries := l.entriesOf(list[i].ID); len(entries) > 0 {
			first := slices.MinFunc(entries, func(a, b *capture.Entry) int { return a.Started.Compare(b.Started) })
			p.URL = first.Request.URL
			p.PLT = milliseconds(int64(lastEnd(entries).Sub(list[i].Started)))
		}
		pages[i] = p
	}
	return pages
}

// entriesOf are those entries of the load that belong to one page.
func (l *Load) entriesOf(page string) []*capture.Entry {
	return slices.DeleteFunc(l.entries(), func(e *capture.Entry) bool { return e.Page != page })
}

// span is when a page was being loaded.
type span struct{ from, to time.Time }

// spans are the times in which the load had a page to load, in their order: from
// navigationStart until the last byte of its last resource. Pages that were
// loaded at the same time share one.
func (l *Load) spans() []span {
	entries := l.entries()
	if len(entries) == 0 || l.Timing.NavigationStart == 0 {
		return nil
	}
	start := time.Unix(0, l.Timing.NavigationStart)
	pages := l.HAR.Log.Pages
	if len(pages) < 2 {
		return []span{{start, lastEnd(entries)}}
	}
	var all []span
	for i := range pages {
		if own := l.entriesOf(pages[i].ID); len(own) > 0 {
			began := start.Add(pages[i].Started.Sub(pages[0].Started))
			all = append(all, span{began, lastEnd(own)})
		}
	}
	slices.SortStableFunc(all, func(a, b span) int { return cmp.Or(a.from.Compare(b.from), a.to.Compare(b.to)) })
	var merged []span
	for _, s := range all {
		if n := len(merged); n > 0 && !s.from.After(merged[n-1].to) {
			if s.to.After(merged[n-1].to) {
				merged[n-1].to = s.to
			}
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// idle is how long, between its first page and its last, the load had none to
// load: on a journey, the time to think.
func (l *Load) idle() (sum time.Duration) {
	spans := l.spans()
	for i := 1; i < len(spans); i++ {
		sum += spans[i].from.Sub(spans[i-1].to)
	}
	return sum
}
