package metric

import (
	"time"

	"wiretime/evidence"
	"wiretime/network"
	"wiretime/study"
)

var pathRate = Metric{
	study.Metric{
		Name: "path_rate", Unit: "Mbit/s", Title: "Rate offered",
		Definition: "Where the path follows a ride or a trace: what its link down could have carried per second, on average, from navigationStart until the last byte of the load, however much was sent. " +
			"While the link is down it offers nothing.",
	},
	func(ev *evidence.Evidence) (float64, bool) {
		o, ok := offered(ev)
		return o.Rate / 1e6, ok
	},
}

var pathOutage = Metric{
	study.Metric{
		Name: "path_outage", Unit: "ms", Title: "Outage met",
		Definition: "Where the path follows a ride or a trace: for how long, from navigationStart until the last byte of the load, the link down was in an outage. " +
			"In a trace, a second or more without a delivery opportunity is one.",
	},
	func(ev *evidence.Evidence) (float64, bool) {
		o, ok := offered(ev)
		return milliseconds(int64(o.Outage)), ok
	},
}

var pltClear = Metric{
	study.Metric{
		Name: "plt_clear", Unit: "ms", Title: "PLT without outage",
		Definition: "Where the path follows a ride or a trace: the PLT of a load that met no outage.",
	},
	func(ev *evidence.Evidence) (float64, bool) {
		if o, ok := offered(ev); !ok || o.Outage > 0 {
			return 0, false
		}
		return plt.Of(ev)
	},
}

// connectionsOutlast is how long after an outage has begun a connection may end because of it: QUIC's
// idle timeout of 30 s, which restarts with a packet that is sent in vain, and as much again between loads.
const connectionsOutlast = time.Minute

// metOutage reports whether a path that moves was in an outage while the page loaded, or in the time
// before.
func metOutage(ev *evidence.Evidence, before time.Duration) bool {
	o, ok := offeredSince(ev, before)
	return ok && o.Outage > 0
}

// offered returns what a path that moves offered to the load.
func offered(ev *evidence.Evidence) (network.Offer, bool) { return offeredSince(ev, 0) }

// offeredSince is offered, with some time before the load.
func offeredSince(ev *evidence.Evidence, before time.Duration) (network.Offer, bool) {
	spans := spans(ev)
	if ev.Path == nil || ev.Epoch == 0 || len(spans) == 0 || !ev.Path.Moves() {
		return network.Offer{}, false
	}
	since := func(t time.Time) time.Duration { return time.Duration(t.UnixNano() - ev.Epoch) }
	return ev.Path.Offered(network.Down, since(spans[0].from)-before, since(spans[len(spans)-1].to))
}
