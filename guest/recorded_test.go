package guest

import (
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/network"
	"wiretime/protocol"
	"wiretime/site"
	"wiretime/workload/pageload"
)

// recorded makes a site of a page and an image on another host, with recorded server data:
// the page's server waits wait ms, and the other host has 80 ms more round trip.
func recorded(t *testing.T, name string, wait float64) *site.Site {
	t.Helper()
	const page, image = "https://www.recorded.test/", "https://img.recorded.test/1.png"
	bodies := map[string][]byte{}
	resource := func(url, kind, body string) site.Resource {
		hash := site.Hash([]byte(body))
		bodies[hash] = []byte(body)
		return site.Resource{Method: "GET", URL: url, Status: 200, Header: []site.Header{{Name: "content-type", Value: kind}}, Body: hash}
	}
	s := site.Site{Name: name, Page: page,
		Hosts: []site.Host{{Name: "www.recorded.test", RTT: 20}, {Name: "img.recorded.test", RTT: 100}},
		Resources: []site.Resource{
			resource(page, "text/html", `<!DOCTYPE html><title>recorded</title><img src="`+image+`">`),
			resource(image, "image/png", "image"),
		}}
	s.Resources[0].Wait = wait
	made, err := site.New(s, bodies)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// recordedHost prepares a host of guests with these sites.
func recordedHost(t *testing.T, sites ...*site.Site) *Host {
	t.Helper()
	all := map[string]*site.Site{}
	for _, s := range sites {
		all[s.Name] = s
	}
	h, err := NewHost(built(t), all)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// mostReadings limits the clock readings of a load beyond the time of path and servers.
const mostReadings = 400

// TestServersWait loads pages whose servers waited 0, 50.25 and 200 ms, over every
// protocol. If waits are replayed, the first byte arrives after the path's round trips and
// the wait, apart from some readings of the clock; otherwise after the round trips alone.
func TestServersWait(t *testing.T) {
	const rtt = 20 * time.Millisecond
	waits := []float64{0, 50.25, 200}
	var sites []*site.Site
	for i, wait := range waits {
		sites = append(sites, recorded(t, fmt.Sprint("recorded-", i), wait))
	}
	b := Batch{Station: stationConfig(1)}
	for _, row := range protocol.Names() {
		for _, s := range sites {
			for _, waits := range []bool{true, false} {
				o := builtinOrder(row, "cold", oneLink(network.Link{Delay: rtt / 2}), 1)
				o.ServerWait = waits
				b.Loads = append(b.Loads, Load{ID: fmt.Sprint(name(row), s.Name, waits), Site: s.Name, Order: o})
			}
		}
	}
	loads := run(t, recordedHost(t, sites...), machine(1), b)
	for _, row := range protocol.All() {
		roundTrips := 3 // TCP's, TLS's, the request's own
		if row.ALPN == "" || row.Transport == "udp" {
			roundTrips = 2
		}
		for i, ms := range waits {
			for _, waits := range []bool{true, false} {
				r := loads[fmt.Sprint(name(row.Name), sites[i].Name, waits)].record.(*pageload.Record)
				if r.LoadError != nil {
					t.Fatal(r.LoadError)
				}
				want := time.Duration(roundTrips) * rtt
				if waits {
					want += time.Duration(ms * float64(time.Millisecond))
				}
				first := time.Duration(math.Round(r.Timing.TTFB * float64(time.Millisecond)))
				if over := first - want; over < 0 || over > mostReadings*reading {
					t.Errorf("%s, a server of %v ms, waiting %v: the first byte came after %v, want %v and no more than %d readings of the clock of %v",
						row.Name, ms, waits, first, want, mostReadings, reading)
				}
			}
		}
	}
}

// TestFarOrigins connects to two origins, one of them with 80 ms more round trip, over
// every protocol: its first answer takes that much longer, to the microsecond if the kernel
// gives it, and within some readings of the clock if a program does.
func TestFarOrigins(t *testing.T) {
	s := recorded(t, "recorded", 0)
	path := oneLink(network.Link{Delay: 10 * time.Millisecond})
	path.Far = pageload.Far(s)
	b := Batch{Station: stationConfig(1)}
	for _, row := range protocol.Names() {
		b.Loads = append(b.Loads, Load{ID: name(row), Site: s.Name, Order: builtinOrder(row, "cold", path, 1)})
	}
	loads := run(t, recordedHost(t, s), machine(1), b)
	for _, row := range protocol.Names() {
		l := loads[name(row)]
		if l.record.Common().LoadError != nil {
			t.Fatal(l.record.Common().LoadError)
		}
		answered := firstAnswers(t, l.packets(t))
		near, far := answered[netip.MustParseAddr("198.19.1.1")], answered[netip.MustParseAddr("198.19.1.2")]
		tolerance := time.Microsecond
		if row == "h3" {
			tolerance = mostReadings * reading
		}
		if off := far - near - 80*time.Millisecond; near == 0 || off < -tolerance || off > tolerance {
			t.Errorf("%s: the near server answers after %v, the far one after %v, want 80 ms more", row, near, far)
		}
	}
}

// firstAnswers returns the time from the client's first packet to each server to that
// server's first packet.
func firstAnswers(t *testing.T, packets *capture.Packets) map[netip.Addr]time.Duration {
	t.Helper()
	asked, answered := map[netip.Addr]int64{}, map[netip.Addr]time.Duration{}
	for _, r := range packets.Records {
		h, err := capture.Dissect(r.Data)
		if err != nil {
			t.Fatal(err)
		}
		atClient := r.Interface%2 == 0
		if server := h.Flow.Destination.Addr(); atClient && !r.Inbound && asked[server] == 0 {
			asked[server] = r.Time
		}
		if server := h.Flow.Source.Addr(); atClient && r.Inbound && answered[server] == 0 {
			answered[server] = time.Duration(r.Time - asked[server])
		}
	}
	return answered
}

// TestServerThatTakesForEver checks over every protocol that a load ends with its timeout
// and does not affect the next one.
func TestServerThatTakesForEver(t *testing.T) {
	const limit = 3 * time.Second
	never, atOnce := recorded(t, "never", math.MaxFloat64), recorded(t, "at-once", 0)
	b := Batch{Station: stationConfig(1)}
	for _, row := range protocol.Names() {
		for _, s := range []*site.Site{never, atOnce} {
			o := builtinOrder(row, "cold", oneLink(network.Link{Delay: 10 * time.Millisecond}), 1)
			o.ServerWait, o.Timeout = true, limit
			b.Loads = append(b.Loads, Load{ID: s.Name + name(row), Site: s.Name, Order: o})
		}
	}
	loads := run(t, recordedHost(t, never, atOnce), machine(1), b)
	for _, row := range protocol.Names() {
		r := loads[never.Name+name(row)].record.(*pageload.Record)
		if r.LoadError == nil || !strings.Contains(r.LoadError.Error(), "the page had not loaded after 3s, the study's timeout") {
			t.Errorf("%s: the load ended with %v", row, r.LoadError)
		}
		if after := loads[atOnce.Name+name(row)].record.(*pageload.Record); after.LoadError != nil || len(after.Server) != 2 {
			t.Errorf("%s: the next load ended with %v, the server's log is %+v", row, after.LoadError, after.Server)
		}
	}
}
