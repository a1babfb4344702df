package studyfile

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"wiretime/network"
)

var (
	linkKeys   = []string{"rate", "trace", "delay", "jitter", "reorder", "loss", "gilbert_elliott", "queue"}
	accessKeys = append([]string{"name", "rtt", "shared", "ride", "up", "down"}, linkKeys...)
	pathKeys   = append([]string{"source", "note", "access", "events"}, accessKeys...)
)

// network reads the name of a profile, or a path described in place. After an error the path
// has no name.
func (r *reader) network(n ast.Node) network.Path {
	if _, described := n.(ast.MapNode); described {
		return r.path(n)
	}
	name, ok := r.text(n, "a network")
	if !ok {
		return network.Path{}
	}
	p, err := network.Profile(name)
	if err != nil {
		r.fail(n, "%v", err)
	}
	return p
}

func (r *reader) path(n ast.Node) network.Path {
	before := len(r.errs)
	m, ok := r.mapping(n, "the network", pathKeys...)
	if !ok {
		return network.Path{}
	}
	var p network.Path
	if n, ok := m.need("name", "name it, as in name: mine"); ok {
		p.Name = r.name(n, "the network's name")
		if _, err := network.Profile(p.Name); err == nil {
			r.fail(n, "%q is already the name of a built-in profile; choose another name", p.Name)
		}
	}
	if n, ok := m.get("source"); ok {
		p.Source, _ = r.text(n, "source")
	}
	if n, ok := m.get("note"); ok {
		p.Note, _ = r.text(n, "note")
	}
	if n, ok := m.get("access"); ok {
		p.Access = r.accesses(n, m)
	} else {
		p.Access = []network.Access{r.access(m, "access")}
	}
	if n, ok := m.get("events"); ok {
		p.Events = r.events(n)
	}
	if len(r.errs) == before {
		if err := p.Validate(); err != nil {
			r.fail(n, "%v", err)
		}
	}
	if len(r.errs) > before {
		return network.Path{}
	}
	return p
}

// accesses reads a list of access links.
func (r *reader) accesses(n ast.Node, path mapping) []network.Access {
	for _, key := range accessKeys[1:] {
		if value, ok := path.get(key); ok {
			r.fail(value, "%s cannot be set beside access; set it inside each access link", key)
		}
	}
	items, ok := r.list(n, "access")
	if !ok {
		return nil
	}
	var all []network.Access
	for _, item := range items {
		m, ok := r.mapping(item, "the access link", accessKeys...)
		if !ok {
			continue
		}
		name := ""
		if n, ok := m.need("name", "name it, as in name: wlan"); ok {
			name = r.name(n, "the access link's name")
		}
		all = append(all, r.access(m, name))
	}
	return all
}

// access reads both directions of an access link. Keys of the mapping itself apply to both
// directions; keys under up or down apply to that one.
func (r *reader) access(m mapping, name string) network.Access {
	var both link
	r.link(m, &both)
	up, down := both, both
	if n, ok := m.get("rtt"); ok {
		if m.has("delay") {
			r.fail(n, "rtt and delay are mutually exclusive; keep one (delay is one-way, half of rtt)")
		}
		if rtt, ok := r.duration(n, "rtt"); ok {
			up.Delay, down.Delay = rtt/2, rtt-rtt/2
		}
	}
	for key, l := range map[string]*link{"up": &up, "down": &down} {
		if n, ok := m.get(key); ok {
			if m, ok := r.mapping(n, key, linkKeys...); ok {
				r.link(m, l)
			}
		}
	}
	a := network.Access{Name: name}
	if n, ok := m.get("ride"); ok {
		a = r.ride(n, name, up, down)
	} else {
		a.Up, a.Down = up.complete(), down.complete()
	}
	if n, ok := m.get("shared"); ok {
		a.Shared = r.boolean(n, "shared")
	}
	return a
}

// ride reads an access link that follows a ride, from a file in the study's folder or relative to it.
func (r *reader) ride(n ast.Node, name string, up, down link) network.Access {
	if up.Rate != 0 || up.Trace != nil || up.Delay != 0 || down.Rate != 0 || down.Trace != nil || down.Delay != 0 {
		r.fail(n, "rate, trace, delay and rtt cannot be set beside ride, which sets rates and delays of both directions; keep one")
		return network.Access{}
	}
	file, ok := r.text(n, "ride")
	if !ok {
		return network.Access{}
	}
	ride, err := readTable(file, r.beside(file), "ride", network.MaxRide, network.ParseRide)
	if err != nil {
		r.fail(n, "%v", err)
		return network.Access{}
	}
	a := ride.Access(name, up.Link, down.Link)
	up.Link, down.Link = a.Up, a.Down
	a.Up, a.Down = up.complete(), down.complete()
	return a
}

// link holds a link while it is being read.
type link struct {
	network.Link
	queueGiven bool
}

func (l link) complete() network.Link {
	if !l.queueGiven {
		l.Queue = network.DefaultQueue(l.Rate)
	}
	return l.Link
}

// link reads the keys that the mapping has, and leaves the rest of the link as it is.
func (r *reader) link(m mapping, l *link) {
	if n, ok := m.get("trace"); ok {
		if m.has("rate") {
			r.fail(n, "rate and trace are mutually exclusive; keep one")
		}
		l.Trace, l.Rate = r.trace(n), 0
	}
	if n, ok := m.get("rate"); ok {
		l.Rate, l.Trace = r.rate(n), nil
	}
	if n, ok := m.get("delay"); ok {
		l.Delay, _ = r.duration(n, "delay")
	}
	if n, ok := m.get("jitter"); ok {
		l.Jitter, _ = r.duration(n, "jitter")
	}
	if n, ok := m.get("reorder"); ok {
		l.Reorder = r.boolean(n, "reorder")
	}
	if n, ok := m.get("gilbert_elliott"); ok {
		if m.has("loss") {
			r.fail(n, "loss and gilbert_elliott are mutually exclusive; keep one")
		}
		l.Loss = network.Loss{GilbertElliott: r.gilbertElliott(n)}
	}
	if n, ok := m.get("loss"); ok {
		l.Loss = network.Loss{Rate: r.probability(n, "loss")}
	}
	if n, ok := m.get("queue"); ok {
		l.Queue, l.queueGiven = r.queue(n), true
	}
}

