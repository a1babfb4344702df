package main

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"wiretime/difference"
	"wiretime/needtest"
	"wiretime/store"
)

// knownDifferences is a study of pairs of cells that differ in exactly one thing.
const knownDifferences = `name: known
repeats: 1
clock: virtual
options: {server_wait: recorded}
matrix:
  sites: [objects@1x10kB, one-waits, objects@20x10kB, objects@20x20kB, styles]
  protocols: [http/1.1, https/1.1, h2, h3]
  initcwnd: [3, 10]
  networks:
    - {name: base, rate: 10mbit, rtt: 50ms, queue: unlimited}
    - {name: far, rate: 10mbit, rtt: 100ms, queue: unlimited}
    - {name: slow, rate: 5mbit, rtt: 50ms, queue: unlimited}
  loaders: [builtin]
  except:
    - {initcwnd: 3, site: [objects@1x10kB, one-waits, objects@20x20kB, styles]}
    - {network: [far, slow], site: [one-waits, objects@20x20kB, styles]}
`

// lossyCells is a study of cells with loads enough for intervals.
const lossyCells = `name: lossy
repeats: 6
clock: virtual
matrix:
  sites: [objects@20x10kB]
  protocols: [h2, h3]
  networks:
    - {name: base, rate: 10mbit, rtt: 50ms, queue: unlimited}
    - {name: lossy, rate: 10mbit, rtt: 50ms, queue: unlimited, loss: 2%}
  loaders: [fetch]
`

// explained is what 'wiretime explain A B --json' writes.
type explained struct {
	Summary string
	A, B    struct {
		Loads  []string
		OnLoad int64
	}
	OnLoad struct{ NS int64 }
	Causes []struct {
		Cause    string
		NS       int64
		Interval *struct{ Low, High int64 }
		Parts    []struct {
			Part string
			NS   int64
		}
	}
}

// ms returns a cause's part in the difference.
func (e explained) ms(cause string) float64 {
	for _, c := range e.Causes {
		if c.Cause == cause {
			return float64(c.NS) / 1e6
		}
	}
	return math.NaN()
}

// part returns what one part of a cause adds to the difference, in ms.
func (e explained) part(cause, part string) float64 {
	for _, c := range e.Causes {
		for _, p := range c.Parts {
			if c.Cause == cause && p.Part == part {
				return float64(p.NS) / 1e6
			}
		}
	}
	return 0
}

// explainTwo explains a difference, and checks that it adds up.
func (u user) explainTwo(t *testing.T, a, b string) explained {
	t.Helper()
	r := u.run(t, "explain", a, b, "--store", "kept", "--json")
	var e explained
	if err := json.Unmarshal([]byte(r.out), &e); err != nil || r.code != 0 {
		t.Fatalf("explain %s %s: exit code %d, %v: %s", a, b, r.code, err, r.errors)
	}
	sum := int64(0)
	for _, c := range e.Causes {
		sum += c.NS
	}
	if sum != e.OnLoad.NS || sum != e.B.OnLoad-e.A.OnLoad {
		t.Errorf("explain %s %s: the causes add up to %d ns; onLoad differs by %d, from %d to %d", a, b, sum, e.OnLoad.NS, e.A.OnLoad, e.B.OnLoad)
	}
	return e
}

