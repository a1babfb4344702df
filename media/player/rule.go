package player

import (
	"math"
	"time"
)

// Rule is how the player chooses the resolution of the segment it asks for.
type Rule string

// The rules.
const (
	// Paper chooses by the one-way link delay that the network's manager reports: QHD below
	// 100 ms, FHD from 100 to 200 ms, HD above, and always HD for the first segment after
	// connecting and after a seek (Nam et al., 2021, section 4.1). Without a report it stays
	// with HD.
	Paper Rule = "paper"
	// Throughput takes the highest resolution whose rate is no more than 0.85 of the
	// harmonic mean of the rates at which the last 20 segments came, from request to
	// last octet: the estimator and the two figures of FESTIVE (Jiang, Sekar, Zhang,
	// CoNEXT 2012), without its gradual switching. It begins with HD.
	Throughput Rule = "throughput"
	// BOLA is BOLA-BASIC (Spiteri, Urgaonkar, Sitaraman, INFOCOM 2016): of the
	// resolutions m, with segments of S octets, it takes the one with the largest
	// (V (v + gp) - Q) / S. Q is how many segments are buffered, fractions counted; v
	// is ln(S / S of HD); gp is 5, as in the paper's experiments; and V is
	// (Ahead - 1) / (v of QHD + gp), with which the buffer never needs more room than
	// there is.
	BOLA Rule = "bola"
)

const (
	paperQHDBelow = 100 * time.Millisecond
	paperHDAbove  = 200 * time.Millisecond

	festiveSegments = 20
	festiveSafety   = 0.85

	bolaGammaP = 5
)

// view is the input of a rule.
type view struct {
	config  Config
	fresh   bool // the first request after connecting or a seek
	told    bool // the manager has reported the link's delay
	delay   time.Duration
	level   time.Duration // of the buffer
	samples []sample      // of the last segments
}

// sample is how fast a segment came.
type sample struct {
	octets int64
	took   time.Duration
}

var rules = map[Rule]func(view) Resolution{Paper: byLinkDelay, Throughput: byThroughput, BOLA: byBuffer}

func byLinkDelay(v view) Resolution {
	switch {
	case v.fresh || !v.told || v.delay > paperHDAbove:
		return HD
	case v.delay < paperQHDBelow:
		return QHD
	default:
		return FHD
	}
}

func byThroughput(v view) Resolution {
	var secondsPerBit float64
	for _, s := range v.samples {
		secondsPerBit += s.took.Seconds() / float64(8*s.octets)
	}
	affordable := festiveSafety * float64(len(v.samples)) / secondsPerBit // NaN without samples
	chosen := HD
	for i, size := range v.config.Sizes {
		if float64(8*size)/SegmentLength.Seconds() <= affordable {
			chosen = HD + Resolution(i)
		}
	}
	return chosen
}

func byBuffer(v view) Resolution {
	sizes := v.config.Sizes
	utility := func(size int64) float64 { return math.Log(float64(size) / float64(sizes[0])) }
	control := float64(v.config.Ahead-1) / (utility(sizes[len(sizes)-1]) + bolaGammaP)
	level := float64(v.level) / float64(SegmentLength)
	chosen, best := HD, math.Inf(-1)
	for i, size := range sizes {
		if score := (control*(utility(size)+bolaGammaP) - level) / float64(size); score > best {
			chosen, best = HD+Resolution(i), score
		}
	}
	return chosen
}
