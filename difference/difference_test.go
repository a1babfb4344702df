package difference

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/critical"
	"wiretime/evidence"
)

const ms = 1e6 // ns

// load returns a load of one page on which the time was spent so.
func load(id string, spent map[place]amount) *Load {
	l := &Load{ID: id, Pages: 1, Requests: 1, spent: spent}
	for at, a := range spent {
		l.OnLoad += a.time
		if at.cause == Bandwidth {
			l.octets[direction(at.isUp)] += a.octets
		}
	}
	return l
}

func at(url string, c Cause) place { return place{url: url, cause: c} }

// between explains the difference of loads, and checks that everything adds up.
func between(t *testing.T, a, b []*Load) *Difference {
	t.Helper()
	d, err := Between(a, b, 1)
	if err != nil {
		t.Fatal(err)
	}
	checkSums(t, d)
	return d
}

// checkSums checks that causes, their parts and places, and resources add up.
func checkSums(t *testing.T, d *Difference) {
	t.Helper()
	var byCause, byResource int64
	for _, c := range d.Causes {
		byCause += c.Value
		var parts, places int64
		for _, p := range c.Parts {
			parts += p.Time
		}
		for _, p := range c.Places {
			places += p.Time
		}
		if places != c.Value || len(c.Parts) > 0 && parts != c.Value {
			t.Errorf("%s is %d ns; its parts add up to %d, its places to %d", c.Cause, c.Value, parts, places)
		}
		if c.Cause != Bandwidth && c.Cause != Bytes && c.B-c.A != c.Value {
			t.Errorf("%s takes %d and %d ns, which does not differ by %d", c.Cause, c.A, c.B, c.Value)
		}
	}
	for _, r := range d.Resources {
		byResource += r.Time
		sum := int64(0)
		for _, c := range r.Causes {
			sum += c.Time
		}
		if sum != r.Time {
			t.Errorf("the causes at %s add up to %d ns, want %d", r.URL, sum, r.Time)
		}
	}
	if want := d.B.OnLoad - d.A.OnLoad; byCause != want || byResource != want || d.OnLoad.Value != want {
		t.Errorf("onLoad differs by %d ns (%d); causes add up to %d, resources to %d", want, d.OnLoad.Value, byCause, byResource)
	}
}

// wantCauses checks the causes that are not zero, in ms.
func wantCauses(t *testing.T, d *Difference, want map[Cause]float64) {
	t.Helper()
	for _, c := range d.Causes {
		if got := float64(c.Value) / ms; math.Abs(got-want[c.Cause]) > 1e-6 {
			t.Errorf("%s adds %v ms, want %v", c.Cause, got, want[c.Cause])
		}
	}
}

// TestBandwidthAndBytes tells a slower link, more octets, and octets that another cause hid apart.
func TestBandwidthAndBytes(t *testing.T) {
	page := func(milliseconds, octets, all float64) []*Load {
		l := load("", map[place]amount{at("www.test/", Bandwidth): {int64(milliseconds * ms), octets}})
		l.octets[direction(false)] = all
		return []*Load{l}
	}
	for _, c := range []struct {
		name string
		a, b []*Load
		want map[Cause]float64
	}{
		{"half the rate", page(100, 1000, 1500), page(200, 1000, 1500), map[Cause]float64{Bandwidth: 100}},
		{"twice the octets", page(100, 1000, 1500), page(200, 2000, 2500), map[Cause]float64{Bytes: 100}},
		{"half the octets", page(200, 2000, 2500), page(100, 1000, 1500), map[Cause]float64{Bytes: -100}},
		// 0.1 and 0.2 ms an octet: 1000 octets more at 0.15.
		{"both", page(100, 1000, 1000), page(400, 2000, 2000), map[Cause]float64{Bytes: 150, Bandwidth: 150}},
		{"the same octets, while something else was waited for", page(100, 1000, 1500), page(50, 500, 1500), map[Cause]float64{Bandwidth: -50}},
		{"fewer were waited for, although there were more", page(100, 1000, 1500), page(50, 500, 1600), map[Cause]float64{Bandwidth: -50}},
		{"more were waited for than there were more", page(100, 1000, 1500), page(200, 2000, 1750), map[Cause]float64{Bytes: 25, Bandwidth: 75}},
		{"a link that takes no time", page(0, 0, 1500), page(150, 1000, 1500), map[Cause]float64{Bandwidth: 150}},
		{"nothing on the link", page(0, 0, 0), page(150, 1500, 1500), map[Cause]float64{Bytes: 150}},
	} {
		t.Run(c.name, func(t *testing.T) { wantCauses(t, between(t, c.a, c.b), c.want) })
	}
}

