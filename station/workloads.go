package station

import (
	"context"
	"errors"

	"wiretime/site"
	"wiretime/workload"
	"wiretime/workload/pageload"
	"wiretime/workload/playback"
)

// This file is where workloads are told apart: each has one line in every type and function.

// Order is one load of a workload: exactly one field is set.
type Order struct {
	Page   *pageload.Order `json:",omitempty"`
	Stream *playback.Order `json:",omitempty"`
}

// Record is what a load left, besides the files in its folder: the field of its order's
// workload is set.
type Record struct {
	Page   *pageload.Record `json:",omitempty"`
	Stream *playback.Record `json:",omitempty"`
}

// Load carries out one load and puts its artefacts into the folder dir. page is the order's
// site, nil if the workload has none. An error means that the station failed and must be
// closed, unless it is a *pageload.ServerError. A load that did not go well is no error: the
// record says so.
func (s *Station) Load(ctx context.Context, o Order, page *site.Site, dir string) (*Record, error) {
	var r Record
	var err error
	switch {
	case o.Page != nil:
		r.Page, err = s.loadPage(ctx, pageload.Load{Order: *o.Page, Site: page, Authority: s.config.Authority, Dir: dir})
	case o.Stream != nil:
		r.Stream, err = playback.Run(ctx, s.lab, playback.Load{Order: *o.Stream, Authority: s.config.Authority, Dir: dir})
	default:
		err = errors.New("the order has no workload")
	}
	if err != nil {
		return nil, err
	}
	return &r, nil
}

// Common is what records of all workloads have.
func (r *Record) Common() *workload.Record {
	if r.Page != nil {
		return &r.Page.Record
	}
	return &r.Stream.Record
}

// ReadFiles adds what the files in the load's folder hold to a record that came as JSON.
func (r *Record) ReadFiles(dir string) error {
	if r.Page != nil {
		return r.Page.ReadFiles(dir)
	}
	return r.Stream.ReadFiles(dir)
}
