// Package metric turns what was captured of one load into figures, one metric
// per file, and checks that the parts of the capture agree with each other and
// with what was asked for.
package metric

import (
	"net/url"
	"time"

	"wiretime/capture"
	"wiretime/media/record"
)

// Load is what was captured of one load, of a page or of a stream. A part that is nil
// was not captured; the metrics that need it have no value then.
type Load struct {
	Protocol   string // the row the cell asked for: "http/1.1", "https/1.1", "spdy/3.1", "h2", "h3"; of a stream, its transport
	HAR        *capture.HAR
	Server     []capture.ServerEntry
	Packets    *capture.Packets
	Timing     capture.Timing
	ServerLost int // QUIC packets the server declared lost; -1 unknown

	// Visit is the state of the client that the cell asked for, as studies name
	// it: "resumed", "0rtt", "connected", "cached"; empty or "cold" for none.
	Visit string
	// NoServerLog says that the server keeps no log. Rules are then left to the HAR and the
	// packets, where they need its word.
	NoServerLog bool
	// Fallback is the row that requests may have used where HTTP/3 was asked for
	// but could not be had; empty if none.
	Fallback string

	// Stream is the record of a media stream; nil for a page. A stream has no HAR, no
	// Timing and no Visit.
	Stream *record.Stream
	// CaptureCut says that the capture lacks packets, because no more were to be kept.
	// Metrics that need all of them have no value then.
	CaptureCut bool
	// Counted is what the emulator counted; nil if that is not known.
	Counted *Counts
}

// Counts is how many IP packets there were: that the client sent, that reached it, and
// that were dropped in either direction.
type Counts struct{ Up, Down, Drops int64 }

// Metric is one figure of a load.
type Metric struct {
	Name       string // as it is stored and typed
	Unit       string // "ms", "B", or what is counted
	Title      string // as a table's heading
	Definition string // from when to when, or what counts: enough to measure it again
	Of         func(*Load) (value float64, ok bool)
}

// All lists the metrics of pages in the order a reader wants them: how long it took for
// the user, what it took on the wire, and how far to trust it.
func All() []Metric {
	return []Metric{
		dcl, onload, plt, tow, ttfb, fcp, lcp,
		requests, connectionCount,
		bytesUp, bytesDown, packetsUp, packetsDown,
		drops, retransmissions,
		lateP50, lateP99, lateMax, misses, inexact, unused,
	}
}

// seen gives a time of the browser's clock, where -1 means that none was seen.
func seen(ms float64) (float64, bool) { return ms, ms >= 0 }

// entries are the requests of the load's pages for resources that are not part
// of a page's own text, as a data: URL is.
func (l *Load) entries() []*capture.Entry {
	if l.HAR == nil {
		return nil
	}
	pages := map[string]bool{"": true}
	for i := range l.HAR.Log.Pages {
		pages[l.HAR.Log.Pages[i].ID] = true
	}
	var list []*capture.Entry
	for i := range l.HAR.Log.Entries {
		e := &l.HAR.Log.Entries[i]
		if otherPage := len(pages) > 1 && !pages[e.Page]; otherPage || isInline(e.Request.URL) {
			continue
		}
		list = append(list, e)
	}
	return list
}

// fetched are the entries for which the browser went to the network.
func (l *Load) fetched() []*capture.Entry {
	var list []*capture.Entry
	for _, e := range l.entries() {
		if e.FromCache == "" {
			list = append(list, e)
		}
	}
	return list
}

// isInline tells whether a URL carries its resource in itself or names one in
// the browser's memory.
func isInline(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "data" || u.Scheme == "blob" || u.Scheme == "about")
}

// failed tells whether the browser got no whole response to a request that the load waited
// for.
func failed(e *capture.Entry) bool {
	return e.Unawaited == "" && (e.Response.Error != "" || e.Response.Status == 0)
}

// lastEnd is when the last of the entries that the load waited for ended; the zero time
// without any.
func lastEnd(entries []*capture.Entry) time.Time {
	var last time.Time
	for _, e := range entries {
		if end := e.End(); e.Unawaited == "" && end.After(last) {
			last = end
		}
	}
	return last
}

// milliseconds turns ns into ms.
func milliseconds(ns int64) float64 { return float64(ns) / 1e6 }
