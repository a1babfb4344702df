package message

import (
	"fmt"
	"mime"
	"net/url"
	"strings"

	"wiretime/site"
	"wiretime/site/recording"
)

// maxRedirects is the number of redirects that browsers follow (the Fetch standard,
// HTTP-redirect fetch).
const maxRedirects = 20

// IsDocument reports whether an exchange is a page that a browser would show: an HTML
// response with status 200 to a GET.
func IsDocument(e *recording.Exchange) bool {
	mediaType, _, _ := mime.ParseMediaType(Field(e.Header, "content-type"))
	return e.Method == "GET" && e.Status == 200 && (mediaType == "text/html" || mediaType == "application/xhtml+xml")
}

// Entry returns the URL from which redirects lead to page, or page itself if there are
// none.
func Entry(exchanges []recording.Exchange, page string) string {
	from := map[string]string{} // target of a redirect -> the first URL that led there
	for i := range exchanges {
		e := &exchanges[i]
		if target, ok := redirect(e); ok && from[target] == "" {
			from[target] = e.URL
		}
	}
	seen := map[string]bool{normal(page): true}
	for range maxRedirects {
		source := from[normal(page)]
		if source == "" || seen[normal(source)] {
			break
		}
		page = source
		seen[normal(page)] = true
	}
	return page
}

func redirect(e *recording.Exchange) (target string, ok bool) {
	if e.Method != "GET" || e.Status < 300 || e.Status > 399 {
		return "", false
	}
	base, err := url.Parse(e.URL)
	if err != nil {
		return "", false
	}
	location, err := base.Parse(Field(e.Header, "location"))
	if err != nil {
		return "", false
	}
	return normal(location.String()), true
}

// Find returns the URL of the exchange that page, as typed by a user, refers to. If there
// is none, the error lists the pages that exist.
func Find(exchanges []recording.Exchange, page string) (string, error) {
	const shown = 5
	var pages []string // the first few
	count := 0
	wanted := normal(page)
	for i := range exchanges {
		if normal(exchanges[i].URL) == wanted {
			return exchanges[i].URL, nil
		}
		if !IsDocument(&exchanges[i]) {
			continue
		}
		if count++; count <= shown {
			pages = append(pages, fmt.Sprintf("%.200q", exchanges[i].URL))
		}
	}
	if count == 0 {
		return "", fmt.Errorf("the page %.200q is not in the recording, which has no pages", page)
	}
	more := ""
	if count > shown {
		more = fmt.Sprintf(" and %d more", count-shown)
	}
	return "", fmt.Errorf("the page %.200q is not in the recording, which has %s%s", page, strings.Join(pages, ", "), more)
}

// normal returns a URL without its fragment and with a path.
func normal(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return rawURL
	}
	u.Fragment, u.RawFragment = "", ""
	u.Host = strings.ToLower(u.Host)
	if u.Path == "" {
		u.Path = "/"
	}
	return u.String()
}

// Field returns the value of the first field of that name, or "" if there is none.
func Field(header []site.Header, name string) string {
	for _, h := range header {
		if strings.EqualFold(h.Name, name) {
			return h.Value
		}
	}
	return ""
}
