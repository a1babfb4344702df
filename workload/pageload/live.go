package pageload

import (
	"time"

	"wiretime/evidence"
	"wiretime/loader/page"
	"wiretime/protocol"
	"wiretime/server"
	"wiretime/study"
	"wiretime/workload"
)

// Guesses about a real page, of which nothing is known.
const (
	liveDuration = 5 * time.Second
	liveCapture  = 4 << 20
)

// bindLive binds a load of a real page.
func (b *bound) bindLive() (j workload.Job, err error) {
	if b.protocol, err = protocol.Lookup(b.cell.Over()); err != nil {
		return j, err
	}
	j = workload.Job{
		Order: b.orderLive, Scheme: b.protocol.Scheme, Headline: "onload", Capture: liveCapture,
		// Loads share this machine's access to the network, so each has it to itself.
		Estimate: workload.Estimate{Processor: liveDuration, Duration: liveDuration},
		Evidence: evidence.Evidence{Protocol: b.cell.Over(), Visit: study.VisitCold, NoServerLog: true, TearDown: b.Options.TearDown},
	}
	if why := b.protocol.NoBrowser; why != "" && IsBrowser(b.cell.By()) {
		j.Unsupported = why
	} else {
		j.Unsupported = b.checkStrategy()
	}
	return j, nil
}

func (b *bound) orderLive(id string) workload.Order {
	c, o := b.cell, b.Options
	return &Order{
		Loader: c.By(), Protocol: c.Over(), Server: server.Own, URL: c.Subject(), Path: c.Network, Seed: b.seed, Timeout: o.Timeout,
		CPU:     page.CPU{ParsePerKB: o.CPU.Parse, StylePerKB: o.CPU.Style, ScriptPerKB: o.CPU.Script, Scale: o.CPU.Scale},
		Comment: "load " + id + ", " + c.Key(),
		Visit:   study.VisitCold, Strategy: c.On(study.AxisStrategy), TearDown: o.TearDown,
	}
}
