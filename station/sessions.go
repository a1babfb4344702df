package station

import (
	"context"
	"fmt"

	"wiretime/workload"
	"wiretime/workload/pageload"
)

// run carries out a load that is the first of its browser session, or the only one.
func (s *Station) run(ctx context.Context, load pageload.Load) (record *pageload.Record, err error) {
	if load.Place.Load == 0 {
		return pageload.Run(ctx, s.lab, load)
	}
	if s.sitting, err = pageload.Sit(ctx, s.lab, load); err != nil {
		return nil, err
	}
	return s.nextLoad(ctx, load)
}

// nextLoad carries out the next load of the session under way, and ends the session after the last.
func (s *Station) nextLoad(ctx context.Context, load pageload.Load) (*pageload.Record, error) {
	if s.sitting == nil {
		return nil, fmt.Errorf("load %d of %d of a session: the session has ended before: %w", load.Place.Load, load.Place.Of, workload.ErrLabIntact)
	}
	record, err := s.sitting.Load(ctx, load)
	if err != nil || load.Place.Load == load.Place.Of {
		if ended := s.endSession(ctx); err == nil {
			err = ended
		}
	}
	if err != nil {
		return nil, err
	}
	return record, nil
}

// endSession ends the browser session under way, if there is one.
func (s *Station) endSession(ctx context.Context) error {
	if s.sitting == nil {
		return nil
	}
	sitting := s.sitting
	s.sitting = nil
	return sitting.Close(ctx)
}
