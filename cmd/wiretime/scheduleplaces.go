package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"wiretime/campaign/broker"
	"wiretime/schedule"
)

// checkReach makes sure that workers can reach a schedule whose studies name places, and that no other schedule lets any in.
func (t *timetable) checkReach() error {
	r := t.reach
	open := r.listen != "" || r.access.URL != ""
	at := slices.IndexFunc(t.studies, func(s scheduled) bool { return len(s.places) > 0 })
	switch {
	case at < 0 && (open || len(r.hosts)+len(r.invite) > 0):
		return fmt.Errorf("run schedule %s: none of its studies names places (at), so it has no workers; remove --listen, --host, --invite and --nats", t.Name)
	case at >= 0 && t.Clock == schedule.ClockVirtual:
		return fmt.Errorf("run schedule %s: study %s names places (at), whose clocks do not jump from slot to slot; remove clock: virtual, or the study", t.Name, filepath.Base(t.studies[at].store))
	case at >= 0 && !open:
		return fmt.Errorf("run schedule %s: study %s is measured at %s, by workers there; say with --listen where they reach this machine, or name a NATS server with --nats (docs/places.md)",
			t.Name, filepath.Base(t.studies[at].store), strings.Join(t.studies[at].places, ", "))
	}
	return nil
}

// natsDir is the folder of the schedule's NATS server.
func (t *timetable) natsDir() string { return filepath.Join(t.store, natsFolder) }

// startServer starts the schedule's NATS server and writes the invitations.
func (t *timetable) startServer(ctx context.Context) (*broker.Server, error) {
	server, err := broker.Start(ctx, broker.Config{Dir: t.natsDir(), Listen: t.reach.listen, Hosts: t.reach.hosts})
	if err != nil {
		return nil, err
	}
	until := time.Now().Add(inviteTerm)
	if end := t.end(time.Now()); end.After(until) {
		until = end
	}
	for _, name := range t.reach.invite {
		if err := invite(server, name, until); err != nil {
			return nil, errors.Join(err, server.Close())
		}
	}
	return server, nil
}

// end returns when the schedule is over for certain: a day after its last one. Without a first day of its own it begins now.
func (t *timetable) end(now time.Time) time.Time {
	from := t.From
	if from == (schedule.Date{}) {
		from = schedule.DateOf(now, t.Zone)
	}
	return time.Date(from.Year, from.Month, from.Day+t.Days+1, 0, 0, 0, 0, t.Zone)
}

// followServed carries the schedule out, with a NATS server beside it if it needs one. Workers can join before the first slot.
func followServed(ctx context.Context, o scheduleOptions, t *timetable) (err error) {
	var conn *nats.Conn
	switch {
	case t.reach.listen != "":
		server, err := t.startServer(ctx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, server.Close()) }()
		conn, err = server.Coordinator(ctx)
		if err != nil {
			return err
		}
	case t.reach.access.URL != "":
		if conn, err = t.reach.access.Connect(ctx, "wiretime schedule "+t.Name); err != nil {
			return err
		}
	default:
		return follow(ctx, o, t)
	}
	err = t.setUp(ctx, conn)
	conn.Close()
	if err != nil {
		return err
	}
	return follow(ctx, o, t)
}

// setUp makes what campaigns and their workers need in NATS.
func (t *timetable) setUp(ctx context.Context, conn *nats.Conn) error {
	if err := os.MkdirAll(t.store, 0o755); err != nil {
		return fmt.Errorf("set up NATS for schedule %s: %w", t.Name, err)
	}
	octets, err := room(t.reach, t.store)
	if err != nil {
		return err
	}
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	return broker.Setup(ctx, js, octets)
}

// command is how this program carries out a study in a slot.
func (t *timetable) command(study scheduled) []string {
	switch {
	case len(study.places) == 0:
		return []string{"run", study.source}
	case t.reach.listen != "":
		return []string{"campaign", "run", study.source, "--" + serverFlag, t.natsDir()}
	}
	return append([]string{"campaign", "run", study.source}, t.reach.words()...)
}
