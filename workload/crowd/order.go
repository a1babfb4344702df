// Package crowd measures what clients in number cost a server: processor time, memory,
// connections, handshakes and system calls. Server and clients are processes of their own in the
// network namespace of a lab's server, on its loopback device, in real time; no path is emulated.
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

// Order says who loads what, over which protocol, and from which server.
type Order struct {
	Clients  int
	Idle     bool // the clients rest after one page each
	Protocol string
	Server   string          // its name; server.Own for Wiretime's own
	Template server.Template // if the server is the study's own
	Pages    int             // that active clients load in all, at least
	Rest     time.Duration   // for which idle clients are watched

	Congestion string // TCP's congestion control
	Timeout    time.Duration

	// Site is what is loaded. It does not go into JSON: crowds run in no guest.
	Site *site.Site `json:"-"`
}

// Record holds what a load of a crowd left, besides the files in its folder.
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
	// The folder is put into the store as a whole, so the file need not be written whole by itself.
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
