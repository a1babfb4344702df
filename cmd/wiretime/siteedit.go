package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wiretime/site"
)

type editOptions struct {
	as, title, page       string
	rename, drop, waits   []string
	preload, early, push  string
	dropHints, replaceOld bool
}

func siteEditCommand() *cobra.Command {
	var o editOptions
	c := &cobra.Command{
		Use: "edit SITE", Short: "Change a site, or make a changed copy of it",
		Long: `Edit changes a site of the library or, with --as, makes a changed copy. Built-in
sites can only be copied. Two copies of a site that differ in one thing show what it
does, in one study:

    wiretime site edit magazine --as magazine-early --early stylesheet,script,font
    wiretime site edit shop --as shop-without-ads --drop 'ads.example.com/*'
    wiretime site edit shop --wait 'www.example.com/search*=300ms'

PATTERN is a host, or a host and a path, without scheme, with * for any text.
RULE is what each document tells clients of before they ask: kinds of resources
(stylesheet, script, font, image, fetch), and how many at most, as in
stylesheet,script:10; "all" means all kinds.`,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error { return editSite(c.Context(), args[0], o) },
	}
	f := c.Flags()
	f.StringVar(&o.as, "as", "", "name of a copy; the site itself stays as it is")
	f.BoolVar(&o.replaceOld, "replace", false, "with --as: put the copy in the place of a site of its name")
	f.StringVar(&o.title, "title", "", "another title")
	f.StringVar(&o.page, "page", "", "URL of another page to navigate to")
	f.StringArrayVar(&o.rename, "rename-host", nil, "`A=B`: give the host A the name B, in URLs and bodies")
	f.StringArrayVar(&o.drop, "drop", nil, "`PATTERN`: take out the resources that it fits")
	f.StringArrayVar(&o.waits, "wait", nil, "`PATTERN=TIME`: how long the server takes to begin the answer, such as 200ms")
	f.StringVar(&o.preload, "preload", "", "`RULE`: in Link fields of the document")
	f.StringVar(&o.early, "early", "", "`RULE`: the same in 103 Early Hints as well")
	f.StringVar(&o.push, "push", "", "`RULE`: by sending them unasked, where the protocol can")
	f.BoolVar(&o.dropHints, "no-hints", false, "without what documents tell clients of")
	return c
}

func editSite(ctx context.Context, reference string, o editOptions) (err error) {
	s, err := openSite(ctx, reference)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	edited, err := o.apply(s)
	if err != nil {
		return input(err)
	}
	return keepSite(edited, o.as == "" || o.replaceOld)
}

// apply makes the site that the flags describe.
func (o editOptions) apply(s *site.Site) (*site.Site, error) {
	s, err := renameHosts(s, o.rename)
	if err != nil {
		return nil, err
	}
	if s, err = s.Edit(o.change); err != nil {
		return nil, err
	}
	for _, hint := range []struct{ do, rule string }{{"preload", o.preload}, {"early", o.early}, {"push", o.push}} {
		if hint.rule == "" {
			continue
		}
		rule, err := parseRule(hint.do, hint.rule)
		if err == nil {
			s, err = s.Hint(rule)
		}
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", hint.do, err)
		}
	}
	return s, nil
}

// renameHosts gives hosts other names, by flags such as www.facebook.com=www.face.test.
func renameHosts(s *site.Site, pairs []string) (*site.Site, error) {
	for _, pair := range pairs {
		from, to, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("--rename-host %q: want OLD=NEW, as in www.facebook.com=www.face.test", pair)
		}
		var err error
		if s, err = s.RenameHost(from, to); err != nil {
			return nil, fmt.Errorf("--rename-host: %w", err)
		}
	}
	return s, nil
}

func (o editOptions) change(s *site.Site) error {
	if o.as != "" {
		s.Name = o.as
	}
	if o.title != "" {
		s.Title = o.title
	}
	if o.page != "" {
		s.Page = o.page
	}
	for _, pattern := range o.drop {
		before := len(s.Resources)
		s.Resources = slices.DeleteFunc(s.Resources, func(r site.Resource) bool { return fits(pattern, r.URL) })
		if len(s.Resources) == before {
			return fmt.Errorf("--drop: no resource fits %q", pattern)
		}
	}
	for _, pair := range o.waits {
		if err := setWait(s, pair); err != nil {
			return fmt.Errorf("--wait: %w", err)
		}
	}
	for i := range s.Resources {
		if r := &s.Resources[i]; o.dropHints {
			r.Preload, r.Early, r.Push = nil, false, nil
		}
	}
	return nil
}

func setWait(s *site.Site, pair string) error {
	at := strings.LastIndex(pair, "=") // a query may hold others
	if at < 0 {
		return fmt.Errorf("%q: want PATTERN=TIME, as in www.example.com/*=200ms", pair)
	}
	wait, err := time.ParseDuration(pair[at+1:])
	if err != nil || wait < 0 {
		return fmt.Errorf("%q: %q is no time such as 200ms", pair, pair[at+1:])
	}
	fitted := false
	for i := range s.Resources {
		if r := &s.Resources[i]; fits(pair[:at], r.URL) {
			r.Wait = float64(wait) / 1e6
			fitted = true
		}
	}
	if !fitted {
		return fmt.Errorf("no resource fits %q", pair[:at])
	}
	return nil
}

// fits says whether a pattern means a URL.
func fits(pattern, address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	if !strings.Contains(pattern, "/") {
		ok, err := path.Match(pattern, u.Host)
		return err == nil && ok
	}
	return glob(pattern, strings.TrimPrefix(address, "https://"))
}

// glob matches a text with a pattern whose * stands for any text.
func glob(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if !strings.HasPrefix(text, parts[0]) {
		return false
	}
	text = text[len(parts[0]):]
	for i, part := range parts[1:] {
		if i == len(parts)-2 {
			return strings.HasSuffix(text, part)
		}
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return text == ""
}

// parseRule reads KINDS or KINDS:N.
func parseRule(do, text string) (site.Rule, error) {
	kinds, first, limited := strings.Cut(text, ":")
	rule := site.Rule{Do: do}
	if kinds != "all" {
		rule.Kinds = strings.Split(kinds, ",")
	}
	if limited {
		n, err := strconv.Atoi(first)
		if err != nil || n < 1 {
			return rule, fmt.Errorf("%q: after the colon comes how many at most, 1 or more", text)
		}
		rule.First = n
	}
	for _, kind := range rule.Kinds {
		if !slices.Contains([]string{"stylesheet", "script", "font", "image", "fetch", "xhr", "texttrack"}, kind) {
			return rule, fmt.Errorf("%q: %q is none of stylesheet, script, font, image, fetch, xhr, texttrack, all", text, kind)
		}
	}
	return rule, nil
}
