package pageload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"wiretime/capture"
	"wiretime/evidence"
	"wiretime/lab"
	"wiretime/network"
	"wiretime/protocol"
)

// loading is a load while it is carried out.
type loading struct {
	Load
	terms  Terms
	hosts  *lab.Hosts
	names  map[string]netip.Addr // that the lab's DNS server knows
	origin origins               // what serves the site
	leave  func() error          // closes the loader's session, once
	got    map[string]bool       // the URLs of what earlier visits received whole; nil: their cache is not kept
	spdy   evidence.Announced    // windows of the SPDY connections so far
	last   bool                  // no visit follows the present one
}

// Run carries out a load. An error means that the lab itself failed and no record could be
// made, or, if it is a *ServerError, that a third-party server did not start;
// that the page did not load is Record.LoadError.
func Run(ctx context.Context, l *lab.Lab, load Load) (record *Record, err error) {
	r, err := open(ctx, l, load)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close(ctx)) }()
	if r.terms.Warm != (capture.Warm{}) {
		record, err = r.visitEarlier(ctx)
		r.hosts.Resolve(r.names) // and count anew
	}
	if record == nil && err == nil {
		r.last = true
		record, err = r.visit(ctx, load.Seed, load.From)
	}
	if err != nil {
		return nil, err
	}
	return record, r.save(ctx, record)
}

// open prepares the hosts for a load and starts the server of its site. After an error it has closed the
// loader's session.
func open(ctx context.Context, l *lab.Lab, load Load) (r *loading, err error) {
	leave := sync.OnceValue(load.Session.Close)
	defer func() {
		if err != nil {
			err = errors.Join(err, leave())
		}
	}()
	terms, err := load.Terms()
	if err != nil {
		return nil, err
	}
	hosts, err := l.Prepare(load.Path, load.TCP)
	if err != nil {
		return nil, err
	}
	if load.Served == nil {
		if load.Served, err = load.Site.Over(terms.Protocol.Scheme); err != nil {
			return nil, err
		}
	}
	if load.Hint != "" {
		if load.Served, err = load.Served.Hint(hintRule(load.Hint)); err != nil {
			return nil, err
		}
	}
	names := addresses(load.Served.Origins())
	hosts.Resolve(names)
	r = &loading{Load: load, terms: terms, hosts: hosts, names: names, leave: leave}
	if r.origin, err = r.serve(ctx, names); err != nil {
		return nil, fmt.Errorf("serve site %s over %s: %w", load.Site.Name, load.Protocol, err)
	}
	return r, nil
}

// close closes both ends over a path without delay, so that nothing of this load is left when the next one
// begins.
func (r *loading) close(ctx context.Context) error {
	return errors.Join(r.hosts.Close(), r.leave(), r.origin.Close(), r.hosts.Release(context.WithoutCancel(ctx)))
}

// save completes a record with the server's log and the announced windows, and writes the load's artefacts.
func (r *loading) save(ctx context.Context, record *Record) (err error) {
	if foreign, is := r.origin.(foreignServer); is {
		if err := r.leave(); err != nil {
			return err
		}
		foreign.awaitLog(ctx, record.HAR)
	}
	if record.Announced, err = r.announced(); err != nil {
		return err
	}
	if record.Server, err = r.origin.Log(); err != nil {
		return err
	}
	if record.HAR != nil {
		record.HAR.Log.RenamedDomains = r.Site.Renamed()
		r.markRevisited(record.HAR)
	}
	record.ServerLost = r.origin.LostPackets()
	if err := r.addKeys(); err != nil {
		return err
	}
	if err := r.hosts.SaveCapture(r.Dir); err != nil {
		return err
	}
	if err := record.SaveServerLog(r.Dir); err != nil {
		return err
	}
	return keepFrames(r.Dir, r.Session)
}

// visit loads the pages over the path, whose time at the first packet is from. seed decides loss and jitter.
func (r *loading) visit(ctx context.Context, seed uint64, from time.Duration) (*Record, error) {
	programs := r.origin.Processes()
	if session, ok := r.Session.(Apart); ok {
		programs = append(programs, session.Process())
	}
	record := &Record{}
	task := lab.Task{Seed: seed, From: from, Comment: r.Comment, Programs: programs}
	tearsDown := r.TearDown && r.last
	if tearsDown {
		task.Quiet = farewell(r.Path)
	}
	task.Do = func(ctx context.Context, _ lab.Progress) (err error) {
		watched, done := whileServed(ctx, r.origin)
		record.HAR, record.Timing, err = r.browse(watched)
		if err == nil && tearsDown {
			err = r.leave()
		}
		return done(err)
	}
	report, err := r.hosts.Run(ctx, task)
	if err != nil {
		return nil, err
	}
	record.Report = *report
	return record, nil
}

// farewell returns how long the hosts must be silent on a path before the client's and the server's last packets can
// be taken to have arrived: its longest round trip, and a second in which what was lost is sent again.
func farewell(p network.Path) time.Duration {
	var longest, far time.Duration
	for i := range p.Access {
		up, down := p.Access[i].Up, p.Access[i].Down
		longest = max(longest, up.Delay+down.Delay+4*(up.Jitter+down.Jitter))
	}
	for _, delay := range p.Far {
		far = max(far, 2*delay)
	}
	return longest + far + time.Second
}

// keepFrames writes the session's frame log, if it has one.
func keepFrames(dir string, s Session) error {
	framed, ok := s.(Framed)
	if !ok {
		return nil
	}
	log := framed.FrameLog()
	if log == nil {
		return nil
	}
	if err := os.WriteFile(filepath.Join(dir, FramesFile), log, 0o644); err != nil {
		return fmt.Errorf("keep the frame log: %w", err)
	}
	return nil
}

// addKeys adds the keys that the capture needs beside those that the server's TLS tells: those
// of early data, which TLS does not tell, and the client's, for a server that tells none.
func (r *loading) addKeys() error {
	own, is := r.origin.(ownServer)
	if is && r.terms.Warm.EarlyData {
		if err := r.addEarlySecrets(own.Server); err != nil {
			return fmt.Errorf("find the keys of early data: %w", err)
		}
	}
	if session, ok := r.Session.(Keyed); ok && !is {
		text, err := session.KeyLog()
		if err == nil {
			_, err = r.hosts.Keys.Write(text)
		}
		if err != nil {
			return fmt.Errorf("take over the client's TLS keys: %w", err)
		}
	}
	return nil
}

func (r *loading) addEarlySecrets(server *protocol.Server) error {
	packets, err := r.hosts.ReadCapture()
	if err != nil {
		return err
	}
	for _, hello := range capture.ClientHellos(packets) {
		line, err := server.EarlySecret(hello)
		if err == nil {
			_, err = io.WriteString(r.hosts.Keys, line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
