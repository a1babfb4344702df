package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"wiretime/site/importer"
	"wiretime/site/recording"
	"wiretime/terminal"
)

// importOptions are the flags of site import.
type importOptions struct {
	name, format, page string
	rename             []string
	replace, all       bool
	limits             recording.Limits
}

func siteImportCommand() *cobra.Command {
	var o importOptions
	c := &cobra.Command{
		Use: "import FILE|DIR", Short: "Import a page that another tool has recorded or saved",
		Long: `Import makes a site of

  har       a HAR file; missing bodies are replaced by generated ones of the recorded
            size and type, which request what the recorded ones requested
  warc      a WARC file, .warc or .warc.gz
  mahimahi  a folder written by mahimahi's mm-webrecord
  saved     a page saved by a browser: X.html beside its folder X_files, or .mhtml
  urls      a list of URLs, one per line

The format is detected from the content. Import lists what it repaired or left out,
and blanks the values of cookies. The limits keep a small file from taking all memory:
docs/sites.md has the table.`,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error { return importSite(args[0], o) },
	}
	f := c.Flags()
	f.StringVar(&o.name, "name", "", "name of the site (default: derived from the file's name)")
	f.StringVar(&o.format, "format", "", "one of "+strings.Join(importer.Formats(), ", ")+" (default: detected)")
	f.StringVar(&o.page, "page", "", "page to import: its id or number in a HAR with several pages, its URL in other formats")
	f.StringArrayVar(&o.rename, "rename-host", nil, "`A=B`: give the host A the name B, in URLs and bodies")
	f.BoolVar(&o.replace, "replace", false, "replace an existing site of the same name")
	f.BoolVar(&o.all, "all-repairs", false, "list all repairs instead of the first 20")
	addLimits(c, &o.limits)
	return c
}

func importSite(name string, o importOptions) error {
	if o.name == "" {
		o.name = importer.SiteName(name)
	}
	format := o.format
	if format == "" {
		var err error
		if format, err = importer.Detect(name); err != nil {
			return input(fmt.Errorf("import %s: %w", name, err))
		}
	}
	r, err := importer.Read(name, importer.Options{Format: format, SiteName: o.name, Page: o.page, Limits: o.limits})
	if err != nil {
		return input(fmt.Errorf("import: %w", err))
	}
	s, repairs, err := r.Site(o.name, recording.Options{Limits: o.limits})
	if err != nil {
		return input(fmt.Errorf("import: %w", err))
	}
	printRepairs(stderr, repairs, o.all)
	if s, err = renameHosts(s, o.rename); err != nil {
		return input(err)
	}
	return keepSite(s, o.replace)
}

// shownRepairs limits how many repairs are listed without --all-repairs.
const shownRepairs = 20

func printRepairs(out io.Writer, repairs []recording.Repair, all bool) {
	if len(repairs) == 0 {
		return
	}
	fmt.Fprintf(out, "Repaired or left out: %d\n", len(repairs))
	for i, r := range repairs {
		if i == shownRepairs && !all {
			fmt.Fprintf(out, "  and %d more, which --all-repairs lists\n", len(repairs)-i)
			break
		}
		line := r.What
		if r.Where != "" {
			line = r.Where + ": " + line
		}
		fmt.Fprintf(out, "  %s\n", terminal.Line(line))
	}
}
