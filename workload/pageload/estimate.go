package pageload

import (
	"time"

	"wiretime/network"
	"wiretime/protocol"
	"wiretime/site"
	"wiretime/study"
	"wiretime/workload"
)

// Costs implements workload.Workload.
func (Workload) Costs(c study.Cell, clock string, page *site.Site, _ study.Options) (all []workload.Estimate) {
	for _, p := range protocol.All() {
		if clock == study.ClockVirtual {
			all = append(all, estimateVirtual(c.By(), c.On(study.AxisVisit), page, p))
		} else {
			all = append(all, estimateReal(c.By(), c.On(study.AxisVisit), c.Network, page, p, 0))
		}
	}
	return all
}

// estimate returns what the load is expected to take. Every load starts its third-party server.
func (b *bound) estimate() (e workload.Estimate) {
	c := b.cell
	if c.Clock() == study.ClockVirtual {
		e = estimateVirtual(c.By(), c.On(study.AxisVisit), b.site, b.protocol)
	} else {
		e = estimateReal(c.By(), c.On(study.AxisVisit), c.Network, b.site, b.protocol, b.Options.ThinkTime)
	}
	e.Processor += b.server.Starts
	e.Duration += b.server.Starts
	return e
}

// Costs of a page load on the real clock, from loads of the built-in site by Chromium on two
// cores of 2024: what a page costs the processor however slow its path is, and what each
// resource adds.
const (
	pageCost     = 350 * time.Millisecond
	resourceCost = 4 * time.Millisecond
	// Without a browser.
	fetchCost         = 150 * time.Millisecond
	fetchResourceCost = 2500 * time.Microsecond
)

// Costs of a page load in a guest, where no time is spent waiting.
const (
	virtualPage         = 600 * time.Millisecond
	virtualResource     = 10 * time.Millisecond
	virtualFetch        = 20 * time.Millisecond
	virtualFetchRequest = 1500 * time.Microsecond
)

// estimateVirtual expects QUIC, whose packets each pass through both programs, to cost twice
// as much as TCP.
func estimateVirtual(loader, visit string, s *site.Site, p protocol.Protocol) workload.Estimate {
	cost := virtualPage + time.Duration(len(s.Resources))*virtualResource
	if !IsBrowser(loader) {
		cost = virtualFetch + time.Duration(len(s.Resources))*virtualFetchRequest
	}
	if p.Transport == "udp" {
		cost *= 2
	}
	return whole(workload.Estimate{Processor: cost, Duration: cost}, visit, s, 0)
}

// browserConnections is how many connections per host browsers open over HTTP/1.1, where each
// carries one request at a time.
const browserConnections = 6

// estimateReal expects a page to take six round trips and the time that its bytes need on the
// first access link or, where connections carry one request at a time, the round trips that
// its requests have to queue for. It never expects less than the processor time. The estimate
// only decides how many loads run side by side; a load that was disturbed is repeated with more
// room.
func estimateReal(loader, visit string, path network.Path, s *site.Site, p protocol.Protocol, think time.Duration) workload.Estimate {
	var size int64
	for _, r := range s.Resources {
		size += r.Size
	}
	down, up := path.Access[0].Down, path.Access[0].Up
	rtt := down.Delay + up.Delay
	e := workload.Estimate{Processor: pageCost + time.Duration(len(s.Resources))*resourceCost}
	if !IsBrowser(loader) {
		e.Processor = fetchCost + time.Duration(len(s.Resources))*fetchResourceCost
	}
	var transfer, queueing time.Duration
	if rate := int64(down.Rate); rate > 0 {
		transfer = time.Duration(float64(size) * 8e9 / float64(rate))
	}
	if p.Spoken == "http/1.1" {
		rounds := len(s.Resources) / (browserConnections * len(s.Origins()))
		queueing = time.Duration(rounds) * rtt
	}
	e.Duration = max(workload.Overhead+6*rtt+max(transfer, queueing), e.Processor)
	return whole(e, visit, s, think)
}

// whole turns the estimate of one page into that of a load. A load may have several pages, with
// time to think between those of a journey, and loads all of them twice if an earlier visit
// comes first.
func whole(e workload.Estimate, visit string, s *site.Site, think time.Duration) workload.Estimate {
	visits := 1
	if visit != study.VisitCold {
		visits = 2
	}
	pages, pauses := visits*(1+len(s.Journey)+len(s.Tabs)), visits*len(s.Journey)
	e.Processor = time.Duration(pages) * e.Processor
	e.Duration = time.Duration(pages)*e.Duration + time.Duration(pauses)*think
	return e
}

// captureSize expects each packet at both ends of the path: those with a resource's octets, and a few kilobytes beside them
// for its request, its headers and the acknowledgements. Losses, and pages that are loaded again, add to that.
func captureSize(s *site.Site) int64 {
	const ends, page, resource = 2, 64 << 10, 4 << 10
	size := int64(page)
	for _, r := range s.Resources {
		size += resource + r.Size + r.Size/8
	}
	return ends * size
}
