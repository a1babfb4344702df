package report

import (
	"fmt"
	"slices"
	"strings"

	"wiretime/media/player"
	"wiretime/network"
	"wiretime/store"
	"wiretime/study"
)

// download is the player that fetches a file and plays nothing.
const download = "download"

// Streams holds what only a report of streams has.
type Streams struct {
	Media      []Fact `json:"media"` // what was streamed, and what it is
	Transports []Fact `json:"transports"`
	Players    []Fact `json:"players"`
}

// Link is the network of a stream as its study defines it.
type Link struct {
	Delay         float64 `json:"delay"` // ms: the average, one-way, in each direction
	Loss          float64 `json:"loss"`  // packet error rate in each direction, 0 to 1
	Reconnections int     `json:"reconnections"`
}

var streamKind = kind{
	contenders:   []study.Axis{study.AxisTransport, study.AxisStrategy},
	apart:        []study.Axis{study.AxisRebinding},
	together:     true,
	strategy:     func(name string) string { return handoverMeanings[name] },
	optional:     []string{"ttd", "loading_delay", "start_up", "recovery", "rebuffer", "goodput"},
	overview:     []string{"ttd", "loading_delay", "start_up", "recovery", "goodput"},
	clockMetrics: []string{"ttd", "loading_delay"},
	followed:     []string{"ttd", "loading_delay", "recovery", "goodput"},
	fewest:       2,
	checks:       func(Axes) []Check { return slices.Clone(streamChecks) },
	network: func(a Axes, c study.Cell) Network {
		n := describeLink(c.Link(), c.Network)
		n.Title = a.linkTitle(c)
		return n
	},
	extend: describeStreams,
}

// describeStreams says what was streamed and how, and gives each cell its link.
func describeStreams(d *Data, a Axes, results []store.Result) {
	d.Streams = &Streams{
		Media:      meanings(results, study.Cell.Subject, describeMedia),
		Transports: meanings(results, study.Cell.Over, func(name string) string { return transportMeanings[name] }),
		Players:    meanings(results, study.Cell.By, func(name string) string { return playerMeanings[name] }),
	}
	for i, r := range results {
		l := r.Cell.Link()
		d.Cells[i].Link = &Link{Delay: float64(l.Delay) / 1e6, Loss: l.Loss, Reconnections: l.Reconnections}
	}
}

// meanings explains the values that the cells have on an axis, in their order.
func meanings(results []store.Result, of func(study.Cell) string, describe func(string) string) []Fact {
	var facts []Fact
	explained := map[string]bool{}
	for _, r := range results {
		if name := of(r.Cell); !explained[name] {
			explained[name] = true
			facts = append(facts, Fact{name, describe(name)})
		}
	}
	return facts
}

func describeMedia(name string) string {
	if size, ok := strings.CutPrefix(name, "file@"); ok {
		return "One file of " + size + ", k = 1000, in one piece."
	}
	const video = "A video of 600 segments of 1 s, each available in HD, FHD and QHD"
	if name == "clip" {
		return video + "."
	}
	if sizes, ok := strings.CutPrefix(name, "clip@"); ok {
		return video + ", of " + strings.ReplaceAll(sizes, "x", ", ") + "."
	}
	return ""
}

var transportMeanings = map[string]string{
	"tcp":           "TCP with TLS 1.3: a connection carries one request after the other.",
	"tcp-clear":     "TCP without TLS: a connection carries one request after the other.",
	"mptcp":         "Multipath TCP (RFC 8684) with TLS 1.3: a connection carries one request after the other, over several addresses if need be.",
	"mptcp-clear":   "Multipath TCP (RFC 8684) without TLS: a connection carries one request after the other, over several addresses if need be.",
	"sctp":          "The kernel's SCTP (RFC 9260), in the clear: an association of 16 streams.",
	"sctp-udp":      "SCTP over UDP (RFC 6951), in the clear, by a library in the program: an association of 16 streams.",
	"sctp-udp-dtls": "SCTP over UDP with DTLS 1.2, by libraries in the program: an association of 16 streams.",
	"quic":          "QUIC (RFC 9000), with its TLS 1.3: each request has a stream of its own.",
}

