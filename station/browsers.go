package station

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"wiretime/artefact"
	"wiretime/lab"
	"wiretime/loader/browser"
	"wiretime/loader/chromium"
	"wiretime/loader/firefox"
	"wiretime/workload/pageload"
)

// engine tells a station's browsers apart. Using HTTP/3 from the first request is a switch of
// a whole browser, and so is writing down TLS secrets, so a station may have several
// browsers of each loader.
type engine struct {
	loader string
	quic   bool
	keys   bool // writes down TLS secrets, for servers that do not tell theirs
}

// running is a running Chromium or Firefox.
type running interface {
	open(context.Context, *browser.Freeze, []browser.Awaited) (pageload.Session, error)
	Alive() bool
	Close() error
}

// browser returns the station's browser of a kind. It starts one for the first load, and
// again after a browser has died.
func (s *Station) browser(ctx context.Context, e engine) (running, error) {
	if b := s.browsers[e]; b != nil {
		if b.Alive() {
			return b, nil
		}
		delete(s.browsers, e)
		if err := b.Close(); err != nil {
			return nil, err
		}
	}
	folder, err := os.MkdirTemp(lab.Scratch, "browser-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the browser's profile: %w", err)
	}
	b, err := s.launch(ctx, e, folder)
	if err != nil {
		return nil, err
	}
	s.browsers[e] = b
	return b, nil
}

func (s *Station) launch(ctx context.Context, e engine, folder string) (running, error) {
	enter, contained := s.lab.Client().Command, !s.config.Lab.Virtual
	var forceQUIC []string
	if e.quic {
		forceQUIC = s.config.ForceQUIC
	}
	if e.loader == pageload.Firefox {
		b, err := firefox.Launch(ctx, firefox.Options{
			Binary: s.config.Firefox, Folder: folder, Enter: enter, Contained: contained, Dial: s.lab.Dial,
			Issuer: s.config.Authority.Issuer(), ForceQUIC: forceQUIC,
		})
		return firefoxBrowser{b, ""}, err
	}
	keys := ""
	if e.keys {
		keys = filepath.Join(folder, "keys.log")
	}
	b, err := chromium.Launch(ctx, chromium.Options{
		Binary: s.config.Chromium, Folder: folder, Enter: enter, Contained: contained,
		SPKIHash: s.config.Authority.SPKIHash(), ForceQUIC: forceQUIC, KeyLog: keys, Stacks: s.config.Stacks,
	})
	return chromiumBrowser{b, keys}, err
}

// chromiumBrowser writes its TLS secrets into the file keys, unless that is empty.
type chromiumBrowser struct {
	*chromium.Browser
	keys string
}

func (b chromiumBrowser) open(ctx context.Context, freeze *browser.Freeze, awaited []browser.Awaited) (pageload.Session, error) {
	v, err := b.Open(ctx, freeze)
	if err != nil {
		return nil, err
	}
	v.Await(awaited)
	if b.keys == "" {
		return v, nil
	}
	keys, err := keysFrom(b.keys)
	return keyedVisit{v, keys}, err
}

// keyedVisit is a visit of Chromium whose TLS secrets are known.
type keyedVisit struct {
	*chromium.Visit
	keyFile
}

// keyFile is a browser's file of TLS secrets, of which a visit has those from an offset on.
type keyFile struct {
	name string
	from int64
}

// keysFrom returns the secrets that the browser writes from now on.
func keysFrom(name string) (keyFile, error) {
	before, err := readFrom(name, 0)
	return keyFile{name, int64(len(before))}, err
}

// KeyLog is pageload.Keyed's.
func (f keyFile) KeyLog() ([]byte, error) { return readFrom(f.name, f.from) }

// mostKeys is how many octets of TLS secrets a browser may write.
const mostKeys = 256 << 20

// readFrom reads a browser's file from an offset on. One that is not there yet is empty.
func readFrom(name string, from int64) ([]byte, error) {
	text, err := artefact.ReadIn(filepath.Dir(name), filepath.Base(name), from, mostKeys)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the browser's TLS keys: %w", err)
	}
	return text, nil
}

// firefoxBrowser writes its TLS secrets into the file keys, unless that is empty.
type firefoxBrowser struct {
	*firefox.Browser
	keys string
}

// keyedFirefox is a visit of Firefox whose TLS secrets are known.
type keyedFirefox struct {
	*firefox.Visit
	keyFile
}

func (b firefoxBrowser) open(ctx context.Context, freeze *browser.Freeze, awaited []browser.Awaited) (pageload.Session, error) {
	v, err := b.Open(ctx, freeze)
	if err != nil {
		return nil, err
	}
	v.Await(awaited)
	if b.keys == "" {
		return v, nil
	}
	keys, err := keysFrom(b.keys)
	return keyedFirefox{v, keys}, err
}

// closeBrowsers ends the station's browsers; the next load starts one anew.
func (s *Station) closeBrowsers() error {
	var errs []error
	for e, b := range s.browsers {
		errs = append(errs, b.Close())
		delete(s.browsers, e)
	}
	return errors.Join(errs...)
}
