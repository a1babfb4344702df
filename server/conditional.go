package server

import (
	"net/http"
	"regexp"
	"strings"
)

// validators returns an answer's entity tag, without the prefix W/ of a weak one, and its date of
// modification (RFC 9110 section 8.8). Each is empty if it is missing or malformed.
func (a *answer) validators() (tag, date string) {
	if a.method != http.MethodGet || a.status != http.StatusOK {
		return "", ""
	}
	tag, _ = a.field("etag")
	if tag = strings.TrimPrefix(tag, "W/"); !wellFormed.MatchString(tag) {
		tag = ""
	}
	date, _ = a.field("last-modified")
	if _, err := http.ParseTime(date); err != nil {
		date = ""
	}
	return tag, date
}

// wellFormed matches entity tags (RFC 9110 section 8.8.3).
var wellFormed = regexp.MustCompile(`^"[!#-~\x80-\xff]*"$`)

// given returns a regular expression for the values of If-None-Match that match a tag.
func given(tag string) string { return `^\*$|` + regexp.QuoteMeta(tag) }

// unchanged returns the fields of the 304 that replaces an answer. Like Wiretime's own server, it
// leaves out the fields that describe content.
func (a *answer) unchanged() [][2]string {
	tag, _ := a.validators()
	var fields [][2]string
	for _, f := range a.header {
		isDate := f[0] == "last-modified" && tag != ""
		if !isDate && !strings.HasPrefix(f[0], "content-") {
			fields = append(fields, f)
		}
	}
	return fields
}
