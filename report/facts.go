package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"wiretime/english"
	"wiretime/network"
)

// describePath puts a path into words.
func describePath(p network.Path) Network {
	n := Network{Name: p.Name, Source: p.Source, Note: p.Note, Facts: []Fact{}}
	for _, a := range p.Access {
		prefix := ""
		if len(p.Access) > 1 {
			prefix = a.Name + " "
		}
		if a.Ride != nil {
			n.Facts = append(n.Facts, Fact{prefix + "ride", describeRide(a.Ride)})
		}
		n.Facts = append(n.Facts,
			Fact{prefix + "down", describeDirection(a.Down)},
			Fact{prefix + "up", describeDirection(a.Up)})
		if a.Shared {
			n.Facts = append(n.Facts, Fact{prefix + "line", "one for both directions, which take turns: they share rate and queue"})
		}
	}
	for _, e := range p.Events {
		n.Facts = append(n.Facts, Fact{"at " + duration(e.At), describeEvent(e)})
	}
	return n
}

// lossy reports whether the path itself loses packets, at random or in an outage. Queue overflows
// do not count, since they also depend on the senders.
func lossy(p network.Path) bool {
	random := func(l network.Link) bool { return l.Loss.Rate > 0 || l.Loss.GilbertElliott != nil }
	for _, a := range p.Access {
		if random(a.Up) || random(a.Down) || a.Ride != nil && slices.ContainsFunc(a.Ride.Rows, func(r network.Row) bool { return r.Link == network.LinkDropping }) {
			return true
		}
	}
	return slices.ContainsFunc(p.Events, func(e network.Event) bool { return e.Loss != nil && *e.Loss > 0 || e.OutageDrops })
}

// describeRide says how long a ride is and which outages it has.
func describeRide(ride *network.Ride) string {
	count, sum := ride.Outages()
	return fmt.Sprintf("%s, %v long with %s (%v in all); rates and delays are means over it", ride.Name, ride.End, english.Count(count, "outage"), sum)
}

func describeDirection(l network.Link) string {
	words := []string{rate(l.Rate)}
	if l.Trace != nil {
		words[0] = "trace " + l.Trace.Name
	}
	words = append(words, duration(l.Delay)+" one-way")
	if l.Jitter > 0 {
		jitter := "jitter " + duration(l.Jitter) + " (standard deviation)"
		if l.Reorder {
			jitter += ", may reorder"
		}
		words = append(words, jitter)
	}
	switch g := l.Loss.GilbertElliott; {
	case g != nil:
		words = append(words, fmt.Sprintf("loss in bursts (Gilbert-Elliott p %s, r %s, loss %s good, %s bad)",
			decimal(g.P), decimal(g.R), percent(g.GoodLoss), percent(g.BadLoss)))
	case l.Loss.Rate > 0:
		words = append(words, "random loss "+percent(l.Loss.Rate))
	default:
		words = append(words, "no random loss")
	}
	words = append(words, "queue "+describeQueue(l.Queue))
	return strings.Join(words, ", ")
}

func describeQueue(q network.Queue) string {
	switch {
	case q.Bytes > 0 && q.Packets > 0:
		return fmt.Sprintf("%s or %d packets", kilobytes(q.Bytes), q.Packets)
	case q.Bytes > 0:
		return kilobytes(q.Bytes)
	case q.Packets > 0:
		return fmt.Sprintf("%d packets", q.Packets)
	}
	return "without limit"
}

func describeEvent(e network.Event) string {
	if e.Handover != "" {
		return "handover to " + e.Handover
	}
	if e.Rebind != "" {
		return "NAT forgets its bindings: new " + string(e.Rebind)
	}
	var words []string
	if e.Rate != nil {
		words = append(words, rate(*e.Rate))
	}
	if e.Delay != nil {
		words = append(words, duration(*e.Delay)+" one-way")
	}
	if e.Loss != nil {
		words = append(words, "random loss "+percent(*e.Loss))
	}
	if e.Outage > 0 {
		held := "packets wait"
		if e.OutageDrops {
			held = "packets are lost"
		}
		words = append(words, fmt.Sprintf("outage of %s (%s)", duration(e.Outage), held))
	}
	where := strings.TrimSpace(e.Access + " " + e.Direction)
	if where == "" {
		where = "both directions"
	}
	return where + ": " + strings.Join(words, ", ")
}

// rate writes bit/s, k = 1000; 0 is a link without a limit.
func rate(bits network.BitRate) string {
	switch {
	case bits == 0:
		return "no rate limit"
	case bits >= 1_000_000_000:
		return decimal(float64(bits)/1e9) + " Gbit/s"
	case bits >= 1_000_000:
		return decimal(float64(bits)/1e6) + " Mbit/s"
	case bits >= 1_000:
		return decimal(float64(bits)/1e3) + " kbit/s"
	default:
		return strconv.FormatInt(int64(bits), 10) + " bit/s"
	}
}

func duration(d time.Duration) string {
	if d >= 10*time.Second {
		return decimal(d.Seconds()) + " s"
	}
	return decimal(float64(d)/1e6) + " ms"
}

func percent(share float64) string { return strconv.FormatFloat(share*100, 'g', 6, 64) + " %" }

func kilobytes(n int) string { return decimal(float64(n)/1e3) + " kB" }

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// describeEnvironment flattens the environment, a JSON document of any shape, into lines sorted by
// name.
func describeEnvironment(stored json.RawMessage) ([]Fact, error) {
	facts := []Fact{}
	if len(stored) == 0 {
		return facts, nil
	}
	var document any
	if err := json.Unmarshal(stored, &document); err != nil {
		return nil, fmt.Errorf("describe environment: %w", err)
	}
	names := 0 // octets so far
	most := 64<<10 + 16*len(stored)
	var walk func(name string, value any)
	walk = func(name string, value any) {
		names += len(name)
		switch value := value.(type) {
		case map[string]any:
			for key, inner := range value {
				if names > most {
					return
				}
				walk(strings.TrimPrefix(name+"."+key, "."), inner)
			}
		case []any:
			parts := make([]string, len(value))
			for i, part := range value {
				parts[i] = scalar(part)
			}
			facts = append(facts, Fact{name, strings.Join(parts, ", ")})
		default:
			facts = append(facts, Fact{name, scalar(value)})
		}
	}
	if walk("", document); names > most {
		return nil, fmt.Errorf("describe environment: the names of its %d octets come to more than %d with those of the objects around them; it is nested too deeply", len(stored), most)
	}
	sort.Slice(facts, func(i, j int) bool { return facts[i].Name < facts[j].Name })
	return facts, nil
}

func scalar(value any) string {
	switch value := value.(type) {
	case nil:
		return "unknown"
	case string:
		return value
	case float64:
		return decimal(value)
	case bool:
		return strconv.FormatBool(value)
	default:
		encoded, _ := json.Marshal(value) // it came from JSON
		return string(encoded)
	}
}
