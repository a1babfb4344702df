package pageload

import (
	"context"
	"time"

	"wiretime/lab"
)

// Place says which load of a browser session a load is. The zero value is a load with a session of
// its own.
type Place struct {
	Load, Of int // from 1
	// Every is the time from the start of one load to the start of the next, over a path whose time
	// goes on; 0: a load starts when the one before has ended, at the path's time 0.
	Every time.Duration `json:",omitzero"`
}

// Sitting is a browser session while it is carried out: loads of one site, one after the other, by one
// session of the loader and from one server.
type Sitting struct {
	*loading
	began time.Time // of the first load
}

// Sit opens a session for load and those that follow it. The loader's session is closed after an
// error, too.
func Sit(ctx context.Context, l *lab.Lab, load Load) (*Sitting, error) {
	r, err := open(ctx, l, load)
	if err != nil {
		return nil, err
	}
	return &Sitting{loading: r}, nil
}

// Close ends the session.
func (s *Sitting) Close(ctx context.Context) error { return s.close(ctx) }

// Load carries out the session's next load. Of load only what loads of a session do not share is used.
// Its first load finds the client cold, each later one as the order's visit says. An error means that the
// lab itself failed, and the session with it; after a load that did not go well the next one may.
func (s *Sitting) Load(ctx context.Context, load Load) (*Record, error) {
	s.Dir, s.Comment, s.Seed, s.Place = load.Dir, load.Comment, load.Seed, load.Place
	var unfit error // why the client is not in the state that the order asks for
	if load.Place.Load > 1 {
		var err error
		if unfit, err = s.comeBack(ctx); err != nil {
			return nil, err
		}
		if err := s.await(ctx); err != nil {
			return nil, err
		}
		if !s.terms.Warm.Connections {
			s.hosts.ForgetKeys() // of connections that are closed
		}
		if err := s.origin.StartLog(); err != nil {
			return nil, err
		}
		s.hosts.Resolve(s.names) // and count anew
	} else {
		s.began = time.Now()
	}
	began, from := time.Since(s.began), time.Duration(0)
	if s.Place.Every > 0 {
		from = began
	}
	record, err := s.visitUnless(ctx, unfit, from)
	if err != nil {
		return nil, err
	}
	record.Began = &began
	if err := s.save(ctx, record); err != nil {
		return nil, err
	}
	if s.terms.Warm.Cache && record.HAR != nil {
		s.remember(record.HAR)
	}
	return record, nil
}

// visitUnless is visit, without the pages if the client is not fit for them.
func (s *Sitting) visitUnless(ctx context.Context, unfit error, from time.Duration) (*Record, error) {
	if unfit == nil {
		return s.visit(ctx, s.Seed, from)
	}
	report, err := s.hosts.Run(ctx, lab.Task{Seed: s.Seed, From: from, Comment: s.Comment, Do: func(context.Context, lab.Progress) error { return unfit }})
	if err != nil {
		return nil, err
	}
	record := &Record{}
	record.Report = *report
	return record, nil
}

// await waits until the load is to start.
func (s *Sitting) await(ctx context.Context) error {
	if s.Place.Every == 0 {
		return nil
	}
	timer := time.NewTimer(time.Until(s.began.Add(time.Duration(s.Place.Load-1) * s.Place.Every)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
