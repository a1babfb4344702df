package runner

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"wiretime/evidence"
	"wiretime/lab"
	"wiretime/lab/emulator"
	"wiretime/media/storage"
	"wiretime/media/transport"
	"wiretime/metric"
	"wiretime/network"
	"wiretime/site"
	"wiretime/station"
	"wiretime/study"
	"wiretime/workload"
	"wiretime/workload/playback"
)

// stream is what a job has in place of a site, a server and a web protocol if its
// load is a stream.
type stream struct {
	media     storage.Item
	transport transport.Transport
	octets    int64 // that are expected to be received
}

// file is how many octets the medium has if it is a file; 0 of a video.
func (s *stream) file() int64 { return s.media.Sizes[storage.Plain] }

// streamLoads describes streams to the runner.
type streamLoads struct{}

func (streamLoads) bind(r *run, j *job) error {
	cell := j.planned.Cell
	if r.Options.Stream == nil {
		return fmt.Errorf("it is a stream, and the study says nothing of streams")
	}
	media, err := storage.ParseMedia(cell.Subject())
	if err != nil {
		return err
	}
	row, err := transport.Lookup(cell.Over())
	if err != nil {
		return err
	}
	j.stream = &stream{media, row, expectedOctets(media, r.Options.Stream)}
	j.estimate = estimateStream(cell.Clock(), media, j.path, r.Options.Stream)
	return nil
}

func (streamLoads) order(r *run, j *job, id string) station.Order {
	cell, s := j.planned.Cell, r.Options.Stream
	o := &playback.Order{
		Media: cell.Subject(), Transport: cell.Over(), Player: cell.By(), Strategy: transport.Strategy(cell.On(study.AxisStrategy)),
		Manager: r.Options.Manager(cell.Link(), j.stream.file(), j.planned.Seed),
		Seed:    j.planned.Seed,
		TCP:     lab.TCPOptions{Congestion: cell.On(study.AxisCongestion), InitCwnd: cell.InitCwnd()},
		Timeout: r.Options.Timeout,
		Comment: fmt.Sprintf("load %s, %s, seed %d", id, cell.Key(), j.planned.Seed),
		Keep:    emulator.Keep(s.Capture),
		Seeks:   s.Seeks, StartAt: s.StartAt, ResumeAt: s.ResumeAt, Ahead: s.Ahead,
		Patience: s.Patience, GiveUp: s.GiveUp,
	}
	if cell.By() != playback.Download {
		o.For = s.Duration
	}
	return station.Order{Stream: o}
}

func (streamLoads) unsupported(_ *run, j *job) string {
	cell, s := j.planned.Cell, j.stream
	switch {
	case cell.By() == playback.Download && s.file() == 0:
		return fmt.Sprintf("a download of %s: it is a video, which is played segment by segment; use %s, or one of the players %s",
			cell.Subject(), "file@1GB", strings.Join(viewers(), ", "))
	case cell.By() != playback.Download && s.file() > 0:
		return fmt.Sprintf("the player %s plays videos, and %s is a file; use the player %s, or clip", cell.By(), cell.Subject(), playback.Download)
	}
	err := s.transport.Supports(transport.Strategy(cell.On(study.AxisStrategy)))
	if err == nil && cell.Clock() == study.ClockReal {
		err = s.transport.Available(nil)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// viewers are the players of videos.
func viewers() []string {
	return slices.DeleteFunc(playback.Players(), func(name string) bool { return name == playback.Download })
}

// What a stream costs, from downloads over all transports on one core of 2024: to set
// all up, and how many octets in a second go through both programs, both kernels and
// the emulator between them.
const (
	streamCost = 300 * time.Millisecond
	streamPace = 20_000_000
)

// carrying is how long a core takes to carry octets.
func carrying(octets int64) time.Duration { return at(octets, 8*streamPace) }

// at is how long octets take at a rate.
func at(octets int64, rate network.BitRate) time.Duration {
	return time.Duration(float64(octets) * 8 / float64(rate) * float64(time.Second))
}

// videoRate is that of a video in the highest resolution as it plays.
const videoRate network.BitRate = storage.QHDSize * 8

// expectedOctets are those of a file or, of a video, what plays in the highest
// resolution or as much as the links carry: with seeks, after which other segments are
// fetched, they always do.
func expectedOctets(media storage.Item, s *study.Stream) int64 {
	if file := media.Sizes[storage.Plain]; file > 0 {
		return file
	}
	rate := videoRate
	if s.Rate > 0 && (s.Rate < rate || s.Seeks > 0) {
		rate = s.Rate
	}
	return int64(float64(rate) / 8 * s.Duration.Seconds())
}

// estimateStream expects a stream to have the link to itself, without loss. How fast a
// transport is does not count, for streams on different clocks are not compared.
func estimateStream(clock string, media storage.Item, path network.Path, s *study.Stream) estimate {
	octets := expectedOctets(media, s)
	e := estimate{processor: streamCost + carrying(octets), cores: float64(cores())}
	if clock == study.ClockVirtual {
		e.duration = e.processor
		return e
	}
	e.cores = realCores()
	lasts := s.Duration
	if media.Sizes[storage.Plain] > 0 {
		lasts = 6 * (path.Access[0].Up.Delay + path.Access[0].Down.Delay)
		if s.Rate > 0 {
			lasts += at(octets, s.Rate)
		}
	}
	e.duration = max(fixedTime+lasts, e.processor)
	return e
}

func (streamLoads) faster(c study.Cell, _ *site.Site, o study.Options) string {
	s := o.Stream
	media, err := storage.ParseMedia(c.Subject())
	if err != nil {
		return study.ClockReal // which will say so
	}
	work := func(clock string) time.Duration {
		e := estimateStream(clock, media, c.Network, s)
		return e.work(e.duration)
	}
	if work(study.ClockVirtual) < work(study.ClockReal) {
		return study.ClockVirtual
	}
	return study.ClockReal
}

// guest counts the packets, and the time that the octets take.
func (streamLoads) guest(r *run, j *job) (memory int64, longer time.Duration) {
	return streamMemory(j.stream.octets, r.Options.Stream.Capture), streamSlack * carrying(j.stream.octets)
}

func (streamLoads) fills(b *batch) bool { return b.work >= streamWork }

func (streamLoads) collect(left *evidence.Evidence, record *station.Record) {
	left.Stream = record.Stream.Stream
}

func (streamLoads) set() metric.Set { return metric.Streams() }

func (streamLoads) own() []study.Metric {
	return []study.Metric{emulatorWait, takenShift, processorUsed, processorTaken, processorWaited, steal}
}

func (streamLoads) values(*workload.Record) map[string]float64 { return nil }

func (streamLoads) headline(j *job) string {
	if j.stream.file() > 0 {
		return "ttd"
	}
	return "loading_delay"
}

func (streamLoads) lasted(r *run, j *job, ms float64) time.Duration {
	if j.stream.file() > 0 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	return r.Options.Stream.Duration
}

func (streamLoads) files() []string { return []string{playback.StreamFile} }

// streamWork is how much work is given to one guest if it is of streams: what an
// interruption throws away.
const streamWork = 10 * time.Second

// socketMemory is what both ends of streams hold, those that have been given up but are
// not over included.
const socketMemory = 512 << 20

// streamMemory is what a guest needs, beside that, for a stream's packets, which are in
// the emulator, in the capture's file and in the file with the keys.
func streamMemory(octets int64, k study.Capture) int64 {
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
	return socketMemory + 3*records*(each+overhead)
}
