package schedule

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"wiretime/atomicfile"
)

// State is what became of a slot.
type State string

// These are the states of a slot.
const (
	Waiting State = "waiting" // its time has not come
	Running State = "running" // or it was, when the program ended
	Done    State = "done"
	Failed  State = "failed" // it was begun, or could not be, and not everything that it was to do is done
	Missed  State = "missed" // its time went by without it
)

// Slot is one of a schedule's moments and what became of it.
type Slot struct {
	Number int       `json:"slot"` // from 1
	At     time.Time `json:"at"`
	// Since is the time from the beginning of the schedule's first day.
	Since time.Duration `json:"since_ns"`
	State State         `json:"state"`
	Why   string        `json:"why,omitempty"` // it failed or was missed
	Began time.Time     `json:"began,omitzero"`
	Ended time.Time     `json:"ended,omitzero"`
	// Asleep is for how long the machine was suspended while the slot ran.
	Asleep time.Duration `json:"asleep_ns,omitempty"`
}

// Diary is what a schedule remembers, in a file that is always whole: its slots, each with what became of it.
type Diary struct {
	Format   int      `json:"format"`
	ID       string   `json:"id"` // of this diary, at random
	Schedule string   `json:"schedule"`
	Clock    string   `json:"clock"`
	Zone     string   `json:"zone"`
	Studies  []string `json:"studies"`
	Quick    bool     `json:"quick,omitempty"` // each study is measured in part only
	Slots    []Slot   `json:"slots"`           // in order of time

	path  string
	lock  *os.File // nil: the diary is only read
	began bool     // it is on the disk
}

// diaryFormat is the version of the file.
const diaryFormat = 1

// ErrLocked says that a program is carrying the schedule out already.
var ErrLocked = errors.New("the schedule is being carried out already")

// Path returns the file of a schedule's diary in the folder store.
func Path(store, name string) string { return filepath.Join(store, name+".schedule.json") }

func lockPath(store, name string) string { return filepath.Join(store, name+".schedule.lock") }

// Open opens the diary of a schedule in the folder store to carry the schedule out, or makes one; now says which
// day is the first if the schedule does not. The error wraps ErrLocked if another program has it open. A schedule
// whose slots, clock or studies are not those of its diary is refused. The caller must call Close.
func Open(store string, s *Schedule, now time.Time, quick bool) (d *Diary, err error) {
	attempt := "open the diary of schedule " + s.Name
	if err := os.MkdirAll(store, 0o755); err != nil {
		return nil, fmt.Errorf("%s: %w", attempt, err)
	}
	lock, err := os.OpenFile(lockPath(store, s.Name), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return nil, fmt.Errorf("%s: open its lock: %w", attempt, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Close())
		}
	}()
	switch err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return nil, fmt.Errorf("%s: %w in %s: stop that program first, or name another store", attempt, ErrLocked, store)
	case err != nil:
		return nil, fmt.Errorf("%s: lock it: %w", attempt, err)
	}
	path := Path(store, s.Name)
	d, err = Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		d, err = s.begin(now, quick), nil
		d.path = path
	}
	if err == nil {
		err = d.fits(s, quick)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", attempt, err)
	}
	d.lock = lock
	return d, nil
}

// begin makes the diary of a schedule whose slots are all to come.
func (s *Schedule) begin(now time.Time, quick bool) *Diary {
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	from := s.From
	if from == (Date{}) {
		from = DateOf(now, s.Zone)
	}
	d := &Diary{Format: diaryFormat, ID: hex.EncodeToString(id[:]), Schedule: s.Name, Clock: s.Clock, Zone: s.Zone.String(), Studies: s.Studies, Quick: quick}
	first, moments := s.moments(from)
	for i, at := range moments {
		d.Slots = append(d.Slots, Slot{Number: i + 1, At: at, Since: at.Sub(first), State: Waiting})
	}
	return d
}

// fits returns an error if the diary is of another schedule than s, which has its name.
func (d *Diary) fits(s *Schedule, quick bool) error {
	const advice = "the schedule has changed since it began: change it back, or give it another name or store"
	from := s.From
	if from == (Date{}) {
		from = DateOf(d.Slots[0].At.Add(-d.Slots[0].Since), s.Zone)
	}
	_, moments := s.moments(from)
	same := slices.EqualFunc(d.Slots, moments, func(slot Slot, at time.Time) bool { return slot.At.Equal(at) })
	switch {
	case !same:
		return fmt.Errorf("it has %d slots, from %s to %s, which are not those of the schedule; %s",
			len(d.Slots), d.Slots[0].At.Format(time.RFC3339), d.Slots[len(d.Slots)-1].At.Format(time.RFC3339), advice)
	case !slices.Equal(d.Studies, s.Studies):
		return fmt.Errorf("it is of the studies %v; %s", d.Studies, advice)
	case d.Clock != s.Clock:
		return fmt.Errorf("it is of the clock %s; %s", d.Clock, advice)
	case d.Quick && !quick:
		return errors.New("it began with --quick: add that, or name another store")
	case !d.Quick && quick:
		return errors.New("it began without --quick: leave that out, or name another store")
	}
	return nil
}

// Read reads a diary's file. The error wraps fs.ErrNotExist if the file does not exist.
func Read(path string) (*Diary, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	d, err := parseDiary(text)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	d.path, d.began = path, true
	return d, nil
}

func parseDiary(text []byte) (*Diary, error) {
	d := &Diary{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, err
	}
	if d.Format != diaryFormat {
		return nil, fmt.Errorf("its format is %d, and this program reads %d only", d.Format, diaryFormat)
	}
	if len(d.Slots) == 0 {
		return nil, errors.New("it has no slot")
	}
	zone, err := time.LoadLocation(d.Zone)
	if err != nil {
		return nil, err
	}
	for i := range d.Slots {
		s := &d.Slots[i]
		s.At = s.At.In(zone)
		known := slices.Contains([]State{Waiting, Running, Done, Failed, Missed}, s.State)
		if s.Number != i+1 || !known || i > 0 && !s.At.After(d.Slots[i-1].At) {
			return nil, fmt.Errorf("slot %d is damaged: it has the number %d, the state %.40q and the time %s", i+1, s.Number, s.State, s.At.Format(time.RFC3339))
		}
	}
	return d, nil
}

// Save writes the diary to its file.
func (d *Diary) Save() error {
	text, err := json.MarshalIndent(d, "", " ")
	if err == nil {
		err = atomicfile.WriteBytes(d.path, append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("keep the diary of schedule %s: %w", d.Schedule, err)
	}
	d.began = true
	return nil
}

// Active reports whether some program is carrying out the named schedule of a folder.
func Active(store, name string) bool {
	lock, err := os.Open(lockPath(store, name))
	if err != nil {
		return false
	}
	defer lock.Close()
	return errors.Is(unix.Flock(int(lock.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// Path returns the diary's file.
func (d *Diary) Path() string { return d.path }

// Held returns the diary's lock, for a program that carries out a slot to inherit: nobody else can carry out the
// schedule before that program has ended as well.
func (d *Diary) Held() *os.File { return d.lock }

// Close gives up the diary's lock.
func (d *Diary) Close() error { return d.lock.Close() }

// Begun reports whether the diary is on the disk.
func (d *Diary) Begun() bool { return d.began }

// Count returns how many slots have a state.
func (d *Diary) Count(state State) (n int) {
	for i := range d.Slots {
		if d.Slots[i].State == state {
			n++
		}
	}
	return n
}
