package station

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"wiretime/loader/browser"
	"wiretime/loader/builtin"
	"wiretime/loader/chromium"
	"wiretime/loader/fetch"
	"wiretime/loader/page"
	"wiretime/loader/session"
	"wiretime/protocol"
	"wiretime/site"
	"wiretime/workload/pageload"
)

var _ pageload.Station = (*Station)(nil)

// LoadPage implements pageload.Station; pageload.Order.RunOn calls it, since only the station has
// the browsers that the load needs a session of. Chromium loads pages of
// HSTS-preloaded hosts over TLS only. Over http such a host gets another name, and the page is
// loaded again. The station remembers the name, and the HAR has it.
func (s *Station) LoadPage(ctx context.Context, load pageload.Load) (*pageload.Record, error) {
	terms, err := load.Terms()
	if err != nil {
		return nil, err
	}
	var record *pageload.Record
	if load.Place.Load > 1 {
		record, err = s.nextLoad(ctx, load)
	} else {
		record, err = s.loadRenamed(ctx, load, terms)
	}
	if s.sitting == nil && len(load.Path.Handovers()) > 0 {
		// The browser has seen its network change and change back. It reacts within
		// a second or two, which would disturb the next load.
		err = errors.Join(err, s.closeBrowsers())
	}
	return record, err
}

// loadRenamed runs a load, and again each time that Chromium refuses to load from one of the
// site's hosts in the clear, with another name for that host.
func (s *Station) loadRenamed(ctx context.Context, load pageload.Load, terms pageload.Terms) (record *pageload.Record, err error) {
	from := load.Site
	for range 1 + len(from.Origins()) {
		if err := s.endSession(ctx); err != nil { // an earlier one, or that of the attempt with the old name
			return nil, err
		}
		if renamed := s.renamed[from]; renamed != nil && load.Loader == pageload.Chromium && terms.Protocol.Scheme == "http" {
			load.Site = renamed
		}
		if load.Session, err = s.session(ctx, load, terms); err != nil {
			return nil, err
		}
		if load.Served, err = s.over(load.Site, terms.Protocol.Scheme); err != nil {
			return nil, errors.Join(err, load.Session.Close())
		}
		record, err = s.run(ctx, load)
		only := new(chromium.TLSOnlyError)
		if err != nil || !errors.As(record.LoadError, &only) || !slices.Contains(load.Site.Origins(), only.Host) {
			return record, err
		}
		if s.renamed[from], err = load.Site.RenameDomain(only.Host); err != nil {
			record.LoadError = errors.Join(record.LoadError, err)
			return record, nil
		}
	}
	return record, nil
}

// servedSite is a site over a scheme.
type servedSite struct {
	site   *site.Site
	scheme string
}

// over returns a site as it is served over a scheme. The runner's sites already are: it makes the
// copies before the loads, because that takes processor time (runner/sites.go), and Site.Over
// changes nothing in them. Other sites come as they were recorded.
func (s *Station) over(from *site.Site, scheme string) (*site.Site, error) {
	k := servedSite{from, scheme}
	if served := s.served[k]; served != nil {
		return served, nil
	}
	served, err := from.Over(scheme)
	if err == nil {
		s.served[k] = served
	}
	return served, err
}

// session opens a session of the order's loader.
func (s *Station) session(ctx context.Context, load pageload.Load, terms pageload.Terms) (pageload.Session, error) {
	switch load.Loader {
	case pageload.Builtin:
		return s.openBuiltin(load, terms)
	case pageload.Fetch:
		how := fetch.Terms{Windows: terms.ClientWindow, NoteWindows: noted(load), TLS12: terms.TLS12, PlainHeaders: terms.PlainHeaders}
		if load.Upload > 0 {
			return s.fetch.Upload(terms.Protocol, load.Upload, how), nil
		}
		urls := make([]string, len(load.Site.Resources))
		for i := range load.Site.Resources {
			urls[i] = load.Site.Resources[i].URL
		}
		return s.fetch.Open(terms.Protocol, urls, how), nil
	}
	b, err := s.browser(ctx, engine{loader: load.Loader, quic: terms.Protocol.Transport == "udp", keys: terms.Server.Name != ""})
	if err != nil {
		return nil, err
	}
	requests, err := awaited(load.Site, terms.Protocol)
	if err != nil {
		return nil, err
	}
	if !s.config.Lab.Virtual { // a guest has a limit of its own, and timers in it could move what is measured
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, openLimit, fmt.Errorf("the browser has not answered within %v", openLimit))
		defer cancel()
	}
	return b.open(ctx, freeze(load), requests)
}

