package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"wiretime/panics"
	"wiretime/protocol"
)

// quicAlone is how long QUIC is tried alone before a TCP connection is tried
// beside it: Chromium's kDefaultDelayMilliSecsForWaitingJob.
const quicAlone = 300 * time.Millisecond

// errRaceLost is why a dial attempt ends that is no longer needed.
var errRaceLost = errors.New("another connection was faster")

// race opens c over HTTP/3 and, if that fails or takes too long, a connection over
// the fallback's row. It returns the one that is ready first.
func (c *conn) race() (*conn, error) {
	s := c.origin.session
	row, err := protocol.Lookup(s.options.Fallback)
	if err != nil {
		return c, fmt.Errorf("fall back from %s: %w", c.row.Name, err)
	}
	ctx, cancel := context.WithCancelCause(c.ctx)
	type attempt struct {
		*conn
		err error
	}
	results := make(chan attempt, 2)
	running := 0
	try := func(row protocol.Protocol) {
		running++
		a := *c
		a.row, a.ctx = row, ctx
		s.running.Go(func() { results <- attempt{&a, panics.Do(a.establish)} })
	}
	try(c.row)
	alone := time.NewTimer(quicAlone)
	defer alone.Stop()
	both := false
	var errs []error
	for running > 0 {
		select {
		case <-alone.C:
		case a := <-results:
			running--
			if a.err == nil {
				cancel(errRaceLost)
				if running > 0 {
					s.running.Go(func() {
						if loser := <-results; loser.err == nil {
							_ = loser.close()
						}
					})
				}
				a.ctx = c.ctx
				return a.conn, nil
			}
			errs = append(errs, a.err)
		}
		if !both {
			both = true
			try(row)
		}
	}
	cancel(nil)
	return c, errors.Join(errs...)
}
