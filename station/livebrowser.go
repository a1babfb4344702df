package station

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os/exec"
	"path/filepath"

	"wiretime/loader/chromium"
	"wiretime/loader/firefox"
	"wiretime/protocol"
	"wiretime/workload/pageload"
)

// liveEngine tells browsers of the live clock apart. Which protocols a browser uses is a switch of the whole browser.
type liveEngine struct {
	loader, protocol string
	host             string // to reach over HTTP/3 from the first request; empty: none
}

// forced returns the host, with its port, that a browser must reach over HTTP/3 from the first request.
func forced(p protocol.Protocol, page *url.URL) string {
	switch {
	case p.Transport != "udp":
		return ""
	case page.Port() == "":
		return page.Hostname() + ":443"
	}
	return page.Host
}

// browserFor returns a running browser. One of another kind, and one that has died, is closed before.
func (s *Live) browserFor(ctx context.Context, e liveEngine) (running, error) {
	if s.browser != nil && s.engine == e && s.browser.Alive() {
		return s.browser, nil
	}
	if err := s.closeBrowser(); err != nil {
		return nil, err
	}
	folder, err := s.profileFolder()
	if err != nil {
		return nil, err
	}
	b, err := s.launchLive(ctx, e, folder)
	if err != nil {
		return nil, err
	}
	s.browser, s.engine = b, e
	return b, nil
}

func (s *Live) closeBrowser() error {
	if s.browser == nil {
		return nil
	}
	b := s.browser
	s.browser = nil
	if err := b.Close(); err != nil {
		return fmt.Errorf("end the browser: %w", err)
	}
	return nil
}

// launchLive starts a browser that uses the protocol wherever it is offered: over HTTP/1.1 nothing newer, over HTTP/2
// no HTTP/3.
func (s *Live) launchLive(ctx context.Context, e liveEngine, folder string) (running, error) {
	old, newest := e.protocol == "http/1.1" || e.protocol == "https/1.1", e.protocol == "h3"
	var force []string
	if e.host != "" {
		force = []string{e.host}
	}
	stay := func(*exec.Cmd) {} // in this network namespace
	keys := filepath.Join(folder, "keys.log")
	if e.loader == pageload.Firefox {
		o := firefox.Options{
			Binary: s.config.Firefox, Folder: folder, Enter: stay, Contained: true, Dial: new(net.Dialer).DialContext,
			ForceQUIC: force, NoHTTP2: old, NoQUIC: !newest, Addresses: s.config.Addresses, KeyLog: keys,
		}
		if len(s.config.Trusted) > 0 {
			o.Issuer = s.config.Trusted[0].Raw
		}
		b, err := firefox.Launch(ctx, o)
		return firefoxBrowser{b, keys}, err
	}
	b, err := chromium.Launch(ctx, chromium.Options{
		Binary: s.config.Chromium, Folder: folder, Enter: stay, Contained: true,
		SPKIHash: s.config.spkiHashes(), ForceQUIC: force, NoHTTP2: old, NoQUIC: !newest, HostRules: s.config.hostRules(), KeyLog: keys,
	})
	return chromiumBrowser{b, keys}, err
}
