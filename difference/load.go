package difference

import (
	"cmp"
	"strings"
	"time"

	"wiretime/capture"
	"wiretime/critical"
	"wiretime/evidence"
)

// Load says what the onLoad of one load was spent on.
type Load struct {
	ID       string
	OnLoad   int64 // ns; of several pages the sum
	Pages    int   // that have an onLoad
	Requests int   // resources on the critical paths that came over the network
	atOnce   bool  // a page began before the one before it had its onLoad
	spent    map[place]amount
	octets   [2]float64 // by direction: that arrived before onLoad
}

// place is where time of a load was spent.
type place struct {
	url   string
	cause Cause // never Bytes
	part  string
	isUp  bool // of Bandwidth
}

// compare orders places by their URLs, then by their causes and parts.
func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.url, q.url), cmp.Compare(p.cause, q.cause), cmp.Compare(p.part, q.part), cmp.Compare(direction(p.isUp), direction(q.isUp)))
}

// direction returns an index of arrays.
func direction(isUp bool) int {
	if isUp {
		return 0
	}
	return 1
}

// amount is the time, in ns, that was spent at a place, and the octets that the link served meanwhile, for Bandwidth.
type amount struct {
	time   int64
	octets float64
}

// Of reads what a load left, its HAR and its packets. It returns nil if no page has an onLoad. Without packets, only the
// client's time can be attributed.
func Of(id string, e *evidence.Evidence) *Load {
	l := &Load{ID: id, spent: map[place]amount{}}
	for _, b := range critical.BreakDown(e) {
		l.Pages++
		l.OnLoad += b.OnLoad
		l.Requests += b.Requests
		l.octets[direction(true)] += float64(b.Up)
		l.octets[direction(false)] += float64(b.Down)
		for _, s := range b.Shares {
			at := place{url: withoutScheme(s.URL)}
			at.cause, at.part = causeOf(s)
			at.isUp = at.cause == Bandwidth && s.Up
			a := l.spent[at]
			a.time += s.Time
			if at.cause == Bandwidth {
				a.octets += s.Octets
			}
			l.spent[at] = a
		}
	}
	if l.Pages == 0 {
		return nil
	}
	l.atOnce = overlap(e.HAR.Log.Pages)
	return l
}

// overlap reports whether a page began before the one before it had its onLoad, as pages in tabs do.
func overlap(pages []capture.Page) bool {
	for i, p := range pages[1:] {
		if before := pages[i]; p.Started.Before(before.Started.Add(time.Duration(before.Timings.OnLoad * float64(time.Millisecond)))) {
			return true
		}
	}
	return false
}

// withoutScheme cuts the scheme off a URL: a page has the same resources over http and https.
func withoutScheme(url string) string {
	if _, rest, ok := strings.Cut(url, "://"); ok {
		return rest
	}
	return url
}

// causeOf returns what a share of a critical path counts as, and what it is more closely, "" if nothing is known.
func causeOf(s critical.Share) (Cause, string) {
	if !s.Seen {
		return NotAttributed, ""
	}
	switch s.Kind {
	case critical.SetUp:
		return SetUp, map[critical.Detail]string{
			critical.LookUp: "name look-up", critical.TCPHandshake: "TCP handshake", critical.TLSHandshake: "TLS handshake",
			critical.QUICHandshake: "QUIC handshake",
		}[s.Detail]
	case critical.Delay:
		return Distance, ""
	case critical.Server:
		return Server, ""
	case critical.Window:
		if s.Detail == critical.AfterLoss {
			return Windows, "after a loss"
		}
		return Windows, "before any loss"
	case critical.Bandwidth, critical.Queueing:
		switch s.Detail {
		case critical.Overtook:
			return Priorities, ""
		case critical.Earlier:
			return Queue, "less urgent responses"
		case critical.Foreign:
			return Queue, "other traffic"
		}
		return Bandwidth, wayOf(s)
	case critical.Loss:
		switch s.Phase {
		case critical.Send, critical.Wait, critical.Receive:
			return LossRecovery, wayOf(s)
		}
		return LossRecovery, "during set-up"
	case critical.HeadOfLine:
		return HeadOfLine, ""
	case critical.Client:
		switch s.Phase {
		case critical.Blocked:
			return Client, "requests held back"
		case critical.ClientPhase:
			return Client, "between requests"
		}
		return Client, "within requests"
	}
	return NotAttributed, ""
}

func wayOf(s critical.Share) string {
	if s.Up {
		return "uplink"
	}
	return "downlink"
}

// sums returns the load's time by cause, Bytes included in Bandwidth.
func (l *Load) sums() (sums [causes]int64) {
	for at, a := range l.spent {
		sums[at.cause] += a.time
	}
	return sums
}
