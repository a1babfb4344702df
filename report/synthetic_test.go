package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/network"
	"wiretime/store"
	"wiretime/study"
)

// synthetic describes a made-up run. Its figures come from a crude model of
// page loads, good for looking at a page and for nothing else.
type synthetic struct {
	study     string
	site      string
	networks  []syntheticNetwork
	protocols []string
	clocks    []string
	visits    []string // cold alone, if there are none
	// strategies are the browser's alone, if there are none.
	strategies []string
	// servers are Wiretime's own alone, if there are none.
	servers []string
	repeats int
	flags   int // images on the page
	// requests replaces the number of requests that the loads' figures say, if it is not 0.
	requests float64
	untidy   bool // late, failed and pending loads, and a metric that some loads lack
	// paper, if there is one, says what was printed and claimed of the cells.
	paper func(*store.RunSpec)
}

type syntheticNetwork struct {
	name   string
	rate   float64 // bit/s
	rtt    float64 // ms
	spread float64 // of page times, as a share
	loss   float64 // of packets, as a share; only what the network says of itself
}

var flagStudy = synthetic{
	study: "flags", site: "world-flags",
	networks: []syntheticNetwork{
		{"3g-weak", 400e3, 300, 0.08, 0},
		{"lte", 12e6, 70, 0.03, 0},
		{"cable", 5e6, 28, 0.005, 0},
	},
	protocols: []string{"http/1.1", "https/1.1", "h2", "h3"},
	clocks:    []string{"real"},
	repeats:   10, flags: 196, untidy: true,
}

// clockStudy loads each cell on both clocks.
var clockStudy = synthetic{
	study: "two-clocks", site: "world-flags",
	networks: []syntheticNetwork{
		{"3g-weak", 400e3, 300, 0.002, 0},
		{"lte", 12e6, 70, 0.01, 0},
		{"cable-lossy", 5e6, 28, 0.12, 0.01},
	},
	protocols: []string{"http/1.1", "h2", "h3"},
	clocks:    []string{"real", "virtual"},
	repeats:   10, flags: 60,
}

// visitStudy loads each cell in every state of the client; 0-RTT is h3's alone.
var visitStudy = synthetic{
	study: "visits", site: "world-flags",
	networks:  flagStudy.networks[:2],
	protocols: []string{"https/1.1", "h2", "h3"},
	clocks:    []string{"real"},
	visits:    []string{"cold", "resumed", "0rtt", "connected", "cached"},
	repeats:   8, flags: 40,
}

// strategyStudy loads one protocol by several strategies.
var strategyStudy = synthetic{
	study: "strategies", site: "world-flags",
	networks:   flagStudy.networks,
	protocols:  []string{"https/1.1"},
	clocks:     []string{"real"},
	strategies: []string{"browser", "sequential", "keep-alive", "parallel-2", "pipelined"},
	repeats:    8, flags: 40,
}

// serverStudy loads one protocol from several servers.
var serverStudy = synthetic{
	study: "servers", site: "world-flags",
	networks:  flagStudy.networks[:2],
	protocols: []string{"h2"},
	clocks:    []string{"real"},
	servers:   []string{"wiretime", "nginx", "mine"},
	repeats:   8, flags: 40,
}

// processor is what the machine's work adds to each page time on the real
// clock of clockStudy, in ms.
var processor = map[string]float64{"http/1.1": 4, "h2": 9, "h3": 30}

