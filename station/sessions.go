package station

import (
	"context"
	"errors"
	"fmt"

	"wiretime/workload"
	"wiretime/workload/pageload"
)

// run carries out the first or only load of a browser session.
func (s *Station) run(ctx context.Context, load pageload.Load) (record *pageload.Record, err error) {
	if load.Place.Load == 0 {
		return pageload.Run(ctx, s.lab, load)
	}
	if s.sitting, err = pageload.Sit(ctx, s.lab, load); err != nil {
		return nil, err
	}
	return s.nextLoad(ctx, load)
}

// nextLoad carries out the next load of the session under way. It ends the session after the last load and after
// an error, which is workload.ErrLabIntact if there is no session.
func (s *Station) nextLoad(ctx context.Context, load pageload.Load) (*pageload.Record, error) {
	if s.sitting == nil {
		return nil, fmt.Errorf("make load %d of a session of %d: no session is under way: %w", load.Place.Load, load.Place.Of, workload.ErrLabIntact)
	}
	record, err := s.sitting.Load(ctx, load)
	if err != nil || load.Place.Load == load.Place.Of {
		err = errors.Join(err, s.endSession(ctx))
	}
	if err != nil {
		return nil, err
	}
	return record, nil
}

// endSession ends the browser session under way, if any.
func (s *Station) endSession(ctx context.Context) error {
	if s.sitting == nil {
		return nil
	}
	sitting := s.sitting
	s.sitting = nil
	return sitting.Close(ctx)
}
