package network

import (
	"encoding/json"
	"math"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestPathSurvivesJSON checks that a path reaches the emulator's process as
// JSON unchanged.
func TestPathSurvivesJSON(t *testing.T) {
	everything := Path{
		Name: "everything", Source: "here", Note: "50 ms up", Together: true,
		Access: []Access{
			{Name: "wlan", Up: Link{Rate: 1_638_401, Delay: 1, Jitter: 2, Reorder: true, Loss: Loss{Rate: 0.1}, Queue: Queue{Bytes: 64_000, Packets: 50}}},
			{Name: "lte", Down: Link{Trace: trace(0, 3, 3), Loss: Loss{GilbertElliott: &GilbertElliott{P: 1.0 / 3, R: 0.2, GoodLoss: 1e-9, BadLoss: 1}}}},
			{Name: "hub", Shared: true, Up: Link{Rate: mbit, Delay: 1}, Down: Link{Rate: mbit}},
		},
		Events: []Event{
			{At: 1, Access: "wlan", Direction: "up", Rate: new(BitRate(0)), Delay: new(time.Duration(0)), Loss: new(0.0)},
			{At: 2, Outage: 3, OutageDrops: true},
			{At: 4, Handover: "lte"},
		},
		Far: map[netip.Addr]time.Duration{far: 40*time.Millisecond + 1, netip.MustParseAddr("2001:db8::1"): 0},
	}
	for _, p := range append(Profiles(), everything) {
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var again Path
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(again, p) {
			t.Errorf("%s comes back from JSON as\n%+v, want\n%+v", p.Name, again, p)
		}
		if err := again.Validate(); err != nil {
			t.Error(err)
		}
	}
}

func TestValidateSaysWhatIsWrongAndWhatToWrite(t *testing.T) {
	const ms = time.Millisecond
	two := Path{Name: "two", Access: []Access{{Name: "wlan"}, {Name: "lte"}}}
	with := func(events ...Event) Path {
		p := two
		p.Events = events
		return p
	}
	together := func(events ...Event) Path {
		p := with(events...)
		p.Together = true
		return p
	}
	lost := func(access string, at, outage time.Duration) Event {
		return Event{At: at, Access: access, Outage: outage, OutageDrops: true}
	}
	link := func(l Link) Path {
		return Path{Name: "one", Access: []Access{{Name: "wlan", Down: l}}}
	}
	shared := func(up, down Link, events ...Event) Path {
		return Path{Name: "hub", Access: []Access{{Name: "hub", Shared: true, Up: up, Down: down}}, Events: events}
	}
	burst := func(p, r, good, bad float64) Path {
		return link(Link{Loss: Loss{GilbertElliott: &GilbertElliott{p, r, good, bad}}})
	}
	for _, test := range []struct {
		path Path
		want string // "" = valid
	}{
		{two, ""},
		{with(Event{Handover: "lte"}, Event{At: 5, Handover: "wlan"}), ""},
		{with(Event{Outage: 5 * ms}, Event{At: 5 * ms, Outage: 5 * ms}), ""},
		{with(Event{Outage: 5 * ms, Direction: "up"}, Event{At: 1 * ms, Outage: 5 * ms, Direction: "down"}), ""},
		{Path{Name: "none"}, `network "none": it has no access link`},
		{Path{Access: []Access{{}}}, "access link 1 has no name"},
		{Path{Access: []Access{{Name: "a"}, {Name: "a"}}}, `two access links are named "a"`},
		{link(Link{Rate: -1}), `network "one": access link "wlan", down: a rate of -1 bit/s is negative; write it like 5mbit`},
		{link(Link{Rate: 5}), "below 1kbit; was a unit forgotten"},
		{link(Link{Rate: MaxBitRate + 1}), "above 1000gbit"},
		{link(Link{Rate: mbit, Trace: trace(1)}), "a rate and a trace; keep one"},
		{link(Link{Trace: trace()}), "trace test: it has no delivery opportunity"},
		{link(Link{Trace: trace(0)}), "it lasts 0 ms"},
		{link(Link{Trace: trace(2, 1)}), "its timestamps decrease"},
		{link(Link{Trace: trace(-1, 1)}), "leave the range"},
		{link(Link{Trace: trace(math.MaxInt64)}), "leave the range"},
		{link(Link{Delay: -1}), "a delay of -1ns is outside"},
		{link(Link{Delay: 2 * time.Hour}), "a delay of 2h0m0s is outside"},
		{link(Link{Jitter: -1}), "a jitter of -1ns is outside"},
		{link(Link{Loss: Loss{Rate: 2}}), "a loss of 2 is not a probability; write a number from 0 to 1, such as 0.02 for 2 %"},
		{link(Link{Loss: Loss{Rate: -0.1}}), "not a probability"},
		{link(Link{Loss: Loss{Rate: math.NaN()}}), "a loss of NaN is not a probability"},
		{link(Link{Loss: Loss{Rate: 0.1, GilbertElliott: &GilbertElliott{P: 1, R: 1}}}), "keep one of them"},
		{burst(0.1, 0.2, 0, 1), ""},
		{burst(2, 0.2, 0, 1), "a Gilbert-Elliott p of 2"},
		{burst(0.1, 2, 0, 1), "a Gilbert-Elliott r of 2"},
		{burst(0.1, 0.2, 2, 1), "loss in the good state of 2"},
		{burst(0.1, 0.2, 0, 2), "loss in the bad state of 2"},
		{burst(0.1, 0, 0, 1), "never leaves a state"},
		{burst(0, 0.1, 0, 1), "never leaves a state"},
		{link(Link{Queue: Queue{Bytes: -1}}), "must not be negative"},
		{link(Link{Queue: Queue{Packets: -1}}), "must not be negative"},
		{link(Link{Queue: Queue{Bytes: 1000}}), "never holds a full packet; make it at least 1500 bytes"},
		{with(Event{At: -1, Outage: 1}), "event 1 at -1ns: must not be before the first packet"},
		{with(Event{At: ms}), "event 1 at 1ms: it changes nothing"},
		{with(Event{Outage: -1}), "an outage of -1ns is negative"},
		{with(Event{OutageDrops: true}), "its outage has no duration"},
		{with(Event{At: math.MaxInt64, Outage: 1}), "make it shorter"},
		{with(Event{Rate: new(BitRate(-1))}), "is negative"},
		{with(Event{Delay: new(time.Duration(-1))}), "is outside"},
		{with(Event{Loss: new(5.0)}), "not a probability"},
		{with(Event{Access: "wlam", Outage: 1}), `unknown access link "wlam"; did you mean "wlan"?`},
		{with(Event{Access: "ethernet", Outage: 1}), `unknown access link "ethernet"; write one of wlan, lte`},
		{with(Event{Direction: "left", Outage: 1}), `unknown direction "left"; write up, down`},
		{with(Event{Handover: "lt"}), `did you mean "lte"?`},
		{with(Event{Handover: "lte", Outage: 1}), "a handover cannot be combined with other changes"},
		{with(Event{Handover: "wlan"}), "which is already the active access link"},
		{with(Event{At: 2, Handover: "lte"}, Event{At: 1, Handover: "lte"}), "handover at 2ns"},
		{together(Event{Handover: "lte"}, lost("wlan", 0, 5*ms), Event{At: 5 * ms, Handover: "wlan"}), ""},
		{together(Event{Handover: "lte"}, lost("wlan", 0, 5*ms), Event{At: 5*ms - 1, Handover: "wlan"}), `handover at 4.999999ms to "wlan", which is lost until 5ms; move it to a later time`},
		{with(Event{Handover: "lte"}, lost("wlan", 0, 5*ms), Event{At: 5*ms - 1, Handover: "wlan"}), ""},
		{with(Event{At: 4 * ms, Outage: ms}, Event{Outage: 5 * ms, Access: "lte"}), `access link "lte", up: the outage at 4ms begins before the one at 0s ends`},
		{shared(Link{Rate: mbit, Delay: ms}, Link{Rate: mbit, Jitter: ms}), ""},
		{shared(Link{Trace: trace(1, 2)}, Link{Trace: trace(1, 2)}, Event{At: ms, Outage: ms}, Event{Direction: "up", Loss: new(0.1), Delay: new(ms)}), ""},
		{shared(Link{Rate: mbit}, Link{Rate: 2 * mbit}), `network "hub": access link "hub": it is shared, but up and down differ in rate, trace or queue; set these for both`},
		{shared(Link{Trace: trace(1)}, Link{Trace: trace(2)}), "differ in rate, trace or queue"},
		{shared(Link{Queue: Queue{Packets: 50}}, Link{}), "differ in rate, trace or queue"},
		{shared(Link{}, Link{}, Event{At: ms, Direction: "up", Rate: new(mbit)}), "it is shared, but event 1 at 1ms changes the rate or stops it in one direction; leave the direction out"},
		{shared(Link{}, Link{}, Event{At: ms, Direction: "down", Access: "hub", Outage: ms}), "in one direction"},
		{Path{Access: []Access{{Name: "a", Shared: true, Ride: &Ride{}}}}, "it is shared and follows a ride"},
		{distant(map[netip.Addr]time.Duration{far: time.Hour, near: 0}), ""},
		{distant(map[netip.Addr]time.Duration{far: -1}), `network "test": server 198.51.100.2: a delay of -1ns is outside 0 to 1h0m0s; write it like 50ms`},
		{distant(map[netip.Addr]time.Duration{near: 0, far: time.Hour + 1}), "server 198.51.100.2: a delay of 1h0m0.000000001s is outside"},
		{distant(map[netip.Addr]time.Duration{{}: 0}), "a far server has no address"},
		{Path{Access: []Access{{Name: "a", Up: Link{Trace: trace(1)}}}, Events: []Event{{Rate: new(mbit)}}}, `sets the rate of access link "a", up, which follows a trace`},
		{Path{Access: []Access{{Name: "a", Up: Link{Loss: Loss{GilbertElliott: &GilbertElliott{P: 1, R: 1}}}}}, Events: []Event{{Loss: new(1.0)}}}, "which has a Gilbert-Elliott loss"},
	} {
		err := test.path.Validate()
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%+v: %v, want it to be valid", test.path, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%+v: %v, want an error with %q", test.path, err, test.want)
		}
		if _, startErr := test.path.Start(1); (startErr == nil) != (err == nil) {
			t.Errorf("%+v: Start says %v, Validate %v", test.path, startErr, err)
		}
	}
}

func TestNearest(t *testing.T) {
	words := []string{"3g-weak", "3g-good", "wlan-good", "h2"}
	for word, want := range map[string]string{
		"3g-wek": "3g-weak", "3G-GOOD": "3g-good", "wlan-god": "wlan-good", "h2": "h2", "h3": "h2", "carrier-pigeon": "", "": "",
	} {
		if got := Nearest(word, words); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
	if got := Nearest("cat", nil); got != "" {
		t.Errorf("Nearest among no words = %q", got)
	}
}

func TestFateWords(t *testing.T) {
	for fate, want := range map[Fate]string{
		Delivered: "delivered", LostRandom: "random loss", DroppedQueue: "queue full", DroppedOutage: "outage", DroppedHandover: "handover", DroppedBinding: "no binding", 99: "unknown fate 99",
	} {
		if got := fate.String(); got != want {
			t.Errorf("Fate(%d).String() = %q, want %q", uint8(fate), got, want)
		}
	}
}
