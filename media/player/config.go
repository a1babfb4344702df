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

// Defaults of a Config. The paper says nothing about its player's buffer: these are
// our choice. One segment is what the paper's viewer waits for before it plays.
const (
	DefaultStartAt  = 1
	DefaultResumeAt = 2
	DefaultAhead    = 10
	DefaultGiveUp   = time.Minute
)

// RetryPause is how long a player waits after a second failure in a row, and after
// each further one, before it tries again.
const RetryPause = time.Second

// Mode is what the player is for.
type Mode string

// The modes.
const (
	View Mode = "view" // play a video
	File Mode = "file" // fetch one file as fast as it comes
)

// Resolution is that of a segment. The numbers are those of a storage's.
type Resolution uint8

// The resolutions, in the order of their sizes.
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

// MarshalText gives the resolution's name.
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

// Strategy is what the player does when its host gets another address. The names
// are those that transports have for it.
type Strategy string

// The strategies.
const (
	Reconnect Strategy = "reconnect" // open a new session from the new address
	ZeroRTT   Strategy = "0-rtt"     // the same to the player; its transport saves the round trip
	Migrate   Strategy = "migrate"   // take the session along
	Multihome Strategy = "multihome" // nothing: the transport has both addresses
)

var strategies = []Strategy{Reconnect, ZeroRTT, Migrate, Multihome}

// Config is a viewing.
type Config struct {
	Mode Mode
	// For is how long the viewing lasts at most; 0 is until the end of the video or the
	// file, which a viewing with seeks has none of.
	For time.Duration

	// Segments is how long the video is taken to be, in segments, until the server says
	// otherwise. Seeks go to these.
	Segments int
	// Sizes are those of a segment in HD, FHD and QHD, in octets, as a manifest has
	// them. Only Throughput and BOLA need them.
	Sizes [3]int64
	Rule  Rule

	// StartAt and ResumeAt are how many segments are buffered when playback starts, at
	// the beginning and after a seek, and when it resumes after a stall; Ahead is how
	// many are buffered at most. 0 is the default.
	StartAt, ResumeAt, Ahead int

	// SeekProbability is that of a seek in each second.
	SeekProbability float64
	Seed            uint64

	OnHandover Strategy
	// GiveUp is for how long no octet comes, while some are wanted, before the viewing
	// ends as failed; 0 is DefaultGiveUp.
	GiveUp time.Duration
}

// withDefaults puts the defaults in.
func (c Config) withDefaults() Config {
	c.StartAt = cmp.Or(c.StartAt, DefaultStartAt)
	c.ResumeAt = cmp.Or(c.ResumeAt, DefaultResumeAt)
	c.Ahead = cmp.Or(c.Ahead, DefaultAhead)
	c.GiveUp = cmp.Or(c.GiveUp, DefaultGiveUp)
	return c
}

func (c Config) validate() error {
	switch {
	case c.For < 0:
		return fmt.Errorf("it lasts %v; write how long it is, such as 60s, or 0 for as long as there is something to come", c.For)
	case c.GiveUp < 0:
		return fmt.Errorf("it gives up after %v; write how long nothing may come, such as 60s", c.GiveUp)
	case !slices.Contains(strategies, c.OnHandover):
		return fmt.Errorf("unknown strategy %q for handovers: there are %s, %s, %s and %s", c.OnHandover, Reconnect, ZeroRTT, Migrate, Multihome)
	case c.Mode == File:
		return nil
	case c.Mode != View:
		return fmt.Errorf("unknown mode %q: there are %s and %s", c.Mode, View, File)
	case c.Segments < 1:
		return fmt.Errorf("its video has %d segments; there must be one at least", c.Segments)
	case !(c.SeekProbability >= 0 && c.SeekProbability <= 1): // refuses NaN too
		return fmt.Errorf("a seek probability of %v; write a number from 0 to 1, such as 0.3 for 30 %%", c.SeekProbability)
	case c.SeekProbability > 0 && c.For == 0:
		return errors.New("with seeks it has no end; write how long it lasts, such as 60s")
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
			return fmt.Errorf("playback %s with %d segments and no more than %d are buffered; write 1 to %d", threshold.what, threshold.segments, c.Ahead, max(c.Ahead, 1))
		}
	}
	return nil
}

func (c Config) validateRule() error {
	if _, ok := rules[c.Rule]; !ok {
		return fmt.Errorf("unknown rule %q for the resolution: there are %s, %s and %s", c.Rule, Paper, Throughput, BOLA)
	}
	if c.Rule == Paper {
		return nil
	}
	if s := c.Sizes; !(0 < s[0] && s[0] < s[1] && s[1] < s[2]) {
		return fmt.Errorf("rule %s needs to know how large segments are, each resolution's larger than the one before; %d, %d and %d octets are not", c.Rule, s[0], s[1], s[2])
	}
	if c.Rule == BOLA && c.Ahead < 2 {
		return fmt.Errorf("rule %s goes by how full the buffer is, and one segment is all it holds; write 2 or more", c.Rule)
	}
	return nil
}
