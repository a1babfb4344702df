package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"wiretime/site"
)

func siteCommand() *cobra.Command {
	c := &cobra.Command{Use: "site", Short: "Keep the pages that are measured"}
	var o site.FolderOptions
	add := &cobra.Command{
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
			_, err = fmt.Printf("Added site %s: %d resources of %d origins. Its page is %s\n", s.Name, len(s.Resources), len(s.Origins()), s.Page)
			return err
		},
	}
	add.Flags().StringVar(&o.Name, "name", "", "the site's name (default: the folder's)")
	add.Flags().StringVar(&o.Host, "host", "", "the host that serves it (default: www.NAME.test)")
	list := &cobra.Command{
		Use: "list", Short: "List the sites, built-in and added", Args: arguments(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			library, err := site.DefaultLibrary()
			if err != nil {
				return err
			}
			names, err := library.List()
			for _, n := range names {
				fmt.Println(n)
			}
			return err
		},
	}
	c.AddCommand(add, list)
	return c
}
