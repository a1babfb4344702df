// Package guest runs loads on the virtual clock. It boots Wiretime's kernel (package
// kernel) with this very program as the first and only one, hands it a batch of loads, and
// takes their records back.
//
// A guest is booted for one batch. Its loads run one after the other in one station. Each
// begins at a round moment, with random numbers from its own seed (begin), but finds the
// browser, the time of day and the page cache as its predecessors left them. The same batch
// gives the same nanoseconds, and a browser's load on its own does not. Later loads of a
// batch have no influence on earlier ones.
package guest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	jsonexp "github.com/go-json-experiment/json/v1"

	"wiretime/artefact"
	"wiretime/panics"
	"wiretime/station"
	"wiretime/workload"
	"wiretime/workload/workloads"
)

// Batch is the work of one guest.
type Batch struct {
	Station  station.Config
	Programs bool // the loads need programs of the host: a browser or another server
	Loads    []Load
	Count    bool // keep what each load asked of the kernel, as an artefact (counts.File)
	// Disk is a folder on a disk for what the guest leaves, which nothing else uses; empty: in
	// memory.
	Disk string
}

// settings apply to all loads of a batch; they are sent to the guest.
type settings struct {
	Station  station.Config
	Programs bool
	Count    bool
}

// Load is one load of a batch.
type Load struct {
	ID    string // a file name, unique in the batch
	Seed  uint64 // of the kernel's random numbers during the load
	Site  string // one of the host's sites; empty if the order needs none
	Order workload.Order
}

// sentLoad is the form in which a load is sent to the guest.
type sentLoad struct {
	ID    string
	Seed  uint64
	Site  string // the name of its folder among the guest's sites
	Order workloads.Order
}

// These are names in the folder that host and guest share.
const (
	stationFile = "station.json"
	outDir      = "out"
	outcomeFile = "record.json" // next to a load's artefacts, in a folder that appears as a whole
)

// orderFile returns the name of the file with the load at a place of the batch. Every load
// has its own file, so that reading one does not depend on later loads.
func orderFile(place int) string { return fmt.Sprintf("order-%d.json", place) }

// outcome is the form in which the record of a load is sent to the host, which finds the rest
// in the load's artefacts.
type outcome struct {
	Failed    string        // why the station failed; if set, the rest is empty
	LoadError string        // why the load did not go well
	Panic     *panics.Panic // if Failed or LoadError are due to one
	Record    *workloads.Outcome
}

// writeOutcome writes the outcome of a load beside its artefacts.
func writeOutcome(dir string, r workload.Outcome, failed error) error {
	var out outcome
	if failed != nil {
		out.Failed, out.Panic = failed.Error(), panics.In(failed)
	} else {
		out.Record = &workloads.Outcome{Outcome: r}
		if err := r.Common().LoadError; err != nil {
			out.LoadError, out.Panic = err.Error(), panics.In(err)
		}
	}
	text, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("write the record of a load: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, outcomeFile), text, 0o644); err != nil {
		return fmt.Errorf("write the record of a load: %w", err)
	}
	return nil
}

// largestOutcome is the size in octets of the largest file of an outcome that a guest may leave.
const largestOutcome = 64 << 20

// readOutcome reads what writeOutcome has written and the artefacts next to it. It removes
// the outcome's file, so that only artefacts remain in the folder. A page may have taken the
// guest over, so the outcome must be of the workload that was sent, and a plain file.
func readOutcome(dir string, sent workload.Workload) (workload.Outcome, error) {
	in, err := decodeOutcome(dir)
	if err != nil {
		return nil, fmt.Errorf("read the record of a load: %w", err)
	}
	if err := os.Remove(filepath.Join(dir, outcomeFile)); err != nil {
		return nil, fmt.Errorf("remove the record of a load: %w", err)
	}
	if in.Failed != "" {
		return nil, &StationError{in.Failed, in.Panic}
	}
	if in.Record == nil || in.Record.Outcome == nil || in.Record.Workload().Kind().Name != sent.Kind().Name {
		return nil, fmt.Errorf("read the record of a load: want one of %s", sent.Kind().Name)
	}
	if in.LoadError != "" {
		in.Record.Common().LoadError = &loadError{in.LoadError, in.Panic}
	}
	return in.Record.Outcome, in.Record.ReadFiles(dir)
}

func decodeOutcome(dir string) (in outcome, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return in, err
	}
	defer root.Close()
	file, err := artefact.OpenIn(root, outcomeFile)
	if err != nil {
		return in, err
	}
	defer file.Close()
	text, err := artefact.ReadAll(file, largestOutcome)
	if err != nil {
		return in, err
	}
	return in, jsonexp.Unmarshal(text, &in)
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// StationError says why a station in a guest failed.
type StationError struct {
	reason   string
	panicked *panics.Panic // nil: there was none
}

func (e *StationError) Error() string { return e.reason }

// Unwrap returns the panic that made the station fail, if one did.
func (e *StationError) Unwrap() error { return orNil(e.panicked) }

// loadError says why a load in a guest did not go well.
type loadError struct {
	reason   string
	panicked *panics.Panic
}

func (e *loadError) Error() string { return e.reason }
func (e *loadError) Unwrap() error { return orNil(e.panicked) }

// orNil returns a panic as an error: nil if there was none.
func orNil(p *panics.Panic) error {
	if p == nil {
		return nil
	}
	return p
}
