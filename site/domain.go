package site

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// RenameDomain makes a copy of the site in which the registered domain of host has another
// name of the same length, under a top-level domain that does not exist: www.shop.com
// becomes www.shop.zzz, and all other hosts of shop.com move to shop.zzz too. Hosts of one
// domain stay hosts of one domain, so browsers treat their cookies and connections as
// before, and messages keep their length except for how well they compress. Names are
// replaced as by [Site.RenameHost], and also in names of subdomains that the site does not
// have. It is an error if the site does not have the host.
func (s *Site) RenameDomain(host string) (*Site, error) {
	hosts := s.Origins()
	if !slices.Contains(hosts, host) {
		return nil, fmt.Errorf("rename the domain of %s: site %s has no host of that name", host, s.Name)
	}
	from, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		from = host // a registry's own name has no registered domain
	}
	to, err := unregistered(from, hosts)
	if err != nil {
		return nil, fmt.Errorf("rename the domain of %s in site %s: %w", host, s.Name, err)
	}
	c, err := s.rename(func(text []byte) []byte { return replaceName(text, from, to, true) })
	if err != nil {
		return nil, err
	}
	c.renamed = maps.Clone(s.renamed)
	if c.renamed == nil {
		c.renamed = map[string]string{}
	}
	c.renamed[from] = to
	return c, nil
}

// Renamed returns the names that [Site.RenameDomain] gave to domains, by their old names.
// It is empty if no domain was renamed.
func (s *Site) Renamed() map[string]string { return s.renamed }

// ReplaceDomain replaces a domain's name in a text as [Site.RenameDomain] does.
func ReplaceDomain(text, from, to string) string {
	return string(replaceName([]byte(text), from, to, true))
}

// unregistered returns a domain name of the same length as domain, under a top-level domain
// that does not exist and different from all hosts. A registry's suffix of several labels,
// such as co.uk, becomes part of the one domain.
func unregistered(domain string, hosts []string) (string, error) {
	dot := strings.LastIndexByte(domain, '.')
	if dot <= 0 {
		return "", fmt.Errorf("%q has no top-level domain", domain)
	}
	name := strings.ReplaceAll(domain[:dot], ".", "-")
	top := len(domain) - dot - 1
	for last := 'z'; last >= 'a'; last-- {
		to := name + "." + strings.Repeat("z", top-1) + string(last)
		taken := func(h string) bool { return h == to || strings.HasSuffix(h, "."+to) }
		if to != domain && !slices.ContainsFunc(hosts, taken) {
			return to, nil
		}
	}
	return "", fmt.Errorf("all names like %s are taken", domain)
}
