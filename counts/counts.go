// Package counts reads what the programs of a guest asked of its kernel. These counts decide what a load costs on the
// virtual clock, and nothing else that runs on the host changes them.
//
// A guest only copies the kernel's text (Read), and the host makes sense of it (Between). The text has the host's
// processor time, so whatever a guest made of it, such as a number with as many digits as it needs, could take other
// memory on another host and thereby show in the loads that follow.
package counts

import (
	"fmt"
	"os"
	"strings"
)

// File is the name of a load's counts, as JSON, among its artefacts.
const File = "counts.json"

// kernelFile has the counts since the boot (kernel/patches/0007-counts.patch and 0008-foreseen-answers.patch).
const kernelFile = "/proc/wiretime"

// Counts are what happened in a guest during a time.
type Counts struct {
	Idle      int64              `json:"idle"`      // times that every program waited, and virtual time went on
	Events    int64              `json:"events"`    // timers of the kernel that went off
	Processor int64              `json:"processor"` // ns of the host's processor time that the guest's kernel took
	Programs  map[string]Program `json:"programs"`  // by the name of the process; those of the same name are added up
}

// Program says what a program asked of the kernel.
type Program struct {
	// Rounds is how often its process got the processor from the kernel: after a system call, a fault or an
	// interrupt.
	Rounds    int64            `json:"rounds"`
	Processor int64            `json:"processor"` // ns of the host's processor time that its process took
	Mappings  int64            `json:"mappings"`  // changes of its memory that its process made on the host
	Faults    int64            `json:"faults"`    // page faults
	Foreseen  int64            `json:"foreseen"`  // system calls that the kernel had answered beforehand
	Calls     map[string]int64 `json:"calls"`     // the other system calls by name
}

// AllCalls returns the number of system calls that the kernel did not answer beforehand.
func (p Program) AllCalls() (n int64) {
	for _, calls := range p.Calls {
		n += calls
	}
	return n
}

// Read returns the kernel's text with the counts since the boot of the guest in which this program runs. How long it is
// does not depend on the host.
func Read() ([]byte, error) {
	text, err := os.ReadFile(kernelFile)
	if err != nil {
		return nil, fmt.Errorf("read the kernel's counts: %w", err)
	}
	return text, nil
}

// Between returns what happened between two readings (Read) in one guest. Programs that did nothing are left out.
func Between(before, after []byte) (Counts, error) {
	first, err := parse(string(before))
	if err != nil {
		return Counts{}, err
	}
	second, err := parse(string(after))
	if err != nil {
		return Counts{}, err
	}
	return second.since(first), nil
}

// parse reads the kernel's file. The lines of a program's calls follow its own line.
func parse(text string) (Counts, error) {
	c := Counts{Programs: map[string]Program{}}
	name := ""
	for line := range strings.Lines(text) {
		var p Program
		var pid, calls int64
		var call string
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 8)
		switch {
		case scan(line, "idle %d\n", &c.Idle), scan(line, "events %d\n", &c.Events), scan(line, "processor %d\n", &c.Processor):
		case len(parts) == 8 && scan(line, "program %d %d %d %d %d %d ", &pid, &p.Processor, &p.Rounds, &p.Mappings, &p.Faults, &p.Foreseen):
			name = parts[7]
			c.Programs[name] = c.Programs[name].plus(p, 1)
		case name != "" && scan(line, "call %s %d\n", &call, &calls):
			c.Programs[name].Calls[call] += calls
		default:
			return Counts{}, fmt.Errorf("read the kernel's counts: invalid line %q", line)
		}
	}
	return c, nil
}

func scan(line, format string, into ...any) bool {
	n, err := fmt.Sscanf(line, format, into...)
	return err == nil && n == len(into)
}

// plus adds so many times q to p, whose map of calls it changes. Calls that add up to none are left out.
func (p Program) plus(q Program, times int64) Program {
	p.Processor += times * q.Processor
	p.Rounds += times * q.Rounds
	p.Mappings += times * q.Mappings
	p.Faults += times * q.Faults
	p.Foreseen += times * q.Foreseen
	if p.Calls == nil {
		p.Calls = map[string]int64{}
	}
	for call, n := range q.Calls {
		if p.Calls[call] += times * n; p.Calls[call] == 0 {
			delete(p.Calls, call)
		}
	}
	return p
}

// since returns what happened after an earlier reading, and changes c for it.
func (c Counts) since(before Counts) Counts {
	d := Counts{Idle: c.Idle - before.Idle, Events: c.Events - before.Events, Processor: c.Processor - before.Processor, Programs: map[string]Program{}}
	for name, p := range c.Programs {
		if p = p.plus(before.Programs[name], -1); p.Rounds != 0 {
			d.Programs[name] = p
		}
	}
	return d
}
