package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"wiretime/english"
	"wiretime/site"
)

func siteCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "site", Short: "Keep the pages that are measured",
		Long: `A site is a page with everything it needs, ready to be served alike over every
protocol. Sites are built in, or kept in a library: $XDG_DATA_HOME/wiretime/sites,
by default ~/.local/share/wiretime/sites. docs/sites.md tells more.`,
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
	c.Flags().StringVar(&o.Name, "name", "", "the site's name (default: the folder's)")
	c.Flags().StringVar(&o.Host, "host", "", "the host that serves it (default: www.NAME.test)")
	return c
}

// printAdded says what is in the library now.
func printAdded(s *site.Site) error {
	_, err := fmt.Printf("Added site %s: %s of %s. Its page is %s\n", s.Name, english.Count(len(s.Resources), "resource"), english.Count(len(s.Origins()), "origin"), s.Page)
	return err
}

// keepSite puts a site into the library, in the place of one of its name if that is
// wanted.
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
