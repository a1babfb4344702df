package player

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// SegmentLength is how long a segment plays (Nam et al., 2021, section 4.1).
const SegmentLength = time.Second

// These are the defaults of a Config. The paper says nothing about its player's buffer, so
// they are our choice. The paper's viewer waits for one segment before it plays.
const (
	DefaultStartAt  = 1
	DefaultResumeAt = 2
	DefaultAhead    = 10
	DefaultGiveUp   = time.Minute
)

// RetryPause is how long a player waits before it retries, from the second failure in a row
// on.
const RetryPause = time.Second

// Mode is what the player is for.
type Mode string

// These are the modes.
const (
	View Mode = "view" // play a video
	File Mode = "file" // fetch one file as fast as it comes
)

// Resolution is the resolution of a segment, numbered as in a storage.
type Resolution uint8

// These are the resolutions, in order of size.
const (
	Plain Resolution = iota // a file, which has none
	HD
	FHD
	QHD
)

var resolutionNames = [...]string{"plain", "hd", "fhd", "qhd"}

// String is what studies call the resolution.
func (r Resolution) String() string {
	if int(r) < len(resolutionNames) {
		return resolutionNames[r]
	}
	return fmt.Sprintf("resolution %d", uint8(r))
}

// MarshalText returns the resolution's name.
func (r Resolution) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText is the reverse of MarshalText.
func (r *Resolution) UnmarshalText(name []byte) error {
	i := slices.Index(resolutionNames[:], string(name))
	if i < 0 {
		return fmt.Errorf("unknown resolution %q: there are %s", name, strings.Join(resolutionNames[:], ", "))
	}
	*r = Resolution(i)
	return nil
}

// Strategy is what the player does when its host's address changes. The names are those of
// transport strategies.
type Strategy string

// The strategies.
const (
	Reconnect Strategy = "reconnect" // opens a new session from the new address
	ZeroRTT   Strategy = "0-rtt"     // reconnects, too; the transport saves the round trip
	Migrate   Strategy = "migrate"   // moves the session to the new address
	Multihome Strategy = "multihome" // does nothing: the transport has both addresses
)

var strategies = []Strategy{Reconnect, ZeroRTT, Migrate, Multihome}

// Config describes a viewing.
type Config struct {
	Mode Mode
	// For limits the length of the viewing; 0 means until the end of the video or file. A
	// viewing with seeks has no end of its own.
	For time.Duration

	// Segments is the assumed length of the video in segments until the server states it.
	// Seeks go to these segments.
	Segments int
	// Sizes are the octets of a segment in HD, FHD and QHD, as a manifest states them. Only
	// Throughput and BOLA need them.
	Sizes [3]int64
	Rule  Rule
	// FileSize is the size of a file in octets. Only a file that is fetched in parts needs it.
	FileSize int64
	// Parallel is how many requests may be pending at once: for segments that follow each
	// other, or for parts of a file, one each. 0 means 1.
	Parallel int

	// StartAt and ResumeAt are how many segments must be buffered before playback starts, at
	// the beginning and after a seek, and before it resumes after a stall. Ahead limits the
	// buffer. 0 means the default.
	StartAt, ResumeAt, Ahead int

	// SeekProbability is the probability of a seek in each second.
	SeekProbability float64
	Seed            uint64
	// SeeksFromOutside says that somebody else decides on seeks, and tells the player by Seek. SeekProbability must be 0.
	SeeksFromOutside bool

	OnHandover Strategy
	// GiveUp is how long the player waits for an octet before the viewing fails; 0 means
	// DefaultGiveUp.
	GiveUp time.Duration
}

// withDefaults returns the configuration with defaults filled in.
func (c Config) withDefaults() Config {
	c.StartAt = cmp.Or(c.StartAt, DefaultStartAt)
	c.ResumeAt = cmp.Or(c.ResumeAt, DefaultResumeAt)
	c.Ahead = cmp.Or(c.Ahead, DefaultAhead)
	c.GiveUp = cmp.Or(c.GiveUp, DefaultGiveUp)
	c.Parallel = cmp.Or(c.Parallel, 1)
	return c
}

func (c Config) validate() error {
	switch {
	case c.For < 0:
		return fmt.Errorf("invalid duration %v: must not be negative; write it like 60s, or 0 for the whole video or file", c.For)
	case c.GiveUp < 0:
		return fmt.Errorf("invalid timeout %v: must be positive; write it like 60s", c.GiveUp)
	case !slices.Contains(strategies, c.OnHandover):
		return fmt.Errorf("unknown strategy %q for handovers: there are %s, %s, %s and %s", c.OnHandover, Reconnect, ZeroRTT, Migrate, Multihome)
	case c.Parallel < 1:
		return fmt.Errorf("%d requests at once: must be positive", c.Parallel)
	case c.Mode == File && c.Parallel > 1 && c.FileSize < int64(c.Parallel):
		return fmt.Errorf("a file of %d octets cannot be fetched in %d parts: want at least an octet in each", c.FileSize, c.Parallel)
	case c.Mode == File:
		return nil
	case c.Mode != View:
		return fmt.Errorf("unknown mode %q: want %s or %s", c.Mode, View, File)
	case c.Segments < 1:
		return fmt.Errorf("%d segments: must be positive", c.Segments)
	case !(c.SeekProbability >= 0 && c.SeekProbability <= 1): // rejects NaN too
		return fmt.Errorf("invalid seek probability %v: want a number from 0 to 1, such as 0.3 for 30 %%", c.SeekProbability)
	case c.SeeksFromOutside && c.SeekProbability > 0:
		return errors.New("seeks that come from outside, and a probability of seeks: keep one of them")
	case (c.SeekProbability > 0 || c.SeeksFromOutside) && c.For == 0:
		return errors.New("a viewing with seeks needs a duration; write it like 60s")
	}
	if err := c.validateBuffer(); err != nil {
		return err
	}
	return c.validateRule()
}

func (c Config) validateBuffer() error {
	for _, threshold := range []struct {
		what     string
		segments int
	}{{"starts", c.StartAt}, {"resumes", c.ResumeAt}} {
		if threshold.segments < 1 || threshold.segments > c.Ahead {
			return fmt.Errorf("playback %s with %d segments, but the buffer holds %d: want 1 to %d", threshold.what, threshold.segments, c.Ahead, max(c.Ahead, 1))
		}
	}
	return nil
}

func (c Config) validateRule() error {
	if _, ok := rules[c.Rule]; !ok {
		return fmt.Errorf("unknown rule %q for the resolution: want %s, %s or %s", c.Rule, Paper, Throughput, BOLA)
	}
	if c.Rule == Paper {
		return nil
	}
	if c.Rule == Throughput && c.Parallel > 1 {
		return fmt.Errorf("rule %s measures how fast one request at a time is answered: it cannot choose with %d requests at once", c.Rule, c.Parallel)
	}
	if s := c.Sizes; !(0 < s[0] && s[0] < s[1] && s[1] < s[2]) {
		return fmt.Errorf("rule %s needs segment sizes that grow with the resolution: got %d, %d and %d octets", c.Rule, s[0], s[1], s[2])
	}
	if c.Rule == BOLA && c.Ahead < 2 {
		return fmt.Errorf("rule %s needs a buffer of at least 2 segments", c.Rule)
	}
	return nil
}
