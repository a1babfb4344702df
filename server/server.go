// Package server runs third-party web servers so that they can be measured in place of
// Wiretime's own: Caddy, nginx, H2O, Apache, node-spdy, Netty, Jetty, and any program
// that a command starts.
//
// A server gets the site as files, and a configuration in its own language that makes it
// send each archived response unchanged: its status, fields and body, found by method,
// host, path and query. It offers one protocol, TLS 1.3 only, certificates of the same
// authority and no session tickets, keeps connections open for longer than any load, and
// compresses nothing itself. Everything else is up to the server. docs/servers.md has the
// table of what each can do.
package server

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"wiretime/artefact"
	"wiretime/capture"
	"wiretime/protocol"
	"wiretime/site"
)

// Config says what to serve, how and where.
type Config struct {
	Kind     Kind
	Protocol protocol.Protocol
	Site     *site.Site
	// Hosts maps each origin's host to its address.
	Hosts map[string]netip.Addr
	// Authority issues the certificates.
	Authority *protocol.Authority
	// Folder holds the server's files until Stop removes it. It must exist and be
	// empty.
	Folder string
	// Do runs a function inside the server's network namespace, and Command makes a
	// program run there.
	Do      func(func() error) error
	Command func(*exec.Cmd)
	// Contained keeps the server to its folder and to what all programs may read (package sandbox). Guests,
	// whose whole kernel is contained, do without.
	Contained bool
	// ReadyLimit is how long the server may take to become ready.
	ReadyLimit time.Duration
	// Connections is how many connections the server must hold at once; 0 means those of one client.
	// The process's limit on open files must allow for them.
	Connections int
	// Unlogged turns the server's log off.
	Unlogged bool
}

// Server is a running third-party server.
type Server struct {
	config    Config
	setup     *setup
	processes []*instance
	watching  sync.WaitGroup
	died      chan struct{}

	mu      sync.Mutex
	err     error
	stopped bool
	skip    int64     // octets at the start of the log to skip
	since   time.Time // requests from before this are skipped, even if logged later
	log     []byte
}

// Processes returns the PIDs of the started processes. Their descendants serve, too.
func (s *Server) Processes() []int {
	pids := make([]int, len(s.processes))
	for i, p := range s.processes {
		pids[i] = p.child.Command.Process.Pid
	}
	return pids
}

// Start starts a server. It returns when the server answers on all its addresses. An
// error quotes the end of the server's output.
func Start(ctx context.Context, c Config) (*Server, error) {
	if c.Unlogged {
		c.Kind.Logs = false
	}
	s := &Server{config: c, died: make(chan struct{})}
	err := s.start(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", c.Kind.Name, err), s.Stop())
	}
	return s, nil
}

func (s *Server) start(ctx context.Context) error {
	k := s.config.Kind
	if err := k.Supports(s.config.Site, s.config.Protocol); err != nil {
		return err
	}
	program, err := k.Find()
	if err != nil {
		return err
	}
	if s.setup, err = prepare(s.config, program); err != nil {
		return fmt.Errorf("write the site's files: %w", err)
	}
	if err := s.setup.free(ctx); err != nil {
		return err
	}
	launches, err := k.configure(s.setup)
	if err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	reads := []string{filepath.Dir(program)}
	if folder, err := PeersFolder(); err == nil && k.peers != "" {
		reads = append(reads, folder)
	}
	for i, l := range launches {
		p, err := start(l, s.config, s.setup.file(fmt.Sprintf("output-%d", i)), reads...)
		if err != nil {
			return err
		}
		s.processes = append(s.processes, p)
		s.watching.Go(func() { s.watch(p) })
	}
	if err := s.awaitReady(ctx); err != nil {
		return err
	}
	return s.StartLog()
}

// watch records that a process has exited by itself.
func (s *Server) watch(p *instance) {
	<-p.ended
	if p.err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = fmt.Errorf("the server %s exited unexpectedly: %w", s.config.Kind.Name, p.err)
		close(s.died)
	}
}

// Died is closed when the server has exited unexpectedly. Err says why.
func (s *Server) Died() <-chan struct{} { return s.died }

// Err returns why the server has exited unexpectedly, or nil while it runs and
// after Stop.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// StartLog restarts the log: earlier requests are not part of it, even if the server logs
// them later.
func (s *Server) StartLog() error {
	if !s.config.Kind.Logs {
		return nil
	}
	s.since = time.Now()
	info, err := os.Lstat(s.setup.log)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("restart the log of %s: %w", s.config.Kind.Name, err)
	}
	if err == nil {
		s.skip = info.Size()
	}
	return nil
}

// Log returns what has been served, in the order of the requests, or nil if the kind keeps
// no log. It is certain to be complete only after Stop, since servers log a request when
// they have finished it. An error names the line that cannot be parsed.
func (s *Server) Log() ([]capture.ServerEntry, error) {
	if !s.config.Kind.Logs {
		return nil, nil
	}
	text := s.log
	if !s.stopped {
		var err error
		if text, err = s.readLog(); err != nil {
			return nil, err
		}
	}
	entries, err := s.setup.entries(text)
	if err != nil {
		return nil, fmt.Errorf("read the log of %s: %w", s.config.Kind.Name, err)
	}
	earliest := s.since.Add(-logResolution).UnixNano()
	return slices.DeleteFunc(entries, func(e capture.ServerEntry) bool { return e.Start < earliest }), nil
}

// logResolution is how far too early a log may put the start of a request: nginx logs
// when it ended and how long it took, both in whole milliseconds.
const logResolution = 2 * time.Millisecond

// largestLog is how many octets of a server's log a load may leave: enough for 100,000 requests.
const largestLog = 128 << 20

// readLog reads the log, in whose place the server may have put anything.
func (s *Server) readLog() ([]byte, error) {
	text, err := artefact.ReadIn(s.config.Folder, filepath.Base(s.setup.log), s.skip, largestLog)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // the file is created with the first request
	}
	if err != nil {
		return nil, fmt.Errorf("read the log of %s: %w", s.config.Kind.Name, err)
	}
	return text, nil
}

// Stop ends the server with all its processes, reads its log and removes its folder.
// Calling it again does nothing.
func (s *Server) Stop() error {
	if s.stopped {
		return nil
	}
	for _, p := range s.processes {
		p.stopping.Store(true)
	}
	for _, p := range slices.Backward(s.processes) {
		p.stop()
	}
	s.watching.Wait()
	s.stopped = true
	var err error
	if s.setup != nil && s.config.Kind.Logs {
		s.log, err = s.readLog()
	}
	if removed := os.RemoveAll(s.config.Folder); removed != nil {
		err = errors.Join(err, fmt.Errorf("remove the files of %s: %w", s.config.Kind.Name, removed))
	}
	return err
}
