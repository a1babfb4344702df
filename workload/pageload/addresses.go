package pageload

import (
	"math"
	"net/netip"
	"slices"
	"time"

	"wiretime/lab"
	"wiretime/replay"
	"wiretime/site"
)

// Far returns the one-way delay of each origin of a site beyond that of the nearest one, by
// the origin's address in a lab: half the difference between their shortest round trips when
// the site was recorded. An origin whose round trip is unknown counts as near. The result is
// nil if all are equally near.
func Far(s *site.Site) map[netip.Addr]time.Duration {
	known := slices.DeleteFunc(slices.Clone(s.Hosts), func(h site.Host) bool { return h.RTT <= 0 })
	least := math.Inf(1)
	for _, h := range known {
		least = min(least, h.RTT)
	}
	var far map[netip.Addr]time.Duration
	all := addresses(s.Origins())
	for _, h := range known {
		address, ok := all[h.Name]
		if beyond := replay.Duration((h.RTT - least) / 2); ok && beyond > 0 {
			if far == nil {
				far = map[netip.Addr]time.Duration{}
			}
			far[address] = beyond
		}
	}
	return far
}

// addresses gives each host an address of its own.
func addresses(hosts []string) map[string]netip.Addr {
	all := make(map[string]netip.Addr, len(hosts))
	for i, h := range hosts {
		all[h] = lab.ServerAddress(i)
	}
	return all
}
