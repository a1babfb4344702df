package network

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"wiretime/costtest"
)

// ride parses a table with these rows.
func ride(t *testing.T, rows ...string) *Ride {
	t.Helper()
	ride, err := ParseRide("test", strings.NewReader(columns+"\n"+strings.Join(rows, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return ride
}

func TestRideLink(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name     string
		rows     []string
		arrivals []arrival // in each direction
	}{
		{"a row holds until the next", []string{"0,1200,1200,10,10,up", "1,600,600,30,30,up", "2,,,,,end"}, []arrival{
			{0, 1500, 20 * ms, Delivered}, {500 * ms, 1500, 520 * ms, Delivered}, {1000 * ms, 1500, 1050 * ms, Delivered}}},
		{"a change cuts a packet in two", []string{"0,1200,1200,10,10,up", "0.005,600,600,10,10,up", "2,,,,,end"}, []arrival{
			{0, 1500, 25 * ms, Delivered}}},
		{"packets wait while the link holds them", []string{"0,1200,1200,10,10,up", "1,,,,,holding", "1.5,1200,1200,10,10,up", "2,,,,,end"}, []arrival{
			{1200 * ms, 1500, 1520 * ms, Delivered}, {1500 * ms, 1500, 1530 * ms, Delivered}}},
		{"packets are lost while the link drops them", []string{"0,1200,1200,10,10,up", "1,,,,,dropping", "1.5,1200,1200,10,10,up", "2,,,,,end"}, []arrival{
			{995 * ms, 1500, 0, DroppedOutage}, {1200 * ms, 1500, 0, DroppedOutage}, {1500 * ms, 1500, 1520 * ms, Delivered}}},
		{"a ride begins with an outage", []string{"0,,,,,holding", "1,1200,1200,10,10,up", "2,,,,,end"}, []arrival{{0, 1500, 1020 * ms, Delivered}}},
		{"the last row holds after the end", []string{"0,600,600,30,30,up", "1,1200,1200,10,10,up", "2,,,,,end"}, []arrival{{time.Hour, 1500, time.Hour + 20*ms, Delivered}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			expect(t, Path{Name: "moving", Access: []Access{ride(t, test.rows...).Access("radio", Link{}, Link{})}}, test.arrivals)
		})
	}
}

func TestRideUplinkHasItsOwnRateAndDelay(t *testing.T) {
	e := start(t, Path{Name: "moving", Access: []Access{ride(t, "0,1200,600,10,20,up", "2,,,,,end").Access("radio", Link{}, Link{})}}, 1)
	if due, fate := e.Arrive(0, Up, 0, 1500); due != int64(40*time.Millisecond) || fate != Delivered {
		t.Errorf("due %v, %v; want 40 ms, delivered", time.Duration(due), fate)
	}
	if least := e.LeastDelay(); least != int64(10*time.Millisecond) {
		t.Errorf("least delay %v, want 10 ms", time.Duration(least))
	}
}

func TestParseRide(t *testing.T) {
	text := "# by bus\r\nseconds,down_kbit,up_kbit,down_ms,up_ms,link\r\n\n0, 2400 ,900.5,30,50.25,up\n# a tunnel\n12.5,,,,,dropping\n20,,,,,holding\n21,150,56,45,80,up\n1860,,,,,end"
	want := &Ride{Name: "bus", End: 1860 * time.Second, Rows: []Row{
		{0, 2_400_000, 900_500, 30 * time.Millisecond, 50_250 * time.Microsecond, LinkUp},
		{At: 12_500 * time.Millisecond, Link: LinkDropping},
		{At: 20 * time.Second, Link: LinkHolding},
		{21 * time.Second, 150_000, 56_000, 45 * time.Millisecond, 80 * time.Millisecond, LinkUp},
	}}
	got, err := ParseRide("bus", strings.NewReader(text))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, %v; want %+v", got, err, want)
	}
	if count, sum := got.Outages(); count != 1 || sum != 8500*time.Millisecond {
		t.Errorf("%d outages, %v in all; want one of 8.5 s", count, sum)
	}
	data, err := json.Marshal(Path{Name: "p", Access: []Access{got.Access("radio", Link{}, Link{})}})
	if err != nil {
		t.Fatal(err)
	}
	var p Path
	if err := json.Unmarshal(data, &p); err != nil || !reflect.DeepEqual(p.Access[0].Ride, want) {
		t.Errorf("JSON %s becomes %+v, %v", data, p.Access[0].Ride, err)
	}
}

func TestParseRideSaysWhatIsWrongAndWhere(t *testing.T) {
	const good = "0,2400,900,30,50,up\n"
	for rows, want := range map[string]string{
		"":                                      "ends at line 1 without an end row: was it cut off?",
		good:                                    "ends at line 2 without an end row: was it cut off?",
		good + "2,2400,9":                       "line 3: 3 fields instead of 6",
		good + "2,2400,900,30,50,u":             `line 3: column link: unknown word "u"`,
		good + "4,2400,900,30,50,up\n3,,,,,end": "line 4: column seconds: 3 does not come after 4 of the row before",
		good + "0,2400,900,30,50,up\n":          "line 3: column seconds: 0 does not come after 0",
		"1,2400,900,30,50,up\n":                 "line 2: column seconds: the first row is at 1",
		"0,0,900,30,50,up\n":                    "line 2: column down_kbit: a rate of 0 passes no packet",
		"0,2400,0.5,30,50,up\n":                 "line 2: column up_kbit: a rate of 500 bit/s is below 1kbit",
		"0,2400,,30,50,up\n":                    `line 2: column up_kbit: "" is not a number`,
		"0,-1,900,30,50,up\n":                   `line 2: column down_kbit: "-1" is not a number`,
		"0,2.4e3,900,30,50,up\n":                `"2.4e3" is not a number`,
		"0,2400,900,30,3600001,up\n":            "line 2: column up_ms: a delay of 1h0m0.001s is outside 0 to 1h0m0s",
		"0,2400,900,30.1234567,50,up\n":         "line 2: column down_ms: \"30.1234567\" has more than 6 decimals",
		"0,99999999999999999999,9,9,9,up\n":     "line 2: column down_kbit: \"99999999999999999999\" is too large",
		"0,2400,900,30,50,dropping\n":           `line 2: column down_kbit: "2400" in a row with "dropping"; leave it empty`,
		"0,,,,,dropping\n10,,,,,end":            "its link is never up",
		good + "5,,,,,dropping\n10,,,,,end":     "it ends while the link is down",
		"0,,,,,end":                             "it has no row",
		good + "10,,,,,end\n11,1,1,1,1,up":      "line 4: unexpected row after the end row",
	} {
		_, err := ParseRide("bus.csv", strings.NewReader(columns+"\n"+rows))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `parse ride "bus.csv"`) {
			t.Errorf("%q: %v; want an error with %q", rows, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                             "the table is empty; write the columns first",
		"# nothing\n\n":                "the table is empty; write the columns first",
		"1\n2\n":                       `line 1: begins with "1"; write the columns first`,
		strings.Repeat("#", MaxRide+1): "longer than 1048576 octets",
	} {
		if _, err := ParseRide("bus.csv", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v; want an error with %q", text, err, want)
		}
	}
	broken := errors.New("disk on fire")
	if _, err := ParseRide("x", iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("ParseRide of a broken reader: %v, want it to wrap %v", err, broken)
	}
}

func TestValidateAPathWithARide(t *testing.T) {
	rate, delay := 2*mbit, time.Second
	for _, test := range []struct {
		name   string
		change func(*Path)
		want   string
	}{
		{"a trace beside it", func(p *Path) { p.Access[0].Down.Rate, p.Access[0].Down.Trace = 0, trace(3) }, "a ride and a trace; keep one"},
		{"an event that sets the rate", func(p *Path) { p.Events = []Event{{At: 1, Rate: &rate}} }, "which follows a ride"},
		{"an event that sets the delay", func(p *Path) { p.Events = []Event{{At: 1, Delay: &delay}} }, "which follows a ride"},
		{"an outage in an outage", func(p *Path) { p.Events = []Event{{At: 4 * time.Second, Outage: 2 * time.Second}} }, "begins before the one at 4s ends"},
		{"rows out of order", func(p *Path) { p.Access[0].Ride.End = 1 }, "not in order of time"},
		{"a rate that is not limited", func(p *Path) { p.Access[0].Ride.Rows[0].Down = 0 }, "rates at 0 s are not between"},
	} {
		p := Path{Name: "moving", Access: []Access{ride(t, "0,1200,600,10,20,up", "5,,,,,dropping", "8,1200,600,10,20,up", "20,,,,,end").Access("radio", Link{}, Link{})}}
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		test.change(&p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v; want an error with %q", test.name, err, test.want)
		}
	}
}

func TestOffered(t *testing.T) {
	const s = time.Second
	moving := Path{Name: "moving", Access: []Access{ride(t, "0,1000,500,10,20,up", "10,3000,500,10,20,up", "20,,,,,dropping", "25,1000,500,10,20,up", "30,,,,,end").Access("radio", Link{}, Link{})}}
	traced := oneLink(Link{Trace: trace(100, 200, 200, 1000)}, Event{At: 2 * s, Outage: s})
	pausing := oneLink(Link{Trace: trace(100, 2000, 2500)})
	for _, test := range []struct {
		name     string
		path     Path
		d        Direction
		from, to time.Duration
		want     Offer
	}{
		{"within a row", moving, Down, s, 2 * s, Offer{1e6, 0}},
		{"over two rows", moving, Down, 5 * s, 15 * s, Offer{2e6, 0}},
		{"up", moving, Up, 5 * s, 15 * s, Offer{5e5, 0}},
		{"into an outage", moving, Down, 15 * s, 25 * s, Offer{1.5e6, 5 * s}},
		{"after the end", moving, Down, time.Hour, time.Hour + s, Offer{1e6, 0}},
		{"a round of a trace", traced, Down, 0, s, Offer{48_000, 0}},
		{"half a round", traced, Down, 0, 500 * time.Millisecond, Offer{72_000, 0}},
		{"two rounds, one in an outage", traced, Down, s, 3 * s, Offer{24_000, s}},
		{"a pause of a trace", pausing, Down, 0, 2500 * time.Millisecond, Offer{14_400, 1900 * time.Millisecond}},
		{"the same in the next round", pausing, Down, 2500 * time.Millisecond, 5 * s, Offer{14_400, 1900 * time.Millisecond}},
		{"within a pause", pausing, Down, 500 * time.Millisecond, 1500 * time.Millisecond, Offer{0, s}},
		{"between pauses", pausing, Down, 2 * s, 2600 * time.Millisecond, Offer{40_000, 0}},
	} {
		if got, ok := test.path.Offered(test.d, test.from, test.to); !ok || got != test.want {
			t.Errorf("%s: %+v, %t; want %+v", test.name, got, ok, test.want)
		}
	}
	if _, ok := oneLink(Link{}).Offered(Down, 0, s); ok {
		t.Error("a link without a limit offers a rate")
	}
	if _, ok := moving.Offered(Down, s, s); ok {
		t.Error("no time has a rate")
	}
}

// TestBusRides holds the made rides to their tables, since the figures of studies depend on every row.
func TestBusRides(t *testing.T) {
	for _, test := range []struct {
		name    string
		length  time.Duration
		outages int
		sum     string // SHA-256 of the table, its beginning
	}{
		{"wibro-bus-out", 1260 * time.Second, 4, "626c34ee61f98467"},
		{"wibro-bus-back", 1860 * time.Second, 10, "add35827447dbb0f"},
	} {
		p, err := Profile(test.name)
		if err != nil {
			t.Fatal(err)
		}
		ride := p.Access[0].Ride
		count, _ := ride.Outages()
		sum := fmt.Sprintf("%x", sha256.Sum256([]byte(ride.Table())))[:16]
		if ride.End != test.length || count != test.outages || sum != test.sum {
			t.Errorf("%s: %v with %d outages, table %s; want %v with %d, table %s", test.name, ride.End, count, sum, test.length, test.outages, test.sum)
		}
	}
}

// rideCost limits what parsing a ride may cost.
var rideCost = costtest.Limit{Fixed: 8 << 20, PerOctet: 64, Time: time.Microsecond}

func TestCostOfARide(t *testing.T) {
	var rows strings.Builder
	rows.WriteString(columns + "\n")
	for i := 0; rows.Len() < MaxRide-40; i++ {
		fmt.Fprintf(&rows, "%d,9,9,9,9,up\n", i)
	}
	rows.WriteString("9999999,,,,,end")
	costtest.Check(t, rows.Len(), rideCost, func() {
		if _, err := ParseRide("x", strings.NewReader(rows.String())); err != nil {
			t.Error(err)
		}
	})
}

// FuzzParseRide checks that every table that is accepted makes a valid path, and is the same after being written and
// read.
func FuzzParseRide(f *testing.F) {
	f.Add(columns + "\n0,2400,900.5,30,50.25,up\n12.5,,,,,dropping\n20,,,,,holding\n21,150,56,45,80,up\n1860,,,,,end")
	f.Add(columns + "\n0,1,1,0,0,up\n0.000000001,,,,,end")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		var ride *Ride
		var err error
		costtest.Check(t, len(text), rideCost, func() { ride, err = ParseRide("fuzz", strings.NewReader(text)) })
		if err != nil {
			return
		}
		p := Path{Name: "fuzz", Access: []Access{ride.Access("radio", Link{}, Link{})}}
		if err := p.Validate(); err != nil {
			t.Fatalf("accepted, but: %v", err)
		}
		again, err := ParseRide("fuzz", strings.NewReader(ride.Table()))
		if err != nil || !reflect.DeepEqual(again, ride) {
			t.Fatalf("%q becomes %q: %v", text, ride.Table(), err)
		}
		if _, err := p.Start(1); err != nil {
			t.Fatal(err)
		}
	})
}
