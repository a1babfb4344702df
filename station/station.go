// Package station is where a load is run: a lab with the loaders in it. On the
// real clock the program that carries out a plan has its stations itself; on the
// virtual clock each is in a guest of its own (package guest).
package station

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"wiretime/capture"
	"wiretime/lab"
	"wiretime/loader/builtin"
	"wiretime/loader/chromium"
	"wiretime/loader/fetch"
	"wiretime/loader/page"
	"wiretime/loader/session"
	"wiretime/network"
	"wiretime/protocol"
	"wiretime/server"
	"wiretime/site"
)

// The loaders.
const (
	Chromium = "chromium"
	Firefox  = "firefox"
	Builtin  = "builtin"
	Fetch    = "fetch"
)

// Loaders names what can load pages.
func Loaders() []string { return []string{Chromium, Firefox, Builtin, Fetch} }

// IsBrowser says whether a loader is a real browser.
func IsBrowser(loader string) bool { return loader == Chromium || loader == Firefox }

// Config says how a station is built. It holds for all its loads.
type Config struct {
	Lab lab.Config
	// The browsers' binaries; they may be empty if no load asks for them.
	Chromium, Firefox string
	// ForceQUIC are the hosts that a browser which is to use HTTP/3 reaches over
	// it at once.
	ForceQUIC []string
	Authority *protocol.Authority `json:"-"`
	// Stacks is chromium.Options's.
	Stacks bool
}

// Order is one load.
type Order struct {
	Loader   string
	Protocol string
	// Server is what serves the site: server.Own, which empty means too, a kind of package
	// server's, or the name of Template.
	Server   string
	Template server.Template // a server of the study's own; the zero value: none
	Path     network.Path
	Seed     uint64 // of the path's loss and jitter
	TCP      lab.TCPOptions
	Timeout  time.Duration
	Comment  string // goes into the capture's header

	Visit     string        // capture.ParseVisit's word; empty: cold
	Strategy  string        // how the own loaders use connections; empty: as browsers do
	ThinkTime time.Duration // between the pages of a journey
	CPU       page.CPU      // of the loader builtin, but for scripts that were recorded
	Fallback  string        // "h2": what an origin is fetched over that cannot be reached over h3
	// ServerWait has each answer begin as long after its request as when the site was recorded.
	ServerWait bool
	// Freeze has scripts find the time at which the site was recorded, and the same random
	// numbers in every load. The own loaders run none.
	Freeze bool

	// Stream asks for a stream instead of a page. Of what is above, Protocol, the name of
	// a transport, Seed, TCP, Timeout, of the whole stream, and Comment hold for one.
	Stream *Stream
}

// Station serves one load at a time.
type Station struct {
	config   Config
	lab      *lab.Lab
	builtin  *builtin.Loader
	fetch    *fetch.Loader
	browsers map[engine]running
	renamed  map[*site.Site]*site.Site // sites as Chromium loads them in the clear
}

// Open builds a station. The program must have been through lab.Enter, or be
// the first of a guest.
func Open(ctx context.Context, c Config) (*Station, error) {
	l, err := lab.New(ctx, c.Lab)
	if err != nil {
		return nil, err
	}
	s := &Station{config: c, lab: l, browsers: map[engine]running{}, renamed: map[*site.Site]*site.Site{}}
	resolve := session.Resolver(l.Dial, lab.Resolver)
	s.builtin = builtin.New(builtin.Options{
		Verify: c.Authority.Verify, Dial: l.Dial, ListenPacket: l.ListenPacket, Resolve: resolve,
	})
	s.fetch = fetch.New(session.Options{
		Verify: c.Authority.Verify, Dial: l.Dial, ListenPacket: l.ListenPacket, Resolve: resolve,
	})
	return s, nil
}

