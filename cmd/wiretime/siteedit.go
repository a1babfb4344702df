package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wiretime/site"
)

type editOptions struct {
	as, title, page       string
	rename, drop, waits   []string
	changes               []string
	preload, early, push  string
	dropHints, replaceOld bool
}

func siteEditCommand() *cobra.Command {
	var o editOptions
	c := &cobra.Command{
		Use: "edit SITE", Short: "Change a site, or make a changed copy of it",
		Long: `Edit changes a site of the library or, with --as, makes a changed copy. Built-in
sites can only be copied. A study of two copies that differ in one thing shows the
effect of that thing:

    wiretime site edit magazine --as magazine-early --early stylesheet,script,font
    wiretime site edit shop --as shop-without-ads --drop 'ads.example.com/*'
    wiretime site edit shop --wait 'www.example.com/search*=300ms'

PATTERN is a host, or a host and a path, without scheme; * stands for any text.
RULE says which resources each document announces before clients request them: kinds
(stylesheet, script, font, image, fetch, xhr, texttrack) and a limit, as in
stylesheet,script:10; "all" means all kinds.`,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error { return editSite(c.Context(), args[0], o) },
	}
	f := c.Flags()
	f.StringVar(&o.as, "as", "", "name of a copy; the site itself stays unchanged")
	f.BoolVar(&o.replaceOld, "replace", false, "with --as: replace an existing site of that name")
	f.StringVar(&o.title, "title", "", "new title")
	f.StringVar(&o.page, "page", "", "URL of the page to navigate to")
	f.StringArrayVar(&o.rename, "rename-host", nil, "`A=B`: give the host A the name B, in URLs and bodies")
	f.StringArrayVar(&o.drop, "drop", nil, "`PATTERN`: remove the resources that it matches")
	f.StringArrayVar(&o.waits, "wait", nil, "`PATTERN=TIME`: how long the server waits before it answers, such as 200ms")
	f.StringVar(&o.preload, "preload", "", "`RULE`: announce resources in Link fields of the document")
	f.StringVar(&o.early, "early", "", "`RULE`: the same, and also in 103 Early Hints")
	f.StringVar(&o.push, "push", "", "`RULE`: push resources if the protocol can")
	f.StringArrayVar(&o.changes, "change", nil, "`NAME`: one-host (the page's host takes over the hosts beside it), gzip (compresses texts that are not), or preload-fonts")
	f.BoolVar(&o.dropHints, "no-hints", false, "remove all hints of the documents")
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

// apply returns the site that the flags describe.
func (o editOptions) apply(s *site.Site) (*site.Site, error) {
	s, err := renameHosts(s, o.rename)
	if err != nil {
		return nil, err
	}
	if s, err = s.Edit(o.change); err != nil {
		return nil, err
	}
	for _, name := range o.changes {
		if s, _, err = s.Change(name); err != nil {
			return nil, fmt.Errorf("--change: %w", err)
		}
	}
	for _, hint := range []struct{ do, rule string }{{"preload", o.preload}, {"early", o.early}, {"push", o.push}} {
		if hint.rule == "" {
			continue
		}
		rule, err := site.ParseRule(hint.do, hint.rule)
		if err == nil {
			s, err = s.Hint(rule)
		}
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", hint.do, err)
		}
	}
	return s, nil
}

// renameHosts renames hosts by values of --rename-host, such as www.facebook.com=www.face.test.
func renameHosts(s *site.Site, pairs []string) (*site.Site, error) {
	for _, pair := range pairs {
		from, to, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("--rename-host: invalid value %q: want OLD=NEW, such as www.facebook.com=www.face.test", pair)
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
		if err := s.Drop(pattern); err != nil {
			return fmt.Errorf("--drop: %w", err)
		}
	}
	for _, pair := range o.waits {
		pattern, wait, err := parseWait(pair)
		if err == nil {
			err = s.SetWait(pattern, wait)
		}
		if err != nil {
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

// parseWait parses PATTERN=TIME. The pattern may contain further equals signs, as in a query.
func parseWait(pair string) (pattern string, wait time.Duration, err error) {
	at := strings.LastIndex(pair, "=")
	if at < 0 {
		return "", 0, fmt.Errorf("invalid value %q: want PATTERN=TIME, such as www.example.com/*=200ms", pair)
	}
	wait, err = time.ParseDuration(pair[at+1:])
	if err != nil || wait < 0 {
		return "", 0, fmt.Errorf("invalid time %q in %q: want a value such as 200ms", pair[at+1:], pair)
	}
	return pair[:at], wait, nil
}
