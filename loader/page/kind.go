package page

// Kind says what a resource is used for.
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
	Prefetch // for a later page
	SVG      // a document that styles and use elements refer to
	Other    // data that scripts will fetch, by preload
)

var kindNames = [...]string{
	Document: "document", Frame: "document", Stylesheet: "stylesheet", Script: "script", Image: "image", Font: "font",
	Media: "media", Track: "texttrack", Manifest: "manifest", Fetch: "fetch", XHR: "xhr", Ping: "ping",
	Prefetch: "other", SVG: "other", Other: "other",
}

// String returns CDP's resource type in lower case, as in HAR's _resourceType.
func (k Kind) String() string { return kindNames[k] }

// KindOf returns the kind of a lower-case CDP resource type. A "document" is a
// Frame, since only a page's first request is the Document. Types without a
// kind are Other.
func KindOf(resourceType string) Kind {
	for k := Frame; k < Prefetch; k++ {
		if kindNames[k] == resourceType {
			return k
		}
	}
	return Other
}
