package message

import (
	"fmt"
	"mime"
	"net/url"
	"strings"

	"wiretime/site"
	"wiretime/site/recording"
)

// maxRedirects is how many a browser follows (the Fetch standard, HTTP-redirect fetch).
const maxRedirects = 20

// IsDocument tells whether an exchange is a page that a browser would show: a GET that
// was answered by HTML with status 200.
func IsDocument(e *recording.Exchange) bool {
	mediaType, _, _ := mime.ParseMediaType(Field(e.Header, "content-type"))
	return e.Method == "GET" && e.Status == 200 && (mediaType == "text/html" || mediaType == "application/xhtml+xml")
}

// Entry is the URL whose redirects lead to page: what somebody had asked for who came to
// page. It is page itself if no redirect leads there.
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

// Find is the URL of the exchange that page, as somebody typed it, means. An error says
// that there is none, and which pages there are.
func Find(exchanges []recording.Exchange, page string) (string, error) {
	var pages []string
	for i := range exchanges {
		if normal(exchanges[i].URL) == normal(page) {
			return exchanges[i].URL, nil
		}
		if IsDocument(&exchanges[i]) {
			pages = append(pages, exchanges[i].URL)
		}
	}
	if len(pages) == 0 {
		return "", fmt.Errorf("the page %s is not in the recording, nor is any other", page)
	}
	const shown = 5
	more := ""
	if len(pages) > shown {
		more = fmt.Sprintf(" and %d more", len(pages)-shown)
	}
	return "", fmt.Errorf("the page %s is not in the recording: it has %s%s", page, strings.Join(pages[:min(shown, len(pages))], ", "), more)
}

// normal is a URL without its fragment, and with a path.
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

// Field is the value of the first field of that name; empty if there is none.
func Field(header []site.Header, name string) string {
	for _, h := range header {
		if strings.EqualFold(h.Name, name) {
			return h.Value
		}
	}
	return ""
}
