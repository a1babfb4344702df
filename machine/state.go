package machine

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// State says how fit a machine is for the real clock.
type State struct {
	AsIs  Punctuality  // with its processors free to sleep
	Awake *Punctuality // with its processors kept awake; nil if that was not possible
	// Virtual says that the machine runs under a hypervisor.
	Virtual bool
	// Others is the share of all processors' time, 0 to 1, that other programs and the
	// hypervisor took during the measurement; -1 if unknown.
	Others float64
	// Unchecked names what this machine does not report, and for each what is
	// therefore not checked.
	Unchecked []string
}

// A machine is fit for the real clock within these limits. A study's limits apply to
// each load; most loads have to stay within them.
const (
	fitP99    = time.Millisecond
	fitOthers = 0.05
)

// Better returns the better of the two punctualities, and whether it is the one with the
// processors kept awake. A physical machine, where no hypervisor delays a wake-up, keeps
// its processors awake only if it would be unfit otherwise.
func (s *State) Better() (p Punctuality, awake bool) {
	if s.Awake == nil || s.Awake.P99 >= s.AsIs.P99 && s.AsIs.P99 > worthAwake || !s.Virtual && s.AsIs.P99 <= fitP99 {
		return s.AsIs, false
	}
	return *s.Awake, true
}

// worthAwake is the lateness below which both ways are equally good. Processors are
// then kept awake, because that lets rule 7 tell who used them.
const worthAwake = 300 * time.Microsecond

// Unfit returns why the machine is unfit for the real clock, or "" if it is fit.
func (s *State) Unfit() string {
	p, _ := s.Better()
	switch {
	case p.P99 > fitP99:
		return fmt.Sprintf("this machine wakes programs up to %s ms late", inMS(p.Worst))
	case s.Others > fitOthers:
		return fmt.Sprintf("others take %.0f %% of this machine's processors", 100*s.Others)
	}
	return ""
}

// Examine measures a machine for half of the time as it is, and for the other half
// with its processors kept awake.
func Examine(ctx context.Context, during time.Duration) (*State, error) {
	s := &State{Virtual: virtual(), Others: -1, Unchecked: unchecked()}
	var err error
	if s.AsIs, err = Measure(ctx, during/2); err != nil {
		return nil, err
	}
	awake, err := KeepAwake()
	if err != nil {
		s.Unchecked = append(s.Unchecked, err.Error())
		return s, nil
	}
	meter := Meter{Awake: awake.PID()}
	before := meter.Read()
	kept, err := Measure(ctx, during/2)
	taken := meter.Read().Since(before)
	if err := cmp.Or(err, awake.Close()); err != nil {
		return nil, err
	}
	s.Awake, s.Others = &kept, taken.share()
	return s, nil
}

// share returns the part of all processors' time that others took.
func (t Taken) share() float64 {
	return float64(t.Others) / float64(t.Elapsed) / float64(t.Processors)
}

// unchecked returns what this kernel does not report.
func unchecked() []string {
	var lacks []string
	for _, f := range []struct{ name, use string }{
		{"/proc/self/schedstat", "how long a load's threads waited for a processor is unknown, so rule 7 counts all processor time of others as lost"},
		{"/proc/pressure/cpu", "the machine's processor pressure is not stored"},
	} {
		if _, err := os.ReadFile(f.name); err != nil {
			lacks = append(lacks, f.name+" cannot be read: "+f.use)
		}
	}
	if readTicks() == nil {
		lacks = append(lacks, "/proc/stat has no processor times: steal is unknown")
	}
	return lacks
}

// virtual reports whether the machine runs under a hypervisor.
func virtual() bool {
	text, err := os.ReadFile("/proc/cpuinfo")
	return err == nil && hasHypervisor(string(text))
}

// hasHypervisor looks for x86's flag; Arm's kernels list none.
func hasHypervisor(cpuinfo string) bool {
	for line := range strings.Lines(cpuinfo) {
		name, flags, _ := strings.Cut(line, ":")
		if strings.TrimSpace(name) == "flags" {
			return strings.Contains(" "+strings.TrimSpace(flags)+" ", " hypervisor ")
		}
	}
	return false
}
