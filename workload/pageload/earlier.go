package pageload

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"wiretime/capture"
)

// visitEarlier carries out the visit before the measured one, and leaves the client in the
// state that the order asks for. It loads the same pages over the same path, with other
// losses and jitter. It returns a record only if the visit did not go well.
func (r *loading) visitEarlier(ctx context.Context) (*Record, error) {
	record, err := r.visit(ctx, earlierSeed(r.Seed), r.From)
	if err != nil {
		return nil, err
	}
	if record.LoadError != nil {
		record.LoadError = fmt.Errorf("the earlier visit: %w", record.LoadError)
		return record, nil //nolint:nilerr // the error is the load's
	}
	if r.terms.Warm.Cache {
		r.remember(record.HAR)
	}
	if record.LoadError, err = r.comeBack(ctx); err != nil {
		return nil, err
	}
	if record.LoadError != nil {
		return record, nil //nolint:nilerr // the error is the load's
	}
	return nil, r.origin.StartLog()
}

// comeBack ends a visit, and leaves the client in the state that the order asks for. failed says why the
// client is not in that state; err says that the lab itself failed.
func (r *loading) comeBack(ctx context.Context) (failed, err error) {
	back, ok := r.Session.(Revisitor)
	if !ok {
		return errors.New("the loader cannot come back to a site: it makes cold visits only"), nil
	}
	if err := r.noteSPDY(); err != nil {
		return nil, err
	}
	// The path is without delay now, so the client learns at once which connections are closed.
	if err := r.hosts.Rejoin(); err != nil {
		return nil, err
	}
	if !r.terms.Warm.Connections {
		if err := r.origin.Disconnect(); err != nil {
			return nil, err
		}
	}
	if err := r.hosts.Drain(ctx); err != nil {
		return nil, err
	}
	if err := back.Forget(ctx, r.terms.Warm); err != nil {
		return fmt.Errorf("end the earlier visit: %w", err), nil
	}
	return nil, r.hosts.Drain(ctx)
}

// remember records which resources a visit received whole. What the visit did not wait for may be cut off.
func (r *loading) remember(har *capture.HAR) {
	if r.got == nil {
		r.got = map[string]bool{}
	}
	for i := range har.Log.Entries {
		e := &har.Log.Entries[i]
		whole := e.Response.Status == http.StatusOK && e.Response.Error == "" && e.Unawaited == ""
		if e.Request.Method == http.MethodGet && whole {
			r.got[e.Request.URL] = true
		}
	}
}

// markRevisited marks the entries of a HAR whose resources earlier visits received whole.
func (r *loading) markRevisited(har *capture.HAR) {
	for i := range har.Log.Entries {
		e := &har.Log.Entries[i]
		e.Revisited = e.Request.Method == http.MethodGet && r.got[e.Request.URL]
	}
}

// earlierSeed makes the seed of an earlier visit out of the load's own, by one step
// of SplitMix64 (Steele, Lea and Flood 2014).
func earlierSeed(seed uint64) uint64 {
	z := seed + 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
