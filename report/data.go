// Package report turns the loads in a store into one self-contained HTML file
// that needs no network: Collect gathers a run into Data, Write puts Data into
// the page that is built from report/ui.
package report

import (
	"encoding/json"
	"time"

	"wiretime/store"
)

// Data is everything the page shows. Its JSON form is the contract with the
// TypeScript in report/ui (src/data.ts); the two change together.
//
// Times are milliseconds unless a metric's unit says otherwise. Cells, loads
// and words refer to each other by index, which keeps a report with dozens of
// waterfalls small.
type Data struct {
	Study       string    `json:"study"`
	StudyText   string    `json:"studyText"`         // the study file, so that the report says how to measure it again
	Seed        uint64    `json:"seed,string"`       // a string, for JSON numbers are exact only to 2^53
	Run         int64     `json:"run"`               // the run's number in its store
	Started     time.Time `json:"started"`           // when the run began
	Finished    time.Time `json:"finished,omitzero"` // zero while loads are still planned
	Version     string    `json:"version"`           // of Wiretime
	Summary     []string  `json:"summary"`           // the run in words, by paragraphs
	Counts      Counts    `json:"counts"`
	Checks      []Check   `json:"checks"`
	Gaps        []string  `json:"gaps,omitempty"`  // what the sites' archives lacked, one sentence per site
	Quick       bool      `json:"quick,omitempty"` // the run measures only the study's quick part
	Environment []Fact    `json:"environment"`
	Metrics     []Metric  `json:"metrics"`
	Overview    Overview  `json:"overview"`
	Networks    []Network `json:"networks"` // in the order of the study
	Cells       []Cell    `json:"cells"`
	Sections    []Section `json:"sections"`
	Loads       []Load    `json:"loads"`
	Clocks      *Clocks   `json:"clocks,omitempty"`     // for a run that has cells on both clocks
	ClockNote   string    `json:"clockNote,omitempty"`  // what to know of the virtual clock, where a cell is on it
	Printed     []Printed `json:"printed,omitempty"`    // tables that papers printed, beside what was measured
	Claims      []Claim   `json:"claims,omitempty"`     // claims about the cells, and their outcomes
	Streams     *Streams  `json:"streams,omitempty"`    // for a run of streams
	Uploads     bool      `json:"uploads,omitempty"`    // this is a run of uploads
	Series      []Series  `json:"series,omitempty"`     // one for each number that varies
	Crowds      *Crowds   `json:"crowds,omitempty"`     // for a run of crowds
	Compared    string    `json:"compared"`             // the axes by which the cells of a section are compared, from Axes.Compared
	Same        []string  `json:"same"`                 // the axes on which the cells of a section agree, as far as the run uses them
	Visits      []Fact    `json:"visits,omitempty"`     // visits and what they mean, where some are not cold
	Strategies  []Fact    `json:"strategies,omitempty"` // strategies and what they mean, where some are not the browser's
	Servers     []Fact    `json:"servers,omitempty"`    // servers and what they are, where some are not Wiretime's own
	Kinds       []string  `json:"kinds,omitempty"`      // what the time on a critical path may be spent on
	Reasons     []string  `json:"reasons,omitempty"`    // what may hold a sender
	Words       []string  `json:"words"`                // strings that waterfalls refer to; Words[0] is ""
	// Dropped says how many loads have lost their artefacts; empty if none has.
	Dropped     string `json:"dropped,omitempty"`
	MediansOnly bool   `json:"mediansOnly"`       // there were too many requests: only each cell's median load has a waterfall
	Omitted     int    `json:"omitted,omitempty"` // median loads without a waterfall, since even they have too many requests

	loads []store.Load // parallel to Loads
}

// Counts says what became of the planned loads, and of the attempts at them.
type Counts struct {
	Planned     int `json:"planned"` // the sum of the next four
	Valid       int `json:"valid"`   // with a valid attempt; no load has more than one
	Without     int `json:"without"` // without one, and no retry is left
	Unsupported int `json:"unsupported"`
	Pending     int `json:"pending"` // without a final attempt

	Invalid       int `json:"invalid"`       // attempts
	Failed        int `json:"failed"`        // attempts
	WrongProtocol int `json:"wrongProtocol"` // attempts that broke validity rule 1
}

// Check is a validity rule and the number of loads that broke it.
type Check struct {
	Rule   int    `json:"rule"`
	Title  string `json:"title"`
	Short  string `json:"short"`  // after a number of loads, such as "not cold"; empty for rule 1
	Broken int    `json:"broken"` // loads, whatever the number of violations in each
}

// Fact is a named value for a reader: one line of the environment, one
// property of a link.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Metric is a column of raw values and the words that define it.
type Metric struct {
	Name       string `json:"name"`
	Title      string `json:"title"`
	Unit       string `json:"unit"` // "ms", "B", or what is counted
	Definition string `json:"definition"`
	Ranked     bool   `json:"ranked"` // a time of the page or the stream: less is faster
}

