package site

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"wiretime/coding"
)

// Content is a resource's body without its content codings. What they cannot be undone of
// is an error.
func (s *Site) Content(r *Resource) ([]byte, error) {
	body, err := s.Body(r)
	if err != nil {
		return nil, err
	}
	codings, ok := r.codings()
	if !ok {
		return nil, fmt.Errorf("decode the body of %s: it has a content coding other than gzip, br and zstd", r.URL)
	}
	content, err := coding.Decode(body, codings, maxDecoded)
	if err != nil {
		return nil, fmt.Errorf("decode the body of %s: %w", r.URL, err)
	}
	return content, nil
}

// Edit makes a changed copy of the site, which shares its bodies. change may add to and
// take from the resources, but not give them other bodies. An error is its own, or says
// what of the result cannot be served.
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

// RenameHost makes a copy of the site in which a host has another name: in URLs, in the
// fields of responses, and in the text of bodies, wherever the name stands by itself. A
// name that the site does not have, or has already, is an error.
func (s *Site) RenameHost(from, to string) (*Site, error) {
	hosts := s.Origins()
	if !slices.Contains(hosts, from) {
		return nil, fmt.Errorf("rename the host %s of site %s: it has none of that name; there are %s", from, s.Name, strings.Join(hosts, ", "))
	}
	if slices.Contains(hosts, to) {
		return nil, fmt.Errorf("rename the host %s of site %s: %s is another of its hosts", from, s.Name, to)
	}
	if err := checkHost(to); err != nil {
		return nil, fmt.Errorf("rename the host %s of site %s: %w", from, s.Name, err)
	}
	return s.rename(func(text []byte) []byte { return replaceName(text, from, to, false) })
}

// rename makes a copy of the site in which names of hosts are changed wherever they stand.
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
		for i := range c.Resources {
			r := &c.Resources[i]
			r.URL, r.Initiator = text(r.URL), text(r.Initiator)
			r.Preload, r.Push = each(r.Preload, text), each(r.Push, text)
			r.Header = slices.Clone(r.Header)
			for k := range r.Header {
				r.Header[k].Value = text(r.Header[k].Value)
			}
			if err := c.rewrite(r, change, changed); err != nil {
				return err
			}
		}
		for i := range c.Resources {
			err := c.rewrite(&c.Resources[i], func(body []byte) []byte { return replaceSums(body, changed) }, nil)
			if err != nil {
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

// replaceName replaces a host's name, in lower case, but for where it is a part of a longer
// one. As a domain's, it is replaced in the names of its subdomains too.
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
