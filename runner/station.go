package runner

import (
	"context"
	"errors"
	"fmt"
	"os"

	"wiretime/lab"
	"wiretime/loader/chromium"
)

// station is a lab with its browsers. It serves one load at a time.
type station struct {
	lab *lab.Lab
	// The browsers, by whether they are to use HTTP/3 at once. That is a switch
	// of the whole browser, so a station may have two.
	browsers map[bool]*chromium.Browser
	run      *run
}

func (r *run) newStation(ctx context.Context) (*station, error) {
	l, err := lab.New(ctx, lab.Config{
		AccessLinks: r.accessLinks,
		InstantDNS:  r.Options.DNS == "instant",
		TCPRmem:     r.Options.TCPRmem, TCPWmem: r.Options.TCPWmem,
	})
	if err != nil {
		return nil, err
	}
	return &station{lab: l, browsers: map[bool]*chromium.Browser{}, run: r}, nil
}

// browser returns the station's browser for a protocol; it starts one if there
// is none or the last one died.
func (s *station) browser(ctx context.Context, quic bool) (*chromium.Browser, error) {
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
		Binary:   s.run.Chromium,
		Folder:   folder,
		Enter:    s.lab.Client().Command,
		SPKIHash: s.run.authority.SPKIHash(),
	}
	if quic {
		o.ForceQUIC = s.run.forceQUIC
	}
	b, err := chromium.Launch(ctx, o)
	if err != nil {
		return nil, err
	}
	s.browsers[quic] = b
	return b, nil
}

// closeBrowsers ends the station's browsers; the next load starts one anew.
func (s *station) closeBrowsers() error {
	var errs []error
	for quic, b := range s.browsers {
		errs = append(errs, b.Close())
		delete(s.browsers, quic)
	}
	return errors.Join(errs...)
}

func (s *station) close() error {
	return errors.Join(s.closeBrowsers(), s.lab.Close())
}
