// Package runner carries out a plan. It gives each planned load to a station or a guest, takes
// the load's figures, checks its validity, and keeps it in the store.
package runner

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"wiretime/kernel"
	"wiretime/lab"
	"wiretime/server"
	"wiretime/site"
	"wiretime/station"
	"wiretime/store"
	"wiretime/study"
	"wiretime/workload"
	"wiretime/workload/workloads"
)

// Config describes a run, except for its plan, which is in the store.
type Config struct {
	Store    *store.Store
	Run      int64 // the run's ID in the store
	Seed     uint64
	Options  study.Options
	Sites    map[string]*site.Site // by the study's reference
	Browsers Browsers
	Servers  []server.Template // the study's own
	Kernel   kernel.Kernel     // for loads on the virtual clock
	// Live says how loads on the live clock find and trust servers. Its browsers are those of Browsers.
	Live  station.LiveConfig
	Awake int // the process that keeps the machine's processors awake; 0: none does
	// CaptureMemory is how many octets of memory the captures of all loads together may take;
	// 0: half of what is available when the run begins.
	CaptureMemory int64
	// Count keeps what each load on the virtual clock asked of the guest's kernel (package counts).
	Count bool
	// Keep says which valid loads keep their artefacts (study.Keeps); empty: all.
	Keep string
	// Programs describes what loads on the virtual clock follow from (Programs); nil if there
	// are none.
	Programs map[string]string
	// Slot is the slot of the schedule whose loads are carried out, from 1, in a run that has slots.
	Slot int
	// Report is called with each attempt that was kept, never concurrently.
	Report func(Attempt)
	// UnderWay is called whenever an attempt has begun or ended, with the cells that are being loaded, the longest first;
	// never concurrently, neither with itself nor with Report. nil: nobody wants to know.
	UnderWay func([]study.Cell)
}

// Attempt describes an attempt that was judged, and how the run stands after it. The store has it already, unless
// its session has further loads: a session is kept as a whole after its last load.
type Attempt struct {
	ID        string
	Cell      study.Cell
	Of        int // how many loads its session has; 0: the load has a session of its own
	Validity  store.Validity
	Reason    string
	Headline  string        // the name of its main metric: onload for pages, ttd or loading_delay for streams
	Value     float64       // of the headline, in ms; -1 if the attempt has none
	Lasted    time.Duration // how long the page or the stream took on its clock; 0 if unknown
	Done      int           // planned loads that need no further attempt
	Planned   int
	Remaining time.Duration // estimate of the time until the run is done
}

// keeper keeps what attempts leave: a run's store or, for a batch that is carried out for another process, an Executor.
type keeper interface {
	// StageDir makes the folder for the artefacts of an attempt.
	StageDir(load string) (string, error)
	// ScratchDir makes a folder on a disk for what loads leave before it is kept.
	ScratchDir() (string, error)
	// Commit keeps attempts, all or none.
	Commit(records ...store.LoadRecord) error
}

// run holds the state of a run in progress.
type run struct {
	Config
	keeper     keeper
	station    station.Config        // without the parts that depend on the clock
	congestion map[string][]string   // congestion controls of each clock's kernel
	served     map[string]*site.Site // by job.served
	memory     *memory
	trimming   sync.Mutex // held while a cell is trimmed

	mu       sync.Mutex // of what follows
	pace     *pace
	loading  []*job // whose attempts are under way, in the order in which they began
	failures int    // of labs, in a row
}

// Run carries out the pending loads of a run, or of its slot. Loads on the virtual clock come first: guests use
// the whole machine, and loads on the real clock must not share it with them. Run returns nil
// when no load is pending. When ctx ends, it returns the cause, and unfinished loads stay pending.
func Run(ctx context.Context, c Config) error {
	r := &run{Config: c, keeper: c.Store}
	queue, err := r.queue()
	if err != nil {
		return err
	}
	whole := queue
	queue = inSlot(queue, c.Slot)
	waiting := pending(queue)
	if err := r.memory.check(r.supported(waiting)); err != nil {
		return err
	}
	r.pace = newPace(waiting, len(queue))
	if len(waiting) > 0 {
		if err := r.prepare(ctx, queue); err != nil {
			return err
		}
	}
	if err := r.trimAll(whole); err != nil {
		return err
	}
	if err := r.attemptAll(ctx, onClock(queue, study.ClockVirtual), r.openGuests); err != nil {
		return err
	}
	if err := r.attemptAll(ctx, onClock(queue, study.ClockReal), r.openStations); err != nil {
		return err
	}
	if err := r.attemptAll(ctx, onClock(queue, study.ClockLive), r.openLive); err != nil {
		return err
	}
	if len(pending(whole)) > 0 {
		return nil // other slots remain
	}
	return c.Store.FinishRun(c.Run, time.Now())
}

