package station

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"wiretime/evidence"
	"wiretime/lab"
	"wiretime/loader/builtin"
	livenet "wiretime/loader/live"
	"wiretime/loader/session"
	"wiretime/machine"
	"wiretime/panics"
	"wiretime/protocol"
	"wiretime/sandbox"
	"wiretime/scratch"
	"wiretime/study"
	"wiretime/tap"
	"wiretime/workload/pageload"
)

// LiveConfig says how a station of the live clock loads pages.
type LiveConfig struct {
	// The browsers' binaries; they may be empty if no load asks for them.
	Chromium, Firefox string
	// Trusted are certificates to trust beside the machine's authorities. Chromium trusts only those that a server
	// sends: its intermediate or its own.
	Trusted []*x509.Certificate
	// Addresses are those of hosts that are not to be looked up.
	Addresses map[string]netip.Addr
}

// Live is the station of the live clock: it loads pages of real sites over this machine's own network, one at a time.
// The program must not have been through lab.Enter.
type Live struct {
	config  LiveConfig
	folder  *scratch.Folder
	profile int // number of the browsers so far
	engine  liveEngine
	browser running // at most one, so that none that waits sends anything; nil: none
	found   addresses
}

// OpenLive builds a station of the live clock.
func OpenLive(c LiveConfig) (*Live, error) {
	folder, err := scratch.Make(sandbox.TempDir(), "wiretime-live-")
	if err == nil {
		err = os.Chmod(folder.Path, 0o711) // a contained browser may have a user of its own
	}
	if err != nil {
		return nil, fmt.Errorf("make a folder for the browsers' profiles: %w", err)
	}
	return &Live{config: c, folder: folder}, nil
}

// Lab implements workload.Station. Live loads have no lab, so it returns nil.
func (s *Live) Lab() *lab.Lab { return nil }

// Authority implements workload.Station. Real sites have certificates of their own, so it returns nil.
func (s *Live) Authority() *protocol.Authority { return nil }

// Close ends the browser and removes what it has left.
func (s *Live) Close() error { return errors.Join(s.closeBrowser(), s.folder.Remove()) }

// settling is how long after a load packets are still captured: Linux's delayed acknowledgement takes 40 ms, and QUIC's 25 ms
// (RFC 9000 section 18.2).
const settling = 45 * time.Millisecond

// farewell is how long packets are still captured after the client has closed its connections: a round trip, and a second
// in which what was lost is sent again.
const farewell = 2 * time.Second

// LoadPage implements pageload.Station. The record's error is a *workload.UnsupportedError if the site turns out not to
// offer the protocol.
func (s *Live) LoadPage(ctx context.Context, load pageload.Load) (*pageload.Record, error) {
	terms, err := load.Terms()
	if err != nil {
		return nil, err
	}
	address, err := terms.Protocol.URL(load.URL)
	if err != nil {
		return nil, err
	}
	page, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	s.found.forget()
	visit, err := s.open(ctx, load, terms.Protocol, page)
	if err != nil {
		return nil, err
	}
	leave := sync.OnceValue(visit.Close)
	record, seen, err := s.visit(ctx, load, visit, leave, address)
	var keys []byte
	if keyed, ok := visit.(pageload.Keyed); err == nil && ok {
		keys, err = keyed.KeyLog()
	}
	if err = errors.Join(err, leave()); err != nil {
		return nil, err
	}
	record.LoadError = s.judge(ctx, offer{page, terms.Protocol, load.Loader}, record)
	if seen == nil {
		return record, nil
	}
	return record, saveCapture(load.Dir, load.Comment, s.ofLoad(seen, record.HAR, page), keys)
}

