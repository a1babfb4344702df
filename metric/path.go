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
		Definition: "Where the path follows a ride or a trace: what its link down could have carried per second, on average, from navigationStart until the last byte of the load, whatever passed. " +
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
		Definition: "Where the path follows a ride or a trace: for how long, from navigationStart until the last byte of the load, the link down was in an outage.",
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

// offered returns what a path that moves offered to the load.
func offered(ev *evidence.Evidence) (network.Offer, bool) {
	spans := spans(ev)
	if ev.Path == nil || ev.Epoch == 0 || len(spans) == 0 || !ev.Path.Moves() {
		return network.Offer{}, false
	}
	since := func(t time.Time) time.Duration { return time.Duration(t.UnixNano() - ev.Epoch) }
	return ev.Path.Offered(network.Down, since(spans[0].from), since(spans[len(spans)-1].to))
}
