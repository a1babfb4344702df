// Package server runs web servers that other people wrote, so that they can be measured
// in the place of Wiretime's own: Caddy, nginx, H2O, Apache, node-spdy, Netty, and any
// program that a command starts.
//
// A server is given the site as files, and a configuration in its own language by which it
// gives each archived response as it is: its status, fields and body, found by method,
// host, path and query. It offers one protocol, TLS 1.3 alone, certificates of the same
// authority and no session tickets, keeps connections open for longer than any load, and
// compresses nothing itself. What else it does, and how well, is its own. docs/servers.md
// has the table of what each can do.
package server

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"wiretime/capture"
	"wiretime/protocol"
	"wiretime/site"
)

// Config says what to serve, how and where.
type Config struct {
	Kind     Kind
	Protocol protocol.Protocol
	Site     *site.Site
	// Hosts gives the address of each origin's host.
	Hosts map[string]netip.Addr
	// Authority issues the certificates.
	Authority *protocol.Authority
	// Folder, which must exist and be empty, holds the server's files until Stop, which
	// removes it.
	Folder string
	// Do runs a function inside the network namespace that the server is to be in, and
	// Command arranges for a program to run there.
	Do      func(func() error) error
	Command func(*exec.Cmd)
	// ReadyLimit is how long the server may take until it answers.
	ReadyLimit time.Duration
}

// Server is a server of somebody else's that runs.
type Server struct {
	config    Config
	setup     *setup
	processes []*instance
	watching  sync.WaitGroup
	died      chan struct{}

	mu      sync.Mutex
	err     error
	stopped bool
	skip    int64     // octets of the log that are not part of it
	since   time.Time // nor are requests from before this, though written down after it
	log     []byte
}

// Processes are the numbers of the processes that were started; descendants of theirs
// serve, too.
func (s *Server) Processes() []int {
	pids := make([]int, len(s.processes))
	for i, p := range s.processes {
		pids[i] = p.child.Command.Process.Pid
	}
	return pids
}

// Start starts a server. When it returns, the server answers on all its addresses. An
// error holds the last that the server printed.
func Start(ctx context.Context, c Config) (*Server, error) {
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
		return fmt.Errorf("write the site for it: %w", err)
	}
	if err := s.setup.free(ctx); err != nil {
		return err
	}
	launches, err := k.configure(s.setup)
	if err != nil {
		return fmt.Errorf("write its configuration: %w", err)
	}
	for i, l := range launches {
		p, err := start(l, s.config.Command, s.setup.file(fmt.Sprintf("output-%d", i)))
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

// watch notes that a process has ended by itself.
func (s *Server) watch(p *instance) {
	<-p.ended
	if p.err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = fmt.Errorf("the server %s ended by itself: %w", s.config.Kind.Name, p.err)
		close(s.died)
	}
}

// Died is closed when the server has ended by itself; Err says why.
func (s *Server) Died() <-chan struct{} { return s.died }

// Err is why the server has ended by itself; nil while it runs and after Stop.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// StartLog begins the log anew: requests from before are no part of it, even if the server
// writes them down later.
func (s *Server) StartLog() error {
	if !s.config.Kind.Logs {
		return nil
	}
	s.since = time.Now()
	info, err := os.Stat(s.setup.log)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("begin the log of %s anew: %w", s.config.Kind.Name, err)
	}
	if err == nil {
		s.skip = info.Size()
	}
	return nil
}

// Log returns what has been served, in the order of the requests; nil if the kind keeps no
// log. Only when the server was stopped is it certain to be complete: servers write a
// request down when they are done with it. An error names the line that cannot be read.
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

// logResolution is how much too early a log may have a request begin: nginx writes down
// when it ended and how long it took, both in whole milliseconds.
const logResolution = 2 * time.Millisecond

func (s *Server) readLog() ([]byte, error) {
	text, err := os.ReadFile(s.setup.log)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // it makes the file with its first request
	}
	if err != nil {
		return nil, fmt.Errorf("read the log of %s: %w", s.config.Kind.Name, err)
	}
	return text[min(s.skip, int64(len(text))):], nil
}

// Stop ends the server with all its processes, takes its log in and removes its folder.
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
