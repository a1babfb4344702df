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
127.0.0.1, over every protocol on a port of its own. All of the site's hosts are
served there; a client must be told to look for them there, as by the --resolve of
'wiretime get' or by the line for Chromium that is printed.`,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error { return serveSite(c.Context(), args[0], o) },
	}
	f := c.Flags()
	f.IntVar(&o.port, "port", 0, fmt.Sprintf("the first of %d ports (default: free ones)", serve.Ports()))
	f.StringVar(&o.ca, "ca", "", "folder of the certificate authority, made if it is not there (default: a new one for this run)")
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
