package lab

import (
	"math"
	"net/netip"
	"slices"
	"time"

	"wiretime/replay"
	"wiretime/site"
)

// Far is how far away each origin of a site is beyond the nearest one, one-way, by the
// address that it has in a lab: half of what the shortest round trip to its server took
// longer when the site was recorded. Origins of which that is not known are as near as the
// nearest. It is nil if all are equally near.
func Far(s *site.Site) map[netip.Addr]time.Duration {
	known := slices.DeleteFunc(slices.Clone(s.Hosts), func(h site.Host) bool { return h.RTT <= 0 })
	least := math.Inf(1)
	for _, h := range known {
		least = min(least, h.RTT)
	}
	var far map[netip.Addr]time.Duration
	addresses := originAddresses(s.Origins())
	for _, h := range known {
		address, ok := addresses[h.Name]
		if beyond := replay.Duration((h.RTT - least) / 2); ok && beyond > 0 {
			if far == nil {
				far = map[netip.Addr]time.Duration{}
			}
			far[address] = beyond
		}
	}
	return far
}

// over is a site as it is served over a scheme.
func (l *Lab) over(s *site.Site, scheme string) (*site.Site, error) {
	k := servedSite{s, scheme}
	if served := l.served[k]; served != nil {
		return served, nil
	}
	served, err := s.Over(scheme)
	if err == nil {
		l.served[k] = served
	}
	return served, err
}

// servedSite is a site over a scheme.
type servedSite struct {
	site   *site.Site
	scheme string
}
