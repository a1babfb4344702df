package runner

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"

	"wiretime/network"
	"wiretime/protocol"
	"wiretime/server"
	"wiretime/site"
	"wiretime/station"
	"wiretime/study"
)

// loadShare is how much of the machine loads may keep busy on average. The rest
// is what keeps packets punctual when loads do their work at the same moment.
const loadShare = 0.5

// The cost of a load, from loads of the built-in site by Chromium on two cores
// of 2024: what a page costs the processor however slow its path is, and what
// each resource adds.
const (
	pageCost     = 350 * time.Millisecond
	resourceCost = 4 * time.Millisecond
	// Without a browser.
	fetchCost         = 150 * time.Millisecond
	fetchResourceCost = 2500 * time.Microsecond
)

// fixedTime is what a load takes beside the page's own time: a fresh tab, the
// silence at its end, reading the capture back.
const fixedTime = 300 * time.Millisecond

// estimate is what a load is expected to take.
type estimate struct {
	processor time.Duration // of one core
	duration  time.Duration
	cores     float64 // that loads like this one share
}

// work is what the load adds to the duration of a run that always has enough
// loads to keep its cores busy, if it takes that long.
func (e estimate) work(took time.Duration) time.Duration {
	return time.Duration(float64(took) * min(e.share(), e.cores) / e.cores)
}

// share is the part of one core that the load keeps busy while it lasts.
func (e estimate) share() float64 { return float64(e.processor) / float64(e.duration) }

// What loads cost in a guest, where no time is spent waiting.
const (
	virtualPage         = 600 * time.Millisecond
	virtualResource     = 10 * time.Millisecond
	virtualFetch        = 20 * time.Millisecond
	virtualFetchRequest = 1500 * time.Microsecond
)

// estimateVirtual expects QUIC, whose packets each pass through both programs, to
// cost twice what TCP does.
func estimateVirtual(loader, visit string, s *site.Site, p protocol.Protocol) estimate {
	cost := virtualPage + time.Duration(len(s.Resources))*virtualResource
	if !station.IsBrowser(loader) {
		cost = virtualFetch + time.Duration(len(s.Resources))*virtualFetchRequest
	}
	if p.Transport == "udp" {
		cost *= 2
	}
	return estimate{processor: cost, duration: cost, cores: float64(cores())}.whole(visit, s, 0)
}

// whole makes the estimate of one page that of a load, which may have several
// pages, with time to think between those of a journey, and goes twice over all of
// them if an earlier visit comes first.
func (e estimate) whole(visit string, s *site.Site, think time.Duration) estimate {
	visits := 1
	if visit != study.VisitCold {
		visits = 2
	}
	pages, pauses := visits*(1+len(s.Journey)+len(s.Tabs)), visits*len(s.Journey)
	e.processor = time.Duration(pages) * e.processor
	e.duration = time.Duration(pages)*e.duration + time.Duration(pauses)*think
	return e
}

// starting adds what it takes to start somebody else's server, which every load does.
func (e estimate) starting(k server.Kind) estimate {
	e.processor += k.Starts
	e.duration += k.Starts
	return e
}

// browserConnections is how many connections per host browsers keep over
// HTTP/1.1, where each carries one request at a time.
const browserConnections = 6

// estimateLoad expects a page to take six round trips and the time its bytes
// need on the first access link or, where connections carry one request at a
// time, the round trips that its requests have to queue for; and never less than
// its processor time. It only decides how many loads run side by side; a load
// that was late for company is repeated alone.
func estimateLoad(loader, visit string, path network.Path, s *site.Site, p protocol.Protocol, think time.Duration) estimate {
	var size int64
	for _, r := range s.Resources {
		size += r.Size
	}
	down, up := path.Access[0].Down, path.Access[0].Up
	rtt := down.Delay + up.Delay
	e := estimate{cores: realCores(), processor: pageCost + time.Duration(len(s.Resources))*resourceCost}
	if !station.IsBrowser(loader) {
		e.processor = fetchCost + time.Duration(len(s.Resources))*fetchResourceCost
	}
	var transfer, queueing time.Duration
	if rate := int64(down.Rate); rate > 0 {
		transfer = time.Duration(float64(size) * 8e9 / float64(rate))
	}
	if p.Spoken == "http/1.1" {
		rounds := len(s.Resources) / (browserConnections * len(s.Origins()))
		queueing = time.Duration(rounds) * rtt
	}
	e.duration = max(fixedTime+6*rtt+max(transfer, queueing), e.processor)
	return e.whole(visit, s, think)
}

// budget hands out shares of the machine in the order in which they are asked
// for, so that the plan's order is kept and no load waits for ever.
type budget struct {
	whole   float64 // in cores
	permits *semaphore.Weighted
}

// permit is the smallest share: a thousandth of a core.
const permit = 1e-3

func newBudget(whole float64) *budget {
	return &budget{whole, semaphore.NewWeighted(int64(whole / permit))}
}

func (b *budget) permitsFor(share float64) int64 {
	return int64(min(share, b.whole) / permit)
}

// take waits until share is free; more than the whole means the whole.
func (b *budget) take(ctx context.Context, share float64) error {
	if err := b.permits.Acquire(ctx, b.permitsFor(share)); err != nil {
		return context.Cause(ctx)
	}
	return nil
}

// give returns what take took.
func (b *budget) give(share float64) { b.permits.Release(b.permitsFor(share)) }

// pace tells how long the rest of a run will take, from what its loads took so
// far.
type pace struct {
	planned, done int
	waiting       map[*job]bool
	took          map[string][]time.Duration // by cell
}

func newPace(queue []*job, planned int) *pace {
	p := &pace{planned: planned, done: planned - len(queue), waiting: map[*job]bool{}, took: map[string][]time.Duration{}}
	for _, j := range queue {
		p.waiting[j] = true
	}
	return p
}

// note takes an attempt into account.
func (p *pace) note(j *job, took time.Duration, final bool) (done, planned int, remaining time.Duration) {
	p.took[j.planned.Cell.Key()] = append(p.took[j.planned.Cell.Key()], took)
	if final {
		delete(p.waiting, j)
		p.done++
	}
	// Loads fill the machine like water: each needs its share for its time.
	for w := range p.waiting {
		remaining += w.estimate.work(p.expected(w))
	}
	return p.done, p.planned, remaining
}

// expected is the mean of what the cell's loads took so far, or an estimate.
func (p *pace) expected(j *job) time.Duration {
	seen := p.took[j.planned.Cell.Key()]
	if len(seen) == 0 {
		return j.estimate.duration
	}
	var sum time.Duration
	for _, d := range seen {
		sum += d
	}
	return sum / time.Duration(len(seen))
}
