package record

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/network"
	cdpruntime "github.com/chromedp/cdproto/runtime"

	"wiretime/site"
	"wiretime/site/recording"
)

// recording makes a recording of the log. Call it after close.
func (l *log) recording(page, browser string) *recording.Recording {
	page, _, _ = strings.Cut(page, "#")
	made := &recording.Recording{Source: "recorded with " + strings.Replace(browser, "/", " ", 1), Page: page}
	l.placeHeads()
	slices.SortStableFunc(l.requests, func(a, b *request) int { return cmp.Compare(a.sent.Timestamp, b.sent.Timestamp) })
	var repairs repairs
	origin := l.origin()
	for _, r := range l.requests {
		if r.cached {
			continue
		}
		if made.Began.IsZero() {
			made.Began = time.UnixMicro(int64(r.sent.WallTime.Float64() * 1e6)).UTC()
		}
		repairs.judge(r)
		if r.response != nil {
			made.Exchanges = append(made.Exchanges, r.exchange(origin))
		}
	}
	for _, socket := range l.sockets {
		repairs.name(socket, "for WebSockets: left out, since a site cannot hold their messages")
	}
	if l.loaded > 0 {
		made.Loaded = milliseconds(l.loaded - origin)
	}
	made.Repairs = repairs.list()
	return made
}

// origin returns when the first recorded request was made, in seconds of the browser's
// clock.
func (l *log) origin() float64 {
	origin := math.Inf(1)
	for _, r := range l.requests {
		if !r.cached {
			origin = min(origin, r.sent.Timestamp.Float64())
		}
	}
	return origin
}

// placeHeads assigns responses their heads as they came over the wire, if the browser
// reported them. A response that the browser withheld from the page, for example for lack
// of CORS fields, has no other head.
func (l *log) placeHeads() {
	for _, r := range l.requests {
		heads := l.heads[r.id]
		if len(heads) == 0 || r.response != nil && !r.raw {
			continue
		}
		head := heads[0]
		if r.response == nil {
			r.response = &network.Response{Status: head.status, ConnectionID: -1}
			r.hasBody = true
		}
		if r.response.Status == head.status {
			r.response.Headers = head.header
			l.heads[r.id] = heads[1:]
		}
	}
}

func milliseconds(seconds float64) float64 { return seconds * 1000 }

// exchange converts a request and its response. origin is when the first request began.
func (r *request) exchange(origin float64) recording.Exchange {
	at, response := r.sent.Timestamp.Float64(), r.response
	x := recording.Exchange{
		Where: r.where(), Method: r.sent.Request.Method, URL: r.sent.Request.URL, Sent: r.posted(),
		Status: int(response.Status), Header: fields(response.Headers), MIME: response.MimeType,
		Size: -1, Transfer: -1, Started: milliseconds(at - origin), Took: -1, DNS: -1, Connect: -1, Wait: -1,
		Address: strings.Trim(response.RemoteIPAddress, "[]"),
		Kind:    strings.ToLower(string(r.sent.Type)), Priority: string(r.sent.Request.InitialPriority),
	}
	x.Initiator, x.InitiatorType, x.InitiatorLine = initiator(r.sent.Initiator)
	if r.ended > 0 {
		x.Took = max(0, milliseconds(r.ended-at)) // preflights are timed by another process
		x.Transfer = max(0, int64(r.received-response.EncodedDataLength))
	}
	if t := response.Timing; t != nil {
		x.DNS, x.Wait = span(t.DNSStart, t.DNSEnd), span(t.SendEnd, cmp.Or(max(0, t.ReceiveHeadersStart), t.ReceiveHeadersEnd))
		x.Connect = connecting(response.Protocol, t)
	}
	switch {
	case r.hasBody:
		x.Body, x.HasBody, x.Size = r.body, true, int64(len(r.body))
	case r.octets > 0:
		x.Size = r.octets
	}
	return x
}

// where returns the name of a request in repairs.
func (r *request) where() string {
	text := []rune(r.sent.Request.URL)
	if len(text) > 100 {
		text = append(text[:99], '…')
	}
	if m := r.sent.Request.Method; m != "GET" {
		return m + " " + string(text)
	}
	return string(text)
}

// posted returns the octets of the request's body, as far as the browser reports them.
func (r *request) posted() int64 {
	n := int64(0)
	for _, part := range r.sent.Request.PostDataEntries {
		n += int64(len(part.Bytes))
	}
	return n
}

// fields returns a response's header fields. Chromium joins fields of the same name with
// line breaks.
func fields(headers network.Headers) []site.Header {
	var list []site.Header
	for name, v := range headers {
		for line := range strings.SplitSeq(fmt.Sprint(v), "\n") {
			list = append(list, site.Header{Name: strings.ToLower(name), Value: line})
		}
	}
	// The browser does not report the original order.
	slices.SortStableFunc(list, func(a, b site.Header) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// span returns the time between two moments, or -1 if one is missing.
func span(from, to float64) float64 {
	if from < 0 || to < from {
		return -1
	}
	return to - from
}

// connecting returns how long the TCP handshake took. QUIC has no separate transport
// handshake.
func connecting(protocol string, t *network.ResourceTiming) float64 {
	switch {
	case strings.HasPrefix(protocol, "h3") || t.ConnectStart < 0:
		return -1
	case t.SslStart > t.ConnectStart:
		return t.SslStart - t.ConnectStart
	}
	return span(t.ConnectStart, t.ConnectEnd)
}

// initiator returns the URL, type and line of a request's initiator. The line counts from
// 1; 0 means unknown.
func initiator(i *network.Initiator) (url, kind string, line int) {
	if i == nil {
		return "", "", 0
	}
	switch i.Type {
	case network.InitiatorTypeParser, network.InitiatorTypeScript, network.InitiatorTypePreload:
		kind = string(i.Type)
	default:
		kind = string(network.InitiatorTypeOther)
	}
	if url, line = caller(i.Stack); url == "" {
		return i.URL, kind, 0
	}
	return url, kind, line
}

// caller returns the URL and line of the innermost function that belongs to a file.
func caller(s *cdpruntime.StackTrace) (url string, line int) {
	for ; s != nil; s = s.Parent {
		for _, frame := range s.CallFrames {
			if strings.HasPrefix(frame.URL, "http://") || strings.HasPrefix(frame.URL, "https://") {
				return frame.URL, int(frame.LineNumber) + 1 // which CDP counts from 0
			}
		}
	}
	return "", 0
}
