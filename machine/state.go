package machine

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// State is how fit a machine was found to be for the real clock.
type State struct {
	AsIs  Punctuality  // with its processors left alone
	Awake *Punctuality // with them kept awake; nil if that was not possible
	// Virtual says that a hypervisor stands below the kernel.
	Virtual bool
	// Others is the share of all processors' time, 0 to 1, that other programs and the
	// hypervisor took meanwhile; -1 if that could not be told.
	Others float64
	// Unchecked names what this machine does not tell, each with what is therefore not
	// checked.
	Unchecked []string
}

// What a machine may be like on which the real clock makes sense. Loads are held to a
// study's limits one by one; these are what most of them have to be within.
const (
	fitP99    = time.Millisecond
	fitOthers = 0.05
)

// Better is the punctuality that the machine has with or without its processors kept
// awake, whichever is better, and which of the two it is. On a machine of its own, where
// waking takes no hypervisor, they are only kept awake if it would be unfit otherwise.
func (s *State) Better() (p Punctuality, awake bool) {
	if s.Awake == nil || s.Awake.P99 >= s.AsIs.P99 && s.AsIs.P99 > worthAwake || !s.Virtual && s.AsIs.P99 <= fitP99 {
		return s.AsIs, false
	}
	return *s.Awake, true
}

// worthAwake is a lateness below which either way is as good. Then processors are kept
// awake, because that lets rule 7 tell who had them.
const worthAwake = 300 * time.Microsecond

// Unfit says why the machine is unfit for the real clock; "" if it is fit.
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

// Examine measures a machine: half of the time as it is, half with its processors kept
// awake.
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

// share is what others took of all processors.
func (t Taken) share() float64 {
	return float64(t.Others) / float64(t.Elapsed) / float64(t.Processors)
}

// unchecked finds out what this kernel does not tell.
func unchecked() []string {
	var lacks []string
	for _, f := range []struct{ name, use string }{
		{"/proc/self/schedstat", "how long a load's threads waited for a processor is not known, so rule 7 takes all that others took for lost"},
		{"/proc/pressure/cpu", "the machine's pressure on processors is not stored"},
	} {
		if _, err := os.ReadFile(f.name); err != nil {
			lacks = append(lacks, f.name+" cannot be read: "+f.use)
		}
	}
	if readTicks() == nil {
		lacks = append(lacks, "/proc/stat has no times of the processors: steal is not known")
	}
	return lacks
}

// virtual tells whether a hypervisor stands below this kernel.
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
