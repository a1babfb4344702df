// Package crowd measures what many clients cost a server: processor time, memory, connections,
// handshakes and system calls. The server and the clients run as processes of their own in the network
// namespace of a lab's server. They talk over its loopback device in real time; no path is emulated.
package crowd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"wiretime/evidence"
	"wiretime/server"
	"wiretime/site"
	"wiretime/workload"
)

// CrowdFile is the name of the readings in the load's folder.
const CrowdFile = "crowd.json"

// Order says how many clients load which site, over which protocol and from which server.
type Order struct {
	Clients  int             // at least 1
	Idle     bool            // the clients rest after one page each
	Protocol string          // the name of a row of package protocol
	Server   string          // the name of the server; server.Own for Wiretime's own
	Template server.Template // the server, if it is the study's own
	Pages    int             // the least number of pages that active clients load in all
	Rest     time.Duration   // how long idle clients are watched

	Congestion string        // TCP's congestion control
	Timeout    time.Duration // how long the whole crowd may take; 0: no limit

	// Site is the site to load. It has no JSON: crowds never run in guests.
	Site *site.Site `json:"-"`
}

// Record holds what a load of a crowd left. Crowd is kept in CrowdFile, and is nil if nothing was measured.
type Record struct {
	workload.Record
	Crowd *evidence.Crowd `json:"-"`
}

// save writes the readings into the folder dir.
func (r *Record) save(dir string) error {
	text, err := json.MarshalIndent(r.Crowd, "", " ")
	if err != nil {
		return fmt.Errorf("encode the readings: %w", err)
	}
	// The store takes the folder only when it is complete, so an ordinary write is enough.
	return os.WriteFile(filepath.Join(dir, CrowdFile), append(text, '\n'), 0o644)
}

// ReadFiles implements workload.Outcome.
func (r *Record) ReadFiles(dir string) (err error) {
	r.Crowd, err = workload.ReadIfThere(dir, CrowdFile, func(name string) (*evidence.Crowd, error) {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		c := &evidence.Crowd{}
		return c, json.Unmarshal(text, c)
	})
	return err
}

// Workload implements workload.Outcome.
func (*Record) Workload() workload.Workload { return Workload{} }

// Collect implements workload.Outcome.
func (r *Record) Collect(left *evidence.Evidence) { left.Crowd = r.Crowd }

// Values implements workload.Outcome. All figures of crowds come from the evidence.
func (*Record) Values() map[string]float64 { return nil }
