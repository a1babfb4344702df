// Package station provides a lab with the loaders' browsers in it, which serves one load after
// the other. On the real clock the runner has stations of its own; on the virtual clock each
// station is in a guest (package guest).
package station

import (
	"context"
	"errors"

	"wiretime/lab"
	"wiretime/loader/builtin"
	"wiretime/loader/fetch"
	"wiretime/loader/session"
	"wiretime/protocol"
	"wiretime/site"
	"wiretime/workload/pageload"
)

// Config says how a station is built. It applies to all its loads.
type Config struct {
	Lab lab.Config
	// The browsers' binaries; they may be empty if no load asks for them.
	Chromium, Firefox string
	// ForceQUIC are the hosts for which a browser uses HTTP/3 from the first
	// request, if its load is over HTTP/3.
	ForceQUIC []string
	Authority *protocol.Authority `json:"-"`
	// Stacks is chromium.Options's.
	Stacks bool
}

// Station serves one load at a time: workload.Order.RunOn carries an order out on it.
type Station struct {
	config   Config
	lab      *lab.Lab
	builtin  *builtin.Loader
	fetch    *fetch.Loader
	browsers map[engine]running
	renamed  map[*site.Site]*site.Site // sites as Chromium loads them in the clear
	served   map[servedSite]*site.Site // sites over a scheme, see over
	sitting  *pageload.Sitting         // the browser session under way, or nil
}

// Open builds a station. The program must have been through lab.Enter, or be
// the first of a guest.
func Open(ctx context.Context, c Config) (*Station, error) {
	l, err := lab.New(ctx, c.Lab)
	if err != nil {
		return nil, err
	}
	s := &Station{config: c, lab: l, browsers: map[engine]running{}, renamed: map[*site.Site]*site.Site{}, served: map[servedSite]*site.Site{}}
	resolve := session.Resolver(l.Dial, lab.Resolver)
	s.builtin = builtin.New(builtin.Options{
		Verify: c.Authority.Verify, Dial: l.Dial, ListenPacket: l.ListenPacket, Resolve: resolve,
	})
	s.fetch = fetch.New(session.Options{
		Verify: c.Authority.Verify, Dial: l.Dial, ListenPacket: l.ListenPacket, Resolve: resolve,
	})
	return s, nil
}

// Lab returns the station's lab.
func (s *Station) Lab() *lab.Lab { return s.lab }

// Authority returns the certificate authority of the station's servers.
func (s *Station) Authority() *protocol.Authority { return s.config.Authority }

// Close takes the station apart.
func (s *Station) Close() error {
	return errors.Join(s.endSession(context.Background()), s.closeBrowsers(), s.lab.Close())
}
