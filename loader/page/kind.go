package page

// Kind is what a resource is for.
type Kind uint8

// The kinds of resources.
const (
	Document Kind = iota // the page itself
	Frame                // the document of an iframe, object or embed
	Stylesheet
	Script
	Image
	Font
	Media // audio and video
	Track // subtitles
	Manifest
	Fetch // fetch()
	XHR
	Ping     // sendBeacon() and ping attributes
	Prefetch // for a page to come
	SVG      // a document that styles and use elements refer to
	Other    // data that scripts will fetch, by preload
)

var kindNames = [...]string{
	Document: "document", Frame: "document", Stylesheet: "stylesheet", Script: "script", Image: "image", Font: "font",
	Media: "media", Track: "texttrack", Manifest: "manifest", Fetch: "fetch", XHR: "xhr", Ping: "ping",
	Prefetch: "other", SVG: "other", Other: "other",
}

// String is CDP's resource type in lower case, as HAR's _resourceType has it.
func (k Kind) String() string { return kindNames[k] }

// KindOf is the kind of a resource type as CDP names it, in lower case. A
// "document" is a Frame, since only a page's first request is the Document;
// types without a kind are Other.
func KindOf(resourceType string) Kind {
	for k := Frame; k < Prefetch; k++ {
		if kindNames[k] == resourceType {
			return k
		}
	}
	return Other
}
