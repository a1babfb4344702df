package pageload

import (
	"context"
	"time"

	"wiretime/lab"
)

// Place is the place of a load in its browser session. The zero value means that the load has a session to
// itself.
type Place struct {
	Load int // number of the load, from 1
	Of   int // how many loads the session has
	// Every is the time from the start of one load to the start of the next. The path's time then
	// continues from load to load. 0: a load starts when the previous one has ended, at the path's time 0.
	Every time.Duration `json:",omitzero"`
}

// Sitting is a browser session under way: one session of the loader loads a site several times from one
// server.
type Sitting struct {
	*loading
	began time.Time // start of the first load
}

// Sit starts a browser session for load and the loads that follow it. After an error it has closed the loader's
// session.
func Sit(ctx context.Context, l *lab.Lab, load Load) (*Sitting, error) {
	r, err := open(ctx, l, load)
	if err != nil {
		return nil, err
	}
	return &Sitting{loading: r}, nil
}

// Close ends the session, and closes the loader's session and the server.
func (s *Sitting) Close(ctx context.Context) error { return s.close(ctx) }

// Load carries out the session's next load. It uses load's Dir, Comment, Seed and Place; the rest was set by Sit.
// The first load finds the client cold, later ones find it as the order's visit says. An error means that the
// lab itself failed, which ends the session. A page that did not load is Record.LoadError, and the session goes on.
func (s *Sitting) Load(ctx context.Context, load Load) (*Record, error) {
	s.Dir, s.Comment, s.Seed, s.Place = load.Dir, load.Comment, load.Seed, load.Place
	var unfit error // why the client is not in the state that the visit requires
	if load.Place.Load > 1 {
		var err error
		if unfit, err = s.comeBack(ctx); err != nil {
			return nil, err
		}
		if err := s.await(ctx); err != nil {
			return nil, err
		}
		if !s.terms.Warm.Connections {
			s.hosts.ForgetKeys() // their connections are closed
		}
		if err := s.origin.StartLog(); err != nil {
			return nil, err
		}
		s.hosts.Resolve(s.names) // and count anew
	} else {
		s.began = time.Now()
	}
	began, from := time.Since(s.began), s.From
	if s.Place.Every > 0 {
		from += began
	}
	record, err := s.visitUnless(ctx, unfit, from)
	if err != nil {
		return nil, err
	}
	record.Began = &began
	if err := s.save(ctx, record); err != nil {
		return nil, err
	}
	if s.terms.Warm.Cache && record.LoadError == nil { // a load that was cut short may have responses that are not whole
		s.remember(record.HAR)
	}
	return record, nil
}

// visitUnless is visit, but loads nothing if unfit is not nil, which is then the load's error.
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

// await waits until the load's start, if the session's loads start at fixed times.
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
