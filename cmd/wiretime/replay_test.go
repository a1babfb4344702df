package main

import (
	"fmt"
	"maps"
	"math"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"wiretime/site"
	"wiretime/store"
)

// replayStudy loads a recorded site on the virtual clock, with these options.
const replayStudy = `name: replay
repeats: 1
clock: virtual
matrix:
  sites: [recorded]
  protocols: [http/1.1, spdy/3.1, h2, h3]
  networks: [{name: near, rtt: 20ms}]
  loaders: [builtin]
options: {dns: instant, %s}
`

// addRecorded adds a site called "recorded": a page whose server took 200 ms, and an image
// from an origin that was 80 ms of round trip farther away, by another query than the page
// asks for.
func (u user) addRecorded(t *testing.T) {
	t.Helper()
	bodies := map[string][]byte{}
	resource := func(url, kind, body string) site.Resource {
		hash := site.Hash([]byte(body))
		bodies[hash] = []byte(body)
		return site.Resource{Method: "GET", URL: url, Status: 200, Header: []site.Header{{Name: "content-type", Value: kind}}, Body: hash}
	}
	s := site.Site{Name: "recorded", Page: "https://www.recorded.test/",
		Hosts: []site.Host{{Name: "www.recorded.test", RTT: 30}, {Name: "img.recorded.test", RTT: 110}},
		Resources: []site.Resource{
			resource("https://www.recorded.test/", "text/html", `<!DOCTYPE html><title>recorded</title><img src="https://img.recorded.test/1.png?t=2">`),
			resource("https://img.recorded.test/1.png?t=1", "image/png", "image"),
		}}
	s.Resources[0].Wait = 200
	made, err := site.New(s, bodies)
	if err != nil {
		t.Fatal(err)
	}
	u.write(t, ".local/share/wiretime/sites/.keep", "")
	if err := made.Save(filepath.Join(u.home, ".local/share/wiretime/sites/recorded")); err != nil {
		t.Fatal(err)
	}
}

// TestReplayAsRecorded runs a study with what the recording knows of servers, and without:
// the first byte comes as much later as the server took, and of the image, after the page,
// as much as its origin was farther away in each of its round trips. What the network was
// is in the store.
func TestReplayAsRecorded(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	u.addRecorded(t)
	figures := func(kept, options string, more ...string) map[string]float64 {
		study := u.write(t, kept+".yaml", fmt.Sprintf(replayStudy, options))
		r := u.run(t, slices.Concat([]string{"run", study, "--store", kept}, more)...)
		if r.code != 0 {
			t.Fatalf("exit code %d: %s%s", r.code, r.out, r.errors)
		}
		if want := "What the archive lacked of recorded: inexact answers in 4 of 4 valid loads, at most 1.\n"; !strings.Contains(r.out, want) {
			t.Errorf("%q is not in\n%s", want, r.out)
		}
		rows := u.values(t, kept)
		column := func(row []string, name string) string { return row[slices.Index(rows[0], name)] }
		all := map[string]float64{}
		for _, row := range rows[1:] {
			v, err := strconv.ParseFloat(column(row, "value"), 64)
			if err != nil {
				t.Fatal(err)
			}
			all[column(row, "protocol")+" "+column(row, "metric")] = v
		}
		return all
	}
	same := figures("same", "server_wait: none, origin_rtt: same")
	recorded := figures("recorded", "server_wait: recorded, origin_rtt: recorded", "--verify-determinism", "2")
	for protocol, roundTrips := range map[string]float64{"http/1.1": 2, "spdy/3.1": 3, "h2": 3, "h3": 2} {
		for metric, want := range map[string]float64{"ttfb": 200, "plt": 200 + roundTrips*80} {
			key := protocol + " " + metric
			if more := recorded[key] - same[key]; math.Abs(more-want) > 0.2 {
				t.Errorf("%s is %.3f ms, and %.3f ms as recorded: %.3f ms more, want %.0f", key, same[key], recorded[key], more, want)
			}
		}
	}
	for kept, far := range map[string]map[netip.Addr]time.Duration{"same": nil, "recorded": {netip.MustParseAddr("198.19.1.2"): 40 * time.Millisecond}} {
		st, err := store.Open(filepath.Join(u.home, kept), store.Read)
		if err != nil {
			t.Fatal(err)
		}
		results, err := st.Results(1)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if !maps.Equal(r.Cell.Network.Far, far) {
				t.Errorf("%s: the store has of the network that these are farther away: %v", kept, r.Cell.Network.Far)
			}
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
