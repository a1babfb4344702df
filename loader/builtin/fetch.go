package builtin

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"wiretime/loader/page"
	"wiretime/loader/session"
	"wiretime/spdy"
)

// redirectLimit is how many redirects Chromium follows (net/url_request/url_request.h).
const redirectLimit = 20

// fetch is one resource that a page requests. It takes one exchange more than it
// has redirects.
type fetch struct {
	tab     *tab
	request page.Request
	initial page.Priority // the priority of the request may change later
	asked   time.Duration
	failure error // if it failed before it began

	delayable bool // decided when it went to the network, or when its priority changed

	url       *url.URL // after redirects
	host      string
	exchange  *exchange // the current or last one
	sent      *session.Request
	redirects int
	kept      *answer // in the cache
	stored    *answer // what the cache will keep; nil: nothing
}

// exchange is one request to the network, or to the cache, with its response.
type exchange struct {
	fetch    *fetch
	asked    time.Duration // since navigationStart
	request  *http.Request
	response *http.Response // nil: none
	network  *session.Exchange
	cache    string // "disk" if the cache answered
	location string // where it redirects to
	err      error
	ended    time.Duration // -1: not ended
	body     int64         // octets, decoded
	decoder  *decoder      // nil: nothing to decode; only the handler uses it, without the visit's lock
}

// aim sets where the fetch goes next.
func (f *fetch) aim(address string) error {
	address, err := f.tab.visit.config.Protocol.URL(address)
	if err != nil {
		return err
	}
	if f.url, err = url.Parse(address); err != nil {
		return fmt.Errorf("parse the URL: %w", err)
	}
	f.url.Fragment = ""
	f.host = f.url.Host
	return nil
}

// priorities maps a page's priorities to the network's
// (third_party/blink/renderer/platform/loader/fetch/url_loader/request_conversion.cc).
var priorities = map[page.Priority]session.Priority{
	page.VeryLow: session.Idle, page.Low: session.Lowest, page.Medium: session.Low, page.High: session.Medium, page.VeryHigh: session.Highest,
}