// Network describes a path in words.
type Network struct {
	Name   string `json:"name"`
	Title  string `json:"title,omitempty"` // for streams: the properties of the link that the study varies, in words
	Source string `json:"source"`
	Note   string `json:"note"`
	Facts  []Fact `json:"facts"` // such as down: "5 Mbit/s, 50 ms one-way, no random loss, queue 64 kB"
}

// Cell is one combination of the study's axes, with a summary of its loads.
type Cell struct {
	Site        string             `json:"site"`
	Network     string             `json:"network"`
	Protocol    string             `json:"protocol"`
	Loader      string             `json:"loader"`
	Clock       string             `json:"clock"`           // real, virtual or live
	Visit       string             `json:"visit,omitempty"` // none for a stream
	Strategy    string             `json:"strategy"`
	Server      string             `json:"server,omitempty"` // none for a stream
	Link        *Link              `json:"link,omitempty"`   // of a stream
	Shared      string             `json:"shared,omitempty"` // as its section's
	Label       string             `json:"label"`            // distinguishes it within its section
	Valid       int                `json:"valid"`
	Invalid     int                `json:"invalid"`
	Failed      int                `json:"failed"`
	Unsupported int                `json:"unsupported"`
	Pending     int                `json:"pending"`
	Summaries   map[string]Summary `json:"summaries"`  // by metric name, of the valid loads; no entry if none has the metric
	MedianLoad  int                `json:"medianLoad"` // index of the valid load that left files and whose onLoad (of a stream, whose first time) is nearest to the median, -1 without one
	Loads       []int              `json:"loads"`
	Critical    *Critical          `json:"critical,omitempty"`
	Flow        *Flow              `json:"flow,omitempty"`
}

// Summary describes the valid values of one metric in one cell, in the
// metric's unit.
type Summary struct {
	N        int     `json:"n"`
	Median   float64 `json:"median"`
	Interval bool    `json:"interval"` // whether [Low, High] is a 95 % interval of the median; otherwise it is the range
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Min      float64 `json:"min"`
	Max      float64 `json:"max"`
	CV       float64 `json:"cv"` // coefficient of variation, 0 to 1 and above
}

// MarshalJSON writes an array in the order of the fields, and no more than the median of values that are all equal: names would be most of a
// large report. report/ui/src/data.ts reads it.
func (s Summary) MarshalJSON() ([]byte, error) {
	all := []any{s.N, s.Interval, rounded(s.Median), rounded(s.Low), rounded(s.High), rounded(s.Min), rounded(s.Max), rounded(s.CV)}
	if s.Min == s.Max {
		all = all[:3]
	}
	return json.Marshal(all)
}

// Section holds the cells that are compared with each other: they agree on every axis but those that
// are compared.
type Section struct {
	Site    string   `json:"site"`
	Network string   `json:"network"`
	Clock   string   `json:"clock"`            // real, virtual or live
	Shared  string   `json:"shared,omitempty"` // on what its cells agree beside these, as far as the run's cells differ there
	Cells   []int    `json:"cells"`
	Answers []Answer `json:"answers"` // one per metric of the overview that at least one cell has
}

// Answer ranks the cells of a section by the median of one metric of the overview.
type Answer struct {
	Metric  string   `json:"metric"`
	Fastest int      `json:"fastest"` // the cell with the lowest median or, where more is better, with the highest
	Behind  []Behind `json:"behind"`  // the other cells, nearest first
}

// Behind is how far the median of a cell lies behind the fastest cell's.
type Behind struct {
	Cell     int     `json:"cell"`
	Diff     float64 `json:"diff"`     // difference of medians, >= 0
	Interval bool    `json:"interval"` // whether [Low, High] is a 95 % bootstrap interval of Diff; false with fewer than 6 values on a side
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
}

// Load is one run of one cell: an attempt, if it was repeated.
type Load struct {
	ID        string     `json:"id"`
	Cell      int        `json:"cell"`
	Repeat    int        `json:"repeat"`   // from 0
	Attempt   int        `json:"attempt"`  // from 1
	Validity  string     `json:"validity"` // valid, invalid, failed, unsupported
	Reason    string     `json:"reason,omitempty"`
	Values    []*float64 `json:"values"` // in the order of Data.Metrics; nil where the load has none
	Waterfall *Waterfall `json:"waterfall,omitempty"`
	Timeline  *Timeline  `json:"timeline,omitempty"`
}

// MarshalJSON writes as many digits of the values as readers need. The store has them all.
func (l Load) MarshalJSON() ([]byte, error) {
	type plain Load
	values := make([]*rounded, len(l.Values))
	for i, v := range l.Values {
		values[i] = (*rounded)(v)
	}
	return json.Marshal(struct {
		plain
		Values []*rounded `json:"values"`
	}{plain(l), values})
}