// visit loads the page and captures packets meanwhile, if that is permitted. seen is nil if it is not. leave closes the
// visit, within the capture if the order says so.
func (s *Live) visit(ctx context.Context, load pageload.Load, visit pageload.Session, leave func() error, address string) (record *pageload.Record, seen *tap.Recording, err error) {
	record = &pageload.Record{Live: &evidence.Live{Page: address}}
	record.ServerLost = -1
	watch, err := machine.WatchClock()
	if err != nil {
		return nil, nil, err
	}
	wire, err := tap.Open()
	if err != nil && !errors.Is(err, tap.ErrForbidden) {
		_, stopped := watch.Stop()
		return nil, nil, errors.Join(err, stopped)
	}
	var meter machine.Meter
	if apart, ok := visit.(pageload.Apart); ok {
		meter.Programs = []int{apart.Process()}
	}
	before := meter.Read()
	limited, cancel := context.WithTimeoutCause(ctx, load.Timeout, fmt.Errorf("the page had not loaded after %v, the study's timeout", load.Timeout))
	record.LoadError = panics.Do(func() (err error) {
		record.HAR, record.Timing, err = visit.Load(limited, address)
		return err
	})
	cancel()
	taken := meter.Read().Since(before)
	record.Taken = &taken
	record.ClockSet, err = watch.Stop()
	if wire != nil {
		silence := settling
		if load.TearDown {
			silence = farewell
			err = errors.Join(err, leave())
		}
		select {
		case <-time.After(silence):
		case <-ctx.Done():
		}
		var stopped error
		seen, stopped = wire.Stop()
		err = errors.Join(err, stopped)
	}
	if err != nil {
		return nil, nil, err
	}
	if seen != nil {
		record.Live.Captured, record.Live.Lost, record.Live.Full = true, seen.Lost, seen.Full
	}
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	return record, seen, nil
}

// open opens a session of the order's loader.
func (s *Live) open(ctx context.Context, load pageload.Load, p protocol.Protocol, page *url.URL) (pageload.Session, error) {
	if load.Loader != pageload.Builtin {
		b, err := s.browserFor(ctx, liveEngine{loader: load.Loader, protocol: p.Name, host: forced(p, page)})
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeoutCause(ctx, openLimit, fmt.Errorf("the browser has not answered within %v", openLimit))
		defer cancel()
		return b.open(ctx, nil, nil)
	}
	strategy, err := session.ParseStrategy(load.Strategy)
	if err != nil {
		return nil, err
	}
	o := s.network().Session(p, strategy)
	loader := builtin.New(builtin.Options{Verify: o.Verify, Dial: o.Dial, ListenPacket: o.ListenPacket, Resolve: s.found.noting(o.Resolve)})
	c := builtin.Config{Protocol: p, Strategy: strategy, CPU: load.CPU}
	if p.Transport == "udp" {
		c.Fallback = study.FallbackH2 // for hosts other than the page's, which need not offer HTTP/3
	}
	return loader.Open(c)
}

// network says how the built-in loader finds and trusts servers.
func (s *Live) network() livenet.Config {
	c := livenet.Config{Addresses: map[string]netip.Addr{}}
	for host, address := range s.config.Addresses {
		c.Addresses[host+":443"] = address
	}
	if len(s.config.Trusted) > 0 {
		roots, err := x509.SystemCertPool()
		if err != nil {
			roots = x509.NewCertPool()
		}
		for _, certificate := range s.config.Trusted {
			roots.AddCert(certificate)
		}
		c.Roots = roots
	}
	return c
}

// hostRules returns the addresses of hosts as Chromium reads them.
func (c LiveConfig) hostRules() string {
	var rules []string
	for host, address := range c.Addresses {
		rules = append(rules, fmt.Sprintf("MAP %s %s", host, address))
	}
	return strings.Join(rules, ",")
}

// spkiHashes returns the keys of the trusted certificates as Chromium reads them.
func (c LiveConfig) spkiHashes() string {
	var hashes []string
	for _, certificate := range c.Trusted {
		sum := sha256.Sum256(certificate.RawSubjectPublicKeyInfo)
		hashes = append(hashes, base64.StdEncoding.EncodeToString(sum[:]))
	}
	return strings.Join(hashes, ",")
}

// profileFolder makes an empty folder for a browser's profile.
func (s *Live) profileFolder() (string, error) {
	s.profile++
	folder := filepath.Join(s.folder.Path, fmt.Sprintf("browser-%d", s.profile))
	if err := os.Mkdir(folder, 0o700); err != nil {
		return "", fmt.Errorf("make a folder for the browser's profile: %w", err)
	}
	return folder, nil
}
