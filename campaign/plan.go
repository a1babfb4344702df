// Package campaign divides a study among workers. A batch of loads on the virtual clock leaves the same bytes on any machine
// with the same programs, so a study is a queue of batches: a coordinator puts them into a stream of NATS JetStream, workers
// anywhere take them out, carry them out, and send back what the loads left.
//
// Nothing is lost and nothing counts twice, whoever dies. A worker acknowledges a batch when its result is in the stream of
// results, and the coordinator acknowledges a result when it is in the store. What is done twice all the same leaves the same
// bytes, and is kept once.
package campaign

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nkeys"

	"wiretime/network"
	"wiretime/runner"
	"wiretime/server"
	"wiretime/store"
	"wiretime/study"
)

// planVersion is the version of plans that this program writes and reads.
const planVersion = 1

// Plan is what a worker needs to know to carry batches out.
type Plan struct {
	Version  int
	Campaign string
	ID       string // of the run: two runs do not share one
	Run      int64  // in the coordinator's store; part of the loads' IDs
	Study    string // its name, for messages
	Seed     uint64
	Options  study.Options
	Servers  []server.Template // the study's own, which run commands
	Cells    []Cell
	Programs map[string]string // as runner.Programs describes them
	Sites    []Folder          // that are not built in, by their names in the site library
	Kernel   Folder            // of the virtual clock; without an object it cannot be fetched
	Program  Program           // this one
	Count    bool              // what loads ask of the guest's kernel
	Bare     bool              // only the artefacts' checksums are wanted
}

// Cell is a cell of the study.
type Cell struct {
	On      map[study.Axis]string
	Network network.Path
}

// Folder is a folder that workers may fetch.
type Folder struct {
	Name   string // of the folder, without those above it
	Object string // the SHA-256 of the object with its files, compressed
}

// Program is a program that workers may fetch: an executable for Linux on x86-64.
type Program struct {
	SHA256 string
	Object string // the SHA-256 of the object with the program, compressed; empty: it cannot be fetched
}

// ErrUntrusted is wrapped by the error for a plan that is not signed by a key that is trusted.
var ErrUntrusted = errors.New("the plan is not signed by a key that this worker trusts")

// RunID returns an ID that no two runs share: it follows from what the store holds of the run.
func RunID(r store.Run) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %d\n%s", r.ID, r.Seed, r.Started.UnixNano(), r.StudyText))
	return hex.EncodeToString(sum[:8])
}

// CellsOf describes cells.
func CellsOf(cells []study.Cell) []Cell {
	all := make([]Cell, len(cells))
	for i, c := range cells {
		all[i] = Cell{On: map[study.Axis]string{}, Network: c.Network}
		for _, v := range c.Values {
			all[i].On[v.Axis] = v.Word
		}
	}
	return all
}

// StudyCells returns the cells that a plan describes.
func (p *Plan) StudyCells() ([]study.Cell, error) {
	cells := make([]study.Cell, len(p.Cells))
	for i, c := range p.Cells {
		w := study.WorkloadOf(c.On)
		if w == nil {
			return nil, fmt.Errorf("read the plan of campaign %s: cell %d has no axis that says what is loaded", p.Campaign, i)
		}
		cells[i] = study.NewCell(w, c.On, c.Network)
	}
	return cells, nil
}

// Config returns the configuration of a run that carries the plan out. It lacks what the worker's machine has: sites,
// browsers and the kernel.
func (p *Plan) Config() runner.Config {
	return runner.Config{Run: p.Run, Seed: p.Seed, Options: p.Options, Servers: p.Servers, Count: p.Count, Programs: p.Programs}
}

// signed is a plan as the key-value bucket holds it. The plan itself is an object, because it may be longer than a message.
type signed struct {
	Campaign, ID string
	Object       string    // the SHA-256 of the plan
	Until        time.Time // from which on it is void
	Key          string    // public, of the signer
	Signature    []byte
}

// message is what is signed.
func (s signed) message() []byte {
	return fmt.Appendf(nil, "wiretime plan %d\n%s\n%s\n%s\n%s\n", planVersion, s.Campaign, s.ID, s.Object, s.Until.UTC().Format(time.RFC3339))
}

// sign returns a plan as an object and its signed description.
func sign(p Plan, until time.Time, key nkeys.KeyPair) (object []byte, _ signed, err error) {
	p.Version = planVersion
	text, err := json.Marshal(p)
	if err != nil {
		return nil, signed{}, fmt.Errorf("describe the plan of campaign %s: %w", p.Campaign, err)
	}
	writer, err := zstd.NewWriter(nil)
	if err != nil {
		return nil, signed{}, err
	}
	object = writer.EncodeAll(text, nil)
	s := signed{Campaign: p.Campaign, ID: p.ID, Object: sum(object), Until: until}
	if s.Key, err = key.PublicKey(); err != nil {
		return nil, signed{}, err
	}
	s.Signature, err = key.Sign(s.message())
	return object, s, err
}

// check makes sure that a trusted key has signed the description, and that it still holds.
func (s signed) check(trusted string, now time.Time) error {
	if s.Key != trusted {
		return fmt.Errorf("%w: it is signed by %.60q, and %s is trusted (--trust)", ErrUntrusted, s.Key, trusted)
	}
	public, err := nkeys.FromPublicKey(trusted)
	if err != nil {
		return fmt.Errorf("%w: the trusted key %.60q is not a public key of NATS: %w", ErrUntrusted, trusted, err)
	}
	if err := public.Verify(s.message(), s.Signature); err != nil {
		return fmt.Errorf("%w: its signature is wrong: %w", ErrUntrusted, err)
	}
	if now.After(s.Until) {
		return fmt.Errorf("%w: its signature has expired at %s", ErrUntrusted, s.Until.Format(time.RFC3339))
	}
	return nil
}

// longestPlan is how many octets a plan may have.
const longestPlan = 1 << 30

// read returns the plan in an object.
func (s signed) read(object []byte) (*Plan, error) {
	fail := func(why error) error { return fmt.Errorf("read the plan of campaign %s: %w", s.Campaign, why) }
	if got := sum(object); got != s.Object {
		return nil, fail(fmt.Errorf("the object has SHA-256 %s, want %s", got, s.Object))
	}
	reader, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(longestPlan), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, fail(err)
	}
	defer reader.Close()
	text, err := reader.DecodeAll(object, nil)
	if err != nil {
		return nil, fail(err)
	}
	var version struct{ Version int }
	if err := json.Unmarshal(text, &version); err != nil {
		return nil, fail(err)
	}
	if version.Version != planVersion {
		return nil, fail(fmt.Errorf("it is of version %d, and this program reads version %d: use the coordinator's version of wiretime", version.Version, planVersion))
	}
	var p Plan
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, fail(err)
	}
	if p.Campaign != s.Campaign || p.ID != s.ID {
		return nil, fail(fmt.Errorf("it is that of campaign %.40q, run %.20q", p.Campaign, p.ID))
	}
	return &p, nil
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}