var playerMeanings = map[string]string{
	download:                  "Fetches one file as fast as possible and plays nothing.",
	string(player.Paper):      "Plays, and chooses the resolution by the link delay that the network's manager reports: QHD below 100 ms, FHD from 100 to 200 ms, HD above; HD first after connecting and after a seek (Nam et al., 2021, section 4.1).",
	string(player.Throughput): "Plays, and takes the highest resolution whose rate is no more than 0.85 of the harmonic mean of the rates at which the last 20 segments arrived (as FESTIVE: Jiang, Sekar, Zhang, CoNEXT 2012).",
	string(player.BOLA):       "Plays, and chooses the resolution by how full its buffer is (BOLA-BASIC: Spiteri, Urgaonkar, Sitaraman, INFOCOM 2016).",
}

var handoverMeanings = map[string]string{
	string(player.Reconnect): "When its address changes the client opens a new session from the new one; with TLS it resumes its old TLS session.",
	string(player.ZeroRTT):   "When its address changes the client opens a new session from the new one, with the first requests in its first packets.",
	string(player.Migrate):   "When its address changes the client moves its session to the new one (RFC 9000, section 9).",
	string(player.Multihome): "The session has several addresses from the beginning; when one is lost, the transport continues with another.",
}

// linkTitle names the link by the properties that vary in the study.
func (a Axes) linkTitle(c study.Cell) string {
	var words []string
	for _, axis := range a.Workload.Path {
		if slices.Contains(a.panels, axis) {
			words = append(words, a.say(c, axis))
		}
	}
	if words == nil {
		return a.say(c, study.AxisLinkDelay)
	}
	return strings.Join(words, ", ")
}

// streamChecks are the validity rules as they apply to streams.
var streamChecks = []Check{
	{Rule: 1, Title: "Every session used the transport that the cell asked for, by its packets and by the server's account"},
	{Rule: 2, Title: "The first session was cold, and at handovers the client did what its strategy says", Short: "not cold or not by their strategy"},
	{Rule: 3, Title: "The emulator sent its packets on time, within the study's limit", Short: "with late packets"},
	{Rule: 4, Title: "The viewer's record, the server's log and the packets agree on what was received", Short: "with records that disagree"},
	{Rule: 7, Title: "What others took of the processors cannot have moved the stream by more than the study's limit, and nobody set the machine's clock", Short: "disturbed by others"},
}

func lossDirection(l study.Link) string {
	if l.LossDown {
		return "towards the client only"
	}
	return "in each direction"
}

func average(l study.Link) string {
	if l.Constant {
		return " at all times"
	}
	return " on average"
}

// describeLink puts the network of a stream into words: both directions of all access links are
// the same.
func describeLink(l study.Link, p network.Path) Network {
	n := Network{Name: p.Name, Source: p.Source, Note: p.Note, Facts: []Fact{
		{"link delay", duration(l.Delay) + " one-way" + average(l) + ", in each direction"},
		{"loss", percent(l.Loss) + " of packets at random, " + lossDirection(l)},
	}}
	moves := "none: the client stays with its access link"
	if l.Reconnections > 0 {
		moves = fmt.Sprintf("%d: the client moves to its other access link, at moments that each load draws", l.Reconnections)
	}
	n.Facts = append(n.Facts, Fact{"reconnections", moves})
	if len(p.Access) > 0 {
		n.Facts = append(n.Facts, Fact{"rate", rate(p.Access[0].Down.Rate) + " of each access link, in each direction"}, Fact{"queue", describeQueue(p.Access[0].Down.Queue)})
	}
	return n
}
