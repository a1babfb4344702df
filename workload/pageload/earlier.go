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
	record, err := r.visit(ctx, earlierSeed(r.Seed))
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
	back, ok := r.Session.(Revisitor)
	if !ok {
		record.LoadError = errors.New("the loader cannot come back to a site: it makes cold visits only")
		return record, nil
	}
	// The path is without delay now: the client hears at once of what is closed.
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
	if record.LoadError = back.Forget(ctx, r.terms.Warm); record.LoadError != nil {
		record.LoadError = fmt.Errorf("end the earlier visit: %w", record.LoadError)
		return record, nil //nolint:nilerr // the error is the load's
	}
	if err := r.hosts.Drain(ctx); err != nil {
		return nil, err
	}
	return nil, r.origin.StartLog()
}

// remember notes what a visit received whole.
func (r *loading) remember(har *capture.HAR) {
	if r.got == nil {
		r.got = map[string]bool{}
	}
	for i := range har.Log.Entries {
		if e := &har.Log.Entries[i]; e.Request.Method == http.MethodGet && e.Response.Status == http.StatusOK {
			r.got[e.Request.URL] = true
		}
	}
}

// markRevisited marks in a HAR what earlier visits received whole.
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