// TestExplainFindsTheOneThing compares cells that differ in one thing, and finds it.
func TestExplainFindsTheOneThing(t *testing.T) {
	needtest.Long(t)
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	u.makeStyles(t)
	u.runs(t, 0, "site", "edit", "objects@1x10kB", "--as", "one-waits", "--wait", "www.objects.test/objects/1.svg=100ms")
	u.runs(t, 0, "run", u.write(t, "known.yaml", knownDifferences), "--store", "kept")
	u.runs(t, 0, "run", u.write(t, "lossy.yaml", lossyCells), "--store", "kept")
	all := []string{"set-up", "distance", "server", "windows", "bandwidth", "bytes", "priorities", "queue", "loss recovery", "head-of-line blocking", "client", "not attributed"}
	const one, twenty = "kept:1:site=objects@1x10kB,initcwnd=10,", "kept:1:site=objects@20x10kB,"
	for _, c := range []struct {
		name, a, b string
		want       map[string]float64 // ms
		within     float64            // ms, of those wanted and of all others
	}{
		// Three trips for the set-up, two requests; the response of 10 kB fits the first window.
		{"twice the distance", one + "protocol=h2,network=base", "kept:1:network=far", map[string]float64{"set-up": 150, "distance": 100}, 0.1},
		{"twice the distance over HTTP/3", one + "protocol=h3,network=base", "kept:1:network=far", map[string]float64{"set-up": 100, "distance": 100}, 0.1},
		{"a server that takes 100 ms for one resource", one + "protocol=h2,network=base", "kept:1:site=one-waits", map[string]float64{"server": 100}, 0.1},
		{"likewise over HTTP/1.1", one + "protocol=http/1.1,network=base", "kept:1:site=one-waits", map[string]float64{"server": 100}, 0.1},
		// 10 kB and what comes with them, 0.8 us an octet more; certificates are set-up.
		{"half the rate", one + "protocol=http/1.1,network=base", "kept:1:network=slow", map[string]float64{"bandwidth": 9.4}, 0.5},
		{"half the rate, under load", twenty + "protocol=h2,network=base,initcwnd=10", "kept:1:network=slow", map[string]float64{"bandwidth": 169, "windows": -34.5, "set-up": 3.8}, 1},
		{"resources of twice the size", twenty + "protocol=h2,network=base,initcwnd=10", "kept:1:site=objects@20x20kB", map[string]float64{"bytes": 166.5}, 3},
		{"an initial window of 10 instead of 3", twenty + "protocol=h2,network=base,initcwnd=3", "kept:1:initcwnd=10", map[string]float64{"windows": -52.7}, 0.3},
		{"TLS", one + "protocol=http/1.1,network=base", "kept:1:protocol=https/1.1", map[string]float64{"set-up": 53.5}, 0.6},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := u.explainTwo(t, c.a, c.b)
			for _, cause := range all {
				if got := e.ms(cause); !(math.Abs(got-c.want[cause]) <= c.within) {
					t.Errorf("%s is %v ms, want %v: %s", cause, got, c.want[cause], e.Summary)
				}
			}
		})
	}
	t.Run("server, exactly", func(t *testing.T) {
		if e := u.explainTwo(t, one+"protocol=h2,network=base", "kept:1:site=one-waits"); e.ms("server") != 100 {
			t.Errorf("the server takes %v ms longer, want 100", e.ms("server"))
		}
	})
	// Go's HTTP/2 server gives every response an equal turn, and its HTTP/3 server obeys priorities.
	t.Run("priorities", func(t *testing.T) {
		e := u.explainTwo(t, "kept:1:site=styles,network=base,protocol=h3", "kept:1:protocol=h2")
		for _, cause := range all {
			if got := e.ms(cause); cause == "priorities" && got < 100 || cause != "priorities" && got > 60 {
				t.Errorf("%s is %v ms: %s", cause, got, e.Summary)
			}
		}
	})
	// What the first images left in the queue holds the style sheets up: less than before with a server that sends them later.
	t.Run("a queue", func(t *testing.T) {
		e := u.explainTwo(t, "kept:1:site=styles,network=base,protocol=h2", "kept:1:protocol=h3")
		for _, c := range e.Causes {
			if c.Cause == "queue" && (c.NS < 50e6 || len(c.Parts) != 1 || c.Parts[0].Part != "less urgent responses") {
				t.Errorf("the queue is %+v", c)
			}
		}
	})
	t.Run("losses", func(t *testing.T) {
		for _, protocol := range []string{"h2", "h3"} {
			e := u.explainTwo(t, "network=base,protocol="+protocol, "network=lossy")
			lost := e.ms("loss recovery") + e.ms("head-of-line blocking") + e.part("windows", "after a loss")
			if lost < 0.9*float64(e.OnLoad.NS)/1e6 || protocol == "h3" && e.ms("head-of-line blocking") != 0 {
				t.Errorf("%s: %s", protocol, e.Summary)
			}
			if len(e.A.Loads) != 6 || e.Causes[0].Interval == nil {
				t.Errorf("%s: %d loads have the interval %v", protocol, len(e.A.Loads), e.Causes[0].Interval)
			}
		}
	})
	t.Run("all loads", func(t *testing.T) { checkAllLoads(t, filepath.Join(u.home, "kept")) })
	t.Run("tables", func(t *testing.T) {
		table := u.runs(t, 0, "explain", "network=base,protocol=h2", "protocol=h3", "--store", "kept").out
		for _, want := range []string{"A: 6 valid loads of run 2; the most typical is r2-", "   site=objects@20x10kB protocol=h2", "h3 is ", "cause ", "95 % interval", "set-up ", "onLoad ", "resource ", "The critical paths share "} {
			if !strings.Contains(table, want) {
				t.Errorf("there is no %q in:\n%s", want, table)
			}
		}
		loads := u.runs(t, 0, "explain", "kept:r1-0000-a1", "kept:r1-0001-a1").out
		for _, want := range []string{"A: load r1-0000-a1\n   site=", "B: load r1-0001-a1\n", "B - A, ms"} {
			if !strings.Contains(loads, want) {
				t.Errorf("there is no %q in:\n%s", want, loads)
			}
		}
	})
	t.Run("mistakes", func(t *testing.T) {
		for _, c := range []struct{ a, b, want string }{
			{"protocol=h2,network=base", "r1-0001-a1", "name two loads or two cells"},
			{"protocol=h9,network=base", "protocol=h2", `no cell has protocol "h9"; they have h2, h3`},
			{"colour=red", "protocol=h2", `have no axis "colour"`},
			{"protocol=h2", "protocol=h3", "2 cells have these values; name one also on network (base, lossy)"},
			{"protocol=h2,network=base", "protocol=h2,network=base", "they are the same"},
			{"protocol=h2,protocol=h3", "protocol=h3", "two values on axis protocol"},
			{"protocol", "protocol=h3", `read "protocol": want a load as in r1-0007-a1, or a cell as in protocol=h2`},
			{"kept:0:protocol=h2,network=base", "protocol=h3", "invalid run 0"},
			{":protocol=h2", "protocol=h3", "want a store before the colon"},
			{"r1-0001-a1", "r9-0001-a1", "load r9-0001-a1: not in the store"},
		} {
			if r := u.run(t, "explain", c.a, c.b, "--store", "kept"); r.code != exitInput || !strings.Contains(r.errors, c.want) {
				t.Errorf("explain %s %s: exit code %d, %q; want it to say %q", c.a, c.b, r.code, r.errors, c.want)
			}
		}
	})
}

