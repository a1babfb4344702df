// Package station is where a load is run: a lab with the loaders in it. On the
// real clock the program that carries out a plan has its stations itself; on the
// virtual clock each is in a guest of its own (package guest).
package station

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"wiretime/lab"
	"wiretime/loader/chromium"
	"wiretime/loader/fetch"
	"wiretime/network"
	"wiretime/protocol"
	"wiretime/site"
)

// The loaders.
const (
	Chromium = "chromium"
	Fetch    = "fetch"
	Builtin  = "builtin" // a browser's way to load a page, without a browser
)

// Loaders names what can load pages.
func Loaders() []string { return []string{Chromium, Fetch} }

// Config says how a station is built. It holds for all its loads.
type Config struct {
	Lab      lab.Config
	Chromium string // the browser's binary; may be empty if no load asks for it
	// ForceQUIC are the hosts that a browser which is to use HTTP/3 reaches over
	// it at once.
	ForceQUIC []string
	Authority *protocol.Authority `json:"-"`
}

// Order is one load.
type Order struct {
	Loader   string
	Protocol string
	Path     network.Path
	Seed     uint64 // of the path's loss and jitter
	TCP      lab.TCPOptions
	Timeout  time.Duration
	Comment  string // goes into the capture's header

	Visit     string        // capture.ParseVisit's word; empty: cold
	Strategy  string        // how the own loaders use connections; empty: as browsers do
	ThinkTime time.Duration // between the pages of a journey
	Fallback  string        // "h2": what an origin is fetched over that cannot be reached over h3
}

// Station serves one load at a time.
type Station struct {
	config Config
	lab    *lab.Lab
	fetch  *fetch.Loader
	// The browsers, by whether they are to use HTTP/3 at once. That is a switch
	// of the whole browser, so a station may have two.
	browsers map[bool]*chromium.Browser
}

// Open builds a station. The program must have been through lab.Enter, or be
// the first of a guest.
func Open(ctx context.Context, c Config) (*Station, error) {
	l, err := lab.New(ctx, c.Lab)
	if err != nil {
		return nil, err
	}
	s := &Station{config: c, lab: l, browsers: map[bool]*chromium.Browser{}}
	s.fetch = fetch.New(fetch.Options{
		Authority: c.Authority, Dial: l.Dial, ListenPacket: l.ListenPacket,
		Resolve: fetch.Resolver(l.Dial, lab.Resolver),
	})
	return s, nil
}

// Load runs one load. Its artefacts are put into the folder dir. An error means
// that the station failed, and is of no more use; that the page did not load is
// in the record.
func (s *Station) Load(ctx context.Context, o Order, page *site.Site, dir string) (*lab.Record, error) {
	p, err := protocol.Lookup(o.Protocol)
	if err != nil {
		return nil, err
	}
	visit, err := s.visit(ctx, o, p, page)
	if err != nil {
		return nil, err
	}
	record, err := s.lab.Run(ctx, lab.Load{
		Path: o.Path, Seed: o.Seed, TCP: o.TCP, Protocol: p, Site: page, Authority: s.config.Authority, Visit: visit,
		Dir: dir, Timeout: o.Timeout, Comment: o.Comment,
	})
	if len(o.Path.Handovers()) > 0 {
		// The browser has seen its network change and change back. It acts on
		// that within a second or two, which must not fall into the next load.
		err = errors.Join(err, s.closeBrowsers())
	}
	return record, err
}

// visit makes the order's loader ready for one load.
func (s *Station) visit(ctx context.Context, o Order, p protocol.Protocol, page *site.Site) (lab.Visit, error) {
	if o.Loader == Fetch {
		urls := make([]string, len(page.Resources))
		for i := range page.Resources {
			urls[i] = page.Resources[i].URL
		}
		return s.fetch.Open(p, urls), nil
	}
	browser, err := s.browser(ctx, p.Transport == "udp")
	if err != nil {
		return nil, err
	}
	return browser.Open(ctx)
}

// browser returns the station's browser for a protocol; it starts one if there
// is none or the last one died.
func (s *Station) browser(ctx context.Context, quic bool) (*chromium.Browser, error) {
	if b := s.browsers[quic]; b != nil {
		if b.Alive() {
			return b, nil
		}
		delete(s.browsers, quic)
		if err := b.Close(); err != nil {
			return nil, err
		}
	}
	folder, err := os.MkdirTemp(lab.Scratch, "browser-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the browser's profile: %w", err)
	}
	o := chromium.Options{
		Binary:   s.config.Chromium,
		Folder:   folder,
		Enter:    s.lab.Client().Command,
		SPKIHash: s.config.Authority.SPKIHash(),
	}
	if quic {
		o.ForceQUIC = s.config.ForceQUIC
	}
	b, err := chromium.Launch(ctx, o)
	if err != nil {
		return nil, err
	}
	s.browsers[quic] = b
	return b, nil
}

// closeBrowsers ends the station's browsers; the next load starts one anew.
func (s *Station) closeBrowsers() error {
	var errs []error
	for quic, b := range s.browsers {
		errs = append(errs, b.Close())
		delete(s.browsers, quic)
	}
	return errors.Join(errs...)
}

// Close takes the station apart.
func (s *Station) Close() error {
	return errors.Join(s.closeBrowsers(), s.lab.Close())
}