// Load runs one load, of a page or, by Order.Stream, of a stream, for which page is
// nil. Its artefacts are put into the folder dir. An error means that the station
// failed, and is of no more use; that the page, or the stream, did not come is in the
// record.
//
// A page in the clear of a host that Chromium reaches over TLS alone is loaded again with
// another name, which the station remembers, and the HAR has.
func (s *Station) Load(ctx context.Context, o Order, page *site.Site, dir string) (*lab.Record, error) {
	if o.Stream != nil {
		return s.play(ctx, o, dir)
	}
	p, err := protocol.Lookup(o.Protocol)
	if err != nil {
		return nil, err
	}
	kind, err := o.kind()
	if err != nil {
		return nil, err
	}
	warm := capture.Warm{}
	if o.Visit != "" {
		if warm, err = capture.ParseVisit(o.Visit); err != nil {
			return nil, err
		}
	}
	load := lab.Load{
		Path: o.Path, Seed: o.Seed, TCP: o.TCP, Protocol: p, Server: kind, Site: page, Authority: s.config.Authority,
		Warm: warm, Fallback: o.Fallback, ServerWait: o.ServerWait, ThinkTime: o.ThinkTime, Dir: dir, Timeout: o.Timeout, Comment: o.Comment,
	}
	record, err := s.loadRenamed(ctx, o, load)
	if len(o.Path.Handovers()) > 0 {
		// The browser has seen its network change and change back. It acts on
		// that within a second or two, which must not fall into the next load.
		err = errors.Join(err, s.closeBrowsers())
	}
	return record, err
}

// loadRenamed runs a load, and runs it again for each host of its pages that turns out to have
// a name under which Chromium does not load pages in the clear.
func (s *Station) loadRenamed(ctx context.Context, o Order, load lab.Load) (record *lab.Record, err error) {
	page := load.Site
	for range 1 + len(page.Origins()) {
		if renamed := s.renamed[page]; renamed != nil && o.Loader == Chromium && load.Protocol.Scheme == "http" {
			load.Site = renamed
		}
		if load.Visit, err = s.visit(ctx, o, load.Protocol, load.Server, load.Site); err != nil {
			return nil, err
		}
		record, err = s.lab.Run(ctx, load)
		only := new(chromium.TLSOnlyError)
		if err != nil || !errors.As(record.LoadError, &only) || !slices.Contains(load.Site.Origins(), only.Host) {
			return record, err
		}
		if s.renamed[page], err = load.Site.RenameDomain(only.Host); err != nil {
			record.LoadError = errors.Join(record.LoadError, err)
			return record, nil
		}
	}
	return record, nil
}

// kind is the order's server; the zero value is Wiretime's own.
func (o *Order) kind() (server.Kind, error) {
	switch o.Server {
	case "", server.Own:
		return server.Kind{}, nil
	case o.Template.Name:
		return o.Template.Kind(), nil
	}
	return server.Lookup(o.Server)
}

// visit makes the order's loader ready for one load.
func (s *Station) visit(ctx context.Context, o Order, p protocol.Protocol, kind server.Kind, page *site.Site) (lab.Visit, error) {
	switch o.Loader {
	case Builtin:
		return s.openBuiltin(o, p, page)
	case Fetch:
		urls := make([]string, len(page.Resources))
		for i := range page.Resources {
			urls[i] = page.Resources[i].URL
		}
		return s.fetch.Open(p, urls), nil
	}
	b, err := s.browser(ctx, engine{loader: o.Loader, quic: p.Transport == "udp", keys: kind.Name != ""})
	if err != nil {
		return nil, err
	}
	requests, err := awaited(page, p)
	if err != nil {
		return nil, err
	}
	return b.open(ctx, o.freeze(page), requests)
}

func (s *Station) openBuiltin(o Order, p protocol.Protocol, from *site.Site) (lab.Visit, error) {
	strategy, err := session.ParseStrategy(o.Strategy)
	if err != nil {
		return nil, err
	}
	warm, err := capture.ParseVisit(cmp.Or(o.Visit, "cold"))
	if err != nil {
		return nil, err
	}
	var recorded []page.Recorded
	cpu := o.CPU
	cpu.Scripts = map[string]time.Duration{}
	for _, r := range from.Resources {
		if r.CPU > 0 && cpu.Scale > 0 {
			address, err := p.URL(r.URL)
			if err != nil {
				return nil, err
			}
			cpu.Scripts[address] = milliseconds(r.CPU)
		}
		if r.Initiator != "" {
			method := r.Method
			if method == http.MethodGet {
				method = ""
			}
			recorded = append(recorded, page.Recorded{
				URL: r.URL, Method: method, Initiator: r.Initiator, Line: r.Line, Kind: page.KindOf(r.Kind), Delay: milliseconds(r.Delay),
				BeforeLoad: !r.Late && !r.AfterLoad, AfterLoad: r.AfterLoad,
			})
		}
	}
	return s.builtin.Open(builtin.Config{
		Protocol: p, Strategy: strategy, EarlyData: warm.EarlyData, Fallback: o.Fallback, Recorded: recorded, CPU: cpu,
	})
}

// Close takes the station apart.
func (s *Station) Close() error {
	return errors.Join(s.closeBrowsers(), s.lab.Close())
}
