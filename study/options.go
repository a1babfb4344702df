package study

import "time"

// Options holds the settings that apply to every load of a study.
type Options struct {
	DNS       string // DNSEmulated or DNSInstant
	LateLimit Late
	// TakenLimit limits how much longer a load on the real clock may have become because
	// other programs took processor time: a share of the load's time, above 0, at most 1.
	TakenLimit float64
	Retries    int           // further attempts at an invalid or failed load
	Timeout    time.Duration // of each page, or of a stream
	ThinkTime  time.Duration // between the pages of a journey: from the end of one page until navigation to the next
	Fallback   string        // FallbackNone or FallbackH2

	// ServerWait makes servers take as long for each answer as they did when the site was
	// recorded. OriginRTT makes each origin as much farther away than the nearest one as it
	// was then.
	ServerWait, OriginRTT bool
	// Freeze shows scripts the time at which the site was recorded, and the same random
	// numbers in each load.
	Freeze bool

	// TearDown has the client close its connections over the path after the load, within the capture.
	TearDown bool

	// TCPRmem and TCPWmem set net.ipv4.tcp_rmem and tcp_wmem on both hosts, in bytes:
	// minimum, default, maximum.
	TCPRmem, TCPWmem [3]int
	CPU              CPU // the main thread of the built-in loader

	Slots   *Slots  // of the schedule that the study runs on; nil: none
	Session Session // of pages
	Stream  *Stream // settings for streams; nil for others
	Crowd   *Crowd  // settings for crowds; nil for others
}

// Late limits how late packets may leave the emulator.
type Late struct {
	// Share limits how far lateness can have moved onLoad, as a share of onLoad from 0 to 1.
	// With 0, only P99 applies.
	Share float64
	// P99 limits the 99th percentile of packet lateness for loads without an onLoad, and for
	// all loads if Share is 0.
	P99 time.Duration
}

// CPU models what work on a page costs the built-in loader, which runs no scripts. Each 1000
// octets of HTML, style sheet and script take Parse, Style and Script; a script with a
// recorded running time takes that time instead. Scale multiplies all of it. The zero value
// costs nothing.
type CPU struct {
	Parse, Style, Script time.Duration
	Scale                float64
}

// The kinds of DNS look-up.
const (
	DNSEmulated = "emulated" // a resolver behind the emulated path answers
	DNSInstant  = "instant"  // a resolver beside the client answers, without a round trip
)

// What a load over HTTP/3 falls back to for an origin that it cannot reach over UDP.
const (
	FallbackNone = "none" // nothing: the origin's resources fail
	FallbackH2   = "h2"
)
