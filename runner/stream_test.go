package runner

import (
	"errors"
	"slices"
	"testing"
	"time"

	"wiretime/evidence"
	"wiretime/lab"
	"wiretime/network"
	"wiretime/store"
	"wiretime/study"
	"wiretime/workload"
	"wiretime/workload/pageload"
	"wiretime/workload/playback"
)

// streaming is a run of streams as most studies have them.
func streaming() *run {
	has := []string{"cubic"}
	return &run{
		Config: Config{Options: study.Options{
			Timeout: time.Hour, LateLimit: study.Late{P99: time.Millisecond}, TakenLimit: 1,
			Stream: &study.Stream{
				Access: []string{"AP1", "AP2"}, Rate: 100_000_000, Period: time.Second, Duration: time.Minute, Seeks: 0.3,
				StartAt: 1, ResumeAt: 2, Ahead: 10, Patience: 30 * time.Second, GiveUp: time.Minute, Capture: study.Capture{Octets: 128, Packets: 100_000},
			},
		}},
		congestion: map[string][]string{study.ClockReal: has, study.ClockVirtual: has},
	}
}

// streamCell returns a cell of streams over TCP.
func streamCell(media, player string) study.Cell {
	values := study.Link{Delay: 50 * time.Millisecond, Loss: 0.01, Reconnections: 2}.Values()
	values[study.AxisMedia], values[study.AxisTransport], values[study.AxisPlayer] = media, "tcp", player
	values[study.AxisClock] = study.ClockVirtual
	return study.NewCell(study.Streams(), values, path(100_000_000, 100*time.Millisecond))
}

func streamJob(t *testing.T, r *run, index int, cell study.Cell) *job {
	t.Helper()
	j, err := r.job(store.Planned{Index: index, Cell: cell, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// TestGuestsGetWhatStreamsNeed checks that boots, memory and patience follow what is
// carried.
func TestGuestsGetWhatStreamsNeed(t *testing.T) {
	r := streaming()
	queue := func(n int, media, player string) []*job {
		var all []*job
		for i := range n {
			all = append(all, streamJob(t, r, i, streamCell(media, player)))
		}
		return all
	}
	small := batches(queue(2*workload.ManyLoads, "file@1kB", playback.Download))
	if len(small) != 3 || len(small[0].jobs) != 34 { // 0.3 s each
		t.Errorf("%d guests for small files, %d in the first", len(small), len(small[0].jobs))
	}
	const alone = plainMemory + 512<<20 // of sockets
	large := batches(queue(3, "file@1GB", playback.Download))
	if len(large) != 3 {
		t.Errorf("%d guests for three large files", len(large))
	}
	m := r.machine(large[0], large[0].jobs[0], 1, 0)
	if m.Limit != wallLimit+20*50*time.Second || m.Memory < alone+60_000_000 || m.Memory > alone+100_000_000 {
		t.Errorf("a file of 1 GB gets %+v", m)
	}
	if m := r.machine(small[0], small[0].jobs[0], 1, 0); m.Limit > wallLimit+time.Second || m.Memory > alone+10_000 {
		t.Errorf("a file of 1 kB gets %+v", m)
	}
	r.Options.Stream.Capture = study.Capture{}
	large = batches(queue(1, "file@1GB", playback.Download))
	if m := r.machine(large[0], large[0].jobs[0], 1, 0); m.Memory < 4_000_000_000 {
		t.Errorf("a file of 1 GB whose packets are all kept gets %+v", m)
	}
}

func TestFasterClockOfStreams(t *testing.T) {
	s := streaming().Options.Stream
	c := streamCell("file@1GB", "download")
	c.Network = path(1_000_000, 100*time.Millisecond)
	if clock := FasterClock(c, nil, study.Options{Stream: s}, true); clock != study.ClockVirtual && cores() > 1 {
		t.Errorf("a download is expected to be faster on the %s clock", clock)
	}
	if clock := FasterClock(c, nil, study.Options{Stream: s}, false); clock != study.ClockReal {
		t.Errorf("without a kernel a download is on the %s clock", clock)
	}
}

func TestFiguresOfStreams(t *testing.T) {
	names := func(metrics []study.Metric) (all []string) {
		for _, m := range metrics {
			all = append(all, m.Name)
		}
		return all
	}
	got := names(Metrics(study.Streams()))
	for _, name := range []string{"ttd", "loading_delay", "recovery", "goodput", "late_p99", "emulator_wait"} {
		if !slices.Contains(got, name) {
			t.Errorf("streams have no %s", name)
		}
	}
	if slices.Contains(got, "onload") || slices.Contains(got, "dns_queries") || slices.Contains(names(Metrics(study.Pages())), "ttd") {
		t.Error("pages and streams share figures that are of one kind")
	}
	// What was kept of a stream that could not begin is no figure of a page.
	r := streaming()
	record := store.LoadRecord{}
	r.judge(&record, &gathered{&playback.Record{Record: workload.Record{Report: lab.Report{LoadError: errors.New("no server")}}}, &evidence.Evidence{Protocol: "tcp"}, nil})
	if record.Validity != store.Failed || record.Reason != "no server" {
		t.Errorf("%+v", record)
	}
	for name := range record.Values {
		if !slices.Contains(got, name) {
			t.Errorf("a stream has a figure %s", name)
		}
	}
}

func TestTheHeadlineOfAnAttempt(t *testing.T) {
	r := streaming()
	page := pageJob(t, r, flags(t), network.Path{}, map[study.Axis]string{study.AxisLoader: pageload.Fetch, study.AxisProtocol: "h2"})
	file, clip := streamJob(t, r, 0, streamCell("file@1GB", playback.Download)), streamJob(t, r, 0, streamCell("clip", "paper"))
	values := map[string]float64{"onload": 1500, "ttd": 2500, "loading_delay": 300}
	for _, c := range []struct {
		job    *job
		values map[string]float64
		name   string
		ms     float64
		lasted time.Duration
	}{
		{page, values, "onload", 1500, 1500 * time.Millisecond},
		{file, values, "ttd", 2500, 2500 * time.Millisecond},
		{clip, values, "loading_delay", 300, time.Minute},
		{file, nil, "ttd", -1, 0},
		{page, nil, "onload", -1, 0},
	} {
		name, ms, lasted := headline(c.job, store.LoadRecord{Values: c.values})
		if name != c.name || ms != c.ms || lasted != c.lasted {
			t.Errorf("%s %v ms after %v, want %s %v ms after %v", name, ms, lasted, c.name, c.ms, c.lasted)
		}
	}
}
