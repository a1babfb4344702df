package ui

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"wiretime/report"
	"wiretime/store"
)

// progress is how a run stands.
type progress struct {
	Run         int64      `json:"run"`
	Done        int        `json:"done"` // planned loads that need no further attempt
	Planned     int        `json:"planned"`
	Pending     int        `json:"pending"`
	Attempts    int        `json:"attempts"`
	Valid       int        `json:"valid"` // attempts, like the next three
	Invalid     int        `json:"invalid"`
	Failed      int        `json:"failed"`
	Unsupported int        `json:"unsupported"`
	Left        *float64   `json:"left,omitempty"` // ms until the run is done, estimated by its last loads
	Since       time.Time  `json:"since,omitzero"` // when the process that writes began
	Last        []lastLoad `json:"last"`           // the latest first
	Late        lateness   `json:"late"`
	Workers     []worker   `json:"workers"` // of a campaign; none of a run that made its loads itself
}

// worker is a worker of a campaign.
type worker struct {
	Name  string `json:"name"`
	Host  string `json:"host,omitempty"` // as the worker says
	Loads int    `json:"loads"`          // attempts that it made
}

// workersOf returns the workers of a run.
func workersOf(st *store.Store, run int64) ([]worker, error) {
	found, err := st.Workers(run)
	workers := make([]worker, len(found))
	for i, w := range found {
		var described struct {
			Host string `json:"host"`
		}
		_ = json.Unmarshal(w.Described, &described) // a worker need not say where it is
		workers[i] = worker{w.Name, described.Host, w.Loads}
	}
	return workers, err
}

// lateness is how late the emulator was.
type lateness struct {
	Worst float64 `json:"worst"` // ms: of the last loads, the packet that left latest after its time
	Loads int     `json:"loads"` // of the run, that broke rule 3
}

// lastLoad is one of the loads that ended last.
type lastLoad struct {
	ID       string    `json:"id"`
	Cell     int       `json:"cell"` // its index in the overview
	Label    string    `json:"label"`
	Site     string    `json:"site"`
	Network  string    `json:"network"`
	Validity string    `json:"validity"`
	Reason   string    `json:"reason,omitempty"`
	Metric   string    `json:"metric,omitempty"` // the first headline that it has
	Value    *float64  `json:"value,omitempty"`  // ms
	Late     *float64  `json:"late,omitempty"`   // ms: the packet that left latest after its time
	Ended    time.Time `json:"ended"`
}

const (
	shownLoads = 20 // are listed
	pacedLoads = 50 // tell how fast a run is
	lateMetric = "late_max"
	fewPaced   = 2 // loads tell nothing yet of how fast a run is, if there are fewer
)

// place is where an overview shows a cell.
type place struct {
	index int
	label string
}

// placesOf returns where the overview shows each cell of a run, by the cell's key.
func placesOf(st *store.Store, run int64) (map[string]place, error) {
	cells, err := st.Cells(run)
	if err != nil {
		return nil, err
	}
	whole := make([]store.Result, len(cells))
	for i, c := range cells {
		whole[i] = store.Result{Cell: c}
	}
	pooled, at := report.Pooled(whole)
	labels, _ := report.Places(pooled)
	places := map[string]place{}
	for key, i := range at {
		places[key] = place{i, labels[i]}
	}
	return places, nil
}

// progress reads how a run stands.
func (f *follower) progress(st *store.Store, run store.Run) (*progress, error) {
	attempts, err := st.Attempts(run.ID)
	if err != nil {
		return nil, err
	}
	broken, err := st.Broken(run.ID)
	if err != nil {
		return nil, err
	}
	last, err := st.LastLoads(run.ID, pacedLoads)
	if err != nil {
		return nil, err
	}
	workers, err := workersOf(st, run.ID)
	if err != nil {
		return nil, err
	}
	places := f.places[run.ID]
	if len(last) > 0 && places[last[0].Cell.Key()].label == "" { // not known yet, or of another store that was in this place
		if places, err = placesOf(st, run.ID); err != nil {
			return nil, err
		}
		f.places[run.ID] = places
	}
	p := &progress{Run: run.ID, Done: run.Done, Planned: run.Planned, Pending: run.Planned - run.Done,
		Valid: attempts[store.Valid], Invalid: attempts[store.Invalid], Failed: attempts[store.Failed], Unsupported: attempts[store.Unsupported],
		Last: []lastLoad{}, Late: lateness{Loads: broken[3]}, Workers: workers}
	p.Attempts = p.Valid + p.Invalid + p.Failed + p.Unsupported
	for i, l := range last {
		late, known := l.Values[lateMetric]
		if known {
			p.Late.Worst = max(p.Late.Worst, late)
		}
		if i >= shownLoads {
			continue
		}
		one := lastLoad{ID: l.ID, Cell: places[l.Cell.Key()].index, Label: places[l.Cell.Key()].label, Site: l.Cell.Subject(), Network: l.Cell.Network.Name,
			Validity: string(l.Validity), Reason: l.Reason, Ended: l.Started.Add(l.Wall)}
		if known {
			one.Late = &late
		}
		for _, m := range headlines {
			if v, ok := l.Values[m]; ok {
				one.Metric, one.Value = m, &v
				break
			}
		}
		p.Last = append(p.Last, one)
	}
	if run.Finished.IsZero() && store.Writer(f.server.Store) > 0 {
		p.estimate(f.server.Store, last)
	}
	return p, nil
}

// estimate says how long the rest takes, at the pace of the last loads since the process that writes began.
func (p *progress) estimate(dir string, last []store.Load) {
	lock, err := os.Stat(filepath.Join(dir, "lock")) // which the writer changes when it begins
	if err != nil {
		return
	}
	since := lock.ModTime()
	p.Since = since
	var ended []time.Time // the latest first
	for _, l := range last {
		if l.Started.After(since) {
			ended = append(ended, l.Started.Add(l.Wall))
		}
	}
	if len(ended) < fewPaced {
		return
	}
	from, loads := since, len(ended)
	if loads == pacedLoads {
		from, loads = ended[len(ended)-1], loads-1
	}
	if took := ended[0].Sub(from); took > 0 {
		left := float64(took) / 1e6 / float64(loads) * float64(p.Pending)
		p.Left = &left
	}
}
