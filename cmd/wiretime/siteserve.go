package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"wiretime/serve"
)

func siteServeCommand() *cobra.Command {
	var o serveOptions
	c := &cobra.Command{
		Use: "serve SITE", Short: "Serve a site over every protocol at once, on loopback ports",
		Long: `Serve serves a site of the library as 'wiretime serve' serves a folder: on
127.0.0.1, with a port for each protocol. Every port serves all of the site's hosts,
and no others but localhost and those of --allow-host.
To reach them there, use the --resolve of 'wiretime get' or the commands for Chromium
that are printed.`,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error { return serveSite(c.Context(), args[0], o) },
	}
	o.addFlags(c.Flags(), fmt.Sprintf("first of %d consecutive ports (default: free ports)", serve.Ports()))
	return c
}

func serveSite(ctx context.Context, reference string, o serveOptions) (err error) {
	s, err := openSite(ctx, reference)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	o.site = s
	if u, err := url.Parse(s.Page); err == nil {
		o.host = u.Host
	}
	return runServe(ctx, reference, o)
}
