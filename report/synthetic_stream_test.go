package report

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"wiretime/media/manager"
	"wiretime/media/player"
	"wiretime/media/record"
	"wiretime/network"
	"wiretime/store"
	"wiretime/study"
)

// syntheticStreams describes a made-up run of streams. The viewer and the network's
// manager are the real ones; between them is a crude model of a transport.
type syntheticStreams struct {
	study      string
	media      string
	player     string
	contenders []contender
	delays     []time.Duration
	losses     []float64
	moves      []int
	seeks      float64
	clocks     []string
	repeats    int
	claims     []store.Claim // whose pairs are of the first two contenders, on each network
}

// contender is a transport with a strategy.
type contender struct{ transport, strategy string }

// fileStudy is the shape of a paper's figure: the time that a file takes by the link's delay.
var fileStudy = syntheticStreams{
	study: "streams-file", media: "file@40MB", player: download,
	contenders: []contender{{"tcp", "reconnect"}, {"sctp", "reconnect"}, {"quic", "reconnect"}},
	delays:     []time.Duration{20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond},
	losses:     []float64{0, 0.001}, moves: []int{0}, repeats: 6,
	claims: []store.Claim{
		{Text: "QUIC is faster than TCP.", Ratio: "below 1", High: 1, Open: true},
		{Text: "QUIC is twice as fast as TCP.", Ratio: "below 0.5", High: 0.5, Open: true},
	},
}

// viewStudy is viewings with seeks, by the number of handovers and what is done at them.
var viewStudy = syntheticStreams{
	study: "streams-view", media: "clip", player: string(player.Paper),
	contenders: []contender{
		{"tcp", "reconnect"}, {"sctp", "reconnect"}, {"sctp", "multihome"}, {"quic", "reconnect"}, {"quic", "0-rtt"}, {"quic", "migrate"}, {"tcp", "migrate"},
	},
	delays: []time.Duration{80 * time.Millisecond}, losses: []float64{0}, moves: []int{0, 2, 8}, seeks: 0.05, repeats: 3,
}

var streamMetrics = []study.Metric{
	{Name: "ttd", Unit: "ms", Title: "TTD", Definition: "Total transmission delay: from the request until the file was whole."},
	{Name: "loading_delay", Unit: "ms", Title: "Loading delay", Definition: "From when a segment was wanted until it was whole; the mean of those that became whole."},
	{Name: "start_up", Unit: "ms", Title: "Start-up", Definition: "Until the first segment was shown."},
	{Name: "recovery", Unit: "ms", Title: "Recovery", Definition: "From a handover until octets came again; the mean of those that recovered."},
	{Name: "stalls", Unit: "stalls", Title: "Stalls", Definition: "How often the buffer ran empty."},
	{Name: "stalled", Unit: "ms", Title: "Stalled", Definition: "How long playback stood still with an empty buffer."},
	{Name: "goodput", Unit: "Mbit/s", Title: "Goodput", Definition: "Octets of content over the time from the first request to the last octet."},
	{Name: "late_p99", Unit: "ms", Title: "Lateness p99", Definition: "99th percentile of how much later than due the emulator sent a packet."},
}

// keep writes the study's made-up figures to a new store and returns the store, open for
// reading, and the run.
func (s syntheticStreams) keep(t *testing.T) (*store.Store, int64) {
	t.Helper()
	spec := store.RunSpec{
		StudyName: s.study, Seed: 8, Metrics: streamMetrics,
		Environment: json.RawMessage(`{"kernel": "Linux 0.0-synthetic"}`),
	}
	for _, delay := range s.delays {
		for _, loss := range s.losses {
			for _, moves := range s.moves {
				for _, clock := range orElse(s.clocks, virtual) {
					for _, c := range s.contenders {
						spec.Cells = append(spec.Cells, s.cell(t, study.Link{Delay: delay, Loss: loss, Reconnections: moves}, clock, c))
					}
				}
			}
		}
	}
	for _, c := range s.claims {
		for i, cell := range spec.Cells {
			if i%len(s.contenders) == len(s.contenders)-1 { // the last of each network, to its first
				c.Pairs = append(c.Pairs, store.ClaimPair{Metric: "ttd", Cell: cell.Key(), ToMetric: "ttd", ToCell: spec.Cells[i+1-len(s.contenders)].Key()})
			}
		}
		spec.Claims = append(spec.Claims, c)
	}
	for repeat := range s.repeats {
		for _, c := range spec.Cells {
			spec.Plan = append(spec.Plan, study.PlannedLoad{Cell: c, Repeat: repeat, Seed: uint64(repeat + 1)})
		}
	}
	return keep(t, spec, func(st *store.Store, p store.Planned) { s.measure(t, st, p) })
}

