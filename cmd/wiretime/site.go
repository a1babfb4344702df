package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"wiretime/english"
	"wiretime/site"
)

func siteCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "site", Short: "Manage the pages to measure",
		Long: `A site is a page with all its resources, which can be served over every protocol.
Sites are built in, or kept in a library: $XDG_DATA_HOME/wiretime/sites, by default
~/.local/share/wiretime/sites. docs/sites.md has more.`,
	}
	c.AddCommand(siteListCommand(), siteShowCommand(), siteAddCommand(), siteImportCommand(),
		siteRecordCommand(), siteMakeCommand(), siteEditCommand(), siteCheckCommand(), siteServeCommand())
	return c
}

func siteAddCommand() *cobra.Command {
	var o site.FolderOptions
	c := &cobra.Command{
		Use: "add DIR", Short: "Add a folder with an index.html as a site", Args: arguments(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			library, err := site.DefaultLibrary()
			if err != nil {
				return err
			}
			s, err := library.Add(args[0], o)
			if err != nil {
				return input(err)
			}
			return printAdded(s)
		},
	}
	c.Flags().StringVar(&o.Name, "name", "", "name of the site (default: the folder's name)")
	c.Flags().StringVar(&o.Host, "host", "", "host of the site (default: www.NAME.test)")
	o.MaxSize = 1 << 30
	c.Flags().Var((*octets)(&o.MaxSize), "max-size", "most octets of all files together")
	return c
}

// printAdded prints what was added to the library.
func printAdded(s *site.Site) error {
	_, err := fmt.Fprintf(stdout, "Added site %s: %s on %s. Its page is %s\n", s.Name, english.Count(len(s.Resources), "resource"), english.Count(len(s.Origins()), "origin"), s.Page)
	return err
}

// keepSite puts a site into the library. If replace is true, it may replace a site of the
// same name.
func keepSite(s *site.Site, replace bool) error {
	library, err := site.DefaultLibrary()
	if err != nil {
		return err
	}
	if replace {
		err = library.Replace(s)
	} else {
		err = library.Keep(s)
	}
	if err != nil {
		return input(err)
	}
	return printAdded(s)
}