// TestDirectionsHaveTheirOwnPace: requests that take long on a slow uplink are not many octets of the downlink.
func TestDirectionsHaveTheirOwnPace(t *testing.T) {
	way := func(octetsUp, octetsDown float64) []*Load {
		return []*Load{load("", map[place]amount{
			{url: "www.test/", cause: Bandwidth, part: "uplink", isUp: true}: {int64(octetsUp * 0.1 * ms), octetsUp},
			{url: "www.test/", cause: Bandwidth, part: "downlink"}:           {int64(octetsDown * 0.01 * ms), octetsDown},
		})}
	}
	d := between(t, way(100, 10_000), way(400, 12_000))
	wantCauses(t, d, map[Cause]float64{Bytes: 50})
	if p := d.Causes[Bytes].Parts; len(p) != 2 || p[0] != (Part{"uplink", 30 * ms}) || p[1] != (Part{"downlink", 20 * ms}) {
		t.Errorf("the parts are %+v", p)
	}
}

// TestEverythingAddsUp makes loads at random, of which the means are no whole ns.
func TestEverythingAddsUp(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 0))
	side := func() []*Load {
		var loads []*Load
		for i := range 1 + random.IntN(9) {
			spent := map[place]amount{}
			for range 1 + random.IntN(20) {
				p := place{url: fmt.Sprint("www.test/", random.IntN(5)), cause: Cause(random.IntN(int(causes))), part: []string{"", "x"}[random.IntN(2)]}
				if p.cause == Bytes {
					continue
				}
				a := amount{time: random.Int64N(1e9)}
				if p.cause == Bandwidth {
					p.isUp, a.octets = random.IntN(2) == 0, random.Float64()*1e5
				}
				spent[p] = a
			}
			l := load(fmt.Sprint("r1-", i), spent)
			l.octets[0], l.octets[1] = random.Float64()*1e5, random.Float64()*1e5
			loads = append(loads, l)
		}
		return loads
	}
	for range 300 {
		a, b := side(), side()
		d := between(t, a, b)
		back := between(t, b, a)
		for i := range d.Causes {
			if sum := d.Causes[i].Value + back.Causes[i].Value; max(sum, -sum) > 40 { // places are rounded one by one
				t.Errorf("%s is %d ns from A to B and %d back", d.Causes[i].Cause, d.Causes[i].Value, back.Causes[i].Value)
			}
		}
		for _, s := range []struct {
			side  Side
			loads []*Load
		}{{d.A, a}, {d.B, b}} {
			sum := 0.0
			for _, l := range s.loads {
				sum += float64(l.OnLoad) / float64(len(s.loads))
			}
			if math.Abs(float64(s.side.OnLoad)-sum) > 0.51 {
				t.Errorf("the mean onLoad is %d, want %v", s.side.OnLoad, sum)
			}
		}
	}
}

// TestCells compares cells of several loads: means, intervals, the typical load, and on how many paths a resource is.
func TestCells(t *testing.T) {
	cell := func(n int, server int64) []*Load {
		var loads []*Load
		for i := range n {
			spent := map[place]amount{at("www.test/", Server): {time: server*ms + int64(i)*ms}, at("www.test/", Distance): {time: 50 * ms}}
			if i%2 == 1 {
				spent[at("www.test/odd", Client)] = amount{time: 2 * ms}
			}
			loads = append(loads, load(fmt.Sprint(i), spent))
		}
		return loads
	}
	d := between(t, cell(7, 10), cell(9, 30))
	wantCauses(t, d, map[Cause]float64{Server: 21, Client: 2 * (4.0/9 - 3.0/7)})
	if c := d.Causes[Server]; !c.Clear() || c.Interval.Low > 21*ms || c.Interval.High < 21*ms || c.Interval.Low < 18*ms || c.Interval.High > 24*ms {
		t.Errorf("server has the interval %+v", c.Interval)
	}
	if i := d.Causes[Distance].Interval; *i != (Interval{}) || d.Causes[Client].Clear() {
		t.Errorf("distance has the interval %+v, client %+v", i, d.Causes[Client].Interval)
	}
	if d.A.Typical != "3" || d.B.Typical != "4" {
		t.Errorf("loads %s and %s are typical, want 3 and 4", d.A.Typical, d.B.Typical)
	}
	for _, r := range d.Resources {
		if r.URL == "www.test/odd" && (r.A != 3 || r.B != 4) {
			t.Errorf("%s is on %d and %d paths, want 3 and 4", r.URL, r.A, r.B)
		}
	}
	if few := between(t, cell(5, 10), cell(9, 30)); few.OnLoad.Interval != nil || few.Causes[Server].Interval != nil {
		t.Error("five loads have an interval")
	}
	pages := cell(6, 10)
	pages[3].Pages = 2
	if _, err := Between(pages, cell(6, 10), 1); !errors.Is(err, ErrPages) {
		t.Errorf("loads of one and two pages: error %v", err)
	}
	tabs := cell(6, 10)
	tabs[5].atOnce = true
	if _, err := Between(cell(6, 10), tabs, 1); !errors.Is(err, ErrTabs) {
		t.Errorf("pages in tabs: error %v", err)
	}
}

