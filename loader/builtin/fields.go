package builtin

import (
	"fmt"
	"net/http"
	"net/url"

	"golang.org/x/net/publicsuffix"

	"wiretime/loader/page"
)

// userAgent is the loader's name. It has the form and the length of Chromium's,
// since the size of requests matters on a thin uplink.
const userAgent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) wiretime-builtin/1.0 Safari/537.36"

// destination holds what Chromium sends for a kind of resource: the accepted types
// and, by the Fetch Metadata standard, its purpose.
type destination struct{ accept, name, mode string }

var destinations = map[page.Kind]destination{
	page.Document: {"text/html,application/xhtml+xml,application/xml;q=0.9,image/jxl,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7", "document", "navigate"},
	page.Frame:    {"text/html,application/xhtml+xml,application/xml;q=0.9,image/jxl,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7", "iframe", "navigate"},
	page.Image:    {"image/jxl,image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8", "image", "no-cors"},
	// Scripts and fonts accept anything.
	page.Stylesheet: {"text/css,*/*;q=0.1", "style", "no-cors"},
	page.Script:     {"*/*", "script", "no-cors"},
	page.Font:       {"*/*", "font", "cors"},
	page.Media:      {"*/*", "video", "no-cors"},
	page.Track:      {"*/*", "track", "cors"},
	page.Manifest:   {"*/*", "manifest", "cors"},
}

// destinationOf returns a kind's destination, or fetch()'s for kinds without
// one.
func destinationOf(kind page.Kind) destination {
	if d, ok := destinations[kind]; ok {
		return d
	}
	return destination{"*/*", "empty", "cors"}
}

// fields returns the header fields that Chromium sends with a request, over HTTP/2 and HTTP/3
// with its priority. Without TLS, Accept-Encoding offers only what middleboxes have always known.
func (f *fetch) fields(prioritised bool) http.Header {
	d := destinationOf(f.request.Kind)
	h := http.Header{}
	h.Set("User-Agent", userAgent)
	h.Set("Accept", d.accept)
	navigation := f.request.Kind == page.Document
	from := f.from()
	if referer := referrer(from, f.url); !navigation && referer != "" {
		h.Set("Referer", referer)
	}
	if navigation || f.request.Kind == page.Frame {
		h.Set("Upgrade-Insecure-Requests", "1")
	}
	if d.mode == "cors" && f.url.Host != f.tab.url.Host || f.request.Method != "" {
		h.Set("Origin", f.tab.url.Scheme+"://"+f.tab.url.Host)
	}
	if f.url.Scheme == "http" {
		h.Set("Accept-Encoding", "gzip, deflate")
		return h
	}
	h.Set("Accept-Encoding", acceptEncoding)
	h.Set("Sec-Ch-Ua", `"Not:A-Brand";v="8", "Wiretime";v="1"`)
	h.Set("Sec-Ch-Ua-Mobile", "?0")
	h.Set("Sec-Ch-Ua-Platform", `"Linux"`)
	h.Set("Sec-Fetch-Dest", d.name)
	h.Set("Sec-Fetch-Mode", d.mode)
	if navigation {
		h.Set("Sec-Fetch-Site", "none")
		h.Set("Sec-Fetch-User", "?1")
	} else {
		h.Set("Sec-Fetch-Site", relation(from, f.url))
	}
	if prioritised {
		if field := priorityField(f.request.Priority, f.request.Incremental); field != "" {
			h.Set("Priority", field)
		}
	}
	return h
}

// from returns the URL that a request names as its referrer: the style sheet or the frame
// that requested it, otherwise the page.
func (f *fetch) from() *url.URL {
	if f.request.Initiator.Type == "parser" {
		if u, err := url.Parse(f.request.Initiator.URL); err == nil && u.Host != "" {
			return u
		}
	}
	return f.tab.url
}

// anonymous reports whether the request is sent without credentials. A CORS request for
// another origin is, unless it says otherwise (Fetch standard, "CORS request" and
// "credentials mode").
func (f *fetch) anonymous() bool {
	return destinationOf(f.request.Kind).mode == "cors" && f.url.Host != f.tab.url.Host
}

// crossSite reports whether the request is for another site than the page's. For frames
// only their own address counts.
func (f *fetch) crossSite() bool {
	return f.request.Kind != page.Document && relation(f.tab.url, f.url) == "cross-site"
}

// priorityField returns the field of RFC 9218: Chromium's urgencies are 0 for the
// document to 4 for what may never be needed; the default of 3 is not sent.
func priorityField(p page.Priority, incremental bool) string {
	urgency := int(page.VeryHigh - p)
	switch {
	case urgency == 3 && incremental:
		return "i"
	case urgency == 3:
		return "" // the default without the field
	case incremental:
		return fmt.Sprintf("u=%d, i", urgency)
	}
	return fmt.Sprintf("u=%d", urgency)
}

// referrer returns what a page reveals of its URL to another under the default
// policy, strict-origin-when-cross-origin (Referrer Policy, section 3.8).
func referrer(from, to *url.URL) string {
	switch {
	case from.Scheme == "https" && to.Scheme == "http":
		return ""
	case from.Host == to.Host:
		own := *from
		own.Fragment, own.User = "", nil
		return own.String()
	}
	return from.Scheme + "://" + from.Host + "/"
}

// relation returns how a URL's site relates to a page's (Fetch Metadata, section
// 2.3).
func relation(from, to *url.URL) string {
	if from.Host == to.Host {
		return "same-origin"
	}
	a, errA := publicsuffix.EffectiveTLDPlusOne(from.Hostname())
	b, errB := publicsuffix.EffectiveTLDPlusOne(to.Hostname())
	if errA == nil && errB == nil && a == b {
		return "same-site"
	}
	return "cross-site"
}
