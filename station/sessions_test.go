package station

import (
	"context"
	"errors"
	"strings"
	"testing"

	"wiretime/capture"
	"wiretime/lab/labtest"
	"wiretime/metric"
	"wiretime/site"
	"wiretime/study"
	"wiretime/workload"
	"wiretime/workload/pageload"
)

// inSession returns an order for a load of a session by the built-in loader.
func inSession(visit string, load, of int) pageload.Order {
	o := builtinOrder("h2", visit)
	o.Place = pageload.Place{Load: load, Of: of}
	return o
}

// TestSession makes two sessions of three loads, of which the first ends early because the second begins.
func TestSession(t *testing.T) {
	page := validated(t)
	s := openWith(t, "", page)
	for i, place := range []pageload.Place{{Load: 1, Of: 3}, {Load: 2, Of: 3}, {Load: 1, Of: 3}, {Load: 2, Of: 3}, {Load: 3, Of: 3}} {
		l := load(t, s, inSession("again", place.Load, place.Of), page)
		requests := 1 + images
		if place.Load > 1 {
			requests = 1
		}
		if len(l.Server) != requests || l.Server[0].Connection != 1 {
			t.Errorf("order %d: %d requests, the first on connection %d; want %d, on connection 1", i, len(l.Server), l.Server[0].Connection, requests)
		}
		if going := s.sitting != nil; going != (place.Load < 3) {
			t.Errorf("after load %d a session is under way: %v", place.Load, going)
		}
	}
	_, err := loadInto(t, s, inSession("again", 2, 3), page, t.TempDir())
	if !errors.Is(err, workload.ErrLabIntact) || !strings.Contains(err.Error(), "make load 2 of a session of 3: no session is under way") {
		t.Error(err)
	}
	load(t, s, builtinOrder("h2", "cold"), page)
}

// forgetful is a session of the built-in loader that drops its cache when it comes back for the at-th time.
type forgetful struct {
	pageload.Session
	at int
}

func (f *forgetful) Forget(ctx context.Context, keep capture.Warm) error {
	if f.at--; f.at == 0 {
		keep.Cache = false
	}
	return f.Session.(pageload.Revisitor).Forget(ctx, keep)
}

// TestCacheLostInMidSession has a client drop its cache before the third load of a session: that load is invalid, and
// names what should have been in the cache; the loads around it are valid.
func TestCacheLostInMidSession(t *testing.T) {
	page := validated(t)
	s := openWith(t, "", page)
	for _, visit := range []string{study.VisitCached, study.VisitAgain, study.VisitReload} {
		t.Run(visit, func(t *testing.T) { loseCache(t, s, page, visit) })
	}
}

func loseCache(t *testing.T, s *Station, page *site.Site, visit string) {
	order := inSession(visit, 1, 4)
	l := pageload.Load{Order: order, Site: page, Authority: s.Authority()}
	terms, err := order.Terms()
	if err != nil {
		t.Fatal(err)
	}
	inner, err := s.session(t.Context(), l, terms)
	if err != nil {
		t.Fatal(err)
	}
	l.Session = &forgetful{inner, 2}
	sitting, err := pageload.Sit(t.Context(), s.lab, l)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := sitting.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	for n := 1; n <= 4; n++ {
		dir := t.TempDir()
		l.Place.Load, l.Dir = n, dir
		record, err := sitting.Load(t.Context(), l)
		if err == nil {
			err = record.LoadError
		}
		if err != nil {
			t.Fatal(err)
		}
		judged := order
		if n == 1 {
			judged.Visit = study.VisitCold
		}
		left := loaded{record, labtest.ReadCapture(t, dir)}.evidence(judged)
		left.First = n == 1
		found := metric.Pages().Violations(left)
		const dropped = "the client fetched 9 resources whole that the earlier visit had left in its cache: "
		switch {
		case n != 3 && len(found) > 0:
			t.Errorf("load %d: %v", n, found)
		case n == 3 && (len(found) != 1 || found[0].Rule != 2 || !strings.HasPrefix(found[0].Detail, dropped+page.Page)):
			t.Errorf("load %d: %v, want %s%s and others", n, found, dropped, page.Page)
		}
	}
}
