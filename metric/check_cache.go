package metric

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"wiretime/capture"
	"wiretime/english"
	"wiretime/evidence"
	"wiretime/study"
)

// notCached finds resources that were fetched whole although the earlier visit must have left
// them in the cache, because they have a validator or, unless the page is reloaded, are fresh for
// more than a day. Either the client has dropped them since, or the server did not recognise its
// own validators.
func notCached(ev *evidence.Evidence) []study.Violation {
	var dropped, unrecognised []string
	for _, e := range ev.Fetched() {
		if e.Unawaited != "" || evidence.Failed(e) || !e.Revisited || e.Response.Status != http.StatusOK || !reusable(e) {
			continue
		}
		hasValidator := field(e.Response.Headers, "Etag") != "" || field(e.Response.Headers, "Last-Modified") != ""
		fresh := ev.Visit != study.VisitReload && freshFor(e) > lasting
		switch {
		case conditional(e):
			unrecognised = append(unrecognised, e.Request.URL)
		case hasValidator || fresh:
			dropped = append(dropped, e.Request.URL)
		}
	}
	var list []study.Violation
	if len(dropped) > 0 {
		list = append(list, violation(2, "the client fetched %s whole that the earlier visit had left in its cache: %s", english.Count(len(dropped), "resource"), some(dropped)))
	}
	if len(unrecognised) > 0 {
		list = append(list, violation(2, "the server answered %s with 200 instead of 304: %s", english.Count(len(unrecognised), "conditional request"), some(unrecognised)))
	}
	return list
}

// notReloaded finds pages whose document came from the cache without a request.
func notReloaded(ev *evidence.Evidence) []study.Violation {
	seen := map[string]bool{}
	var urls []string
	for _, e := range ev.Entries() {
		if !seen[e.Page] && e.FromCache != "" {
			urls = append(urls, e.Request.URL)
		}
		seen[e.Page] = true
	}
	if len(urls) == 0 {
		return nil
	}
	return []study.Violation{violation(2, "the page was to be reloaded, but %s came from the cache without a request: %s", english.Count(len(urls), "document"), some(urls))}
}

// unasked finds unconditional requests that were answered with 304: the client has no content for
// them.
func unasked(ev *evidence.Evidence) []study.Violation {
	var urls []string
	for _, e := range ev.Fetched() {
		if e.Response.Status == http.StatusNotModified && !conditional(e) {
			urls = append(urls, e.Request.URL)
		}
	}
	if len(urls) == 0 {
		return nil
	}
	return []study.Violation{violation(2, "the server answered %s with 304: %s", english.Count(len(urls), "unconditional request"), some(urls))}
}

// conditional reports whether a request asks for a resource only if it has changed (RFC 9110
// section 13.1).
func conditional(e *capture.Entry) bool {
	return field(e.Request.Headers, "If-None-Match") != "" || field(e.Request.Headers, "If-Modified-Since") != ""
}

// lasting is longer than any time between a visit and the one before.
const lasting = 24 * time.Hour

// reusable reports whether every client stores a response to a GET and uses it for a
// request like this one (RFC 9111 sections 3 and 4). It reports false wherever clients may
// differ.
func reusable(e *capture.Entry) bool {
	control := field(e.Response.Headers, "Cache-Control")
	_, noStore := directive(control, "no-store")
	_, bypass := directive(field(e.Request.Headers, "Cache-Control"), "no-cache")
	vary := strings.ToLower(field(e.Response.Headers, "Vary"))
	return !noStore && !bypass && field(e.Request.Headers, "Range") == "" && (vary == "" || vary == "accept-encoding")
}

// freshFor returns how long a response may be used without revalidation (RFC 9111 section 4.2):
// its max-age less its age, which for a recorded response may be that of the recording. The result
// is 0 without a valid max-age, and not positive for a stale response.
func freshFor(e *capture.Entry) time.Duration {
	control := field(e.Response.Headers, "Cache-Control")
	if _, revalidate := directive(control, "no-cache"); revalidate {
		return 0
	}
	text, _ := directive(control, "max-age")
	seconds, err := strconv.ParseInt(text, 10, 32)
	if err != nil || seconds < 0 {
		return 0
	}
	age, _ := strconv.ParseInt(field(e.Response.Headers, "Age"), 10, 32)
	if date, err := http.ParseTime(field(e.Response.Headers, "Date")); err == nil {
		age = max(age, int64(e.Started.Sub(date)/time.Second))
	}
	return time.Duration(seconds-age) * time.Second
}

// directive returns the argument of a directive of Cache-Control (RFC 9111 section 5.2). is reports
// whether the field has the directive.
func directive(control, name string) (argument string, is bool) {
	for part := range strings.SplitSeq(control, ",") {
		word, argument, _ := strings.Cut(strings.TrimSpace(part), "=")
		if strings.EqualFold(word, name) {
			return strings.Trim(argument, `"`), true
		}
	}
	return "", false
}

// field returns the values of a header field, joined by commas, or "" if there are none.
func field(headers []capture.Pair, name string) string {
	var values []string
	for _, h := range headers {
		if strings.EqualFold(h.Name, name) {
			values = append(values, h.Value)
		}
	}
	return strings.Join(values, ", ")
}
