package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"wiretime/english"
	"wiretime/site"
	"wiretime/site/outline"
	"wiretime/terminal"
)

func siteListCommand() *cobra.Command {
	long := false
	c := &cobra.Command{
		Use: "list", Short: "List the sites, built-in and added", Args: arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			library, err := site.DefaultLibrary()
			if err != nil {
				return err
			}
			names, err := library.List()
			if err != nil {
				return err
			}
			if long {
				return listLong(c.Context(), stdout, library, names)
			}
			for _, n := range names {
				fmt.Fprintln(stdout, terminal.Line(n))
			}
			return nil
		},
	}
	c.Flags().BoolVar(&long, "long", false, "show resources, hosts, size and title; opens each site, which may download the files of a built-in one")
	return c
}

func listLong(ctx context.Context, out io.Writer, library site.Library, names []string) error {
	w := terminal.NewTable(out)
	fmt.Fprintln(w, "site\tresources\thosts\tkB\t")
	for _, name := range names {
		s, err := library.Open(ctx, name)
		if err != nil {
			fmt.Fprintf(w, "%s\t-\t-\t-\t%s\n", terminal.Line(name), terminal.Line(err.Error()))
			continue
		}
		octets := int64(0)
		for i := range s.Resources {
			octets += s.Resources[i].Size
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%.2f\t%s\n", terminal.Line(name), len(s.Resources), len(s.Origins()), float64(octets)/1000, terminal.Line(s.Title))
		if err := s.Close(); err != nil {
			return err
		}
	}
	return w.Flush()
}

func siteShowCommand() *cobra.Command {
	all := false
	c := &cobra.Command{
		Use: "show SITE", Short: "Show what a site consists of", Args: arguments(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := openSite(c.Context(), args[0])
			if err != nil {
				return err
			}
			defer s.Close()
			return showSite(stdout, s, all)
		},
	}
	c.Flags().BoolVar(&all, "resources", false, "list all resources")
	return c
}

// openSite opens a site of the user's library.
func openSite(ctx context.Context, reference string) (*site.Site, error) {
	library, err := site.DefaultLibrary()
	if err != nil {
		return nil, err
	}
	s, err := library.Open(ctx, reference)
	return s, input(err)
}

func showSite(out io.Writer, s *site.Site, all bool) error {
	o, err := outline.Of(s)
	if err != nil {
		return fmt.Errorf("describe the site %s: %w", s.Name, err)
	}
	w := terminal.NewTable(out)
	about := func(name, format string, values ...any) {
		fmt.Fprintf(w, "%s\t%s\n", name, terminal.Line(fmt.Sprintf(format, values...)))
	}
	about("site", "%s", s.Name)
	if s.Title != "" && s.Title != s.Name {
		about("title", "%s", s.Title)
	}
	if s.Source != "" {
		about("source", "%s", s.Source)
	}
	if !s.Recorded.IsZero() {
		about("recorded", "%s", s.Recorded.UTC().Format("2006-01-02 15:04:05 MST"))
	}
	about("page", "%s", s.Page)
	for _, page := range s.Journey {
		about("then", "%s", page)
	}
	for _, page := range s.Tabs {
		about("beside it", "%s", page)
	}
	about("resources", "%d, %.2f kB, on %s", o.Resources, float64(o.Octets)/1000, english.Count(len(o.Hosts), "host"))
	if o.Redirects > 0 {
		about("redirects", "%d", o.Redirects)
	}
	if o.Made > 0 {
		about("generated bodies", "%d, because the recording had none", o.Made)
	}
	about("depth", "%d: %s", o.Depth, strings.Join(o.Deepest, " > "))

	showSums(w, o)
	if all {
		showResources(w, s)
	}
	if problems := s.Problems(); len(problems) > 0 {
		fmt.Fprintf(w, "\nProblems:\n")
		for _, p := range problems {
			fmt.Fprintf(w, "  %s\n", terminal.Line(p))
		}
	}
	return w.Flush()
}

// showSums prints the sums for each type and host.
func showSums(w io.Writer, o outline.Outline) {
	fmt.Fprintf(w, "\ntype\tresources\tkB\n")
	for _, t := range o.Types {
		fmt.Fprintf(w, "%s\t%d\t%.2f\n", terminal.Line(t.Name), t.Resources, float64(t.Octets)/1000)
	}
	fmt.Fprintf(w, "\nhost\tresources\tkB\trecorded at\tRTT, ms\n")
	for _, h := range o.Hosts {
		rtt := "-"
		if h.RTT > 0 {
			rtt = fmt.Sprintf("%.1f", h.RTT)
		}
		fmt.Fprintf(w, "%s\t%d\t%.2f\t%s\t%s\n", terminal.Line(h.Name), h.Resources, float64(h.Octets)/1000, orDash(h.Address), rtt)
	}
}

func showResources(w io.Writer, s *site.Site) {
	fmt.Fprintf(w, "\nmethod\tstatus\toctets\twait, ms\ttype\tURL\tinitiator\n")
	for i := range s.Resources {
		r := &s.Resources[i]
		wait := "-"
		if r.Wait > 0 {
			wait = fmt.Sprintf("%.0f", r.Wait)
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\t%s\t%s\n", terminal.Line(r.Method), r.Status, r.Size, wait, orDash(outline.MediaType(r)), terminal.Line(r.URL), terminal.Line(r.Initiator))
	}
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return terminal.Line(s)
}