func (s syntheticStreams) cell(t *testing.T, link study.Link, clock string, c contender) study.Cell {
	t.Helper()
	name := link.Delay.String()
	if link.Loss > 0 {
		name += fmt.Sprintf("-%v%%", 100*link.Loss)
	}
	if link.Reconnections > 0 {
		name += fmt.Sprintf("-%dx", link.Reconnections)
	}
	path, _, err := manager.Plan(manager.Config{Name: name, Access: manager.AccessPoints(), Rate: manager.DefaultRate, Delay: link.Delay, Loss: link.Loss})
	if err != nil {
		t.Fatal(err)
	}
	cell := streamOver(c.transport, link).With(study.AxisMedia, s.media).With(study.AxisPlayer, s.player).With(study.AxisClock, clock).With(study.AxisStrategy, c.strategy)
	cell.Network = path
	return cell
}

func (s syntheticStreams) measure(t *testing.T, st *store.Store, p store.Planned) {
	t.Helper()
	l := store.LoadRecord{Planned: p, Attempt: 1, Started: time.Date(2026, 3, 4, 10, 21, p.Index%60, 0, time.UTC), Wall: time.Second, Validity: store.Valid, Final: true}
	if p.Cell.Over() == "tcp" && p.Cell.On(study.AxisStrategy) == string(player.Migrate) {
		l.Validity, l.Reason = store.Unsupported, "strategy migrate over tcp is unsupported: its sessions are bound to the addresses they were opened with"
	} else {
		stream := s.stream(t, p.Cell, p.Seed)
		l.Values = figuresOf(stream)
		staged, err := st.StageDir(l.ID())
		if err != nil {
			t.Fatal(err)
		}
		if err := record.Write(filepath.Join(staged, "stream.json"), stream); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Commit(l); err != nil {
		t.Fatal(err)
	}
}

// figuresOf are as package metric's, as far as a report needs them.
func figuresOf(s *record.Stream) map[string]float64 {
	f := s.Figures
	ms := func(d time.Duration) float64 { return float64(d) / 1e6 }
	values := map[string]float64{"late_p99": 0.01, "goodput": float64(8*f.Received) / 1e6 / f.Duration.Seconds()}
	if s.Player == download {
		if d, ok := f.TTD(); ok {
			values["ttd"] = ms(d)
		}
	} else {
		values["start_up"], values["stalls"], values["stalled"] = ms(f.StartUp), float64(f.Stalls), ms(f.Times.Stalled)
		var sum, n float64
		for _, l := range f.Loads {
			if d, ok := l.Delay(); ok {
				sum, n = sum+ms(d), n+1
			}
		}
		values["loading_delay"] = sum / n
	}
	var sum, n float64
	for _, h := range f.Handovers {
		if h.Recovered > 0 {
			sum, n = sum+ms(h.Recovered-h.At), n+1
		}
	}
	if n > 0 {
		values["recovery"] = sum / n
	}
	return values
}

// stream plays one load to its end.
func (s syntheticStreams) stream(t *testing.T, cell study.Cell, seed uint64) *record.Stream {
	t.Helper()
	path := manager.Config{
		Name: cell.Network.Name, Access: manager.AccessPoints(), Rate: manager.DefaultRate, Delay: cell.Link().Delay, Loss: cell.Link().Loss,
		Period: time.Second, Duration: 10 * time.Minute, Reconnections: cell.Link().Reconnections, Window: 30 * time.Second, Seed: seed,
	}
	viewing := player.Config{Mode: player.File, OnHandover: player.Strategy(cell.On(study.AxisStrategy)), Seed: seed}
	if s.player != download {
		viewing.Mode, viewing.For, viewing.Segments, viewing.Sizes = player.View, 40*time.Second, 600, [3]int64{2_300_000, 3_700_000, 7_500_000}
		viewing.Rule, viewing.SeekProbability = player.Rule(s.player), s.seeks
	}
	_, events, err := manager.Plan(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := player.New(viewing)
	if err != nil {
		t.Fatal(err)
	}
	w := wire{player: p, transport: cell.Over(), strategy: player.Strategy(cell.On(study.AxisStrategy)), loss: cell.Link().Loss, random: rand.New(rand.NewPCG(seed, 3)), sizes: viewing.Sizes, file: 40_000_000}
	w.play(events)
	events = slices.DeleteFunc(events, func(e manager.Event) bool { return e.At > w.now })
	return &record.Stream{Media: s.media, Transport: cell.Over(), Player: s.player, Strategy: cell.On(study.AxisStrategy), Manager: events, Figures: p.Figures()}
}

// wire is what lies between a player and its server, in steps of 5 ms.
type wire struct {
	player    *player.Player
	transport string
	strategy  player.Strategy
	loss      float64
	random    *rand.Rand
	sizes     [3]int64
	file      int64

	now, delay              time.Duration
	openAt, movedAt, deafTo time.Duration // 0: nothing is waited for
	session                 int
	request                 *player.Order
	answerAt                time.Duration
	left                    int64
	answered                bool
	speed                   float64 // share of the rate; grows after each connection
}

const (
	wireStep = 5 * time.Millisecond
	wireRate = 100e6 / 8 // octets/s
)

func (w *wire) play(events []manager.Event) {
	for !w.player.Over() {
		for ; len(events) > 0 && events[0].At <= w.now; events = events[1:] {
			w.delay = events[0].Delay
			w.player.LinkDelay(w.now, w.delay)
			if events[0].Access != "" {
				w.player.Associate(w.now, events[0].Access)
				if w.strategy == player.Multihome {
					w.deafTo = w.now + time.Second + 2*w.delay
				}
			}
		}
		w.carry()
		w.player.Advance(w.now)
		for _, o := range w.player.Orders() {
			w.obey(o)
		}
		w.now += wireStep
	}
	w.now -= wireStep
}

// carry lets come what comes in a step.
func (w *wire) carry() {
	if w.openAt > 0 && w.now >= w.openAt {
		w.openAt, w.speed = 0, 0
		w.player.Connected(w.now, w.session)
	}
	if w.movedAt > 0 && w.now >= w.movedAt {
		w.movedAt = 0
		w.player.Moved(w.now, w.session)
	}
	if w.request == nil || w.now < max(w.answerAt, w.deafTo) || w.movedAt > 0 {
		return
	}
	if !w.answered {
		w.answered = true
		w.player.Answered(w.now, w.request.Request, w.left+w.request.Offset, 600)
	}
	w.speed = min(1, w.speed+0.02)
	rate := wireRate * w.speed * 0.97
	if w.loss > 0 { // Mathis et al., 1997, and a constant of nobody's for each transport
		factor := map[string]float64{"tcp": 1.1, "sctp": 1.2, "quic": 1.7}[w.transport]
		rate = min(rate, factor*1460/(2*max(0.001, w.delay.Seconds())*math.Sqrt(w.loss)))
	}
	octets := min(w.left, int64(rate*wireStep.Seconds()*(0.95+0.1*w.random.Float64())))
	if w.left -= octets; w.left == 0 {
		id := w.request.Request
		w.request = nil
		w.player.Received(w.now, id, octets)
		return
	}
	w.player.Received(w.now, w.request.Request, octets)
}

func (w *wire) obey(o player.Order) {
	trips := map[string]int{"tcp": 3, "sctp": 2, "quic": 1}[w.transport]
	if o.Kind == player.Connect && o.Session > 1 && w.strategy == player.ZeroRTT {
		trips = 0
	}
	switch o.Kind {
	case player.Connect:
		w.session, w.openAt, w.movedAt, w.request = o.Session, w.now+time.Duration(2*trips)*w.delay+wireStep, 0, nil
	case player.Move:
		w.movedAt = w.now + 2*w.delay
	case player.Ask:
		w.request, w.answerAt, w.answered = &o, w.now+2*w.delay, false
		w.left = w.file - o.Offset
		if o.Resolution != player.Plain {
			w.left = w.sizes[o.Resolution-player.HD] - o.Offset
		}
	case player.Cancel:
		w.request = nil
		if w.transport == "tcp" {
			w.player.Lost(w.now, o.Session, nil)
			for _, o := range w.player.Orders() {
				w.obey(o)
			}
		}
	}
}

// readStream finds the record where measure put it.
func readStream(l store.Load) (*record.Stream, error) {
	if l.Artefacts == "" {
		return nil, nil
	}
	return record.Read(filepath.Join(l.Artefacts, "stream.json"))
}

// streamOver is a cell of streams over a transport.
func streamOver(transport string, l study.Link) study.Cell {
	values := l.Values()
	values[study.AxisMedia], values[study.AxisTransport], values[study.AxisPlayer] = "file@1MB", transport, "download"
	return study.NewCell(study.Streams(), values, network.Path{Name: l.Name()})
}
