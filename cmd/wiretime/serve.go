package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"wiretime/protocol"
	"wiretime/serve"
	"wiretime/site"
)

type serveOptions struct {
	port     int
	host, ca string
	site     *site.Site // instead of a folder; nil for one
}

func serveCommand() *cobra.Command {
	var o serveOptions
	c := &cobra.Command{
		Use:   "serve DIR",
		Short: "Serve a folder over every protocol at once, on loopback ports",
		Long: `Serve serves a folder on 127.0.0.1, over every protocol on a port of its own, and
on one port where ALPN decides. It prints where, and how to fetch from there.
Requests are logged on standard error. Ctrl-C ends it, once the requests under
way are answered.

A folder with an index.html is served as it is when the program starts, as 'site
add' takes it: from memory, the same bytes over every protocol. Another is served
as it is when it is asked for. What lies outside of the folder is never served.`,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error { return runServe(c.Context(), args[0], o) },
	}
	f := c.Flags()
	f.IntVar(&o.port, "port", 0, fmt.Sprintf("the first of %d ports (default: free ones)", serve.Ports()))
	f.StringVar(&o.host, "host", "localhost", "the name in the URLs and in the certificate")
	f.StringVar(&o.ca, "ca", "", "folder of the certificate authority, made if it is not there (default: a new one for this run)")
	return c
}

// drainTime is how long requests under way may take once the server is to end.
const drainTime = 10 * time.Second

func runServe(ctx context.Context, dir string, o serveOptions) error {
	if last := 65535 - serve.Ports() + 1; o.port < 0 || o.port > last {
		return input(fmt.Errorf("--port: %d ports are needed, so the first is 1 to %d", serve.Ports(), last))
	}
	if o.host == "" || strings.ContainsAny(o.host, "/: ") {
		return input(fmt.Errorf("--host: %q is no host's name", o.host))
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	config := serve.Config{Host: o.host, Port: o.port, Requests: os.Stderr}
	if err := o.handlers(dir, &config); err != nil {
		return input(err)
	}
	if o.ca == "" {
		parent, err := os.MkdirTemp("", "wiretime-serve-")
		if err != nil {
			return fmt.Errorf("make a certificate authority: %w", err)
		}
		defer os.RemoveAll(parent)
		o.ca = filepath.Join(parent, "ca")
	}
	authority, err := protocol.OpenAuthority(o.ca)
	if err != nil {
		return input(err)
	}
	config.CA = authority
	server, err := serve.Start(ctx, config)
	if err != nil {
		return err
	}
	printErr := printEndpoints(os.Stdout, server.Endpoints(), o)
	if printErr == nil && o.site != nil {
		printErr = printChromium(os.Stdout, server.Endpoints(), o.site, authority)
	}
	if printErr == nil {
		<-ctx.Done()
		stop() // a second Ctrl-C ends the program at once
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	return errors.Join(printErr, server.Shutdown(ctx))
}

// handlers says what answers requests.
func (o serveOptions) handlers(dir string, c *serve.Config) (err error) {
	if o.site == nil {
		c.Handler, err = serve.Folder(dir)
		return err
	}
	c.Others = o.site.Origins()
	c.Handler, c.Clear, err = serve.Site(o.site)
	return err
}

// printChromium prints how to see a site as it is on all its hosts: they are mapped to
// where it is served, whatever port their URLs have.
func printChromium(out io.Writer, endpoints []serve.Endpoint, s *site.Site, ca *protocol.Authority) error {
	_, err := fmt.Fprintln(out)
	for _, e := range endpoints {
		page, flags := s.Page, "--ignore-certificate-errors-spki-list="+ca.SPKIHash()
		switch e.Protocol {
		case "http/1.1":
			page, flags = strings.Replace(page, "https:", "http:", 1), "--enable-features=HstsTopLevelNavigationsOnly"
		case "h2":
		default:
			continue
		}
		_, err = fmt.Fprintf(out, "chromium --user-data-dir=/tmp/wiretime-profile --host-resolver-rules='MAP * %s' %s %s\n", e.Address, flags, quote(page))
	}
	return err
}

// printEndpoints prints where the folder is served and how to fetch from there.
func printEndpoints(out io.Writer, endpoints []serve.Endpoint, o serveOptions) error {
	root := filepath.Join(o.ca, "root.pem")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "protocol\tURL")
	for _, e := range endpoints {
		fmt.Fprintf(w, "%s\t%s\n", e.Protocol, e.URL)
	}
	fmt.Fprintf(w, "\nThe certificates' authority: %s\n\n", root)
	for _, e := range endpoints {
		words := []string{"wiretime get"}
		if e.Protocol != serve.Any {
			words = append(words, "--protocol", e.Protocol)
		}
		if strings.HasPrefix(e.URL, "https:") {
			words = append(words, "--cacert", quote(root))
		}
		if o.host != "localhost" {
			_, port, _ := strings.Cut(e.Address, ":")
			words = append(words, "--resolve", o.host+":"+port+":127.0.0.1")
		}
		fmt.Fprintln(w, strings.Join(append(words, e.URL), " "))
	}
	return w.Flush()
}

// quote makes a word that a shell takes as it is.
func quote(s string) string {
	if strings.IndexFunc(s, func(r rune) bool {
		return !strings.ContainsRune("/._-+@%=:,", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
