package pageload

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"time"

	"wiretime/capture"
	"wiretime/lab"
	"wiretime/protocol"
	"wiretime/replay"
	"wiretime/server"
	"wiretime/workload"
)

// origins serves a load's site. It is Wiretime's own server or a third-party one.
type origins interface {
	// Log returns what was served since StartLog. It ends a third-party server.
	Log() ([]capture.ServerEntry, error)
	StartLog() error
	// LostPackets is protocol.Server's, -1 where that is not known.
	LostPackets() int
	// Disconnect closes all connections.
	Disconnect() error
	// Died is closed when the server has exited unexpectedly, and Err says why.
	Died() <-chan struct{}
	Err() error
	// Processes returns the processes that serve, besides this program.
	Processes() []int
	Close() error
}

// ownServer is Wiretime's own server, which is part of this program and never exits by itself.
type ownServer struct{ *protocol.Server }

func (s ownServer) Log() ([]capture.ServerEntry, error) { return s.Server.Log(), nil }
func (s ownServer) StartLog() error                     { s.Server.StartLog(); return nil }
func (s ownServer) Disconnect() error                   { s.Server.Disconnect(); return nil }
func (s ownServer) Died() <-chan struct{}               { return nil }
func (s ownServer) Err() error                          { return nil }
func (s ownServer) Processes() []int                    { return nil }

// foreignServer is a third-party server.
type foreignServer struct{ *server.Server }

// Log ends the server, which only then has written its whole log.
func (s foreignServer) Log() ([]capture.ServerEntry, error) {
	if err := s.Stop(); err != nil {
		return nil, err
	}
	return s.Server.Log()
}

func (s foreignServer) LostPackets() int { return -1 }
func (s foreignServer) Close() error     { return s.Stop() }
func (s foreignServer) Disconnect() error {
	return errors.New("third-party servers cannot be told to close connections")
}

// ServerError says why a third-party server could not be started. The lab is as good as
// before.
type ServerError struct{ cause error }

func (e *ServerError) Error() string { return e.cause.Error() }

// Unwrap returns the cause, and that the lab is as good as before.
func (e *ServerError) Unwrap() []error { return []error{e.cause, workload.ErrLabIntact} }

// readyLimit is how long a third-party server may take until it answers. Java first compiles
// its program, which takes seconds on an idle machine.
const readyLimit = 2 * time.Minute

// serve starts what serves the site, on the server's host.
func (r *loading) serve(ctx context.Context, hosts map[string]netip.Addr) (origins, error) {
	if r.terms.Server.Name != "" {
		return r.serveForeign(ctx, hosts)
	}
	own, err := protocol.Serve(ctx, protocol.ServerConfig{
		Protocol:     r.terms.Protocol,
		Hosts:        hosts,
		Handler:      r.handler(),
		CA:           r.Authority,
		KeyLog:       r.hosts.Keys,
		Listen:       r.hosts.Server.Listen,
		ListenPacket: r.hosts.Server.ListenPacket,
		Resume:       r.terms.Warm.Sessions,
		EarlyData:    r.terms.Warm.EarlyData,
		Fallback:     r.Fallback,
		TLS12:        r.terms.TLS12,
		PlainHeaders: r.terms.PlainHeaders,
		EqualTurns:   r.terms.EqualTurns && r.terms.Protocol.Name != "h3", // quic-go cannot ignore priorities
		Windows:      r.terms.ServerWindow,
	})
	return ownServer{own}, err
}

// handler returns what answers the requests at Wiretime's own server.
func (r *loading) handler() http.Handler {
	archive := protocol.Archive(replay.Answers(r.Served, r.ServerWait))
	if r.Upload == 0 {
		return archive
	}
	return protocol.Sink(archive)
}

// serveForeign starts a third-party server.
func (r *loading) serveForeign(ctx context.Context, hosts map[string]netip.Addr) (origins, error) {
	folder, err := os.MkdirTemp(lab.Scratch, "server-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the server: %w", err)
	}
	s, err := server.Start(ctx, server.Config{
		Kind: r.terms.Server, Protocol: r.terms.Protocol, Site: r.Served, Hosts: hosts, Authority: r.Authority, Folder: folder,
		Do: r.hosts.Server.Do, Command: r.hosts.Server.ServerCommand, Contained: !r.hosts.Virtual(), ReadyLimit: readyLimit,
	})
	if err != nil {
		return nil, &ServerError{err}
	}
	return foreignServer{s}, nil
}

// exitDelay is how long after the end of its connections a server's exit may be noticed.
const exitDelay = 100 * time.Millisecond

// whileServed returns a context that ends with the server. done must be called with the
// outcome of what was done under it; it returns why the server exited instead, if it did.
func whileServed(ctx context.Context, o origins) (watched context.Context, done func(error) error) {
	watched, cancel := context.WithCancelCause(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		select {
		case <-o.Died():
			cancel(o.Err())
		case <-watched.Done():
		}
	}()
	return watched, func(outcome error) error {
		if outcome != nil && o.Died() != nil {
			select {
			case <-o.Died():
			case <-time.After(exitDelay):
			}
		}
		cancel(nil)
		<-over
		if err := o.Err(); err != nil {
			return err
		}
		return outcome
	}
}

// logLimit is how long a server may take to write down what it has answered. Apache lingers
// on a connection for two seconds before it does.
const logLimit = 10 * time.Second

// awaitLog waits until the running server has logged as many requests as the client has made,
// for logLimit at most. Some servers log long after they have answered, Apache over HTTP/2
// only when the client has disconnected.
func (s foreignServer) awaitLog(ctx context.Context, har *capture.HAR) {
	if har == nil {
		return
	}
	made := 0
	for i := range har.Log.Entries {
		if e := &har.Log.Entries[i]; e.FromCache == "" && e.Response.Status > 0 {
			made++
		}
	}
	limit := time.After(logLimit)
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		log, err := s.Server.Log()
		if err != nil || log == nil || len(log) >= made {
			return // an error is found again by whoever reads the log
		}
		select {
		case <-look.C:
		case <-limit:
			return
		case <-ctx.Done():
			return
		}
	}
}
