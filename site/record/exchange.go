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

// recording makes a recording of what the log has. It is called after close.
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
		repairs.name(socket, "for WebSockets, whose messages no site can hold: left out")
	}
	if l.loaded > 0 {
		made.Loaded = milliseconds(l.loaded - origin)
	}
	made.Repairs = repairs.list()
	return made
}

// origin is when the first request that is recorded was made, in seconds of the browser's
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

// placeHeads gives responses their heads as they came over the wire, where the browser has
// told of them. A response that it kept from the page, as for want of CORS fields, has no
// other.
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

// exchange writes a request with a response down. origin is when the first began.
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

// where names a request in repairs.
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

// posted is how many octets the request's body had, as far as the browser shows them.
func (r *request) posted() int64 {
	n := int64(0)
	for _, part := range r.sent.Request.PostDataEntries {
		n += int64(len(part.Bytes))
	}
	return n
}

// fields are a response's header fields. Those of a name are lines of one value.
func fields(headers network.Headers) []site.Header {
	var list []site.Header
	for name, v := range headers {
		for line := range strings.SplitSeq(fmt.Sprint(v), "\n") {
			list = append(list, site.Header{Name: strings.ToLower(name), Value: line})
		}
	}
	// The browser's own order is lost on the way here.
	slices.SortStableFunc(list, func(a, b site.Header) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// span is the time from one moment to another, -1 if there is none.
func span(from, to float64) float64 {
	if from < 0 || to < from {
		return -1
	}
	return to - from
}

// connecting is how long TCP took to open a connection. With QUIC there is no such time
// apart from the cryptographic handshake.
func connecting(protocol string, t *network.ResourceTiming) float64 {
	switch {
	case strings.HasPrefix(protocol, "h3") || t.ConnectStart < 0:
		return -1
	case t.SslStart > t.ConnectStart:
		return t.SslStart - t.ConnectStart
	}
	return span(t.ConnectStart, t.ConnectEnd)
}

// initiator is what asked for a request, how, and in which line, counted from 1; 0 if that
// is not known.
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

// caller is the URL and the line of the innermost function that is part of a file.
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
