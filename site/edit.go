package site

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"wiretime/coding"
)

// Content returns a resource's body with its content codings undone. It fails if a coding
// is unknown or the body is damaged.
func (s *Site) Content(r *Resource) ([]byte, error) {
	body, err := s.Body(r)
	if err != nil {
		return nil, err
	}
	codings, ok := r.codings()
	if !ok {
		return nil, fmt.Errorf("decode the body of %s: unsupported content coding: want gzip, br or zstd", r.URL)
	}
	content, err := coding.Decode(body, codings, maxDecoded)
	if err != nil {
		return nil, fmt.Errorf("decode the body of %s: %w", r.URL, err)
	}
	return content, nil
}

// Edit makes a changed copy of the site, which shares its bodies. change may add and remove
// resources, but not replace their bodies. Edit returns the error of change, or one that
// says what in the result cannot be served.
func (s *Site) Edit(change func(*Site) error) (*Site, error) {
	edited := s.derive()
	err := change(edited)
	if err == nil {
		err = edited.build()
	}
	if err != nil {
		return nil, fmt.Errorf("edit the site %s: %w", s.Name, err)
	}
	return edited, nil
}

// RenameHost makes a copy of the site in which a host has another name: in URLs, in
// response fields, and in the text of bodies wherever the name is not part of a longer one.
// It is an error if the site does not have the old name or already has the new one.
func (s *Site) RenameHost(from, to string) (*Site, error) {
	hosts := s.Origins()
	if !slices.Contains(hosts, from) {
		return nil, fmt.Errorf("rename the host %s of site %s: no such host; the site has %s", from, s.Name, strings.Join(hosts, ", "))
	}
	if slices.Contains(hosts, to) {
		return nil, fmt.Errorf("rename the host %s of site %s: %s is another of its hosts", from, s.Name, to)
	}
	if err := checkHost(to); err != nil {
		return nil, fmt.Errorf("rename the host %s of site %s: %w", from, s.Name, err)
	}
	return s.rename(func(text []byte) []byte { return replaceName(text, from, to, false) })
}

// rename makes a copy of the site and applies change wherever a host's name may occur.
func (s *Site) rename(change func(text []byte) []byte) (*Site, error) {
	return s.Edit(func(c *Site) error {
		c.bodies = maps.Clone(s.bodies)
		text := func(text string) string { return string(change([]byte(text))) }
		c.Page = text(c.Page)
		c.Journey, c.Tabs = each(c.Journey, text), each(c.Tabs, text)
		c.Hosts = slices.Clone(c.Hosts)
		for i := range c.Hosts {
			c.Hosts[i].Name = text(c.Hosts[i].Name)
		}
		changed := map[string]string{}
		work := newRewriter(change, changed)
		for i := range c.Resources {
			r := &c.Resources[i]
			r.URL, r.Initiator = text(r.URL), text(r.Initiator)
			r.Preload, r.Push = each(r.Preload, text), each(r.Push, text)
			r.Header = slices.Clone(r.Header)
			for k := range r.Header {
				r.Header[k].Value = text(r.Header[k].Value)
			}
			if err := c.rewrite(r, work); err != nil {
				return err
			}
		}
		sums := newRewriter(func(body []byte) []byte { return replaceSums(body, changed) }, nil)
		for i := range c.Resources {
			if err := c.rewrite(&c.Resources[i], sums); err != nil {
				return err
			}
		}
		return nil
	})
}

func each(list []string, change func(string) string) []string {
	list = slices.Clone(list)
	for i := range list {
		list[i] = change(list[i])
	}
	return list
}

// replaceName replaces a host's name, in lower case, except inside longer names. If domain
// is set it also replaces the name in those of its subdomains.
func replaceName(text []byte, from, to string, domain bool) []byte {
	var b bytes.Buffer
	for {
		at := bytes.Index(text, []byte(from))
		if at < 0 {
			break
		}
		end := at + len(from)
		longer := at > 0 && isHostOctet(text[at-1]) && !(domain && text[at-1] == '.') || end < len(text) && isHostOctet(text[end]) && text[end] != '.' ||
			end+1 < len(text) && text[end] == '.' && isHostOctet(text[end+1])
		b.Write(text[:at])
		if longer {
			b.WriteString(from)
		} else {
			b.WriteString(to)
		}
		text = text[end:]
	}
	if b.Len() == 0 {
		return text
	}
	b.Write(text)
	return b.Bytes()
}
