package warc

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"wiretime/site/message"
	"wiretime/site/recording"
)

// finish combines what the records say about each other into a recording.
func (i *importer) finish(source string, o Options) (*recording.Recording, error) {
	if err := i.resolve(); err != nil {
		return nil, err
	}
	if len(i.entries) == 0 {
		if len(i.repairs) > 0 {
			return nil, fmt.Errorf("no readable response; %s: %s", i.repairs[0].Where, i.repairs[0].What)
		}
		return nil, errors.New("no responses: record the page again")
	}
	i.setMethods()
	i.setNotes()
	r := &recording.Recording{Source: source, Began: i.setTimes(), Repairs: i.repairs}
	if i.software != "" {
		r.Source = fmt.Sprintf("%s, written by %.200s", source, i.software)
	}
	if i.foreign > 0 {
		r.Repairs = append(r.Repairs, recording.Repair{What: fmt.Sprintf("Records left out because their URIs are not http or https: %d.", i.foreign)})
	}
	if i.types > 0 {
		r.Repairs = append(r.Repairs, recording.Repair{What: fmt.Sprintf("Records of unsupported types left out (conversion, continuation and others): %d.", i.types)})
	}
	for n := range i.entries {
		r.Exchanges = append(r.Exchanges, i.entries[n].Exchange)
	}
	var err error
	if o.Page != "" {
		r.Page, err = message.Find(r.Exchanges, o.Page)
	} else {
		r.Page = i.choosePage(r)
	}
	r.Title = cmp.Or(r.Page, source)
	return r, err
}

// choosePage returns the page that the file names, or else the entry URL of the first
// document, or "".
func (i *importer) choosePage(r *recording.Recording) string {
	if i.page != "" {
		page, err := message.Find(r.Exchanges, i.page)
		if err == nil {
			return page
		}
		r.Repairs = append(r.Repairs, recording.Repair{Where: pagesFile, What: fmt.Sprintf("%v: the first document was used as the page.", err)})
	}
	for n := range r.Exchanges {
		if message.IsDocument(&r.Exchanges[n]) {
			return message.Entry(r.Exchanges, r.Exchanges[n].URL)
		}
	}
	return ""
}

// setMethods finds the request of every response: by identifiers in either direction, or
// else the next request in the file for the same URL.
func (i *importer) setMethods() {
	byID, byResponse := map[string]int{}, map[string]int{}
	for n, q := range i.requests {
		first(byID, q.id, n)
		for _, id := range q.concurrent {
			first(byResponse, id, n)
		}
	}
	found := make([]bool, len(i.requests))
	var alone []*entry // responses without a request by identifier
	for n := range i.entries {
		e := &i.entries[n]
		q, ok := byResponse[e.id]
		for k := 0; !ok && k < len(e.concurrent); k++ {
			q, ok = byID[e.concurrent[k]]
		}
		if !ok {
			alone = append(alone, e)
			continue
		}
		e.Method, found[q] = i.requests[q].method, true
	}
	byURL := map[string][]string{}
	for n, q := range i.requests {
		if !found[n] {
			byURL[q.url] = append(byURL[q.url], q.method)
		}
	}
	for _, e := range alone {
		if methods := byURL[e.URL]; len(methods) > 0 {
			e.Method, byURL[e.URL] = methods[0], methods[1:]
		}
	}
}

func (i *importer) setNotes() {
	about := map[string]int{}
	for k, n := range i.notes {
		for _, id := range n.about {
			first(about, id, k)
		}
	}
	for n := range i.entries {
		e := &i.entries[n]
		if k, ok := about[e.id]; ok {
			e.Initiator, e.Took = i.notes[k].via, i.notes[k].took
		}
	}
}

// setTimes sorts the exchanges by date and returns the date of the first one. Exchanges
// without a date stay behind their predecessor in the file.
func (i *importer) setTimes() (began time.Time) {
	for n := range i.entries {
		if date := i.entries[n].date; !date.IsZero() && (began.IsZero() || date.Before(began)) {
			began = date
		}
	}
	last := began
	for n := range i.entries {
		e := &i.entries[n]
		if e.date.IsZero() {
			e.date = last
			continue
		}
		e.Started = float64(e.date.Sub(began).Microseconds()) / 1e3
		last = e.date
	}
	slices.SortStableFunc(i.entries, func(a, b entry) int { return a.date.Compare(b.date) })
	return began
}
