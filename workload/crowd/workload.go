package crowd

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"wiretime/evidence"
	"wiretime/loader/many"
	"wiretime/metric"
	"wiretime/network"
	"wiretime/protocol"
	"wiretime/server"
	"wiretime/site"
	"wiretime/study"
	"wiretime/workload"
)

// Workload implements workload.Workload for crowds.
type Workload struct{}

// Kind implements workload.Workload.
func (Workload) Kind() workload.Kind {
	return workload.Kind{Name: "Crowd", Study: study.Crowds(), Set: metric.Crowds(), Loopback: true}
}

// Network implements workload.Workload. Crowds have no path.
func (Workload) Network(study.Cell, *site.Site, study.Options) network.Path { return loopback() }

func loopback() network.Path {
	return network.Path{Name: "loopback", Source: "the loopback device of the lab's server", Note: "no path is emulated, and no packet is lost or delayed"}
}

// NewOrder implements workload.Workload.
func (Workload) NewOrder() workload.Order { return &Order{} }

// NewOutcome implements workload.Workload.
func (Workload) NewOutcome() workload.Outcome { return &Record{} }

// Costs implements workload.Workload. It returns nil: crowds do not run on the virtual clock, where processor
// time counts as zero, so there are no costs to compare.
func (Workload) Costs(study.Cell, string, *site.Site, study.Options) []workload.Estimate { return nil }

// bound is a planned load with what its cell names.
type bound struct {
	options  study.Options
	cell     study.Cell
	site     *site.Site
	row      protocol.Protocol
	server   server.Kind     // the zero value is Wiretime's own
	template server.Template // if the server is the study's own
}

// Bind implements workload.Workload.
func (Workload) Bind(c study.Cell, _ uint64, s workload.Setting) (j workload.Job, err error) {
	b := &bound{options: s.Options, cell: c}
	if s.Options.Crowd == nil {
		return j, fmt.Errorf("the load is a crowd, but the study has no options for crowds")
	}
	if b.site = s.Sites[c.On(study.AxisSite)]; b.site == nil {
		return j, fmt.Errorf("site %s was not opened", c.On(study.AxisSite))
	}
	if b.row, err = protocol.Lookup(c.Over()); err != nil {
		return j, err
	}
	if err := b.findServer(s.Servers); err != nil {
		return j, err
	}
	j = workload.Job{
		Order: b.order, Site: b.site, Scheme: b.row.Scheme, Estimate: b.estimate(), Headline: "took",
		Evidence: evidence.Evidence{Protocol: c.Over(), NoServerLog: true},
	}
	j.Program, j.Unsupported = b.supported()
	return j, nil
}

// findServer looks up the cell's server. Wiretime's own has no entry.
func (b *bound) findServer(own []server.Template) (err error) {
	name := b.cell.On(study.AxisServer)
	if name == server.Own {
		return nil
	}
	if i := slices.IndexFunc(own, func(t server.Template) bool { return t.Name == name }); i >= 0 {
		b.server, b.template = own[i].Kind(), own[i]
		return nil
	}
	b.server, err = server.Lookup(name)
	return err
}

func (b *bound) order(string) workload.Order {
	c, o := b.cell, b.options
	return &Order{
		Clients: c.Clients(), Idle: c.By() == study.ActivityIdle, Protocol: c.Over(), Server: c.On(study.AxisServer), Template: b.template,
		Pages: o.Crowd.Pages, Rest: o.Crowd.Rest, Congestion: c.On(study.AxisCongestion), Timeout: o.Timeout, Site: b.site,
	}
}

// supported returns why the load cannot run on this machine, "" if it can, and the program of its
// third-party server.
func (b *bound) supported() (program, why string) {
	c := b.cell
	switch {
	case c.Clock() == study.ClockVirtual:
		return "", "crowds are measured in processor time, which counts as zero on the virtual clock; use clock: real"
	case c.Unusual(study.AxisInitCwnd):
		return "", "crowds use the loopback device, where initcwnd cannot be set; use 10"
	case len(b.site.Journey)+len(b.site.Tabs) > 0:
		return "", "the site has several pages, but the clients of a crowd load one page; use a site of one page"
	case slices.ContainsFunc(b.site.Resources, func(r site.Resource) bool { return r.Method != http.MethodGet || len(r.Push) > 0 || r.Early }):
		return "", "the clients of a crowd do not support resources that are pushed, announced by Early Hints or not fetched by GET; use a site without them"
	}
	if why := checkFiles(c.Clients(), b.connections()); why != "" {
		return "", why
	}
	if b.server.Name == "" {
		return "", ""
	}
	if err := b.server.Supports(b.site, b.row); err != nil {
		return "", err.Error()
	}
	program, err := b.server.Find()
	if err != nil {
		return "", err.Error()
	}
	return program, ""
}

// connections returns how many connections each client opens.
func (b *bound) connections() int { return len(b.site.Origins()) * many.PerHost(b.row) }

// estimate returns roughly how long a load takes on two cores of 2024, including the start and the end of the
// server. It claims the whole machine, so that no other load runs at the same time.
func (b *bound) estimate() workload.Estimate {
	const (
		handshake = time.Millisecond
		request   = 150 * time.Microsecond
		busy      = 1000 // cores, more than any machine has
	)
	pages := b.cell.Clients()
	if b.cell.By() == study.ActivityActive {
		pages = max(pages, b.options.Crowd.Pages)
	}
	lasts := workload.Overhead + time.Second + b.server.Starts +
		time.Duration(b.cell.Clients()*b.connections())*handshake + time.Duration(pages*len(b.site.Resources))*request
	return workload.Estimate{Processor: busy * lasts, Duration: lasts}
}

// Workload implements workload.Order.
func (*Order) Workload() workload.Workload { return Workload{} }
