package critical

import "testing"

// delayed marks packets of a scene as late, in ms by their numbers from 1, without
// moving them: they would have arrived that much earlier.
func (s *scene) delayed(late map[uint64]float64) *scene {
	for i := range s.packets.Records {
		r := &s.packets.Records[i]
		if ms, ok := late[r.ID]; ok && r.Inbound {
			r.Lateness, r.HasLateness = int64(ms*1e6), true
		}
	}
	return s
}

// TestLate checks how far each late packet of a path can have moved onLoad.
func TestLate(t *testing.T) {
	// The numbers of the packets of single.
	const question, answer, syn, synAck, request, first, second, fourth, again = 1, 2, 4, 5, 6, 7, 8, 10, 11
	for _, c := range []struct {
		name string
		late map[uint64]float64
		want float64 // ms
	}{
		{"all on time", nil, 0},
		{"a question and its answer add up", map[uint64]float64{question: 1, answer: 2}, 3},
		{"so do all packets of a chain", map[uint64]float64{answer: 1, syn: 1, synAck: 1, request: 1, first: 1, again: 1}, 6},
		{"the last of several packets serialised one after the other counts", map[uint64]float64{first: 0.5, second: 1.5}, 2},
		{"the latest of several packets that wait for the same lost one counts", map[uint64]float64{fourth: 3, again: 2}, 3},
	} {
		if p := single().delayed(c.late).path(t); p.Late != int64(c.want*1e6) {
			t.Errorf("%s: the bound is %.3f ms, want %.3f", c.name, float64(p.Late)/1e6, c.want)
		}
	}
}

// TestLateElsewhere delays a packet that the path does not wait for, and then one that
// the client may have waited for.
func TestLateElsewhere(t *testing.T) {
	scene := func() *scene {
		s := single()
		s.down(1300, 1350, tcp("10.0.1.3:80", client, 1, 0, "other")) // packet 12
		s.down(1369, 1419, tcp("10.0.1.3:80", client, 6, 0, "other")) // packet 13, as the client is at work
		return s
	}
	for number, want := range map[uint64]int64{12: 0, 13: 4e6} {
		if p := scene().delayed(map[uint64]float64{number: 4}).path(t); p.Late != want {
			t.Errorf("packet %d: the bound is %d ns, want %d", number, p.Late, want)
		}
	}
}
