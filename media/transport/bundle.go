package transport

import (
	"context"
	"errors"
	"net/netip"

	"wiretime/panics"
)

// bundle is a session of several connections, over a transport that carries one request at a
// time: each pending request has a connection to itself. If one of them ends, so does the
// session.
type bundle struct {
	links []*tcpLink
	free  chan *tcpLink // those without a pending request
}

// connectBundle opens n connections at once.
func connectBundle(ctx context.Context, c *Client, locals []netip.Addr, n int) (link, error) {
	b := &bundle{free: make(chan *tcpLink, n)}
	opened, failed := make([]*tcpLink, n), make([]error, n)
	opening := panics.Group{Guard: panics.From(ctx)}
	for i := range n {
		opening.Go(func() { opened[i], failed[i] = dialTCP(ctx, c, locals) })
	}
	opening.Wait()
	for _, l := range opened {
		if l != nil {
			b.links = append(b.links, l)
			b.free <- l
		}
	}
	if err := errors.Join(failed...); err != nil || len(b.links) < n {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

func (b *bundle) open(ctx context.Context, r Request) (exchange, error) {
	if err := b.cause(); err != nil {
		return nil, err
	}
	select {
	case l := <-b.free:
		x, err := l.open(ctx, r)
		if err != nil {
			b.free <- l
			return nil, err
		}
		return bundledExchange{x, func() { b.free <- l }}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// cause returns why the first connection that has ended did so, or nil.
func (b *bundle) cause() error {
	for _, l := range b.links {
		if err := l.cause(); err != nil {
			return err
		}
	}
	return nil
}

func (*bundle) again(context.Context, error) bool         { return false }
func (*bundle) migrate(context.Context, netip.Addr) error { return ErrUnsupported }

// state returns that of the first connection.
func (b *bundle) state() State { return b.links[0].state() }

func (b *bundle) close() error {
	var errs []error
	for _, l := range b.links {
		errs = append(errs, l.close())
	}
	return errors.Join(errs...)
}

// bundledExchange gives its connection back when it is finished.
type bundledExchange struct {
	exchange
	release func()
}

func (x bundledExchange) finish(left int64) {
	x.exchange.finish(left)
	x.release()
}
