package site

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"wiretime/coding"
)

// A reference may end with changes, each after a plus sign, as in shop+one-host+gzip.
const (
	ChangeOneHost      = "one-host"      // [Site.OneHost]
	ChangeGzip         = "gzip"          // [Site.Gzip]
	ChangePreloadFonts = "preload-fonts" // [Site.PreloadFonts]
)

// Changes returns the changes that a reference may name.
func Changes() []string { return []string{ChangeOneHost, ChangeGzip, ChangePreloadFonts} }

// Change makes a copy of the site with one of [Changes]. changed is false if there was nothing to
// change. The copy shares bodies with the site, which must not be closed before it.
func (s *Site) Change(name string) (copied *Site, changed bool, err error) {
	n := 0
	switch name {
	case ChangeOneHost:
		copied, n, err = s.OneHost()
	case ChangeGzip:
		copied, n, err = s.Gzip()
	case ChangePreloadFonts:
		copied, n, err = s.PreloadFonts()
	default:
		err = fmt.Errorf("change the site %s: unknown change %q; want one of %s", s.Name, name, strings.Join(Changes(), ", "))
	}
	return copied, n > 0, err
}

// cutChanges splits a reference into that of the site itself and the names of changes.
func cutChanges(ref string) (of string, names []string, err error) {
	of, list, any := strings.Cut(ref, "+")
	if !any {
		return of, nil, nil
	}
	names = strings.Split(list, "+")
	for i, name := range names {
		if !slices.Contains(Changes(), name) {
			return "", nil, fmt.Errorf("site %q: unknown change %q; after + comes one of %s", ref, name, strings.Join(Changes(), ", "))
		}
		if slices.Contains(names[:i], name) {
			return "", nil, fmt.Errorf("site %q: it names the change %s twice", ref, name)
		}
	}
	return of, names, nil
}

// withChanges makes several changes, one after the other. What it returns owns what s owned.
func (s *Site) withChanges(names []string) (*Site, error) {
	c := s
	for _, name := range names {
		var err error
		if c, _, err = c.Change(name); err != nil {
			return nil, err
		}
	}
	if c != s {
		c.pack, s.pack = s.pack, nil
	}
	return c, nil
}

// OneHost makes a copy of the site in which the page's host has also the resources of the other
// hosts of its registered domain, such as img.shop.com beside www.shop.com: it undoes domain
// sharding. merged is the number of hosts that are gone. Hosts of other domains stay, and so
// does a host that has other content under a path that the page's host has too.
func (s *Site) OneHost() (one *Site, merged int, err error) {
	to := host(s.Page)
	domain, err := publicsuffix.EffectiveTLDPlusOne(to)
	if err != nil {
		return s.derive(), 0, nil //nolint:nilerr // a registry's own name has no hosts beside it
	}
	taken := map[string]string{} // bodies by method, path and query
	for i := range s.Resources {
		if r := &s.Resources[i]; host(r.URL) == to {
			taken[place(r)] = r.Body
		}
	}
	var from []string
	for _, h := range s.Origins() {
		if h == to || !strings.HasSuffix(h, "."+domain) && h != domain {
			continue
		}
		if found, free := s.placesOf(h, taken); free {
			from = append(from, h)
			maps.Copy(taken, found)
		}
	}
	if len(from) == 0 {
		return s.derive(), 0, nil
	}
	kept := s.derive()
	kept.Hosts = slices.DeleteFunc(slices.Clone(s.Hosts), func(h Host) bool { return slices.Contains(from, h.Name) })
	seen := map[string]bool{}
	kept.Resources = slices.DeleteFunc(kept.Resources, func(r Resource) bool {
		if h := host(r.URL); h != to && !slices.Contains(from, h) {
			return false
		}
		twice := seen[place(&r)]
		seen[place(&r)] = true
		return twice
	})
	one, err = kept.rename(func(text []byte) []byte {
		for _, h := range from {
			text = replaceName(text, h, to, false)
		}
		return text
	})
	return one, len(from), err
}

// placesOf returns the resources of a host by their places. free says that none of them has a place
// that is taken by another body.
func (s *Site) placesOf(h string, taken map[string]string) (found map[string]string, free bool) {
	found = map[string]string{}
	for i := range s.Resources {
		r := &s.Resources[i]
		if host(r.URL) != h {
			continue
		}
		if body, is := taken[place(r)]; is && body != r.Body {
			return nil, false
		}
		found[place(r)] = r.Body
	}
	return found, true
}

// place returns what identifies a resource among those of its host.
func place(r *Resource) string {
	u, err := url.Parse(r.URL)
	if err != nil {
		return r.Method + " " + r.URL
	}
	return r.Method + " " + u.RequestURI()
}

// Gzip compresses as servers do unless they are told otherwise: texts of gzipLeast octets or more, at
// gzipLevel.
const (
	gzipLeast = 1000
	gzipLevel = 6 // the default of zlib, and of Apache's mod_deflate
)

// Gzip makes a copy of the site in which texts (HTML, CSS, scripts, JSON, SVG) that the site has
// uncompressed are compressed with gzip, where that makes them shorter. compressed is the number
// of resources.
func (s *Site) Gzip() (copied *Site, compressed int, err error) {
	copied, err = s.Edit(func(c *Site) error {
		c.bodies = maps.Clone(s.bodies)
		done := map[string]string{} // hash of the compressed body by that of the body; "" if it is no shorter
		for i := range c.Resources {
			r := &c.Resources[i]
			if _, coded := r.field("content-encoding"); coded || !r.isText() || r.Size < gzipLeast {
				continue
			}
			body, err := c.Body(r)
			if err != nil {
				return err
			}
			hash, ok := done[r.Body]
			if !ok {
				short, err := coding.Encode(body, "gzip", gzipLevel)
				if err != nil {
					return fmt.Errorf("compress %s: %w", r.URL, err)
				}
				if len(short) < len(body) {
					hash = Hash(short)
					c.bodies[hash] = short
				}
				done[r.Body] = hash
			}
			if hash == "" {
				continue
			}
			r.Body, r.Size = hash, int64(len(c.bodies[hash]))
			r.Header = append(slices.Clone(r.Header), Header{"content-encoding", "gzip"}, Header{"vary", "accept-encoding"})
			compressed++
		}
		return nil
	})
	return copied, compressed, err
}

// PreloadFonts makes a copy of the site in which each document announces its fonts in Link fields,
// beside what it announces already. Browsers find a font late: when a style sheet is there and text
// needs it. added is the number of fonts that were not announced.
func (s *Site) PreloadFonts() (copied *Site, added int, err error) {
	hinted, err := s.Hint(Rule{Do: Preload, Kinds: []string{"font"}})
	if err != nil {
		return nil, 0, err
	}
	for i := range hinted.Resources {
		r, before := &hinted.Resources[i], &s.Resources[i]
		fonts := slices.DeleteFunc(r.Preload, func(u string) bool { return slices.Contains(before.Preload, u) })
		added += len(fonts)
		r.Preload, r.Early = slices.Concat(before.Preload, fonts), before.Early
	}
	return hinted, added, nil
}
