package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"wiretime/loader/browser"
	"wiretime/loader/chromium"
	"wiretime/sandbox"
	"wiretime/scratch"
	"wiretime/site"
	"wiretime/site/record"
	"wiretime/site/recording"
)

type recordOptions struct {
	name, script, chromium string
	hostRules, spki        string
	limit, quiet           time.Duration
	maxRequests            int
	maxSize                int64
	replace, all, diff     bool
	uncontained, journey   bool
}

func siteRecordCommand() *cobra.Command {
	o := recordOptions{maxSize: record.DefaultMaxSize}
	c := &cobra.Command{
		Use: "record URL | record --diff SITE SITE", Short: "Record a page with Chromium, over this machine's own network",
		Long: `Record loads a page in Chromium, over this machine's own network, and keeps it as a
site with all its resources: responses, redirects, initiators, addresses, and the
times of connecting and waiting. Values of cookies are blanked.

The page may be a stranger's: the browser that loads it can write to its own folder only,
and has a user of its own if this is root.

A script has the steps to take after the page has loaded, one per line:

    wait 2s              wait
    scroll 2000          scroll down by this number of CSS pixels; or: scroll bottom
    click SELECTOR       click on the element of a CSS selector; click? if it exists
    eval JAVASCRIPT      run a script and wait for its promise
    # a comment

--diff shows how two recordings differ.`,
		Args: func(_ *cobra.Command, args []string) error {
			if want := map[bool]int{true: 2, false: 1}[o.diff]; len(args) != want {
				return input(fmt.Errorf("want one URL to record, or two sites with --diff; got %d arguments", len(args)))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if o.diff {
				return diffSites(c.Context(), args[0], args[1])
			}
			return recordSite(c.Context(), args[0], o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.name, "name", "", "name of the site (default: derived from the host's name)")
	f.StringVar(&o.script, "script", "", "file with the steps to take after the page has loaded")
	f.BoolVar(&o.journey, "journey", false, "keep the clicks and scrolls of the script as the site's journey, which loads carry out")
	f.StringVar(&o.chromium, "chromium", "", "Chromium's binary (default: the first one found)")
	f.StringVar(&o.hostRules, "host-rules", "", "addresses of hosts, as Chromium's --host-resolver-rules; 'wiretime site serve' prints them")
	f.StringVar(&o.spki, "spki", "", "hash of the key to trust, as Chromium's --ignore-certificate-errors-spki-list; 'wiretime site serve' prints it")
	f.DurationVar(&o.limit, "limit", 2*time.Minute, "limit of the whole recording")
	f.DurationVar(&o.quiet, "quiet", time.Second, "the recording ends after this time without requests")
	f.IntVar(&o.maxRequests, "max-requests", browser.MaxRequests, "the recording ends after this number of requests")
	f.Var((*octets)(&o.maxSize), "max-size", "the recording ends after this number of octets of bodies")
	f.BoolVar(&o.replace, "replace", false, "replace an existing site of the same name")
	f.BoolVar(&o.all, "all-repairs", false, "list all repairs instead of the first 20")
	f.BoolVar(&o.uncontained, "uncontained", false, "as root, load the page even if nothing keeps the browser from this machine ('wiretime doctor' says what does)")
	f.BoolVar(&o.diff, "diff", false, "compare two sites instead of recording one")
	return c
}

func recordSite(ctx context.Context, address string, o recordOptions) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return input(fmt.Errorf("record %q: want a URL such as https://www.example.org/", address))
	}
	if o.name == "" {
		o.name = site.NameFrom(u.Hostname())
	}
	options := record.Options{URL: address, Limit: o.limit, Quiet: o.quiet, MaxRequests: o.maxRequests, MaxSize: o.maxSize, HostRules: o.hostRules, SPKIHash: o.spki, Journey: o.journey,
		Progress: func(line string) { fmt.Fprintln(stderr, line) }}
	if o.script != "" {
		text, err := os.ReadFile(o.script)
		if err != nil {
			return input(err)
		}
		if options.Script, err = record.ParseScript(o.script, text); err != nil {
			return input(err)
		}
	}
	contained := sandbox.Examine()
	if err := contained.Suffices(os.Geteuid() == 0); err != nil && !o.uncontained {
		return fmt.Errorf("record %s: %w, or allow it with --uncontained", address, err)
	}
	fmt.Fprintln(stderr, "The browser is contained:", contained)
	if options.Chromium, err = chromium.Find(o.chromium); err != nil {
		return err
	}
	folder, err := scratch.Make(sandbox.TempDir(), "wiretime-record-")
	if err != nil {
		return err
	}
	defer folder.Remove()
	if err := os.Chmod(folder.Path, 0o711); err != nil { // the browser may have a user of its own
		return err
	}
	options.Folder = filepath.Join(folder.Path, "profile")
	if err := os.Mkdir(options.Folder, 0o700); err != nil {
		return err
	}
	r, err := record.Record(ctx, options)
	if err != nil {
		return err
	}
	s, repairs, err := r.Site(o.name, recording.Options{})
	if err != nil {
		return fmt.Errorf("turn the recording into a site: %w", err)
	}
	printRepairs(stderr, repairs, o.all)
	return keepSite(s, o.replace)
}

func diffSites(ctx context.Context, first, second string) (err error) {
	var both [2]*site.Site
	for i, reference := range []string{first, second} {
		if both[i], err = openSite(ctx, reference); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, both[i].Close()) }()
	}
	_, err = fmt.Fprint(stdout, record.Diff(both[0], both[1]))
	return err
}
