package report

import (
	"encoding/json"
	"math"
	"strings"
	"time"

	"wiretime/capture"
	"wiretime/evidence"
)

// Limits of what is shown of a load's packets.
const (
	mostMarks = 5000 // packets that are marked
	mostRates = 240  // steps for which the rate is given
)

// Traffic shows the packets of a load over time: how many octets passed, and each packet that was lost or sent again. Moments
// are ms since navigation start, or since the stream began.
type Traffic struct {
	Connections []string     `json:"connections"`
	Fates       []string     `json:"fates"` // Fates[0] is "delivered", the others are the emulator's reasons for dropping a packet
	Marks       []packetMark `json:"marks"` // of dropped and repeated packets, in the order of the capture
	More        int          `json:"more"`  // how many marks are left out at the end
	From        float64      `json:"from"`  // when the first packet was sent
	Rate        rates        `json:"rate"`
	Total       [2]int       `json:"total"` // packets that arrived: up, down
}

// rates has the octets at the IP layer that arrived in each step of Step ms, the first of which begins at Traffic.From.
type rates struct {
	Step float64  `json:"step"`
	Up   []uint64 `json:"up"`
	Down []uint64 `json:"down"`
}

// packetMark is a packet that was dropped, or that repeats octets.
type packetMark struct {
	at         float64 // when it was sent
	down       bool
	octets     int
	fate       int // of Traffic.Fates
	again      bool
	connection int // of Traffic.Connections
}

// MarshalJSON writes an array.
func (m packetMark) MarshalJSON() ([]byte, error) {
	number := map[bool]int{true: 1}
	return json.Marshal([...]any{m.at, number[m.down], m.octets, m.fate, number[m.again], m.connection})
}

// NewTraffic describes the packets of a capture, from which moments are counted since began. It returns nil for a capture without packets
// of a connection.
func NewTraffic(packets *capture.Packets, began time.Time) *Traffic {
	e := &evidence.Evidence{Packets: packets}
	repeated := map[uint64]bool{}
	for p := range e.Repeated() {
		repeated[p.ID] = true
	}
	t := &Traffic{Fates: []string{"delivered"}, Connections: []string{}, Marks: []packetMark{}}
	connections, fates := map[string]int{}, map[string]int{}
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	all := e.Sightings()
	for i := range all {
		p := &all[i]
		if p.Flow.Destination.Port() == 0 {
			continue
		}
		first, last = min(first, p.Time), max(last, p.Time)
		fate, dropped := strings.CutPrefix(p.Comment, capture.DroppedPrefix)
		if p.Inbound || !dropped && !repeated[p.ID] {
			continue
		}
		if len(t.Marks) == mostMarks {
			t.More++
			continue
		}
		m := packetMark{at: round(float64(p.Time-began.UnixNano()) / 1e6), down: !p.AtClient, octets: p.Length, again: repeated[p.ID]}
		if dropped {
			m.fate = place(&t.Fates, fates, fate)
		}
		flow := p.Flow
		if m.down {
			flow = flow.Reverse()
		}
		m.connection = place(&t.Connections, connections, flow.String())
		t.Marks = append(t.Marks, m)
	}
	if first > last {
		return nil
	}
	t.From = round(float64(first-began.UnixNano()) / 1e6)
	t.rate(all, first, last)
	return t
}

// rate adds up the packets that arrived in each of so many equal steps.
func (t *Traffic) rate(all []evidence.Sighting, first, last int64) {
	step := max(int64(time.Millisecond), (last-first)/mostRates+1)
	n := int((last-first)/step) + 1
	t.Rate = rates{Step: float64(step) / 1e6, Up: make([]uint64, n), Down: make([]uint64, n)}
	for i := range all {
		p := &all[i]
		if !p.Inbound || p.Flow.Destination.Port() == 0 {
			continue
		}
		at := (p.Time - first) / step
		if p.AtClient {
			t.Rate.Down[at] += uint64(p.Length)
			t.Total[1]++
		} else {
			t.Rate.Up[at] += uint64(p.Length)
			t.Total[0]++
		}
	}
}

// round rounds ms to 1 us.
func round(ms float64) float64 { return math.Round(ms*1e3) / 1e3 }
