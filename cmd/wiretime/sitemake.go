package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"wiretime/site"
)

func siteMakeCommand() *cobra.Command {
	spec := site.DefaultSpec()
	size, sizes, replace := "", string(spec.Sizes), false
	c := &cobra.Command{
		Use: "make NAME", Short: "Make a page to a specification",
		Long: `Make makes a page of so many objects, on so many hosts, with so many octets, to the
octet, and keeps it as a site. The same flags make the same page, wherever they are
given. Studies can also name such a page without making it first: page@52x17x1592.43kB
has 52 objects on 17 hosts.`,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			spec.Name, spec.Sizes = args[0], site.Sizes(sizes)
			if size != "" {
				total, err := site.ParseSize(size)
				if err != nil {
					return input(fmt.Errorf("--size: %w", err))
				}
				spec.Total = total
			}
			s, err := site.Make(spec)
			if err != nil {
				return input(err)
			}
			return keepSite(s, replace)
		},
	}
	f := c.Flags()
	f.StringVar(&spec.Title, "title", spec.Title, "a title for people")
	f.IntVar(&spec.Objects, "objects", spec.Objects, "how many responses the page has, its HTML among them")
	f.IntVar(&spec.Domains, "domains", spec.Domains, "on how many hosts")
	f.StringVar(&size, "size", fmt.Sprintf("%gkB", float64(spec.Total)/1000), "octets of all bodies together, such as 1592.43kB or 2MB; k is 1000")
	f.StringVar(&sizes, "sizes", sizes, "how they are divided: "+strings.Join([]string{string(site.SizesWeb), string(site.SizesEqual), string(site.SizesOneLarge)}, ", "))
	f.IntVar(&spec.Depth, "depth", spec.Depth, "how many requests the longest chain has below the page")
	f.Uint64Var(&spec.Seed, "seed", spec.Seed, "of all that is drawn")
	f.BoolVar(&replace, "replace", false, "put it in the place of a site of the same name")
	return c
}
