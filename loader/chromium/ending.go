package chromium

import (
	"github.com/chromedp/cdproto/cdp"

	"wiretime/loader/browser"
)

// This file tracks how requests end, including those whose end Chromium does not report:
// it is silent about some responses that the page did not read, such as those to
// requests that outlive it (fetch with keepalive).

// hear records that the head of a response has arrived.
func (l *requestLog) hear(r *request, at cdp.MonotonicTime) {
	length := browser.Length(field(r.response.Headers, "content-length"))
	r.familiar = !l.news.Answer(r.sent.Request.Method, r.sent.Request.URL, r.response.Status, length)
	l.arrive(r, at)
}

// arrive records that a part of a response has arrived.
func (l *requestLog) arrive(r *request, at cdp.MonotonicTime) {
	r.last = max(r.last, at.Float64())
	if !r.familiar {
		l.news.Came()
		l.newest = max(l.newest, r.last)
	}
}

// whole reports whether all octets of a response have arrived, as far as its head
// announces a length. For a response with a content coding the browser does not report
// it exactly.
func (r *request) whole() bool {
	if r.response == nil || r.empty() {
		return r.response != nil
	}
	length := browser.Length(field(r.response.Headers, "content-length"))
	return length >= 0 && field(r.response.Headers, "content-encoding") == "" && int64(r.body) >= length
}

// underWay counts the requests in flight, and reports whether the responses to all of
// them are complete.
func (l *requestLog) underWay() (n int, whole bool) {
	for _, r := range l.open {
		if !r.whole() {
			return len(l.open), false
		}
	}
	return len(l.open), true
}

// close ends the log of a page that counts as loaded. Complete responses ended with their
// last octet. Other unfinished requests began too late to count, or are what the load gave
// up waiting for.
func (l *requestLog) close(gaveUp bool) {
	var left browser.Left
	for i, r := range l.requests {
		if l.sockets[r.id] == r {
			continue
		}
		open := r.ended == 0 && l.current[r.id] == r
		if open && r.whole() {
			r.ended, r.received, open = r.last, r.response.EncodedDataLength+r.encoded, false
			l.notes.Add("the browser did not say that %s %s had ended, all of which had come", r.sent.Request.Method, r.sent.Request.URL)
		}
		switch {
		case gaveUp && (r.familiar && r.sent.Timestamp.Float64() >= l.newest || open && r.response == nil && r.again):
			r.unawaited = browser.Repeated
		case open && i >= l.loaded:
			r.unawaited = browser.TooLate
		case open && gaveUp && r.response != nil:
			r.unawaited = browser.NeverEnded
		default:
			continue
		}
		left.Add(r.sent.Request.Method, r.sent.Request.URL, r.unawaited)
	}
	left.Note(&l.notes)
}

// unfinished returns the requests in flight.
func (l *requestLog) unfinished() []browser.Unfinished {
	var list []browser.Unfinished
	for _, r := range l.requests {
		if r.ended == 0 && l.current[r.id] == r {
			list = append(list, browser.Unfinished{Method: r.sent.Request.Method, URL: r.sent.Request.URL, Answered: r.response != nil})
		}
	}
	return list
}
