package report

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"wiretime/capture"
)

// maxOctets limits the size of a report. If the waterfalls of all loads do not fit, only the median load of each cell keeps its waterfall.
const maxOctets = 5_000_000

// pageOctets is what the page takes of a report, and requestOctets what a request of a waterfall takes, its words included; both generously.
const pageOctets, requestOctets = 400_000, 70

// Waterfall holds what the browser reported about one load, request by request, in
// the order they started.
type Waterfall struct {
	DCL      float64   `json:"dcl"`    // ms since navigation start, -1 unknown; of several pages the latest
	OnLoad   float64   `json:"onLoad"` // likewise
	Requests []request `json:"requests"`
}

// request is one row of a waterfall. The strings are indices into Data.Words.
type request struct {
	start                                        float64 // ms since navigation start
	blocked, dns, connect, ssl, send, wait, recv float64 // ms each, one after the other; 0 where a phase does not apply
	status                                       int
	bytes                                        int64 // head and body as they came, -1 unknown
	url, kind, priority, protocol                int
	connection, address, initiator, err          int
}

// MarshalJSON writes a row as an array, with times in whole hundredths of a
// millisecond: field names would be most of a report. The order is that of
// report/ui/src/data.ts.
func (r request) MarshalJSON() ([]byte, error) {
	t := func(ms float64) int64 { return int64(math.Round(ms * 100)) }
	return json.Marshal([...]int64{
		t(r.start), t(r.blocked), t(r.dns), t(r.connect), t(r.ssl), t(r.send), t(r.wait), t(r.recv),
		int64(r.status), r.bytes,
		int64(r.url), int64(r.kind), int64(r.priority), int64(r.protocol),
		int64(r.connection), int64(r.address), int64(r.initiator), int64(r.err),
	})
}

// vocabulary numbers the strings of all waterfalls: dozens of loads of one
// page repeat the same URLs.
type vocabulary struct {
	words []string
	index map[string]int
}

func newVocabulary() *vocabulary {
	return &vocabulary{words: []string{""}, index: map[string]int{"": 0}}
}

func (v *vocabulary) number(word string) int {
	n, ok := v.index[word]
	if !ok {
		n = len(v.words)
		v.words = append(v.words, word)
		v.index[word] = n
	}
	return n
}

// waterfall reads the requests of the pages of a HAR; their times count from the
// first page's. Requests that never went to the network, such as data: URLs, are
// left out. It returns nil when the HAR has no page.
func (v *vocabulary) waterfall(h *capture.HAR) *Waterfall {
	if len(h.Log.Pages) == 0 {
		return nil
	}
	page := h.Log.Pages[0]
	w := &Waterfall{DCL: -1, OnLoad: -1}
	pages := map[string]bool{"": true}
	for _, p := range h.Log.Pages {
		pages[p.ID] = true
		since := float64(p.Started.Sub(page.Started)) / 1e6
		if t := p.Timings.OnContentLoad; t >= 0 {
			w.DCL = max(w.DCL, since+t)
		}
		if t := p.Timings.OnLoad; t >= 0 {
			w.OnLoad = max(w.OnLoad, since+t)
		}
	}
	for i := range h.Log.Entries {
		e := &h.Log.Entries[i]
		if !onNetwork(e) || !pages[e.Page] {
			continue
		}
		initiator := e.Initiator.Type
		if e.Initiator.URL != "" {
			initiator = strings.TrimSpace(initiator + " " + e.Initiator.URL)
		}
		url := e.Request.URL
		if e.Request.Method != "" && e.Request.Method != "GET" {
			url = e.Request.Method + " " + url
		}
		w.Requests = append(w.Requests, request{
			start:   float64(e.Started.Sub(page.Started)) / 1e6,
			blocked: max(0, e.Timings.Blocked),
			dns:     max(0, e.Timings.DNS),
			// HAR counts SSL within Connect.
			connect: max(0, e.Timings.Connect) - min(max(0, e.Timings.SSL), max(0, e.Timings.Connect)),
			ssl:     max(0, e.Timings.SSL),
			send:    max(0, e.Timings.Send),
			wait:    max(0, e.Timings.Wait),
			recv:    max(0, e.Timings.Receive),
			status:  e.Response.Status, bytes: transferred(e),
			url: v.number(url), kind: v.number(e.ResourceType),
			priority: v.number(priority(e)), protocol: v.number(protocol(e)),
			connection: v.number(e.Connection), address: v.number(e.ServerIPAddress),
			initiator: v.number(initiator), err: v.number(e.Response.Error),
		})
	}
	slices.SortStableFunc(w.Requests, func(a, b request) int { return cmp.Compare(a.start, b.start) })
	return w
}

func onNetwork(e *capture.Entry) bool {
	return !strings.HasPrefix(e.Request.URL, "data:") && e.FromCache == ""
}

// priority returns the priority with which the request was sent, and the last one if the browser
// changed it.
func priority(e *capture.Entry) string {
	switch {
	case e.InitialPriority == "" || e.InitialPriority == e.Priority:
		return e.Priority
	case e.Priority == "":
		return e.InitialPriority
	default:
		return e.InitialPriority + " > " + e.Priority
	}
}

func protocol(e *capture.Entry) string {
	if e.Protocol != "" {
		return e.Protocol
	}
	return e.Response.HTTPVersion
}

func transferred(e *capture.Entry) int64 {
	if n := e.Response.TransferSize; n > 0 {
		return n
	}
	if e.Response.BodySize < 0 {
		return -1
	}
	return e.Response.BodySize + max(0, e.Response.HeadersSize)
}