func TestSentence(t *testing.T) {
	a := load("a", map[place]amount{at("www.test/", SetUp): {time: 100 * ms}, at("www.test/hero.jpg", Distance): {time: 50 * ms}})
	b := load("b", map[place]amount{
		at("www.test/", SetUp): {time: 92.9 * ms}, at("www.test/hero.jpg", Distance): {time: 50 * ms},
		{url: "www.test/hero.jpg", cause: LossRecovery, part: "uplink"}: {time: 61 * ms}, at("www.test/", Client): {time: 30.1 * ms}, at("", Client): {time: 0.3 * ms},
	})
	six := func(l *Load) []*Load { return []*Load{l, l, l, l, l, l} }
	noisy := six(a)
	for i := range noisy {
		noisy[i] = load("", map[place]amount{at("www.test/", Server): {time: int64(148+i) * ms}})
	}
	for _, c := range []struct {
		a, b []*Load
		want string
	}{
		{[]*Load{a}, []*Load{b}, "h3 is 84.3 ms slower than h2: +61.0 ms loss recovery (uplink) on /hero.jpg, +30.4 ms client on /, -7.1 ms set-up on /."},
		{[]*Load{b}, []*Load{a}, "h3 is 84.3 ms faster than h2: -61.0 ms loss recovery (uplink) on /hero.jpg, -30.4 ms client on /, +7.1 ms set-up on /."},
		{[]*Load{a}, []*Load{a}, "h3 takes as long as h2."},
		{six(a), six(b), "h3 is 84.3 ms slower than h2: +61.0 ms loss recovery (uplink) on /hero.jpg, +30.4 ms client on /, -7.1 ms set-up on /."},
		{[]*Load{a, a}, []*Load{b}, "With 2 loads and 1, too few for an interval, on average h3 is 84.3 ms slower than h2: +61.0 ms loss recovery (uplink) on /hero.jpg, +30.4 ms client on /, -7.1 ms set-up on /."},
	} {
		if got := between(t, c.a, c.b).Sentence("h2", "h3"); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	unclear := load("", map[place]amount{at("www.test/", Server): {time: 150 * ms}})
	if got := between(t, six(unclear), noisy).Sentence("h2", "h3"); !strings.HasPrefix(got, "Whether h3 is slower or faster than h2 is not certain (") || !strings.HasSuffix(got, "on average h3 is 0.5 ms slower than h2: +0.5 ms server (not certain).") {
		t.Errorf("got %s", got)
	}
}

// TestCauses names what each share of a critical path counts as.
func TestCauses(t *testing.T) {
	for _, c := range []struct {
		share critical.Share
		cause Cause
		part  string
	}{
		{critical.Share{Kind: critical.SetUp, Phase: critical.Blocked, Detail: critical.TLSHandshake}, SetUp, "TLS handshake"},
		{critical.Share{Kind: critical.SetUp, Phase: critical.DNS, Detail: critical.LookUp}, SetUp, "name look-up"},
		{critical.Share{Kind: critical.Delay, Phase: critical.Wait}, Distance, ""},
		{critical.Share{Kind: critical.Server, Phase: critical.Wait}, Server, ""},
		{critical.Share{Kind: critical.Window, Phase: critical.Receive}, Windows, "before any loss"},
		{critical.Share{Kind: critical.Window, Phase: critical.Receive, Detail: critical.AfterLoss}, Windows, "after a loss"},
		{critical.Share{Kind: critical.Bandwidth, Phase: critical.Receive, Detail: critical.Own}, Bandwidth, "downlink"},
		{critical.Share{Kind: critical.Bandwidth, Phase: critical.Send, Detail: critical.Shared, Up: true}, Bandwidth, "uplink"},
		{critical.Share{Kind: critical.Queueing, Phase: critical.Wait, Detail: critical.Shared}, Bandwidth, "downlink"},
		{critical.Share{Kind: critical.Bandwidth, Phase: critical.Wait, Detail: critical.Overtook}, Priorities, ""},
		{critical.Share{Kind: critical.Queueing, Phase: critical.Wait, Detail: critical.Overtook}, Priorities, ""},
		{critical.Share{Kind: critical.Queueing, Phase: critical.Wait, Detail: critical.Earlier}, Queue, "less urgent responses"},
		{critical.Share{Kind: critical.Queueing, Phase: critical.Wait, Detail: critical.Foreign}, Queue, "other traffic"},
		{critical.Share{Kind: critical.Loss, Phase: critical.Connect}, LossRecovery, "during set-up"},
		{critical.Share{Kind: critical.Loss, Phase: critical.Wait, Up: true}, LossRecovery, "uplink"},
		{critical.Share{Kind: critical.HeadOfLine, Phase: critical.Receive}, HeadOfLine, ""},
		{critical.Share{Kind: critical.Client, Phase: critical.ClientPhase}, Client, "between requests"},
		{critical.Share{Kind: critical.Client, Phase: critical.Blocked}, Client, "requests held back"},
		{critical.Share{Kind: critical.Client, Phase: critical.Receive}, Client, "within requests"},
	} {
		c.share.Seen = true
		if cause, part := causeOf(c.share); cause != c.cause || part != c.part {
			t.Errorf("%s in %s counts as %s, %q, want %s, %q", c.share.Kind, c.share.Phase, cause, part, c.cause, c.part)
		}
		c.share.Seen = false
		if cause, _ := causeOf(c.share); cause != NotAttributed {
			t.Errorf("%s in %s, by the phase alone, counts as %s", c.share.Kind, c.share.Phase, cause)
		}
	}
}

// TestPagesAtOnce tells pages of a journey from those in tabs.
func TestPagesAtOnce(t *testing.T) {
	began := time.Unix(1_700_000_000, 0)
	page := func(from, onLoad float64) capture.Page {
		return capture.Page{ID: fmt.Sprint(from), Started: began.Add(time.Duration(from * ms)), Timings: capture.PageTimings{OnLoad: onLoad}}
	}
	for _, c := range []struct {
		pages []capture.Page
		want  bool
	}{
		{[]capture.Page{page(0, 100)}, false},
		{[]capture.Page{page(0, 100), page(100, 50), page(200, 50)}, false},
		{[]capture.Page{page(0, 100), page(100, 50), page(140, 50)}, true},
		{[]capture.Page{page(0, 100), page(0, 90)}, true},
	} {
		l := Of("a", &evidence.Evidence{HAR: &capture.HAR{Log: capture.Log{Pages: c.pages}}})
		if l.atOnce != c.want || l.Pages != len(c.pages) || l.sums()[Client] != l.OnLoad {
			t.Errorf("%d pages: at once %t, want %t; %+v", len(c.pages), l.atOnce, c.want, l)
		}
	}
	if l := Of("a", &evidence.Evidence{}); l != nil {
		t.Errorf("without a HAR: %+v", l)
	}
}

func TestName(t *testing.T) {
	d := &Difference{Resources: []Resource{{URL: "www.test/"}, {URL: "www.test/a/b"}, {URL: ""}}}
	for url, want := range map[string]string{"www.test/": "/", "www.test/a/b": "/a/b", "": ""} {
		if got := d.Name(url); got != want {
			t.Errorf("%q is called %q, want %q", url, got, want)
		}
	}
	d.Resources = append(d.Resources, Resource{URL: "cdn.test/x"})
	if got := d.Name("www.test/a/b"); got != "www.test/a/b" {
		t.Errorf("with two hosts it is called %q", got)
	}
}
