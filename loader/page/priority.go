package page

// Priority is how urgently a page wants a resource, in the terms of Chromium's
// renderer and CDP. The network stack calls the same five IDLE, LOWEST, LOW,
// MEDIUM and HIGHEST.
type Priority uint8

// The priorities, lowest first.
const (
	VeryLow Priority = iota
	Low
	Medium
	High
	VeryHigh
)

var priorityNames = [...]string{VeryLow: "VeryLow", Low: "Low", Medium: "Medium", High: "High", VeryHigh: "VeryHigh"}

// String returns CDP's Network.ResourcePriority.
func (p Priority) String() string { return priorityNames[p] }

// ofKind implements TypeToPriority of
// third_party/blink/renderer/platform/loader/fetch/resource_fetcher.cc.
// Documents of frames are navigations, which are VeryHigh.
func ofKind(k Kind) Priority {
	switch k {
	case Document, Frame, Stylesheet, Font:
		return VeryHigh
	case Script, Fetch, XHR, Other:
		return High
	case Manifest:
		return Medium
	case Image, Media, Track, SVG:
		return Low
	}
	return VeryLow // Ping, Prefetch
}

// urgency holds the inputs of a request's priority in Chromium.
type urgency struct {
	speculative    bool // found by the preload scanner
	link           bool // a preload
	lazy           bool // async and deferred scripts, stylesheets for other media
	module         bool
	visible        bool
	renderBlocking bool
	small          bool   // an image known to be small
	hint           string // the fetchpriority attribute
}

// urgencyState is how a document's earlier requests affect the next one.
type urgencyState struct {
	imageAsked bool // whatever the scanner finds from now on is late in the document
	boosted    int  // images
}

// boostedImages is kBoostedImageTarget of resource_fetcher.cc.
const boostedImages = 5

// priority implements ResourceFetcher::ComputeLoadPriority of
// resource_fetcher.cc, with AdjustPriorityWithPriorityHintAndRenderBlocking of
// resource_request_utils.cc and AdjustImagePriority.
func (d *document) priority(k Kind, u urgency) Priority {
	state := &d.urgency
	p := ofKind(k)
	if u.visible {
		p = High
	}
	if k == Image && !u.link {
		state.imageAsked = true
	}
	late := u.speculative && state.imageAsked
	switch {
	case k == Font && u.link:
		p = High
	case k == Script:
		switch {
		case u.module:
		case u.lazy:
			p = Low
		case late:
			p = Medium
		}
	case k == Stylesheet && late:
		p = Medium
	case u.lazy:
		p = VeryLow
	}

	switch u.hint {
	case "high":
		p = max(p, High)
	case "low":
		if k == Stylesheet && p == VeryHigh {
			p = High
		} else {
			p = min(p, Low)
		}
	}
	if u.renderBlocking {
		p = max(p, High)
	}

	if k == Image && u.speculative && !u.link && !u.small && state.boosted < boostedImages {
		state.boosted++
		if u.hint != "high" && u.hint != "low" {
			p = max(p, Medium)
		}
	}
	return p
}
