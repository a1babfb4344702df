package playback

import (
	"time"

	"wiretime/media/storage"
	"wiretime/network"
	"wiretime/site"
	"wiretime/study"
	"wiretime/workload"
)

// Costs of a stream, from downloads over all transports on one core of 2024: setting everything
// up, and the octets per second that pass both programs, both kernels and the emulator between
// them.
const (
	streamCost = 300 * time.Millisecond
	streamPace = 20_000_000
)

// carrying returns how long a core takes to carry octets.
func carrying(octets int64) time.Duration { return at(octets, 8*streamPace) }

// at returns how long octets take at a rate.
func at(octets int64, rate network.BitRate) time.Duration {
	return time.Duration(float64(octets) * 8 / float64(rate) * float64(time.Second))
}

// expectedOctets returns how much a stream is expected to carry: the whole file or, of a video,
// what plays in the highest resolution or as much as the links carry, if that is less. With
// seeks, after which other segments are fetched, a video fills the links.
func expectedOctets(media storage.Item, s *study.Stream) int64 {
	if file := media.Sizes[storage.Plain]; file > 0 {
		return file
	}
	rate := network.BitRate(media.Sizes[storage.QHD]) * 8
	if s.Rate > 0 && (s.Rate < rate || s.Seeks > 0) {
		rate = s.Rate
	}
	return int64(float64(rate) / 8 * s.Duration.Seconds())
}

// estimate expects a stream to have the link to itself, without loss. How fast a transport is
// does not count, because streams on different clocks are not compared.
func estimate(clock string, media storage.Item, path network.Path, s *study.Stream) workload.Estimate {
	octets := expectedOctets(media, s)
	cost := streamCost + carrying(octets)
	if clock == study.ClockVirtual {
		return workload.Estimate{Processor: cost, Duration: cost}
	}
	lasts := s.Duration
	if media.Sizes[storage.Plain] > 0 {
		lasts = 6 * (path.Access[0].Up.Delay + path.Access[0].Down.Delay)
		if s.Rate > 0 {
			lasts += at(octets, s.Rate)
		}
	}
	return workload.Estimate{Processor: cost, Duration: max(workload.Overhead+lasts, cost)}
}

// Costs implements workload.Workload. Streams over all transports are expected to cost the
// same. It returns nil if the medium is unknown, an error that Bind reports.
func (Workload) Costs(c study.Cell, clock string, _ *site.Site, o study.Options) []workload.Estimate {
	media, err := storage.ParseMedia(c.Subject())
	if err != nil {
		return nil
	}
	return []workload.Estimate{estimate(clock, media, c.Network, o.Stream)}
}

const (
	// bootWork limits what an interruption of a guest throws away.
	bootWork = 10 * time.Second
	// slack is how many times slower than expected a guest may carry a stream before it counts
	// as stuck.
	slack = 20
)

// guest returns what a guest needs for the load.
func (b *bound) guest() workload.Guest {
	octets := expectedOctets(b.media, b.options.Stream)
	return workload.Guest{
		Boot: b.cell.By(), Loads: workload.ManyLoads, Work: bootWork,
		Memory: memory(octets, b.options.Stream.Capture), Longer: slack * carrying(octets),
	}
}

// socketMemory is what both ends of a stream hold, including connections that were given up but
// are still open.
const socketMemory = 512 << 20

// memory returns what a guest needs for a stream of so many octets: for its sockets, and for
// its packets, which are in the emulator, in the capture's file and in the file with the keys.
func memory(octets int64, k study.Capture) int64 {
	return socketMemory + 3*captureSize(octets, k)
}

// captureSize returns how many octets the capture of a stream of so many octets is expected to
// have.
func captureSize(octets int64, k study.Capture) int64 {
	const (
		packet   = 1500 // octets
		overhead = 100  // of a record
	)
	records, each := 4*(octets/packet+1), int64(packet) // sent and delivered, data and acknowledgements
	if k.Packets > 0 {
		records = min(records, int64(k.Packets))
	}
	if k.Octets > 0 {
		each = min(each, int64(k.Octets))
	}
	return records * (each + overhead)
}
