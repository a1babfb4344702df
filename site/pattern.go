package site

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
)

// Drop removes the resources whose URL a pattern matches. A pattern is a host, or a host and
// a path, without scheme, in which * stands for any text. It is an error if the pattern
// matches nothing. Drop changes s itself: call it in the function given to [Site.Edit].
func (s *Site) Drop(pattern string) error {
	before := len(s.Resources)
	s.Resources = slices.DeleteFunc(s.Resources, func(r Resource) bool { return matches(pattern, r.URL) })
	if len(s.Resources) == before {
		return fmt.Errorf("no resource matches %q", pattern)
	}
	return nil
}

// SetWait sets how long the server waits before it answers requests for the resources that a
// pattern matches, as in [Site.Drop].
func (s *Site) SetWait(pattern string, wait time.Duration) error {
	matched := false
	for i := range s.Resources {
		if r := &s.Resources[i]; matches(pattern, r.URL) {
			r.Wait = float64(wait) / 1e6
			matched = true
		}
	}
	if !matched {
		return fmt.Errorf("no resource matches %q", pattern)
	}
	return nil
}

// matches reports whether a pattern matches a URL.
func matches(pattern, address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	if !strings.Contains(pattern, "/") {
		ok, err := path.Match(pattern, u.Host)
		return err == nil && ok
	}
	return glob(pattern, strings.TrimPrefix(address, "https://"))
}

// glob reports whether text matches a pattern in which * stands for any text. path.Match
// would not let it stand for a slash.
func glob(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if !strings.HasPrefix(text, parts[0]) {
		return false
	}
	text = text[len(parts[0]):]
	for i, part := range parts[1:] {
		if i == len(parts)-2 {
			return strings.HasSuffix(text, part)
		}
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return text == ""
}