var syntheticMetrics = []study.Metric{
	{Name: "dcl", Unit: "ms", Title: "DCL", Definition: "domContentLoadedEventStart from navigationStart (Navigation Timing)."},
	{Name: "onload", Unit: "ms", Title: "onLoad", Definition: "loadEventStart from navigationStart (Navigation Timing)."},
	{Name: "plt", Unit: "ms", Title: "PLT", Definition: "Navigation start until the last byte of the last resource that the page needs."},
	{Name: "tow", Unit: "ms", Title: "ToW", Definition: "Time on wire: the first packet that the client sends for the load until the last packet that carries the load's data or acknowledges it; tear-down left out."},
	{Name: "ttfb", Unit: "ms", Title: "TTFB", Definition: "responseStart of the page from navigationStart."},
	{Name: "fcp", Unit: "ms", Title: "FCP", Definition: "first-contentful-paint from navigationStart (Paint Timing)."},
	{Name: "lcp", Unit: "ms", Title: "LCP", Definition: "The last largest-contentful-paint before onLoad, from navigationStart."},
	{Name: "requests", Unit: "requests", Title: "Requests", Definition: "Requests that went to the network."},
	{Name: "connections", Unit: "connections", Title: "Connections", Definition: "Transport connections that carried a request."},
	{Name: "bytes_down", Unit: "B", Title: "Bytes down", Definition: "Octets at the IP layer that the client received."},
	{Name: "packets_down", Unit: "packets", Title: "Packets down", Definition: "Packets that the client received."},
	{Name: "drops", Unit: "packets", Title: "Drops", Definition: "Packets that the emulator lost or whose queue was full, both ways."},
	{Name: "retransmissions", Unit: "packets", Title: "Retransmissions", Definition: "TCP segments sent again; for QUIC, packets that the server declared lost."},
	{Name: "late_p99", Unit: "ms", Title: "Lateness p99", Definition: "99th percentile of how much later than due the emulator sent a packet."},
}

