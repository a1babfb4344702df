package page

import (
	"slices"
	"strings"
)

// scanLink handles a link element in the preload scanner.
func (d *document) scanLink(t *token) {
	rel := strings.Fields(t.word("rel"))
	if !d.page.view.mediaMatches(t.attribute("media")) {
		return
	}
	switch {
	case slices.Contains(rel, "stylesheet") && !slices.Contains(rel, "alternate"):
		if _, disabled := t.get("disabled"); !disabled && styleType(t.word("type")) {
			d.preload(t, t.attribute("href"), Stylesheet, urgency{renderBlocking: !d.scanner.inBody})
		}
	case slices.Contains(rel, "preload"):
		if !d.scanner.behind {
			d.preloadTag(t, true)
		}
	case slices.Contains(rel, "modulepreload"):
		d.preload(t, t.attribute("href"), Script, urgency{module: true, link: true})
	}
}

func (d *document) preloadTag(t *token, speculative bool) *resource {
	return d.preloadLink(preloadLink{
		base: t.base, href: t.attribute("href"), as: t.word("as"), mime: t.word("type"),
		srcset: t.attribute("imagesrcset"), sizes: t.attribute("imagesizes"),
		hint: t.word("fetchpriority"), initiator: d.parserInitiator(t), speculative: speculative,
	})
}

// insertedLink handles a link element in the parser.
func (d *document) insertedLink(t *token) {
	rel := strings.Fields(t.word("rel"))
	href := t.attribute("href")
	if href == "" {
		return
	}
	switch {
	case slices.Contains(rel, "stylesheet"):
		d.linkSheet(t, href, slices.Contains(rel, "alternate"))
	case !d.page.view.mediaMatches(t.attribute("media")):
	case slices.Contains(rel, "preload"):
		r := d.preloadTag(t, false)
		if r != nil && r.Kind == Stylesheet && strings.Contains(t.word("onload"), "stylesheet") {
			// It becomes a stylesheet once loaded, so nothing waits for it.
			d.addSheet(&sheet{resource: r, applies: true})
		}
	case slices.Contains(rel, "modulepreload"):
		if url, ok := resolve(t.base, href); ok {
			d.ask(want{url: url, kind: Script, link: true, initiator: d.parserInitiator(t), priority: d.priority(Script, urgency{module: true, link: true})})
		}
	case slices.Contains(rel, "prefetch"):
		if url, ok := resolve(t.base, href); ok {
			d.ask(want{url: url, kind: Prefetch, free: true, priority: d.priority(Prefetch, urgency{}), initiator: d.parserInitiator(t)})
		}
	}
}

func styleType(t string) bool { return t == "" || strings.HasPrefix(t, "text/css") }

// preloadLink is a preload from a link element or a Link field.
type preloadLink struct {
	base, href, as, mime, srcset, sizes, hint string
	initiator                                 Initiator
	speculative                               bool
}

// preloadKinds are the values of "as" that Chromium preloads
// (PreloadHelper::GetResourceTypeFromAsAttribute in
// third_party/blink/renderer/core/loader/preload_helper.cc).
var preloadKinds = map[string]Kind{"image": Image, "script": Script, "style": Stylesheet, "font": Font, "track": Track, "fetch": Other}

func (d *document) preloadLink(l preloadLink) *resource {
	kind, ok := preloadKinds[l.as]
	if !ok {
		return nil
	}
	reference := l.href
	switch kind {
	case Image:
		if !imageType(l.mime) {
			return nil
		}
		size := d.page.view.width
		if l.sizes != "" {
			size = d.page.view.sourceSize(l.sizes)
		}
		reference = d.page.view.bestSource(l.href, l.srcset, size)
	case Stylesheet:
		if !styleType(l.mime) {
			return nil
		}
	case Font:
		if l.mime != "" && !strings.Contains(l.mime, "font") && !strings.Contains(l.mime, "otf") && !strings.Contains(l.mime, "ttf") {
			return nil
		}
	}
	url, ok := resolve(l.base, reference)
	if !ok || reference == "" {
		return nil
	}
	return d.ask(want{
		url: url, kind: kind, link: true, initiator: l.initiator,
		priority: d.priority(kind, urgency{speculative: l.speculative, link: true, hint: l.hint}),
	})
}

// preloadLinks handles Link fields (RFC 8288).
func (d *document) preloadLinks(fields []string, initiator string) {
	for _, field := range fields {
		for reference, parameters := range linkValues(field) {
			if !d.page.view.mediaMatches(parameters["media"]) {
				continue
			}
			from := Initiator{Type: initiator, URL: d.url}
			rel := strings.Fields(strings.ToLower(parameters["rel"]))
			switch {
			case slices.Contains(rel, "preload"):
				d.preloadLink(preloadLink{
					base: d.base, href: reference, as: strings.ToLower(parameters["as"]), mime: strings.ToLower(parameters["type"]),
					srcset: parameters["imagesrcset"], sizes: parameters["imagesizes"], hint: strings.ToLower(parameters["fetchpriority"]),
					initiator: from,
				})
			case slices.Contains(rel, "modulepreload"):
				if url, ok := resolve(d.base, reference); ok {
					d.ask(want{url: url, kind: Script, link: true, initiator: from, priority: d.priority(Script, urgency{module: true, link: true})})
				}
			case slices.Contains(rel, "prefetch"):
				if url, ok := resolve(d.base, reference); ok {
					d.ask(want{url: url, kind: Prefetch, free: true, initiator: from, priority: d.priority(Prefetch, urgency{})})
				}
			}
		}
	}
}

// linkValues parses a Link field into targets and their parameters.
func linkValues(field string) func(yield func(string, map[string]string) bool) {
	return func(yield func(string, map[string]string) bool) {
		for {
			_, rest, ok := strings.Cut(field, "<")
			if !ok {
				return
			}
			reference, rest, ok := strings.Cut(rest, ">")
			if !ok {
				return
			}
			parameters := map[string]string{}
			for rest = strings.TrimLeft(rest, " \t"); strings.HasPrefix(rest, ";"); rest = strings.TrimLeft(rest, " \t") {
				var name, value string
				name, value, rest = linkParameter(strings.TrimLeft(rest[1:], " \t"))
				if _, has := parameters[name]; !has {
					parameters[name] = value
				}
			}
			if !yield(strings.TrimSpace(reference), parameters) {
				return
			}
			field = rest
		}
	}
}

// linkParameter parses `name`, `name=token` or `name="string"`.
func linkParameter(s string) (name, value, rest string) {
	end := strings.IndexAny(s, "=;,")
	if end < 0 {
		return strings.ToLower(strings.TrimSpace(s)), "", ""
	}
	name = strings.ToLower(strings.TrimSpace(s[:end]))
	if s[end] != '=' {
		return name, "", s[end:]
	}
	s = strings.TrimLeft(s[end+1:], " \t")
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexAny(s, ";,")
		if end < 0 {
			end = len(s)
		}
		return name, strings.TrimSpace(s[:end]), s[end:]
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return name, b.String(), s[i+1:]
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return name, b.String(), ""
}
