package site

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// RenameDomain makes a copy of the site in which the domain that a host was registered in has
// another name, of the same length, which no registry gives out: www.shop.com becomes
// www.shop.zzz, and all other hosts of shop.com get names of shop.zzz. Hosts of one domain so
// stay hosts of one domain, to which browsers give cookies and connections, and nothing that
// is sent gets longer or shorter, but for how well it compresses. Names are replaced as by
// [Site.RenameHost], and in those of subdomains that the site does not have. A host that the
// site does not have is an error.
func (s *Site) RenameDomain(host string) (*Site, error) {
	hosts := s.Origins()
	if !slices.Contains(hosts, host) {
		return nil, fmt.Errorf("rename the domain of %s: site %s has no such host", host, s.Name)
	}
	from, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		from = host // it is under no registry's own name: nobody else has it
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

// Renamed are the names that [Site.RenameDomain] gave to domains, by those they had; empty if
// it gave none.
func (s *Site) Renamed() map[string]string { return s.renamed }

// ReplaceDomain replaces a domain's name in a text, as [Site.RenameDomain] does.
func ReplaceDomain(text, from, to string) string {
	return string(replaceName([]byte(text), from, to, true))
}

// unregistered is a domain's name of the length of another, under a top-level domain that
// does not exist, and unlike those of all hosts. What was below a registry's name of several
// labels, such as co.uk, stays one domain.
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
