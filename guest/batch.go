// Package guest runs loads on the virtual clock. It boots Wiretime's kernel (package
// kernel) with this very program as the first and only one, hands it a batch of loads, and
// takes their records back.
//
// A guest is booted for one batch. Its loads run one after the other in one station, so
// each load starts with the state that its predecessors left (the kernel's random numbers,
// the time of day, the page cache). The same batch with the same seed gives the same
// nanoseconds, but a load on its own does not. Later loads of a batch have no influence on
// earlier ones.
package guest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"wiretime/capture"
	"wiretime/lab"
	"wiretime/lab/emulator"
	mediarecord "wiretime/media/record"
	"wiretime/station"
)

// Batch is the work of one guest.
type Batch struct {
	Station  station.Config
	Programs bool // the loads need programs of the host: a browser or another server
	Loads    []Load
}

// settings apply to all loads of a batch; they are sent to the guest.
type settings struct {
	Station  station.Config
	Programs bool
}

// Load is one load of a batch.
type Load struct {
	ID    string // a file name, unique in the batch
	Seed  uint64 // of the kernel's random numbers during the load
	Site  string // one of the host's sites; empty for a stream
	Order station.Order
}

// These are names in the folder that host and guest share.
const (
	stationFile = "station.json"
	outDir      = "out"
	recordFile  = "record.json" // next to a load's artefacts, in a folder that appears as a whole
)

// orderFile returns the name of the file with the load at a place of the batch. Every load
// has its own file, so that reading one does not depend on later loads.
func orderFile(place int) string { return fmt.Sprintf("order-%d.json", place) }

// record is the form in which lab.Record is sent to the host, without what the artefacts
// hold.
type record struct {
	Failed     string // why the station failed; if set, the rest is empty
	LoadError  string // why the page did not load
	Timing     capture.Timing
	ServerLost int
	DNSQueries int
	Emulator   emulator.Report
}

// writeRecord writes the record of a load beside its artefacts.
func writeRecord(dir string, r *lab.Record, failed error) error {
	var out record
	if failed != nil {
		out.Failed = failed.Error()
	} else {
		out = record{Timing: r.Timing, ServerLost: r.ServerLost, DNSQueries: r.DNSQueries, Emulator: r.Emulator}
		if r.LoadError != nil {
			out.LoadError = r.LoadError.Error()
		}
	}
	text, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("write the record of a load: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, recordFile), text, 0o644); err != nil {
		return fmt.Errorf("write the record of a load: %w", err)
	}
	return nil
}

// readRecord reads what writeRecord has written and the artefacts next to it. It removes
// the record's file, so that only artefacts remain in the folder.
func readRecord(dir string) (*lab.Record, error) {
	file := filepath.Join(dir, recordFile)
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the record of a load: %w", err)
	}
	var in record
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, fmt.Errorf("read the record of a load: %w", err)
	}
	if err := os.Remove(file); err != nil {
		return nil, fmt.Errorf("remove the record of a load: %w", err)
	}
	if in.Failed != "" {
		return nil, &StationError{in.Failed}
	}
	r := &lab.Record{Timing: in.Timing, ServerLost: in.ServerLost, DNSQueries: in.DNSQueries, Emulator: in.Emulator}
	if in.LoadError != "" {
		r.LoadError = fmt.Errorf("%s", in.LoadError)
	}
	if har := filepath.Join(dir, lab.HARFile); exists(har) {
		if r.HAR, err = capture.ReadHAR(har); err != nil {
			return nil, err
		}
	}
	if log := filepath.Join(dir, lab.ServerFile); exists(log) {
		if r.Server, err = capture.ReadServerLog(log); err != nil {
			return nil, err
		}
	}
	if stream := filepath.Join(dir, lab.StreamFile); exists(stream) {
		if r.Stream, err = mediarecord.Read(stream); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// StationError says why a station in a guest failed.
type StationError struct{ reason string }

func (e *StationError) Error() string { return e.reason }