// inSlot returns the jobs of a slot; all of them if the run has no slots.
func inSlot(queue []*job, slot int) []*job {
	return slices.DeleteFunc(slices.Clone(queue), func(j *job) bool { return j.slot > 0 && j.slot != slot })
}

func onClock(queue []*job, clock string) []*job {
	return slices.DeleteFunc(slices.Clone(queue), func(j *job) bool { return j.planned.Cell.Clock() != clock })
}

// queue makes a job of each planned load, in the order of the plan, and sets what all its stations share.
func (r *run) queue() ([]*job, error) {
	plan, err := r.Store.Plan(r.Run)
	if err != nil {
		return nil, err
	}
	queue := make([]*job, 0, len(plan))
	for _, p := range plan {
		j, err := r.job(p)
		if err != nil {
			return nil, err
		}
		queue = append(queue, j)
	}
	gatherSeries(queue)
	return queue, r.share(queue)
}

// share sets what the stations of all jobs have in common, which follows from the whole plan: their configuration, the
// memory for captures and the kernels' congestion controls. queue needs to have one job of each cell.
func (r *run) share(queue []*job) (err error) {
	r.station = station.Config{
		Lab:      lab.Config{AccessLinks: 1, InstantDNS: r.Options.DNS == study.DNSInstant, TCPRmem: r.Options.TCPRmem, TCPWmem: r.Options.TCPWmem, Awake: r.Awake},
		Chromium: r.Browsers.Chromium, Firefox: r.Browsers.Firefox,
	}
	for _, s := range r.Sites {
		r.station.ForceQUIC = append(r.station.ForceQUIC, s.Origins()...)
	}
	for _, j := range queue {
		r.forceQUIC(j)
		r.station.Lab.AccessLinks = max(r.station.Lab.AccessLinks, len(j.planned.Cell.Network.Access))
	}
	slices.Sort(r.station.ForceQUIC)
	r.memory = newMemory(cmp.Or(r.CaptureMemory, defaultMemory()))
	r.congestion = map[string][]string{study.ClockReal: congestionControls()}
	if len(onClock(queue, study.ClockVirtual)) > 0 {
		r.congestion[study.ClockVirtual], err = r.Kernel.CongestionControls()
	}
	return err
}

// forceQUIC adds the hosts of a site that only this job knows, as an upload does, to those for which browsers use
// HTTP/3 from the first request.
func (r *run) forceQUIC(j *job) {
	if j.Site == nil || r.Sites[j.planned.Cell.Subject()] != nil {
		return
	}
	for _, host := range j.Site.Origins() {
		if !slices.Contains(r.station.ForceQUIC, host) {
			r.station.ForceQUIC = append(r.station.ForceQUIC, host)
		}
	}
}

// job is a planned load with the state of its attempts.
type job struct {
	planned store.Planned
	workload.Job
	slot    int     // of the schedule; 0: the run has none
	series  *series // the loads of its session; nil: it has a session of its own
	attempt int     // the next one, from 1
	losses  int     // guests that were lost at it since one has last done it
	ran     int     // on the virtual clock: the last attempt that a guest has finished, 0 for none
	cores   float64 // that loads on its clock share
	// outgrown says that the capture did not fit into its memory, so it goes to the disk from now on.
	outgrown bool
}

func (r *run) job(p store.Planned) (*job, error) {
	setting := workload.Setting{Options: r.Options, Sites: r.Sites, Servers: r.Servers}
	setting.From = r.Options.Slots.PathTime(p.Repeat)
	bound, err := workloads.Of(p.Cell.Workload).Bind(p.Cell, p.Seed, setting)
	if err != nil {
		return nil, fmt.Errorf("plan load %d: %w", p.Index, err)
	}
	j := &job{planned: p, Job: bound, slot: r.Options.Slots.Of(p.Repeat), attempt: p.Attempts + 1, cores: realCores()}
	if p.Cell.Clock() == study.ClockVirtual {
		j.cores = float64(cores())
	}
	return j, nil
}

// Templates returns a study's own servers in the form that Config takes.
func Templates(s *study.Study) []server.Template {
	var all []server.Template
	for _, o := range s.OwnServers {
		all = append(all, server.Template(o))
	}
	return all
}

// cores returns how many guests run side by side.
func cores() int { return runtime.NumCPU() }
