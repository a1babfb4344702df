package runner

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"wiretime/evidence"
	"wiretime/lab"
	"wiretime/lab/emulator"
	"wiretime/media/manager"
	"wiretime/media/storage"
	"wiretime/media/transport"
	"wiretime/store"
	"wiretime/study"
	"wiretime/workload"
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

// streamCell is a cell of streams; its path does not matter but for its delay.
func streamCell(t *testing.T, media, transport, player string) study.Cell {
	t.Helper()
	values := study.Link{Delay: 50 * time.Millisecond, Loss: 0.01, Reconnections: 2}.Values()
	values[study.AxisMedia], values[study.AxisTransport], values[study.AxisPlayer] = media, transport, player
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

func TestAStreamsCellBecomesAnOrder(t *testing.T) {
	r := streaming()
	m := manager.Config{Name: "50ms-1%-2x", Access: []string{"AP1", "AP2"}, Rate: 100_000_000, Delay: 50 * time.Millisecond, Loss: 0.01,
		Period: time.Second, Duration: time.Minute, Reconnections: 2, Seed: 7}
	viewing := playback.Order{Media: "clip", Transport: "sctp", Player: "paper", Strategy: transport.Reconnect, Manager: m, For: time.Minute, Seeks: 0.3, StartAt: 1, ResumeAt: 2, Ahead: 10,
		Patience: 30 * time.Second, GiveUp: time.Minute, Keep: emulator.Keep{Octets: 128, Packets: 100_000},
		Seed: 7, TCP: lab.TCPOptions{Congestion: "cubic", InitCwnd: 10}, Timeout: time.Hour}
	download := viewing
	download.Media, download.Player, download.For = "file@1GB", playback.Download, 0
	download.Manager.Duration, download.Manager.Window = time.Hour, 80*time.Second
	for _, want := range []playback.Order{viewing, download} {
		j := streamJob(t, r, 3, streamCell(t, want.Media, "sctp", want.Player))
		o := r.order(j, "id").Stream
		if want.Comment = o.Comment; !strings.HasPrefix(o.Comment, "load id, media="+want.Media) {
			t.Errorf("the comment is %q", o.Comment)
		}
		if got := fmt.Sprintf("%+v", *o); got != fmt.Sprintf("%+v", want) {
			t.Errorf("the order is\n%s, want\n%+v", got, want)
		}
		if why := r.unsupported(j); why != "" || j.served() != "" {
			t.Errorf("unsupported: %q; served: %q", why, j.served())
		}
	}
}

// TestUnsupportedStreams asks of streams whether they can run.
func TestUnsupportedStreams(t *testing.T) {
	r := streaming()
	for _, c := range []struct {
		media, transport, player, strategy string
		why                                string // a part of it; empty: it can run
	}{
		{"clip", "tcp", playback.Download, study.StrategyReconnect, "a download of clip: it is a video"},
		{"clip", "tcp", "paper", study.StrategyReconnect, ""},
		{"file@1MB", "tcp", "bola", study.StrategyReconnect, "the player bola plays videos, and file@1MB is a file; use the player download, or clip"},
		{"file@1MB", "quic", playback.Download, study.StrategyMigrate, ""},
		{"file@1MB", "quic", playback.Download, study.StrategyZeroRTT, ""},
		{"file@1MB", "tcp", playback.Download, study.StrategyZeroRTT, "strategy 0-rtt over tcp is unsupported: only QUIC carries requests in its first packets here"},
		{"file@1MB", "sctp", playback.Download, study.StrategyMultihome, ""},
		{"file@1MB", "quic", playback.Download, study.StrategyMultihome, "a session of it has one address at a time"},
	} {
		cell := streamCell(t, c.media, c.transport, c.player).With(study.AxisStrategy, c.strategy)
		j := streamJob(t, r, 0, cell)
		if why := r.unsupported(j); (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%+v: %q", c, why)
		}
	}
	cell := streamCell(t, "clip", "tcp", "paper").With(study.AxisCongestion, "vegas")
	if why := r.unsupported(streamJob(t, r, 0, cell)); !strings.Contains(why, `no congestion control "vegas"`) {
		t.Error(why)
	}
}

// TestWhatThisMachinesKernelLacksIsLeftToTheVirtualClock asks on both clocks for the
// transports of kernels.
func TestWhatThisMachinesKernelLacksIsLeftToTheVirtualClock(t *testing.T) {
	r := streaming()
	for _, row := range transport.All() {
		cell := streamCell(t, "clip", row.Name, "paper")
		if why := r.unsupported(streamJob(t, r, 0, cell)); why != "" {
			t.Errorf("%s on the virtual clock: %s", row.Name, why)
		}
		cell = cell.With(study.AxisClock, study.ClockReal)
		want := ""
		if err := row.Available(nil); err != nil {
			want = err.Error()
		}
		if why := r.unsupported(streamJob(t, r, 0, cell)); why != want {
			t.Errorf("%s on the real clock: %q, want %q", row.Name, why, want)
		}
	}
}

func TestAStreamThatTheProgramDoesNotKnowIsAnError(t *testing.T) {
	for _, c := range []struct {
		cell study.Cell
		says string
	}{
		{streamCell(t, "film", "tcp", "paper"), `plan load 4: unknown media "film"`},
		{streamCell(t, "clip", "ftp", "paper"), `plan load 4: unknown transport "ftp"`},
	} {
		if _, err := streaming().job(store.Planned{Index: 4, Cell: c.cell}); err == nil || !strings.HasPrefix(err.Error(), c.says) {
			t.Errorf("got %v, want %s", err, c.says)
		}
	}
	if _, err := (&run{}).job(store.Planned{Cell: streamCell(t, "clip", "tcp", "paper")}); err == nil {
		t.Error("a stream in a study of pages")
	}
}

// TestGuestsGetWhatStreamsNeed checks that boots, memory and patience follow what is
// carried.
func TestGuestsGetWhatStreamsNeed(t *testing.T) {
	r := streaming()
	queue := func(n int, media, player string) []*job {
		var all []*job
		for i := range n {
			all = append(all, streamJob(t, r, i, streamCell(t, media, "tcp", player)))
		}
		return all
	}
	small := batches(queue(2*fetchBatch, "file@1kB", playback.Download))
	if len(small) != 3 || len(small[0].jobs) != 34 { // 0.3 s each
		t.Errorf("%d guests for small files, %d in the first", len(small), len(small[0].jobs))
	}
	const alone = fetchMemory + socketMemory
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
	if m := r.machine(large[0], large[0].jobs[0], 1, 0); m.Memory < 4_000_000_000 {
		t.Errorf("a file of 1 GB whose packets are all kept gets %+v", m)
	}
}

func TestEstimateStream(t *testing.T) {
	s := streaming().Options.Stream
	slow := path(1_000_000, 100*time.Millisecond)
	for _, c := range []struct {
		name, clock, media string
		change             func(*study.Stream)
		duration, work     time.Duration // of a core
	}{
		{"a download waits for its link", study.ClockReal, "file@100MB", nil, fixedTime + 600*time.Millisecond + 8*time.Second, streamCost + 5*time.Second},
		{"a download without a limit", study.ClockReal, "file@100MB", func(s *study.Stream) { s.Rate = 0 }, streamCost + 5*time.Second, streamCost + 5*time.Second},
		{"nobody waits in a guest", study.ClockVirtual, "file@100MB", nil, streamCost + 5*time.Second, streamCost + 5*time.Second},
		{"a viewing with seeks fills the link", study.ClockReal, "clip", nil, fixedTime + time.Minute, streamCost + 37500*time.Millisecond},
		{"a viewing plays", study.ClockReal, "clip", func(s *study.Stream) { s.Seeks = 0 }, fixedTime + time.Minute, streamCost + 22500*time.Millisecond},
		{"a viewing over a slow link", study.ClockVirtual, "clip", func(s *study.Stream) { s.Rate = 1_000_000 }, streamCost + 375*time.Millisecond, streamCost + 375*time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			settings := *s
			if c.change != nil {
				c.change(&settings)
			}
			media, err := storage.ParseMedia(c.media)
			if err != nil {
				t.Fatal(err)
			}
			e := estimateStream(c.clock, media, slow, &settings)
			if e.duration != c.duration || e.processor != c.work {
				t.Errorf("%v of %v, want %v of %v", e.processor, e.duration, c.work, c.duration)
			}
		})
	}
	c := streamCell(t, "file@1GB", "tcp", "download")
	c.Network = slow
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
	r.judge(&record, &measured{&workload.Record{Report: lab.Report{LoadError: fmt.Errorf("no server")}}, &evidence.Evidence{Protocol: "tcp"}, nil, streamLoads{}})
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
	page := &job{planned: store.Planned{Cell: pageCell(nil)}}
	file, clip := streamJob(t, r, 0, streamCell(t, "file@1GB", "tcp", playback.Download)), streamJob(t, r, 0, streamCell(t, "clip", "tcp", "paper"))
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
		name, ms, lasted := r.headline(c.job, store.LoadRecord{Values: c.values})
		if name != c.name || ms != c.ms || lasted != c.lasted {
			t.Errorf("%s %v ms after %v, want %s %v ms after %v", name, ms, lasted, c.name, c.ms, c.lasted)
		}
	}
}
