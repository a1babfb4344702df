package runner

import (
	"strings"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/critical"
	"wiretime/evidence"
	"wiretime/lab"
	"wiretime/lab/emulator"
	"wiretime/machine"
	"wiretime/study"
	"wiretime/workload"
	"wiretime/workload/pageload"
)

const ms = int64(time.Millisecond)

// TestRule3 holds loads to a limit on how late packets may be.
func TestRule3(t *testing.T) {
	share, p99 := study.Late{Share: 0.01, P99: time.Millisecond}, study.Late{P99: time.Millisecond}
	page := func(late int64) *critical.Path { return &critical.Path{OnLoad: 7000 * ms, Late: late} }
	for _, c := range []struct {
		name   string
		limit  study.Late
		p99    float64 // ms
		paths  []*critical.Path
		waited int64 // of the emulator, ns
		want   string
	}{
		{"a slow page whose packets were late beside its path", share, 1.2, []*critical.Path{page(20 * ms)}, 0, ""},
		{"lateness on the path", share, 0.8, []*critical.Path{page(77 * ms)}, 0, "a late emulator can have moved onLoad by 77.000 ms, 1.1 % of it; the study's limit is 1 %"},
		{"an emulator that saw packets late", share, 0.1, []*critical.Path{page(50 * ms)}, 21 * ms, "moved onLoad by 71.000 ms, 1.0 %"},
		{"one page of a journey", share, 0.1, []*critical.Path{page(0), page(84 * ms)}, 0, "84.000 ms"},
		{"a load without an onLoad", share, 1.2, nil, 0, "one packet in a hundred left more than 1.200 ms late; the study's limit is 1.000 ms"},
		{"a load without an onLoad that was on time", share, 0.9, nil, 0, ""},
		{"a study with a limit in ms", p99, 1.2, []*critical.Path{page(0)}, 0, "one packet in a hundred"},
		{"a study with a limit in ms that is kept", p99, 0.9, []*critical.Path{page(700 * ms)}, 0, ""},
	} {
		r := &run{Config: Config{Options: study.Options{LateLimit: c.limit}}}
		outcome := &pageload.Record{Record: workload.Record{Report: lab.Report{Emulator: emulator.Report{RunQueueWait: c.waited}}}}
		g := &gathered{outcome: outcome, evidence: deliveredLate(c.p99), paths: c.paths}
		wantViolation(t, c.name, r.checkLateness(g), lateRule, c.want)
	}
}

// deliveredLate returns the evidence of a load with one delivered packet, which was so many ms late.
func deliveredLate(late float64) *evidence.Evidence {
	return &evidence.Evidence{Packets: &capture.Packets{
		Header:  capture.Header{Interfaces: []capture.Interface{{Name: "client.access"}}},
		Records: []capture.PacketRecord{{Inbound: true, HasLateness: true, Lateness: int64(late * 1e6)}},
	}}
}

// TestRule3NeedsPackets checks that a load whose lateness is unknown does not pass.
func TestRule3NeedsPackets(t *testing.T) {
	r := &run{Config: Config{Options: study.Options{LateLimit: study.Late{P99: time.Millisecond}}}}
	g := &gathered{outcome: &pageload.Record{}, evidence: &evidence.Evidence{Packets: &capture.Packets{}}}
	wantViolation(t, "no packets", r.checkLateness(g), lateRule, "nothing is known of how late packets left")
}

// TestRule7 holds loads to a limit on what others took of the processors.
func TestRule7(t *testing.T) {
	r := &run{Config: Config{Options: study.Options{TakenLimit: 0.01}}}
	taken := func(others, steal int64) *machine.Taken {
		return &machine.Taken{Elapsed: time.Second, Processors: 2, Others: time.Duration(others * ms), Steal: time.Duration(steal * ms), Waited: time.Second}
	}
	for _, c := range []struct {
		name  string
		taken *machine.Taken
		want  string
	}{
		{"the virtual clock, where nobody takes anything", nil, ""},
		{"a quiet machine", taken(18, 0), ""},
		{"another program", taken(30, 0), "others took 30.0 ms of the processors, 0.0 ms of it steal, and can have made the load 15.0 ms longer, 1.5 % of 1000 ms; the study's limit is 1 %"},
		{"steal", taken(25, 20), "22.5 ms longer"},
	} {
		wantViolation(t, c.name, r.checkTaken(c.taken), takenRule, c.want)
	}
	wantViolation(t, "nobody sets the clock", checkClock(false), takenRule, "")
	wantViolation(t, "somebody sets the clock", checkClock(true), takenRule, "the machine's clock was set during the load")
}

func wantViolation(t *testing.T, name string, got []study.Violation, rule int, want string) {
	t.Helper()
	switch {
	case want == "" && len(got) > 0:
		t.Errorf("%s: %+v", name, got)
	case want != "" && (len(got) != 1 || got[0].Rule != rule || !strings.Contains(got[0].Detail, want)):
		t.Errorf("%s: %+v, want rule %d and %q", name, got, rule, want)
	}
}
