package protocol

import (
	"net/http"
	"strings"
)

// leaveOutContent removes the fields that describe content from the header of a
// 304, which carries none and needs only what a cache uses (RFC 9110 section
// 15.4.5).
func leaveOutContent(header http.Header) {
	for _, name := range []string{"Content-Encoding", "Content-Language", "Content-Type"} {
		header.Del(name)
	}
	if header.Get("Etag") != "" {
		header.Del("Last-Modified")
	}
}

// notModified reports whether the preconditions of a request show that its client
// already has the response with this header (RFC 9110 section 13.2.2).
func notModified(r *http.Request, header http.Header) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	if fields := r.Header.Values("If-None-Match"); len(fields) > 0 {
		return matches(strings.Join(fields, ","), header.Get("Etag"))
	}
	since, err := http.ParseTime(r.Header.Get("If-Modified-Since"))
	if err != nil {
		return false // ignored without a valid date (section 13.1.3)
	}
	modified, err := http.ParseTime(header.Get("Last-Modified"))
	return err == nil && !modified.After(since)
}

// matches compares a list of entity tags, or *, with one tag, weakly (RFC 9110
// section 8.8.3.2). A malformed list matches nothing.
func matches(list, tag string) bool {
	if strings.TrimSpace(list) == "*" {
		return true
	}
	tag = strings.TrimPrefix(tag, "W/")
	if tag == "" {
		return false
	}
	for {
		list = strings.TrimPrefix(strings.TrimLeft(list, ", \t"), "W/")
		if !strings.HasPrefix(list, `"`) {
			return false
		}
		end := strings.IndexByte(list[1:], '"')
		if end < 0 {
			return false
		}
		if list[:end+2] == tag {
			return true
		}
		list = list[end+2:]
	}
}
