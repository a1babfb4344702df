package recording

import (
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
)

// These are the kinds of requests that stubs distinguish, named as in the Chrome DevTools
// Protocol, in lower case.
const (
	document   = "document"
	stylesheet = "stylesheet"
	script     = "script"
	image      = "image"
	font       = "font"
	media      = "media"
	ping       = "ping"
	xhr        = "xhr"
	fetch      = "fetch"
)

// synonyms maps other tools' names to kinds.
var synonyms = map[string]string{
	"subdocument": document, "sub_frame": document, "main_frame": document, "iframe": document, "frame": document, "html": document, "doc": document,
	"css": stylesheet, "style": stylesheet, "js": script, "javascript": script, "img": image, "imageset": image, "favicon": image,
	"webfont": font, "audio": media, "video": media, "track": "texttrack", "beacon": ping, "xmlhttprequest": xhr, "ajax": xhr,
	"document": document, "stylesheet": stylesheet, "script": script, "image": image, "font": font, "media": media, "ping": ping,
	"xhr": xhr, "fetch": fetch, "texttrack": "texttrack", "manifest": "manifest", "eventsource": "eventsource", "prefetch": "prefetch",
	"cspviolationreport": ping,
}

// byExtension gives the kind if the media type does not.
var byExtension = map[string]string{
	".css": stylesheet, ".js": script, ".mjs": script, ".png": image, ".gif": image, ".jpg": image, ".jpeg": image, ".webp": image, ".avif": image,
	".svg": image, ".ico": image, ".bmp": image, ".woff": font, ".woff2": font, ".ttf": font, ".otf": font, ".eot": font,
	".mp4": media, ".webm": media, ".mp3": media, ".ogg": media, ".m4a": media, ".json": fetch, ".xml": fetch, ".txt": fetch,
}

// mediaOf returns a media type in lower case without parameters.
func mediaOf(contentType string) string {
	const most = 1 << 10 // octets of a field that may be valid
	contentType = contentType[:min(len(contentType), most)]
	t, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		t, _, _ = strings.Cut(contentType, ";")
	}
	return strings.ToLower(strings.TrimSpace(t))
}

// recordedType returns the media type of the response as recorded. It reads the header once,
// since all that a document requests depends on the document's type.
func (n *node) recordedType() string {
	if n.typed != n.Exchange {
		n.typed, n.stated = n.Exchange, n.statedType()
	}
	return n.stated
}

func (n *node) statedType() string {
	if t := mediaOf(fieldOf(n.Header, "content-type")); t != "" {
		return t
	}
	if validType(n.MIME) {
		return mediaOf(n.MIME)
	}
	return ""
}

func isScript(media string) bool {
	return strings.HasSuffix(media, "javascript") || strings.HasSuffix(media, "ecmascript") || media == "text/jscript"
}

func isHTML(media string) bool { return media == "text/html" || media == "application/xhtml+xml" }

// isText reports whether a media type is text that may name hosts.
func isText(media string) bool {
	return strings.HasPrefix(media, "text/") || isScript(media) || isXML(media) || isJSON(media)
}

func isXML(media string) bool { return media == "application/xml" || strings.HasSuffix(media, "+xml") }

func isJSON(media string) bool {
	return media == "application/json" || strings.HasSuffix(media, "+json")
}

// isDocument reports whether a node is a document that makes requests.
func (n *node) isDocument() bool {
	if n.kind != document || n.status == http.StatusNoContent {
		return false
	}
	return isHTML(n.mediaType()) || n.mediaType() == "" && isHTML(n.recordedType())
}

// tellKinds determines the kind of each request. A redirect has the kind of its target.
func (m *maker) tellKinds() {
	for _, n := range m.nodes {
		n.kind = synonyms[n.Kind]
		end := n.end()
		if n.kind == "" {
			n.kind = kindOf(end)
		}
		// A frame cannot show a response without content.
		if n.kind == document && end.status == http.StatusNoContent || n.method != http.MethodGet && !slices.Contains([]string{xhr, fetch, ping, document}, n.kind) {
			n.kind = fetch
		}
	}
	for _, n := range m.nodes {
		for at := n; at.redirects; at = at.to {
			at.to.kind = n.kind
		}
	}
}

// kindOf derives a response's kind from its media type or URL.
func kindOf(n *node) string {
	t := n.recordedType()
	switch {
	case n.method != http.MethodGet:
		return fetch
	case t == "text/css":
		return stylesheet
	case isScript(t):
		return script
	case strings.HasPrefix(t, "image/"):
		return image
	case strings.HasPrefix(t, "font/") || strings.Contains(t, "font") || t == "application/vnd.ms-fontobject":
		return font
	case strings.HasPrefix(t, "video/"), strings.HasPrefix(t, "audio/"):
		return media
	case isHTML(t):
		return document
	}
	p, _, _ := strings.Cut(n.url, "?")
	if k := byExtension[strings.ToLower(path.Ext(p))]; k != "" {
		return k
	}
	if n.status == http.StatusNoContent || n.made && n.Size == 0 {
		return image // a tracking pixel
	}
	return fetch
}

// mediaType returns the media type that a response needs to be used as its kind; empty
// means any.
func (n *node) mediaType() string {
	t := n.recordedType()
	if !n.made || n.status == http.StatusNoContent || n.redirects {
		return ""
	}
	switch n.kind {
	case document:
		if t != "text/html" && !strings.HasPrefix(t, "image/") && t != "text/plain" && !isJSON(t) {
			return "text/html"
		}
	case stylesheet:
		return "text/css"
	case script:
		if !isScript(t) {
			return "text/javascript"
		}
	case image:
		if !strings.HasPrefix(t, "image/") {
			return "image/gif"
		}
	case font:
		if strings.HasPrefix(t, "text/") {
			return "font/woff2"
		}
	}
	return t
}

// needsCORS reports whether the stubs request a node with CORS.
func (n *node) needsCORS() bool {
	return !n.beacon() && !slices.Contains([]string{document, stylesheet, script, image}, n.kind)
}