// send sends the request to its present URL, unless the cache can answer it.
func (f *fetch) send() {
	t := f.tab
	spoken := t.visit.config.Protocol.Spoken
	r := &http.Request{Method: cmp.Or(f.request.Method, http.MethodGet), URL: f.url, Host: f.url.Host, Header: f.fields((spoken == "h2" || spoken == "h3") && !f.tab.visit.config.EqualTurns),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	if !f.anonymous() {
		if field := t.visit.cookies.field(f.url, f.crossSite()); field != "" {
			r.Header.Set("Cookie", field)
		}
	}
	x := &exchange{fetch: f, asked: f.asked, request: r.WithContext(t.ctx), ended: -1}
	if f.redirects > 0 {
		x.asked = t.now()
	}
	f.exchange = x
	t.exchanges = append(t.exchanges, x)
	var kept *answer
	fresh := false
	if r.Method == http.MethodGet {
		kept, fresh = t.visit.cache.find(f.url.String(), r.Header, time.Now())
	}
	if t.visit.reload {
		r.Header.Set("Cache-Control", "max-age=0") // Fetch standard, cache mode "no-cache"
		fresh = fresh && kept.at.After(t.began)
	}
	if f.kept = kept; fresh {
		x.cache = "disk"
		t.local = append(t.local, f)
		return
	}
	if kept != nil {
		kept.ask(r.Header)
	}
	f.sent = &session.Request{HTTP: x.request, Priority: priorities[f.request.Priority], Anonymous: f.anonymous(), Handler: handler{f, x}}
	t.visit.session.Fetch(f.sent)
}

// deliver ends a fetch that no longer needs the network: with the cache's content,
// or with the reason why it never began.
func (f *fetch) deliver() {
	t, x := f.tab, f.exchange
	if f.failure != nil {
		f.finish(f.failure)
		return
	}
	if x.response == nil {
		x.response = &http.Response{Status: "200 OK", StatusCode: f.kept.status, Proto: t.visit.config.Protocol.Spoken, Header: f.kept.header}
		x.ended = t.now()
	}
	t.page.Respond(t.now(), f.request.ID, f.head(f.kept.status, f.kept.header))
	t.page.Data(t.now(), f.request.ID, f.kept.body)
	x.body = int64(len(f.kept.body))
	f.finish(nil)
}

func (f *fetch) head(status int, header http.Header) page.Head {
	return page.Head{Status: status, URL: f.url.String(), ContentType: header.Get("Content-Type"), Links: header.Values("Link")}
}

// finish tells the page, and everyone who waits for it, that the fetch has
// ended.
func (f *fetch) finish(err error) {
	t := f.tab
	t.open--
	t.scheduler.done(f)
	if err != nil && f.request.Kind == page.Document {
		t.err = err
	}
	t.page.Finish(t.now(), f.request.ID, err)
}

// handler receives what happens to one exchange.
type handler struct {
	*fetch
	x *exchange
}

// Interim handles an interim response (RFC 9110 section 15.2). Early hints are links to
// preload (RFC 8297).
func (h handler) Interim(response *http.Response) {
	t := h.tab
	t.visit.mu.Lock()
	defer t.visit.mu.Unlock()
	if !t.ended && response.StatusCode == http.StatusEarlyHints {
		t.page.Hint(t.now(), h.request.ID, response.Header.Values("Link"))
		t.turn()
	}
}

// Head handles the head of the response.
func (h handler) Head(response *http.Response) {
	t := h.tab
	t.visit.mu.Lock()
	defer t.visit.mu.Unlock()
	h.x.response = response
	if t.ended {
		return
	}
	if !h.anonymous() {
		t.visit.cookies.take(h.url, response.Header["Set-Cookie"], h.crossSite())
	}
	t.visit.answered[h.host] = true
	switch {
	case redirects(response):
		h.x.location = response.Header.Get("Location")
	case response.StatusCode == http.StatusNotModified && h.kept != nil:
		h.fetch.kept = t.visit.cache.refreshed(h.kept, response.Header, time.Now())
	default:
		h.fetch.kept, h.fetch.stored = nil, h.answer(response)
		h.x.decoder = newDecoder(t.ctx, response.Header.Get("Content-Encoding"), t.visit.config.Limits)
		t.page.Respond(t.now(), h.request.ID, h.head(response.StatusCode, response.Header))
		if links := hints(response.Header); len(links) > 0 {
			t.page.Hint(t.now(), h.request.ID, links)
		}
	}
	t.turn()
}

// hints returns SPDY's server hints in the form of Link fields (RFC 8288).
func hints(header http.Header) []string {
	var links []string
	for _, h := range spdy.Hints(header) {
		if as, ok := uses[session.ResourceType(h.Type)]; ok {
			links = append(links, fmt.Sprintf("<%s>; rel=preload; as=%s", h.URL, as))
		}
	}
	return links
}

// uses maps types of resources to values of HTML's attribute "as".
var uses = map[string]string{"stylesheet": "style", "script": "script", "image": "image", "font": "font"}

// redirects reports whether a response is a redirect (RFC 9110 section 15.4).
func redirects(response *http.Response) bool {
	return slices.Contains([]int{301, 302, 303, 307, 308}, response.StatusCode) && response.Header.Get("Location") != ""
}

// Data handles a part of the body. Decoding takes as long as a server wants, so the main thread is only entered for
// what has been decoded.
func (h handler) Data(b []byte) error {
	if !h.wanted() {
		return nil
	}
	var err error
	if h.x.decoder == nil {
		err = h.take(b)
	} else {
		err = h.x.decoder.feed(b, h.take)
	}
	t := h.tab
	t.visit.mu.Lock()
	defer t.visit.mu.Unlock()
	if !t.ended {
		t.turn()
	}
	return err
}

// wanted reports whether the page takes the body.
func (h handler) wanted() bool {
	h.tab.visit.mu.Lock()
	defer h.tab.visit.mu.Unlock()
	return !h.tab.ended && h.x.location == "" && h.kept == nil
}

// take passes content on to the page, within the limits.
func (h handler) take(b []byte) error {
	t := h.tab
	t.visit.mu.Lock()
	defer t.visit.mu.Unlock()
	if t.ended {
		return context.Cause(t.ctx)
	}
	limits := t.visit.config.Limits
	if t.content += int64(len(b)); t.content > limits.Page {
		t.end(limits.pageError())
		return t.err
	}
	if h.x.body+int64(len(b)) > limits.Body {
		return limits.bodyError()
	}
	h.x.body += int64(len(b))
	if h.stored != nil {
		h.stored.body = append(h.stored.body, b...)
	}
	t.page.Data(t.now(), h.request.ID, b)
	return nil
}

// End handles the end of the exchange.
func (h handler) End(network *session.Exchange, err error) {
	if h.x.decoder != nil {
		defer h.x.decoder.stop()
		if err == nil && h.wanted() {
			err = h.x.decoder.finish(h.take)
		}
	}
	t := h.tab
	t.visit.mu.Lock()
	defer t.visit.mu.Unlock()
	h.x.network = network
	if t.ended {
		return
	}
	h.x.ended = t.now()
	switch h.x.err = err; {
	case err != nil:
		h.finish(err)
	case h.x.location != "":
		h.follow()
	case h.kept != nil:
		h.deliver()
	default:
		h.keep()
		h.finish(nil)
	}
	t.turn()
}

// follow follows a redirect.
func (h handler) follow() {
	f := h.fetch
	if f.redirects++; f.redirects > redirectLimit {
		f.finish(fmt.Errorf("follow the redirect to %s: more than %d redirects", h.x.location, redirectLimit))
		return
	}
	if status := h.x.response.StatusCode; status < http.StatusTemporaryRedirect {
		f.request.Method = "" // as browsers do after a POST (Fetch standard, "HTTP-redirect fetch")
	}
	to, err := f.url.Parse(h.x.location)
	if err == nil {
		err = f.aim(to.String())
	}
	if err != nil {
		f.finish(fmt.Errorf("follow the redirect to %q: %w", h.x.location, err))
		return
	}
	if f.request.Kind == page.Document {
		f.tab.url = f.url // its requests name this as their referrer
	}
	f.send()
}

// answer returns the response as the cache would keep it, or nil if it may not.
func (h handler) answer(response *http.Response) *answer {
	a := &answer{url: h.url.String(), request: h.x.request.Header, status: response.StatusCode, header: response.Header, at: time.Now()}
	if h.x.request.Method != http.MethodGet || !a.storable() {
		return nil
	}
	return a
}

// keep stores the response in the cache, if that is permitted.
func (h handler) keep() {
	f := h.fetch
	switch {
	case h.x.request.Method != http.MethodGet:
	case h.stored == nil:
		f.tab.visit.cache.drop(f.url.String())
	default:
		h.stored.at = time.Now()
		f.tab.visit.cache.keep(h.stored)
	}
}
