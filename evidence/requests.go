package evidence

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"wiretime/capture"
)

// Entries returns the requests of the load's pages in the order of the HAR, without those for inline resources.
func (e *Evidence) Entries() (list []*capture.Entry) {
	if e.HAR == nil {
		return nil
	}
	pages := map[string]bool{"": true}
	for i := range e.HAR.Log.Pages {
		pages[e.HAR.Log.Pages[i].ID] = true
	}
	for i := range e.HAR.Log.Entries {
		entry := &e.HAR.Log.Entries[i]
		if otherPage := len(pages) > 1 && !pages[entry.Page]; otherPage || Inline(entry.Request.URL) {
			continue
		}
		list = append(list, entry)
	}
	return list
}

// Fetched returns the entries for which the browser went to the network.
func (e *Evidence) Fetched() []*capture.Entry {
	return slices.DeleteFunc(e.Entries(), func(entry *capture.Entry) bool { return entry.FromCache != "" })
}

// EntriesOf returns the entries of the page with that ID. The caller must not change the list.
func (e *Evidence) EntriesOf(page string) []*capture.Entry {
	if e.pages == nil {
		e.pages = map[string][]*capture.Entry{}
		for _, entry := range e.Entries() {
			e.pages[entry.Page] = append(e.pages[entry.Page], entry)
		}
	}
	return e.pages[page]
}

// LastEnd returns when the last of the entries that the load waited for ended; the zero time if there is none.
func LastEnd(entries []*capture.Entry) (last time.Time) {
	for _, entry := range entries {
		if end := entry.End(); entry.Unawaited == "" && end.After(last) {
			last = end
		}
	}
	return last
}

// Failed reports whether the browser got no whole response to a request that the load waited for.
func Failed(entry *capture.Entry) bool {
	return entry.Unawaited == "" && (entry.Response.Error != "" || entry.Response.Status == 0)
}

// Inline reports whether a URL contains its resource, or names one in the browser's memory.
func Inline(address string) bool {
	scheme, _, _ := strings.Cut(address, ":")
	switch strings.ToLower(scheme) {
	case "data", "blob", "about":
		return true
	}
	return false
}

// Address returns a URL as a server sees it, so that the browser's, the server's and the wire's way of writing it
// compare equal: host in lower case, no default port, no user, no fragment, a path.
func Address(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	u.User, u.Fragment, u.RawFragment, u.ForceQuery = nil, "", "", false
	u.Host = strings.ToLower(u.Host)
	if port := u.Port(); u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" {
		u.Host = strings.TrimSuffix(u.Host, ":"+port)
	}
	if u.Path == "" {
		u.Path = "/"
	}
	return u.String()
}