// makeStyles adds a page whose style sheets, each of which asks for the next, compete with four images that are less urgent.
func (u user) makeStyles(t *testing.T) {
	t.Helper()
	const sheets = 6
	page := `<!doctype html><html><head><title>styles</title><link rel=stylesheet href=s1.css></head><body>`
	for i := range 4 {
		page += fmt.Sprintf("<img src=i%d.svg width=10 height=10>", i)
		u.write(t, fmt.Sprintf("styles/i%d.svg", i), "<svg xmlns=\"http://www.w3.org/2000/svg\"><!--"+filler(60_000, uint32(100+i))+"--></svg>")
	}
	u.write(t, "styles/index.html", page+"<p>x</p></body></html>\n")
	for i := 1; i <= sheets; i++ {
		text := "/*" + filler(20_000, uint32(i)) + "*/\n"
		if i < sheets {
			text = fmt.Sprintf("@import \"s%d.css\";\n", i+1) + text
		}
		u.write(t, fmt.Sprintf("styles/s%d.css", i), text)
	}
	u.runs(t, 0, "site", "add", "styles")
}

// filler returns letters that do not compress well.
func filler(n int, seed uint32) string {
	text := make([]byte, n)
	for i := range text {
		seed = seed*1664525 + 1013904223
		text[i] = 'a' + byte(seed>>24)%26
	}
	return string(text)
}

// checkAllLoads attributes the onLoad of each load of a store, and compares each load with the next one.
func checkAllLoads(t *testing.T, dir string) {
	st, err := store.Open(dir, store.Read)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for run := int64(1); run <= 2; run++ {
		loads, err := st.Loads(run)
		if err != nil {
			t.Fatal(err)
		}
		all, err := inParallel(loads, timeOf)
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range all {
			if want := loads[i].Values["onload"]; math.Abs(float64(l.OnLoad)/1e6-want) > 1e-6 {
				t.Errorf("load %s: onLoad is %d ns, the store has %v ms", l.ID, l.OnLoad, want)
			}
			d, err := difference.Between(all[i:i+1], all[(i+1)%len(all):][:1], 1)
			if err != nil {
				t.Fatal(err)
			}
			sum := int64(0)
			for _, c := range d.Causes {
				sum += c.Value
			}
			if sum != d.B.OnLoad-d.A.OnLoad || d.Causes[difference.NotAttributed].A != 0 {
				t.Errorf("load %s and the next: the causes add up to %d ns, want %d; %d ns are not attributed", l.ID, sum, d.B.OnLoad-d.A.OnLoad, d.Causes[difference.NotAttributed].A)
			}
		}
	}
}
