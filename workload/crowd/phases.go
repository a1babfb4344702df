package crowd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"wiretime/evidence"
	"wiretime/loader/many"
	"wiretime/machine"
)

// warmPages is how many pages a first client loads before anything is measured. The server then has its code
// and files in memory, and Java has compiled some of its code.
const warmPages = 100

// countedPages is the least number of pages that are loaded while system calls are counted, and the largest
// number of clients that load them. It is small because a server that is stopped at each call is slow.
const countedPages = 50

// phases carries out the phases of a crowd, one after the other.
func (m *measuring) phases(ctx context.Context) (err error) {
	c := m.crowd
	before, err := m.sockets()
	if err != nil {
		return err
	}
	if c.Warm, err = m.phase(ctx, command{Connect: 1, Load: 1, Rounds: warmPages, Leave: true}); err != nil {
		return err
	}
	m.awaitSockets(ctx, before)
	if c.Base, c.ClientBase, err = m.memory(); err != nil {
		return err
	}
	if before, err = m.sockets(); err != nil {
		return err
	}
	if c.Connect, err = m.phase(ctx, command{Connect: m.Clients}); err != nil {
		return err
	}
	rounds := 1
	if !m.Idle {
		rounds = (m.Pages + m.Clients - 1) / m.Clients
	}
	if c.Load, err = m.phase(ctx, command{Load: m.Clients, Rounds: rounds}); err != nil {
		return err
	}
	if m.row.Transport == "tcp" {
		now, err := m.sockets()
		if err != nil {
			return err
		}
		c.Held = (now - before) / 2 // both ends are on this host
	}
	if m.Idle {
		if err := m.rest(ctx); err != nil {
			return err
		}
	}
	if c.Server, c.Client, err = m.memory(); err != nil {
		return err
	}
	if !m.Idle {
		return m.count(ctx)
	}
	return nil
}

// rest watches the server while nothing is under way.
func (m *measuring) rest(ctx context.Context) error {
	before := m.read()
	select {
	case <-time.After(m.Rest):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	rest := m.since(before)
	m.crowd.Rest = &rest
	return nil
}

// count has some of the clients load the page while the server's system calls are counted.
func (m *measuring) count(ctx context.Context) (err error) {
	calls, err := machine.CountCalls(m.server()...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, calls.Close()) }()
	before, err := calls.Count()
	if err != nil {
		return err
	}
	n := min(m.Clients, countedPages)
	counted, err := m.phase(ctx, command{Load: n, Rounds: (countedPages + n - 1) / n})
	if err != nil {
		return err
	}
	after, err := calls.Count()
	if err != nil {
		return err
	}
	counted.SystemCalls = after - before
	m.crowd.Counted = &counted
	return nil
}

// reading holds what processes have used and done until a moment.
type reading struct {
	at           time.Time
	user, kernel time.Duration // of the server
	clients      time.Duration // processor time of the clients
	done         many.Done
}

// read reads what the server and the clients have used and done so far.
func (m *measuring) read() reading {
	r := reading{at: time.Now(), done: m.done}
	r.user, r.kernel = machine.ProcessorTime(m.server()...)
	user, kernel := machine.ProcessorTime(m.clients.pid())
	r.clients = user + kernel
	return r
}

// since returns what was used and done since a reading, and how long ago it was.
func (m *measuring) since(before reading) evidence.Phase {
	now := m.read()
	return evidence.Phase{
		Took: now.at.Sub(before.at), User: now.user - before.user, Kernel: now.kernel - before.kernel, ClientTime: now.clients - before.clients,
		Connections: now.done.Connections - before.done.Connections, Handshakes: now.done.Handshakes - before.done.Handshakes,
		Pages: now.done.Pages - before.done.Pages, Requests: now.done.Requests - before.done.Requests, Octets: now.done.Octets - before.done.Octets,
	}
}

// phase has the clients carry out a command and waits until the server has come to rest. Its processor time
// includes the wait, but the time that it took ends with the command.
func (m *measuring) phase(ctx context.Context, c command) (evidence.Phase, error) {
	before := m.read()
	began := time.Now()
	done, err := m.clients.tell(c)
	took := time.Since(began)
	if err != nil {
		return evidence.Phase{}, err
	}
	m.done, m.crowd.TLS = done, done.TLS
	m.settle(ctx)
	p := m.since(before)
	p.Took = took
	return p, context.Cause(ctx)
}

// restLook, restShare and restLimit say when a server has come to rest: when it has used less than restShare of
// a processor for restLook, or after restLimit.
const (
	restLook  = 20 * time.Millisecond
	restShare = 0.02
	restLimit = 2 * time.Second
)

// settle waits until the server has come to rest. When the clients are done, the server may still be busy, for
// instance with the end of a handshake.
func (m *measuring) settle(ctx context.Context) {
	used := func() time.Duration {
		user, kernel := machine.ProcessorTime(m.server()...)
		return user + kernel
	}
	from := time.Now()
	for last := used(); time.Since(from) < restLimit; {
		select {
		case <-time.After(restLook):
		case <-ctx.Done():
			return
		}
		now := used()
		if float64(now-last) < restShare*float64(restLook) {
			return
		}
		last = now
	}
}

// memory reads the memory of the server and of the clients.
func (m *measuring) memory() (server, clients evidence.Memory, err error) {
	for _, each := range []struct {
		pids []int
		to   *evidence.Memory
	}{{m.server(), &server}, {[]int{m.clients.pid()}, &clients}} {
		used, err := machine.Used(each.pids...)
		if err != nil {
			return server, clients, err
		}
		*each.to = evidence.Memory{Resident: used.Resident, Peak: used.Peak}
	}
	return server, clients, nil
}

// sockets returns how many TCP sockets are open on the server's host, those of clients included, as the
// kernel counts them ("inuse" of /proc/net/sockstat).
func (m *measuring) sockets() (n int, err error) {
	err = m.hosts.Server.Do(func() error {
		text, err := os.ReadFile("/proc/thread-self/net/sockstat")
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			if fields := strings.Fields(line); len(fields) > 2 && fields[0] == "TCP:" {
				n, err = strconv.Atoi(fields[2])
				return err
			}
		}
		return fmt.Errorf("count sockets: no TCP line in %.100q", text)
	})
	return n, err
}

// goneLimit is how long the sockets of disconnected clients may take to close. Apache keeps a connection open for
// two seconds after its client has closed it (lingering close).
const goneLimit = 4 * time.Second

// awaitSockets waits until at most so many sockets are open.
func (m *measuring) awaitSockets(ctx context.Context, most int) {
	for from := time.Now(); time.Since(from) < goneLimit; {
		if n, err := m.sockets(); err != nil || n <= most {
			return
		}
		select {
		case <-time.After(restLook):
		case <-ctx.Done():
			return
		}
	}
}
