package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"wiretime/panics"
)

// Interface is the control interface of a client or of a server.
type Interface struct {
	cancel context.CancelFunc
	work   panics.Group
	done   []Done
	err    error
}

// Done is an order that a control interface has carried out.
type Done struct {
	Order Order
	At    time.Time
}

// redial is how long a control interface waits before it tries again to reach the manager.
const redial = 100 * time.Millisecond

// Attach opens a control interface, which carries orders out by apply until Close or the end of ctx. dial connects to
// the manager, from the address that the host has at the time. After an order that changes the access link, the
// interface opens a new connection, since the old one's address is gone. The first connection is there when
// Attach returns.
func Attach(ctx context.Context, role Role, dial func(context.Context) (net.Conn, error), apply func(context.Context, Order) error) (*Interface, error) {
	ctx, cancel := context.WithCancel(ctx)
	i := &Interface{cancel: cancel, work: panics.Group{Guard: panics.From(ctx)}}
	conn, err := open(ctx, role, 0, dial)
	if err != nil {
		cancel()
		return nil, err
	}
	i.work.Go(func() { i.err = i.serve(ctx, conn, role, dial, apply) })
	return i, nil
}

// open connects to the manager and says who is there.
func open(ctx context.Context, role Role, after int, dial func(context.Context) (net.Conn, error)) (net.Conn, error) {
	conn, err := dial(ctx)
	if err == nil {
		if err = write(conn, Hello{Version: Version, Role: role, After: after}); err == nil {
			return conn, nil
		}
		_ = conn.Close()
	}
	return nil, fmt.Errorf("connect the %s's control interface to the network's manager: %w", role, err)
}

// serve carries orders out, over one connection after the other.
func (i *Interface) serve(ctx context.Context, conn net.Conn, role Role, dial func(context.Context) (net.Conn, error), apply func(context.Context, Order) error) error {
	had := 0
	for {
		moved, err := i.obey(ctx, conn, &had, apply)
		if err != nil || ctx.Err() != nil {
			return err
		}
		for wait := !moved; ; wait = true {
			if wait && !pause(ctx, redial) {
				return nil
			}
			if conn, err = open(ctx, role, had, dial); err == nil {
				break
			}
		}
	}
}

// pause waits, and reports false if ctx ends.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// obey carries out the orders of one connection until it is gone. moved says that an order has changed the host's
// address. The error is that of an order.
func (i *Interface) obey(ctx context.Context, conn net.Conn, had *int, apply func(context.Context, Order) error) (moved bool, err error) {
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	for {
		var o Order
		if err := read(conn, &o); err != nil {
			return false, nil // a connection that is gone is replaced
		}
		if o.Number <= *had { // it came over an earlier connection
			continue
		}
		*had = o.Number
		if err := apply(ctx, o); err != nil {
			return false, fmt.Errorf("carry out order %d of the network's manager: %w", o.Number, err)
		}
		i.done = append(i.done, Done{o, time.Now()})
		if o.Access != "" {
			return true, nil
		}
	}
}

// Close ends the interface. It returns the orders that it has carried out, and the error of the one that it could not.
func (i *Interface) Close() ([]Done, error) {
	i.cancel()
	i.work.Wait()
	if errors.Is(i.err, context.Canceled) {
		return i.done, nil
	}
	return i.done, i.err
}