// keep writes the study's made-up figures to a new store and returns the store, open for
// reading, and the run.
func (s synthetic) keep(t *testing.T) (*store.Store, int64) {
	t.Helper()
	spec := store.RunSpec{
		StudyName: s.study, Seed: math.MaxUint64, Metrics: syntheticMetrics,
		Environment: json.RawMessage(`{"clock": "real", "kernel": "Linux 0.0-synthetic", "cpu": {"model": "made up", "cores": 2}, "congestion": ["cubic", "reno"], "server_nginx": "nginx version: nginx/1.22.1"}`),
	}
	for _, n := range s.networks {
		link := network.Link{Rate: network.BitRate(n.rate), Delay: time.Duration(n.rtt / 2 * 1e6), Loss: network.Loss{Rate: n.loss}, Queue: network.Queue{Bytes: 64000}}
		path := network.Path{Name: n.name, Source: "made up for a test", Access: []network.Access{{Name: "a", Up: link, Down: link}}}
		for _, clock := range s.clocks {
			for _, visit := range orElse(s.visits, "cold") {
				for _, server := range orElse(s.servers, "wiretime") {
					for _, strategy := range orElse(s.strategies, "browser") {
						for _, p := range s.protocols {
							cell := page(n.name, map[study.Axis]string{study.AxisSite: s.site, study.AxisProtocol: p,
								study.AxisClock: clock, study.AxisVisit: visit, study.AxisStrategy: strategy, study.AxisServer: server})
							cell.Network = path
							spec.Cells = append(spec.Cells, cell)
						}
					}
				}
			}
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for repeat := range s.repeats {
		for _, c := range spec.Cells {
			spec.Plan = append(spec.Plan, study.PlannedLoad{Cell: c, Repeat: repeat, Seed: random.Uint64()})
		}
	}
	if s.paper != nil {
		s.paper(&spec)
	}
	return keep(t, spec, func(st *store.Store, p store.Planned) { s.measure(t, st, p, random) })
}

// keep begins a run in a new store, has measure commit each planned load, and returns the store,
// open for reading, and the run. What every synthetic run has in common is filled in.
func keep(t *testing.T, spec store.RunSpec, measure func(*store.Store, store.Planned)) (*store.Store, int64) {
	t.Helper()
	spec.StudyText = "# synthetic: made up for the report's tests\nname: " + spec.StudyName + "\n"
	spec.Version, spec.Started = "0.0-synthetic", time.Date(2026, 3, 4, 10, 20, 30, 0, time.UTC)
	dir := filepath.Join(t.TempDir(), "store")
	st, err := store.Open(dir, store.Create)
	if err != nil {
		t.Fatal(err)
	}
	run, err := st.BeginRun(spec)
	if err != nil {
		t.Fatal(err)
	}
	pending, err := st.Pending(run)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pending {
		measure(st, p)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if st, err = store.Open(dir, store.Read); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st, run
}

func orElse(words []string, usual string) []string {
	if words == nil {
		return []string{usual}
	}
	return words
}

func (s synthetic) measure(t *testing.T, st *store.Store, p store.Planned, random *rand.Rand) {
	t.Helper()
	network := s.networks[slices.IndexFunc(s.networks, func(n syntheticNetwork) bool { return n.name == p.Cell.Network.Name })]
	record := store.LoadRecord{Planned: p, Attempt: 1, Started: time.Date(2026, 3, 4, 10, 21, p.Index, 0, time.UTC), Wall: time.Second, Validity: store.Valid, Final: true}
	commit := func() {
		t.Helper()
		h, values := s.load(network, p.Cell, random)
		if slices.Contains(s.clocks, "virtual") && p.Cell.Clock() == "real" {
			for _, time := range []string{"dcl", "onload", "plt", "tow", "lcp"} {
				values[time] += processor[p.Cell.Over()]
			}
		}
		if record.Validity == store.Invalid {
			values["late_p99"] = 3.2
		}
		if s.requests > 0 {
			values["requests"] = s.requests
		}
		if s.untidy && p.Index%13 == 0 {
			delete(values, "lcp")
		}
		if record.Validity != store.Failed {
			record.Values = values
			staged, err := st.StageDir(record.ID())
			if err != nil {
				t.Fatal(err)
			}
			if err := capture.WriteHAR(filepath.Join(staged, "load.har"), h); err != nil {
				t.Fatal(err)
			}
		}
		if err := st.Commit(record); err != nil {
			t.Fatal(err)
		}
	}
	switch {
	case p.Cell.On(study.AxisVisit) == "0rtt" && p.Cell.Over() != "h3":
		record.Validity, record.Reason = store.Unsupported, "0-RTT over "+p.Cell.Over()+": only HTTP/3 has it here"
		if err := st.Commit(record); err != nil {
			t.Fatal(err)
		}
		return
	case s.untidy && p.Index == len(s.networks)*len(s.protocols)*s.repeats-1:
		return // stays pending
	case s.untidy && network.name == "cable" && p.Cell.Over() == "h3" && p.Repeat >= 4:
		record.Validity, record.Reason = store.Failed, "the page did not end within 120 s"
	case s.untidy && p.Index%31 == 5:
		record.Validity, record.Reason, record.Final = store.Invalid, "late: p99 of packet lateness 3.2 ms, limit 1 ms", false
		record.Violations = []study.Violation{{Rule: 3, Detail: record.Reason}}
		commit()
		record.Validity, record.Reason, record.Final, record.Violations, record.Attempt = store.Valid, "", true, nil, 2
	}
	commit()
}

// load makes up one page load: the page, then all its images at once, over six
// connections or one, sharing the link's rate.
func (s synthetic) load(n syntheticNetwork, cell study.Cell, random *rand.Rand) (*capture.HAR, map[string]float64) {
	protocol := cell.Over()
	rtt := n.rtt * (1 + n.spread*math.Abs(random.NormFloat64()))
	perByte := 8e3 / n.rate * (1 + n.spread*math.Abs(random.NormFloat64())) // ms
	start := time.Date(2026, 3, 4, 10, 21, 0, 0, time.UTC)
	secure, lanes := protocol != "http/1.1", 6
	handshakes := map[string]float64{"http/1.1": 1, "https/1.1": 2, "h2": 2, "h3": 1}[protocol]
	if protocol == "h2" || protocol == "h3" {
		lanes = 1
	}
	dns := 4.0
	if cell.On(study.AxisVisit) != "cold" {
		dns = 0
	}
	switch cell.On(study.AxisVisit) {
	case "0rtt":
		handshakes--
	case "connected":
		handshakes = 0
	case "cached":
		s.flags /= 4
	}
	if few := map[string]int{"sequential": 1, "keep-alive": 1, "parallel-2": 2, "pipelined": 1}[cell.On(study.AxisStrategy)]; few > 0 {
		lanes = few
	}
	if cell.On(study.AxisStrategy) == "sequential" || cell.On(study.AxisStrategy) == "keep-alive" {
		rtt *= 1 + float64(s.flags)/20
	}
	page := dns + handshakes*rtt + rtt + 12_000*perByte
	h := &capture.HAR{Log: capture.Log{
		Version: "1.2", Creator: capture.Program{Name: "synthetic", Version: "0"},
		Pages: []capture.Page{{Started: start, ID: "page_1", Title: s.site}},
	}}
	scheme := map[bool]string{false: "http", true: "https"}[secure]
	base := scheme + "://www." + s.site + ".test/"
	add := func(path, kind, priority string, lane int, at, bytes float64, t capture.Timings) float64 {
		t.Blocked = max(0, t.Blocked)
		total := t.Blocked + max(0, t.DNS) + max(0, t.Connect) + t.Send + t.Wait + t.Receive
		h.Log.Entries = append(h.Log.Entries, capture.Entry{
			Page: "page_1", Started: start.Add(time.Duration(at * 1e6)), Time: total,
			Request:  capture.Request{Method: "GET", URL: base + path},
			Response: capture.Response{Status: 200, TransferSize: int64(bytes)},
			Timings:  t, ServerIPAddress: "10.0.0.2", Connection: fmt.Sprint(40 + lane), ResourceType: kind,
			Priority: priority, InitialPriority: "Low", Protocol: map[string]string{"https/1.1": "http/1.1"}[protocol] + map[bool]string{true: protocol}[protocol != "https/1.1"],
			Initiator: capture.Initiator{Type: "parser", URL: base, Line: len(h.Log.Entries)},
		})
		return at + total
	}
	connect := func(t capture.Timings) capture.Timings {
		t.DNS, t.Connect, t.SSL = dns, handshakes*rtt, -1
		if secure {
			t.SSL = rtt
		}
		return t
	}
	add("", "document", "VeryHigh", 0, 0, 12_000, connect(capture.Timings{Blocked: 1, Send: 0.2, Wait: rtt, Receive: 12_000 * perByte}))
	free := make([]float64, lanes)
	link := page
	opened := make([]bool, lanes)
	last := 0.0
	sizes := rand.New(rand.NewPCG(5, 0)) // the page is the same in every load
	for i := range s.flags {
		lane := i % lanes
		bytes := 900 + 5_000*math.Abs(sizes.NormFloat64())
		t := capture.Timings{DNS: -1, Connect: -1, SSL: -1, Send: 0.1, Wait: rtt}
		ready := max(page, free[lane]) + rtt
		if lanes > 1 && lane > 0 && !opened[lane] {
			opened[lane] = true
			t = connect(t)
			ready += t.DNS + t.Connect
		} else if lanes > 1 {
			t.Blocked = max(0, free[lane]-page)
		}
		link = max(link, ready) + bytes*perByte
		t.Receive = bytes * perByte * float64(lanes)
		t.Wait = max(1, link-page-max(0, t.Blocked)-max(0, t.DNS)-max(0, t.Connect)-t.Send-t.Receive)
		end := add(fmt.Sprintf("flags/%03d.svg", i), "image", map[bool]string{true: "High", false: "Low"}[i < 40], lane, page, bytes, t)
		if lanes > 1 {
			free[lane] = end
		}
		last = max(last, end)
	}
	h.Log.Pages[0].Timings.OnContentLoad, h.Log.Pages[0].Timings.OnLoad = page+3, last+2
	return h, map[string]float64{
		"dcl": page + 3, "onload": last + 2, "plt": last, "tow": last + rtt/2, "ttfb": dns + handshakes*rtt + rtt, "fcp": page + 20, "lcp": last - 30,
		"requests": float64(len(h.Log.Entries)), "connections": float64(lanes), "bytes_down": 1.1e6 + 1e4*random.Float64(), "packets_down": math.Round(900 + 30*random.Float64()),
		"drops": math.Round(20 * n.spread * random.Float64() * 10), "retransmissions": math.Round(15 * n.spread * random.Float64() * 10), "late_p99": 0.1 + 0.2*random.Float64(),
	}
}

// readSynthetic finds the HAR where measure put it.
func readSynthetic(l store.Load) (*capture.HAR, error) {
	if l.Artefacts == "" {
		return nil, nil
	}
	return capture.ReadHAR(filepath.Join(l.Artefacts, "load.har"))
}

// page is a cell of pages over a network, by Chromium unless the values say otherwise.
func page(over string, values map[study.Axis]string) study.Cell {
	all := map[study.Axis]string{study.AxisSite: "s", study.AxisNetwork: over, study.AxisLoader: "chromium"}
	maps.Copy(all, values)
	return study.NewCell(study.Pages(), all, network.Path{Name: over})
}