// noted reports whether the load's evidence includes the windows that both ends announce.
func noted(load pageload.Load) bool { return load.ClientWindow != "" || load.ServerWindow != "" }

// openLimit is how long a running browser may take to open a tab. One that has lost a process of its own may
// never answer.
const openLimit = time.Minute

func (s *Station) openBuiltin(load pageload.Load, terms pageload.Terms) (pageload.Session, error) {
	strategy, err := session.ParseStrategy(load.Strategy)
	if err != nil {
		return nil, err
	}
	var recorded []page.Recorded
	steps := map[int]builtin.Caused{}
	cpu := load.CPU
	cpu.Scripts = map[string]time.Duration{}
	for _, r := range load.Site.Resources {
		if r.CPU > 0 && cpu.Scale > 0 {
			address, err := terms.Protocol.URL(r.URL)
			if err != nil {
				return nil, err
			}
			cpu.Scripts[address] = milliseconds(r.CPU)
		}
		switch {
		case r.Step > 0:
			steps[r.Step] = caused(steps[r.Step], load.Site, r)
		case r.Initiator != "":
			recorded = append(recorded, recordedRequest(r))
		}
	}
	return s.builtin.Open(builtin.Config{
		Protocol: terms.Protocol, Strategy: strategy, TLS12: terms.TLS12, PlainHeaders: terms.PlainHeaders, EqualTurns: terms.EqualTurns, EarlyData: terms.Warm.EarlyData, Fallback: load.Fallback, Recorded: recorded, Steps: steps, CPU: cpu,
		Windows: terms.ClientWindow, NoteWindows: noted(load),
	})
}

// recordedRequest returns what the archive says of a request that no parser sees.
func recordedRequest(r site.Resource) page.Recorded {
	method := r.Method
	if method == http.MethodGet {
		method = ""
	}
	return page.Recorded{
		URL: r.URL, Method: method, Initiator: r.Initiator, Line: r.Line, Kind: page.KindOf(r.Kind), Delay: milliseconds(r.Delay),
		BeforeLoad: !r.Late && !r.AfterLoad, AfterLoad: r.AfterLoad,
	}
}

// caused adds a resource to what a step of the site's journey causes. If the step leads to another page, that page asks
// for the others itself.
func caused(c builtin.Caused, s *site.Site, r site.Resource) builtin.Caused {
	if to := s.Leads(r.Step); to != "" {
		c.Page = to
		return c
	}
	c.Resources = append(c.Resources, recordedRequest(r))
	return c
}

// frozenUnrecorded is the frozen time in pages of made sites, which were never recorded.
var frozenUnrecorded = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// freeze returns what a page's clock and random numbers are frozen to, nil if they are not.
// They do not depend on the load's seed.
func freeze(load pageload.Load) *browser.Freeze {
	if !load.Freeze {
		return nil
	}
	return &browser.Freeze{At: cmp.Or(load.Site.Recorded, frozenUnrecorded), Seed: 1}
}

// awaited returns the requests that pages of a site make some time after their load events,
// with the URLs that they have over a protocol.
func awaited(page *site.Site, p protocol.Protocol) ([]browser.Awaited, error) {
	var list []browser.Awaited
	for _, r := range page.Resources {
		if !r.AfterLoad || r.Step > 0 {
			continue
		}
		url, err := p.URL(r.URL)
		if err != nil {
			return nil, err
		}
		initiator, err := p.URL(r.Initiator)
		if err != nil {
			return nil, err
		}
		list = append(list, browser.Awaited{URL: url, Initiator: initiator, Delay: milliseconds(r.Delay)})
	}
	return list, nil
}

// milliseconds converts a time in an archive, in ms.
func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
