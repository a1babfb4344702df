// Package study defines the vocabulary that all stages share (axes, workloads, cells, options,
// claims, metrics, violations) and turns a study into a plan: every combination of the axes,
// every repeat, in a seeded order. Package studyfile reads studies from files.
package study

import (
	"fmt"
	"slices"
	"strings"

	"wiretime/network"
)

// Study says what to measure.
type Study struct {
	Name        string // letters, digits, ".", "_" and "-"
	Title       string // optional
	Description string // optional
	Seed        uint64 // seeds the order of the loads and everything random in them

	Workload *Workload
	// Matrix lists the values of each axis of the workload. Their product, without what
	// Except picks, makes the study's cells. No axis is empty, and none lists a value twice.
	Matrix   map[Axis][]string
	Networks []network.Path // valid; the values of AxisNetwork are their names

	OwnServers []Server // servers that the study defines

	Except []Selection // cells of the product that the study leaves out
	Only   []Selection // if there are any, the study leaves out the cells that none of them picks
	Quick  Quick       // what a quick run measures
	Part   []Selection // likewise, in a quick run

	Published []Published // tables printed in papers, for comparison
	Claims    []Claim     // claims about the cells, to be tested

	Repeats int    // loads of each cell, at least 1
	Keep    string // one of Keeps
	Options Options
	Source  []byte // the study file, byte for byte
}

// The state of a client before a load. In all states but VisitCold, the client has visited
// the site before.
const (
	VisitCold      = "cold"      // it has no state from an earlier visit
	VisitResumed   = "resumed"   // it has names and TLS sessions; connections are closed, the cache is empty
	VisitZeroRTT   = "0rtt"      // as VisitResumed, and over HTTP/3 it sends requests as early data (RFC 9001, section 4.6)
	VisitConnected = "connected" // its connections are still open; the cache is empty
	VisitCached    = "cached"    // it has names, TLS sessions and a filled cache; connections are closed
	VisitAgain     = "again"     // it has names, TLS sessions, open connections and a filled cache
	VisitReload    = "reload"    // as VisitAgain, and it asks the server whether its cache is still valid
)

// MostLoads is how many loads a run may have.
const MostLoads = 1_000_000

// UseRepeats sets how often each cell is loaded. It is an error if that makes more than MostLoads loads.
func (s *Study) UseRepeats(repeats int) error {
	if cells := len(s.Cells(nil)); repeats < 1 || repeats > MostLoads/max(1, cells) {
		return fmt.Errorf("measure each of %d cells %d times: want a number from 1 to %d", cells, repeats, MostLoads/max(1, cells))
	}
	s.Repeats = repeats
	return nil
}

// KeepsConnections reports whether a client has open connections before a load with this visit.
func KeepsConnections(visit string) bool {
	return visit == VisitConnected || visit == VisitAgain || visit == VisitReload
}

// WindowDefault leaves a window as the loader, the server or the option tcp_rmem has it.
const WindowDefault = "default"

// StrategyBrowser uses connections like a browser: up to six connections per host, kept alive,
// over HTTP/1.1; a single connection per origin over other protocols.
const StrategyBrowser = "browser"

// The versions of TLS.
const (
	TLS13 = "1.3" // RFC 8446
	TLS12 = "1.2" // RFC 5246, whose full handshake takes a round trip more
)

// TLSVersions returns the versions of TLS that a study may name.
func TLSVersions() []string { return []string{TLS13, TLS12} }

// What a protocol does without. Only Wiretime's own ends can.
const (
	WithoutNothing     = "nothing"
	WithoutCompression = "header-compression" // over SPDY, both ends send their headers uncompressed, as Chromium's did from 2012 on
	WithoutPriorities  = "priorities"         // over SPDY and HTTP/3, the server gives all responses an equal turn
)

// Withouts returns what a study may have a protocol do without.
func Withouts() []string { return []string{WithoutNothing, WithoutCompression, WithoutPriorities} }

// How a server announces the first resources of a document on the document's own host.
const (
	HintNone        = "none"          // not at all
	HintPush        = "push"          // it sends them unasked (SPDY draft 3 section 3.3)
	HintSubresource = "x-subresource" // with the document's head, in fields X-Subresource: SPDY's server hint
	HintPreload     = "preload"       // with the document's head, in Link fields of relation preload
	HintEarly       = "early-hints"   // in such fields ahead of the document (103, RFC 8297)
)

// Hints returns the ways of announcing resources.
func Hints() []string {
	return []string{HintNone, HintPush, HintSubresource, HintPreload, HintEarly}
}

// The clocks that a study may name.
const (
	ClockReal    = "real"    // the clock of this machine's kernel
	ClockVirtual = "virtual" // the clock of a guest kernel that skips idle time; processor time counts as zero
	ClockAuto    = "auto"    // one of the two, chosen for each cell before the run begins
	ClockLive    = "live"    // the clock of this machine's kernel, for real sites over this machine's own network
)

// Clocks returns the clocks that a study may name.
func Clocks() []string { return []string{ClockReal, ClockVirtual, ClockAuto, ClockLive} }

// System is the value on the axes of TCP's settings that leaves them as this machine has them. All cells on the live
// clock have it.
const System = "system"

// Which valid loads keep their artefacts. Loads that are not valid keep theirs in any case: they
// show what went wrong.
const (
	KeepAll        = "all"
	KeepCompressed = "compressed" // all, each file compressed
	KeepMedian     = "median"     // of each cell, the load that is nearest to the median
	KeepNone       = "none"
)

// Keeps returns what a study may keep.
func Keeps() []string { return []string{KeepAll, KeepCompressed, KeepMedian, KeepNone} }

// UseKeep overrides what the study's file says about artefacts. The error for an unknown value
// lists the known ones.
func (s *Study) UseKeep(keep string) error {
	if !slices.Contains(Keeps(), keep) {
		return fmt.Errorf("keep artefacts: unknown value %q; write one of %s", keep, strings.Join(Keeps(), ", "))
	}
	s.Keep = keep
	return nil
}

// Live reports whether the study loads real sites over this machine's own network. Then all its cells are on the live
// clock, and its sites are URLs.
func (s *Study) Live() bool { return slices.Equal(s.Matrix[AxisClock], []string{ClockLive}) }

// UseClock makes the whole study run on one clock, overriding its file. The error for an
// unknown clock lists the known ones. No other clock loads the URLs of a study on the live clock, and the live clock
// loads nothing else. The loads of a study that names places are not made on the virtual clock.
func (s *Study) UseClock(clock string) error {
	switch {
	case !slices.Contains(Clocks(), clock):
		return fmt.Errorf("use clock %q: unknown clock; write one of %s", clock, strings.Join(Clocks(), ", "))
	case clock != ClockLive && s.Live():
		return fmt.Errorf("use clock %q: the sites of study %s are URLs, which only the live clock loads", clock, s.Name)
	case clock == ClockLive && !s.Live():
		return fmt.Errorf("use clock %q: study %s is not written for it; write clock: live and URLs as sites in its file", clock, s.Name)
	case clock != ClockLive && clock != ClockReal && len(s.Places()) > 0:
		return fmt.Errorf("use clock %q: study %s names places (at), and on the virtual clock a load is the same at every place; remove at from its file", clock, s.Name)
	}
	s.Matrix[AxisClock] = []string{clock}
	return nil
}
