// Package workload defines what a workload is: one kind of loads, such as page loads or media streams. Each workload is
// a package below this one, and package workloads lists them. The runner, stations and guests treat all workloads alike,
// through the types of this package.
package workload

import (
	"context"
	"errors"

	"wiretime/evidence"
	"wiretime/lab"
	"wiretime/metric"
	"wiretime/network"
	"wiretime/protocol"
	"wiretime/site"
	"wiretime/study"
)

// Workload is one kind of loads.
type Workload interface {
	Kind() Kind
	// Bind looks up what a planned load's cell names. Errors are those of a plan that does not
	// fit the run; a load that cannot run on this machine is no error, see Job.Unsupported.
	Bind(c study.Cell, seed uint64, s Setting) (Job, error)
	// Costs estimates, on a clock, the cells that differ from c only in what they are loaded
	// over. It returns nil if the clock cannot run them. page is nil if c names no site.
	Costs(c study.Cell, clock string, page *site.Site, o study.Options) []Estimate
	// Network returns the path of a cell's loads of a site: the cell's own and, if the options
	// ask for it, the distances of the site's servers. page is nil if c names no site.
	Network(c study.Cell, page *site.Site, o study.Options) network.Path
	// NewOrder and NewOutcome return pointers to zero values, for JSON to be decoded into.
	NewOrder() Order
	NewOutcome() Outcome
}

// Kind describes a workload.
type Kind struct {
	Name  string          // of the field that holds an order or an outcome as JSON
	Study *study.Workload // its axes
	Set   metric.Set      // its metrics and checks
	// Own lists the metrics that Outcome.Values has.
	Own []study.Metric
	// HAR names the file for a load's HAR. The runner writes it, with the critical path of each
	// page. Empty: loads leave no HAR, and nothing has a critical path.
	HAR string
	// Loopback says that loads cross no emulated path: they leave no capture, and nothing can have
	// been late. What disturbs a load (rules 3 and 7) is not judged.
	Loopback bool
}

// Station is what a load runs on (package station). A workload that needs more of it, such as
// browsers, gets that by a type assertion, because this package cannot name the workload's types.
type Station interface {
	Lab() *lab.Lab                  // nil on the live clock
	Authority() *protocol.Authority // of the lab's servers; nil on the live clock
}

// Order says what to load, how and over which path. As JSON it can be sent to a guest.
type Order interface {
	Workload() Workload
	// RunOn carries the order out and puts artefacts into the folder dir, which must exist.
	// page is the job's site, nil if it has none. An error means that the station failed and
	// must be closed, unless it wraps ErrLabIntact. A load that did not go well is no error:
	// Record.LoadError says so.
	RunOn(ctx context.Context, s Station, page *site.Site, dir string) (Outcome, error)
}

// ErrLabIntact is wrapped by errors of loads that could not be carried out and left the lab as
// good as before.
var ErrLabIntact = errors.New("the lab is intact")

// Outcome is what a load left. As JSON it lacks what files in the load's folder hold.
type Outcome interface {
	Workload() Workload
	Common() *Record
	// ReadFiles adds what the files in the load's folder hold to an outcome that came as JSON.
	ReadFiles(dir string) error
	// Collect adds what only this workload leaves to the evidence.
	Collect(left *evidence.Evidence)
	// Values returns the values of Kind.Own.
	Values() map[string]float64
}
