package capture

// Timing holds the browser's own times of a load, from Navigation Timing (W3C,
// Level 2), Paint Timing and Largest Contentful Paint. All but NavigationStart
// are ms since navigationStart, and -1 where the browser reported none.
type Timing struct {
	NavigationStart int64   `json:"navigationStart"` // ns since the Unix epoch
	DCL             float64 `json:"dcl"`             // domContentLoadedEventStart
	OnLoad          float64 `json:"onLoad"`          // loadEventStart
	TTFB            float64 `json:"ttfb"`            // responseStart of the document
	FCP             float64 `json:"fcp"`             // first-contentful-paint
	LCP             float64 `json:"lcp"`             // largest-contentful-paint
	LastResource    float64 `json:"lastResource"`    // latest responseEnd of a resource
}
