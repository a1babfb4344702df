// Package upload posts content to a sink on a lab. An upload is carried out as the load of a page (package pageload). In
// a browser, the page's script posts; other clients post to the page's URL and load nothing else.
package upload

import (
	"context"
	"errors"
	"fmt"

	"wiretime/evidence"
	"wiretime/metric"
	"wiretime/network"
	"wiretime/protocol"
	"wiretime/site"
	"wiretime/study"
	"wiretime/workload"
	"wiretime/workload/pageload"
)

// Workload implements workload.Workload for uploads.
type Workload struct{}

// Kind implements workload.Workload.
func (Workload) Kind() workload.Kind {
	return workload.Kind{Name: "Upload", Study: study.Uploads(), Set: metric.Uploads(), HAR: pageload.HARFile}
}

// Network implements workload.Workload.
func (Workload) Network(c study.Cell, _ *site.Site, _ study.Options) network.Path { return c.Network }

// NewOrder implements workload.Workload.
func (Workload) NewOrder() workload.Order { return &Order{} }

// NewOutcome implements workload.Workload.
func (Workload) NewOutcome() workload.Outcome { return &Record{} }

// Bind implements workload.Workload. The job loads the page that uploads, which is also its site.
func (Workload) Bind(c study.Cell, seed uint64, s workload.Setting) (workload.Job, error) {
	octets, err := ParseReference(c.Subject())
	if err != nil {
		return workload.Job{}, err
	}
	page, err := site.Upload(octets)
	if err != nil {
		return workload.Job{}, err
	}
	s.Sites = map[string]*site.Site{c.Subject(): page}
	j, err := pageload.Workload{}.Bind(asPage(c), seed, s)
	if err != nil {
		return workload.Job{}, err
	}
	if why := unsupported(c); why != "" {
		j.Unsupported, j.Program = why, ""
	}
	load := j.Order
	j.Order = func(id string) workload.Order {
		o := &Order{Page: *load(id).(*pageload.Order), Octets: octets}
		o.Page.Comment = fmt.Sprintf("load %s, %s, seed %d", id, c.Key(), seed)
		return o
	}
	j.Headline = "upload_time"
	j.Estimate = withUpload(j.Estimate, c, octets)
	j.Capture += captureSize(octets)
	j.Guest.Memory += 8 * octets // sockets, the capture and the browser all hold the content
	return j, nil
}

// asPage returns the cell of page loads with the same values on the axes that both workloads have.
func asPage(c study.Cell) study.Cell {
	values := map[study.Axis]string{study.AxisSite: c.Subject()}
	for _, v := range c.Values {
		if study.Pages().Has(v.Axis) {
			values[v.Axis] = v.Word
		}
	}
	return study.NewCell(study.Pages(), values, c.Network)
}

// unsupported returns why an upload cannot run even where its page can be loaded; "" if it can.
func unsupported(c study.Cell) string {
	if name := c.On(study.AxisServer); name != study.ServerOwn {
		return fmt.Sprintf("the server %s serves files and accepts no uploads; use %s", name, study.ServerOwn)
	}
	if c.By() == pageload.Builtin {
		return fmt.Sprintf("the loader %s runs no scripts, so the page cannot post; use %s, which posts by itself, or %s", pageload.Builtin, pageload.Fetch, pageload.Chromium)
	}
	return ""
}

// Order says how many octets to upload, how and over which path.
type Order struct {
	Page   pageload.Order // the load of the page that uploads
	Octets int64          // from 1 to MaxOctets
}

// Workload implements workload.Order.
func (*Order) Workload() workload.Workload { return Workload{} }

// RunOn implements workload.Order. It returns an error if the station has no loaders.
func (o *Order) RunOn(ctx context.Context, s workload.Station, page *site.Site, dir string) (workload.Outcome, error) {
	station, ok := s.(pageload.Station)
	if !ok {
		return nil, errors.New("run an upload: the station has no loaders")
	}
	load := pageload.Load{Order: o.Page, Site: page, Authority: s.Authority(), Dir: dir, Upload: o.Octets}
	record, err := station.LoadPage(ctx, load)
	if err != nil {
		return nil, err
	}
	return &Record{Record: *record, Octets: o.Octets}, nil
}

// Record holds what an upload left, in addition to the files in its folder.
type Record struct {
	pageload.Record
	Octets int64 // the length of the upload
}

// Workload implements workload.Outcome.
func (*Record) Workload() workload.Workload { return Workload{} }

// Collect implements workload.Outcome.
func (r *Record) Collect(left *evidence.Evidence) {
	r.Record.Collect(left)
	left.Upload = &evidence.Upload{Octets: r.Octets, SHA256: protocol.UploadSHA256(r.Octets)}
}

// Values implements workload.Outcome. All figures of uploads come from the evidence.
func (*Record) Values() map[string]float64 { return nil }
