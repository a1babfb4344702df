package guest

import (
	"slices"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/network"
)

// TestFatesAreTheSameOnBothClocks sends the same pings on both clocks with the same seed:
// the same packets must be lost at random, in both directions. Other fates (a full queue)
// depend on the moment of arrival, which no real clock repeats. On a busy machine the last
// pings may come too late on the real clock, so the pings that both clocks have are compared.
func TestFatesAreTheSameOnBothClocks(t *testing.T) {
	link := network.Link{Delay: 2 * time.Millisecond, Loss: network.Loss{Rate: 0.1}}
	bursts := network.Link{Delay: 2 * time.Millisecond,
		Loss: network.Loss{GilbertElliott: &network.GilbertElliott{P: 0.05, R: 0.3, GoodLoss: 0.01, BadLoss: 0.8}}}
	trace := network.Link{Delay: 2 * time.Millisecond, Loss: network.Loss{Rate: 0.1},
		Trace: &network.Trace{Name: "uneven", Opportunities: []int64{1, 2, 3, 9}}}
	for name, l := range map[string]network.Link{"loss": link, "bursts": bursts, "loss on a trace": trace} {
		t.Run(name, func(t *testing.T) {
			p := pings{Path: oneLink(l), Seed: 7, Count: 400, Size: 200, Spacing: time.Millisecond, Wait: 200 * time.Millisecond}
			_, inGuest := p.virtually(t)
			virtual, real := fates(inGuest), fates(p.really(t))
			lost := 0
			for direction, sequence := range virtual {
				both := min(len(sequence), len(real[direction]))
				if !slices.Equal(sequence[:both], real[direction][:both]) {
					t.Errorf("%s: the fates are\n%v\non the virtual clock and\n%v\non the real one", direction, sequence, real[direction])
				}
				for _, was := range sequence[:both] {
					if was {
						lost++
					}
				}
			}
			if lost < 20 {
				t.Errorf("%d packets were lost: too few to compare", lost)
			}
		})
	}
}

// fates returns whether each packet of a capture was lost at random, in order, by the end
// that sent it.
func fates(packets *capture.Packets) map[string][]bool {
	all := map[string][]bool{}
	for _, r := range packets.Records {
		if at := packets.Interfaces[r.Interface].Name; !r.Inbound {
			all[at] = append(all[at], fateIn(r) == network.LostRandom)
		}
	}
	return all
}