func (r *reader) rate(n ast.Node) network.BitRate {
	text, ok := r.text(n, "rate")
	if !ok {
		return 0
	}
	if bits, slash := strings.CutSuffix(text, "/s"); slash && strings.HasSuffix(strings.ToLower(bits), "bit") {
		text = bits
	}
	rate, err := network.ParseBitRate(text)
	if err != nil {
		r.fail(n, "%v", err)
	}
	return rate
}

// trace reads the file of a trace, relative to the study's folder.
func (r *reader) trace(n ast.Node) *network.Trace {
	name, ok := r.text(n, "trace")
	if !ok {
		return nil
	}
	trace, err := readTable(name, r.beside(name), "trace", network.MaxTrace, network.ParseTrace)
	if err != nil {
		r.fail(n, "%v", err)
	}
	return trace
}

// beside returns the path of a file that is named relative to the study's folder.
func (r *reader) beside(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(r.file), name)
}

// readTable reads a table of at most that many bytes from a file, with a parser that gets the table's name. what says
// in errors what it is: a trace or a ride.
func readTable[T any](name, path, what string, most int64, parse func(string, io.Reader) (*T, error)) (*T, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w; write its path from the study file's folder", what, err)
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, fmt.Errorf("read %s %q: not a file of at most %d bytes; docs/study.md has the format", what, path, most)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	defer f.Close()
	return parse(name, f)
}

func (r *reader) gilbertElliott(n ast.Node) *network.GilbertElliott {
	m, ok := r.mapping(n, "gilbert_elliott", "p", "r", "good_loss", "bad_loss")
	if !ok {
		return nil
	}
	// By default, a chain loses nothing in the good state and everything in the bad state.
	g := &network.GilbertElliott{BadLoss: 1}
	if n, ok := m.need("p", "write the probability per packet of turning bad, as in p: 1%"); ok {
		g.P = r.probability(n, "p")
	}
	if n, ok := m.need("r", "write the probability per packet of turning good, as in r: 30%"); ok {
		g.R = r.probability(n, "r")
	}
	if n, ok := m.get("good_loss"); ok {
		g.GoodLoss = r.probability(n, "good_loss")
	}
	if n, ok := m.get("bad_loss"); ok {
		g.BadLoss = r.probability(n, "bad_loss")
	}
	return g
}

// queue reads "64kB", "50 packets" or "unlimited"; k = 1000.
func (r *reader) queue(n ast.Node) network.Queue {
	text, ok := r.text(n, "queue")
	if !ok || text == "unlimited" {
		return network.Queue{}
	}
	split := len(text) - len(strings.TrimLeft(text, "0123456789"))
	count, err := strconv.Atoi(text[:split])
	if err == nil && count > 0 && count <= 1<<30 {
		switch strings.TrimSpace(text[split:]) {
		case "packets", "packet":
			return network.Queue{Packets: count}
		case "B":
			return network.Queue{Bytes: count}
		case "kB":
			return network.Queue{Bytes: count * 1_000}
		case "MB":
			return network.Queue{Bytes: count * 1_000_000}
		}
	}
	r.fail(n, "invalid queue %.40q: want bytes (B, kB, MB; k = 1000) or packets, as in 64kB or 50 packets, or unlimited", text)
	return network.Queue{}
}

func (r *reader) events(n ast.Node) []network.Event {
	items, ok := r.list(n, "events")
	if !ok {
		return nil
	}
	var all []network.Event
	for _, item := range items {
		m, ok := r.mapping(item, "the event", "at", "access", "direction", "rate", "delay", "loss", "outage", "outage_drops", "handover", "rebind")
		if ok {
			all = append(all, r.event(m))
		}
	}
	return all
}

func (r *reader) event(m mapping) network.Event {
	var e network.Event
	if n, ok := m.need("at", "set a time, counted from the path's first packet, as in at: 2s"); ok {
		e.At, _ = r.duration(n, "at")
	}
	if n, ok := m.get("access"); ok {
		e.Access, _ = r.text(n, "access")
	}
	if n, ok := m.get("direction"); ok {
		e.Direction = r.word(n, "direction", []string{network.Up.String(), network.Down.String()})
	}
	if n, ok := m.get("rate"); ok {
		rate := r.rate(n)
		e.Rate = &rate
	}
	if n, ok := m.get("delay"); ok {
		delay, _ := r.duration(n, "delay")
		e.Delay = &delay
	}
	if n, ok := m.get("loss"); ok {
		loss := r.probability(n, "loss")
		e.Loss = &loss
	}
	if n, ok := m.get("outage"); ok {
		e.Outage, _ = r.duration(n, "outage")
	}
	if n, ok := m.get("outage_drops"); ok {
		e.OutageDrops = r.boolean(n, "outage_drops")
	}
	if n, ok := m.get("handover"); ok {
		e.Handover, _ = r.text(n, "handover")
	}
	if n, ok := m.get("rebind"); ok {
		e.Rebind = network.Rebinding(r.word(n, "rebinding", network.Rebindings()))
	}
	return e
}
