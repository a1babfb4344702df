package workload

import (
	"time"

	"wiretime/evidence"
	"wiretime/server"
	"wiretime/site"
	"wiretime/study"
)

// Setting is what the loads of a run share.
type Setting struct {
	Options study.Options
	Sites   map[string]*site.Site // by the study's reference
	Servers []server.Template     // the study's own
	// From is the path's time at which the load begins. Workloads whose loads cannot begin in the middle of a path leave it
	// alone.
	From time.Duration
}

// Job is a planned load, bound to what its cell names.
type Job struct {
	// Order makes the order of an attempt, whose ID goes into the capture's header.
	Order func(id string) Order
	// Unsupported says why the load cannot run on this machine; "" if it can.
	Unsupported string
	// Program is the path of a program, other than a browser, that the load starts; "" if it
	// starts none.
	Program string
	// Site is what is loaded, as it was recorded, and Scheme what it is served over. Site is nil
	// if the workload has no sites.
	Site   *site.Site
	Scheme string
	// Evidence has what is known of a load's evidence before the load runs.
	Evidence evidence.Evidence
	Estimate Estimate
	// Capture is how many octets the load's capture is expected to have.
	Capture int64
	Guest   Guest
	// Headline names the metric, in ms, that the progress of a run shows for the load.
	Headline string
	// Lasts is how long the load takes on its clock if it leaves a value of Headline; 0: as
	// long as that value.
	Lasts time.Duration
}

// Guest says what the load needs from a guest of the virtual clock.
type Guest struct {
	Boot     string        // loads share a boot only if this is equal
	Loads    int           // that share a boot, at most
	Work     time.Duration // no load is added to a boot that is expected to take this long; 0: no limit
	Browser  bool
	Programs bool          // programs of the host: a browser or another server
	Memory   int64         // octets, beyond what a guest needs itself
	Longer   time.Duration // real time, beyond what a guest may take for any load
}

// Estimate is what a load is expected to take.
type Estimate struct {
	Processor time.Duration // of one core
	Duration  time.Duration
}

// Overhead is what a load on the real clock takes besides the page's or the stream's own time:
// a fresh tab, the silence at its end, reading the capture back.
const Overhead = 300 * time.Millisecond

// Share returns the part of one core that the load keeps busy while it lasts.
func (e Estimate) Share() float64 { return float64(e.Processor) / float64(e.Duration) }

// Numbers of loads that share a boot, at most.
const (
	ManyLoads    = 50
	BrowserLoads = 20
)
