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
		Use: "make NAME", Short: "Generate a page from a specification",
		Long: `Make generates a page with the given number of objects, hosts and octets, and keeps
it as a site. The sizes are exact to the octet. The same flags give the same page on
every machine. A study can also name such a page without making it first:
page@52x17x1592.43kB has 52 objects on 17 hosts.`,
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
	f.StringVar(&spec.Title, "title", spec.Title, "title of the site")
	f.IntVar(&spec.Objects, "objects", spec.Objects, "number of responses, including the HTML")
	f.IntVar(&spec.Domains, "domains", spec.Domains, "number of hosts")
	f.StringVar(&size, "size", fmt.Sprintf("%gkB", float64(spec.Total)/1000), "total size of all bodies, such as 1592.43kB or 2MB; k is 1000")
	f.StringVar(&sizes, "sizes", sizes, "distribution of the sizes: "+strings.Join([]string{string(site.SizesWeb), string(site.SizesEqual), string(site.SizesOneLarge)}, ", "))
	f.IntVar(&spec.Depth, "depth", spec.Depth, "number of requests in the longest chain below the page")
	f.Uint64Var(&spec.Seed, "seed", spec.Seed, "seed of everything random")
	f.BoolVar(&spec.Validators, "validators", false, "give all responses an ETag, not only the page: a reload then asks with it")
	f.BoolVar(&replace, "replace", false, "replace an existing site of the same name")
	return c
}
