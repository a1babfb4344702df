package spdy

import (
	"net/http"
	"strconv"
	"strings"
)

// Hint names a resource that a page needs, so that a client can request it
// before it discovers it: a server hint.
type Hint struct {
	URL  string
	Type string // its media type; may be empty
}

// AddHint announces a resource to the client in the field X-Subresource: the
// type and the URL, separated by a semicolon.
func AddHint(h http.Header, hint Hint) {
	value := hint.URL
	if hint.Type != "" {
		value = hint.Type + "; " + hint.URL
	}
	h.Add("X-Subresource", value)
}

// Hints returns the resources that a server announces by X-Subresource (or
// X-Subresources) or by a Link with the relation subresource.
func Hints(h http.Header) []Hint {
	var hints []Hint
	for _, line := range append(h.Values("X-Subresource"), h.Values("X-Subresources")...) {
		parts := strings.Split(line, ";")
		kind := ""
		for _, part := range parts {
			switch part = strings.TrimSpace(part); {
			case part == "":
			case strings.Contains(part, "/") && kind == "" && !strings.HasPrefix(part, "/") && !strings.Contains(part, ":") && len(parts) > 1:
				kind = part
			default:
				hints = append(hints, Hint{URL: part, Type: kind})
				kind = ""
			}
		}
	}
	for _, line := range h.Values("Link") {
		for link := range strings.SplitSeq(line, ",") {
			target, rest, ok := strings.Cut(strings.TrimSpace(link), ">")
			if !ok || !strings.HasPrefix(target, "<") {
				continue
			}
			for parameter := range strings.SplitSeq(rest, ";") {
				name, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
				if strings.EqualFold(name, "rel") && strings.Trim(value, `"`) == "subresource" {
					hints = append(hints, Hint{URL: target[1:]})
				}
			}
		}
	}
	return hints
}

// associatedContent is the field in which a handler names what to push:
// "URL":priority, separated by commas, as mod_spdy reads it. The priority may
// be left out with its colon.
const associatedContent = "X-Associated-Content"

type push struct {
	url      string
	priority Priority
}

// associated parses the field X-Associated-Content, and skips what it cannot
// parse.
func associated(lines []string, preset Priority) []push {
	var all []push
	for _, line := range lines {
		for line != "" {
			_, after, ok := strings.Cut(line, `"`)
			if !ok {
				break
			}
			target, rest, ok := strings.Cut(after, `"`)
			if !ok {
				break
			}
			item, more, _ := strings.Cut(rest, ",")
			p := push{target, preset}
			if text, ok := strings.CutPrefix(strings.TrimSpace(item), ":"); ok {
				if n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 8); err == nil {
					p.priority = min(Priority(n), Lowest)
				}
			}
			all = append(all, p)
			line = more
		}
	}
	return all
}
