package runner

import (
	"fmt"
	"time"

	"wiretime/critical"
	"wiretime/machine"
	"wiretime/metric"
	"wiretime/study"
)

// The numbers of the validity rules on what disturbs a load.
const (
	lateRule  = 3
	takenRule = 7 // and what else others do to the machine
)

// Metrics of how much a load was disturbed, in addition to those of package metric.
var (
	lateShift = study.Metric{Name: "late_shift", Unit: "ms", Title: "Late shift",
		Definition: "how far a late emulator can have moved onLoad, at most: the lateness of packets along the critical path, " +
			"and how long the emulator was ready but had no processor, since it may have seen packets arrive that late"}
	emulatorWait = study.Metric{Name: "emulator_wait", Unit: "ms", Title: "emulator waited",
		Definition: "how long the emulator's thread was ready to run but had no processor, over the whole load (Linux schedstat)"}
	takenShift = study.Metric{Name: "taken_shift", Unit: "ms", Title: "Taken shift",
		Definition: "how far what others took of the processors can have moved the load, at most (real clock): " +
			"what they took, divided by the number of processors, but steal whole; or what the load's threads waited for a processor, plus steal, if that is less"}
	processorUsed = study.Metric{Name: "processor_used", Unit: "ms", Title: "Processor used",
		Definition: "processor time of browser, servers and emulator, from navigation until the loader was done (real clock)"}
	processorTaken = study.Metric{Name: "processor_taken", Unit: "ms", Title: "Processor taken",
		Definition: "processor time, of all processors, that others took from navigation until the loader was done: other programs, other loads, the kernel's threads, the hypervisor (real clock)"}
	processorWaited = study.Metric{Name: "processor_waited", Unit: "ms", Title: "Processor waited for",
		Definition: "how long threads of browser, servers and emulator were ready to run but had no processor, added up over threads (real clock, Linux schedstat)"}
	steal = study.Metric{Name: "steal", Unit: "ms", Title: "Steal",
		Definition: "processor time, of all processors, that the hypervisor gave to others from navigation until the loader was done, in steps of 10 ms (real clock)"}
)

// disturbances returns the values of the metrics above that the load has.
func disturbances(g *gathered) map[string]float64 {
	if g.outcome.Workload().Kind().Loopback {
		return map[string]float64{}
	}
	values := map[string]float64{}
	if g.evidence.Live == nil {
		values[emulatorWait.Name] = float64(g.outcome.Common().Emulator.RunQueueWait) / 1e6
	}
	if len(g.paths) > 0 {
		values[lateShift.Name] = float64(g.lateShift(g.paths...)) / 1e6
	}
	if t := g.outcome.Common().Taken; t != nil {
		values[processorUsed.Name] = inMS(t.Own)
		values[processorTaken.Name] = inMS(t.Others)
		values[steal.Name] = inMS(t.Steal)
		if t.Waited >= 0 {
			values[processorWaited.Name] = inMS(t.Waited)
		}
		values[takenShift.Name] = inMS(t.Shift())
	}
	return values
}

func inMS(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// lateShift returns how far, in ns, a late emulator can have moved the end of these pages of the
// load, at most. The emulator's wait for a processor counts once, however many pages there are.
func (g *gathered) lateShift(pages ...*critical.Path) int64 {
	shift := g.outcome.Common().Emulator.RunQueueWait
	for _, p := range pages {
		shift += p.Late
	}
	return shift
}

// checkLateness checks the load against the study's limit on late packets (rule 3).
func (r *run) checkLateness(g *gathered) []study.Violation {
	limit := r.Options.LateLimit
	if g.outcome.Workload().Kind().Loopback || g.evidence.Live != nil {
		return nil
	}
	if limit.Share == 0 || len(g.paths) == 0 {
		p99, known := metric.LateP99(g.evidence)
		switch {
		case !known:
			return []study.Violation{{Rule: lateRule,
				Detail: "nothing is known of how late packets left: the capture has no packet that was delivered"}}
		case p99 <= inMS(limit.P99):
			return nil
		}
		return []study.Violation{{Rule: lateRule,
			Detail: fmt.Sprintf("one packet in a hundred left more than %.3f ms late; the study's limit is %.3f ms", p99, inMS(limit.P99))}}
	}
	var violations []study.Violation
	for _, p := range g.paths {
		shift := g.lateShift(p)
		if share := float64(shift) / float64(p.OnLoad); share > limit.Share {
			violations = append(violations, study.Violation{Rule: lateRule,
				Detail: fmt.Sprintf("a late emulator can have moved onLoad by %.3f ms, %.1f %% of it; the study's limit is %g %%",
					float64(shift)/1e6, 100*share, 100*limit.Share)})
		}
	}
	return violations
}

// checkClock checks that nobody set the machine's clock during the load (rule 7): the browser, the servers and the
// emulator read it at different moments, so that their times could not be compared.
func checkClock(set bool) []study.Violation {
	if !set {
		return nil
	}
	return []study.Violation{{Rule: takenRule, Detail: "the machine's clock was set during the load, by a person or by NTP, so times cannot be compared"}}
}

// checkTaken checks the load against the study's limit on processor time taken by others
// (rule 7).
func (r *run) checkTaken(t *machine.Taken) []study.Violation {
	if t == nil || t.Elapsed <= 0 {
		return nil
	}
	shift := t.Shift()
	share := float64(shift) / float64(t.Elapsed)
	if share <= r.Options.TakenLimit {
		return nil
	}
	return []study.Violation{{Rule: takenRule,
		Detail: fmt.Sprintf("others took %.1f ms of the processors, %.1f ms of it steal, and can have made the load %.1f ms longer, %.1f %% of %.0f ms; the study's limit is %g %%",
			inMS(t.Others), inMS(t.Steal), inMS(shift), 100*share, inMS(t.Elapsed), 100*r.Options.TakenLimit)}}
}
