package upload

import (
	"time"

	"wiretime/network"
	"wiretime/protocol"
	"wiretime/site"
	"wiretime/study"
	"wiretime/workload"
	"wiretime/workload/pageload"
)

// pace is how many octets per second one core moves through both programs, both kernels and the emulator, as for
// streams. QUIC takes twice as long, since both programs handle each packet.
const pace = 20_000_000

// withUpload adds an upload to the estimate of the page that makes it. A path without a rate adds no time.
func withUpload(e workload.Estimate, c study.Cell, octets int64) workload.Estimate {
	cost := at(octets, 8*pace)
	if p, err := protocol.Lookup(c.Over()); err == nil && p.Transport == "udp" {
		cost *= 2
	}
	e.Processor += cost
	wait := cost
	if rate := c.Network.Access[0].Up.Rate; c.Clock() != study.ClockVirtual && rate > 0 {
		wait = max(cost, at(octets, rate))
	}
	e.Duration += wait
	return e
}

// at returns how long octets take at a rate.
func at(octets int64, rate network.BitRate) time.Duration {
	return time.Duration(float64(octets) * 8 / float64(rate) * float64(time.Second))
}

// Costs implements workload.Workload. It returns nil if the reference is invalid, an error that Bind reports.
func (Workload) Costs(c study.Cell, clock string, _ *site.Site, o study.Options) []workload.Estimate {
	octets, err := ParseReference(c.Subject())
	if err != nil {
		return nil
	}
	page, err := site.Upload(octets)
	if err != nil {
		return nil
	}
	all := pageload.Workload{}.Costs(asPage(c), clock, page, o)
	for i, p := range protocol.All() {
		all[i] = withUpload(all[i], c.With(study.AxisProtocol, p.Name).With(study.AxisClock, clock), octets)
	}
	return all
}

// captureSize returns how many octets an upload adds to a capture: each packet at both ends, and an eighth more for
// headers and acknowledgements.
func captureSize(octets int64) int64 { return 2 * (octets + octets/8) }
