package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wiretime/media/transport"
	"wiretime/protocol"
	"wiretime/serve"
	"wiretime/site"
	"wiretime/terminal"
	"wiretime/window"
)

type serveOptions struct {
	port            int
	host, ca        string
	allowHosts      []string
	connections     int
	window          string
	site            *site.Site // nil for a folder
	media           bool
	address, encode string // of media
}

func serveCommand() *cobra.Command {
	var o serveOptions
	c := &cobra.Command{
		Use:   "serve DIR | serve --media [DIR]",
		Short: "Serve a folder or media over every protocol at once",
		Long: `Serve serves a folder on 127.0.0.1, with a port for each protocol and one port on
which ALPN decides. It prints the URLs and commands that fetch them. Requests are
logged on standard error. Ctrl-C stops it after the requests in flight have been
answered.

Only requests for the name of --host, for localhost and for addresses of loopback are
answered, and only from pages of these: otherwise any website could read the folder
through a browser on this machine. --allow-host allows further names.

A folder with an index.html is read once when the program starts, as by 'site add',
and served from memory, with the same bytes over every protocol. The files of any
other folder are read at each request. Files outside the folder are never served.

With --media it serves media, with a port for each transport that this machine has,
and lists the media. Without a folder these are synthetic: a video called clip, of
600 segments of a second in HD, FHD and QHD, and files of any size, such as
file@1GB. With a folder they are its files, and each subfolder is a video: the files
in its folders hd, fhd and qhd are the segments, in the order of their names. With
--encode, ffmpeg makes such a video first. Ctrl-C stops it at once.`,
		Args: func(c *cobra.Command, args []string) error {
			if o.media {
				return arguments(cobra.MaximumNArgs(1))(c, args)
			}
			return arguments(cobra.ExactArgs(1))(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.checkFlags(c.Flags().Changed); err != nil {
				return err
			}
			if o.media {
				return serveMedia(c.Context(), strings.Join(args, ""), o)
			}
			return runServe(c.Context(), args[0], o)
		},
	}
	f := c.Flags()
	o.addFlags(f, fmt.Sprintf("first of %d consecutive ports, with --media of %d (default: free ports)", serve.Ports(), len(transport.All())))
	f.StringVar(&o.host, "host", "localhost", "host name in the URLs and in the certificate")
	f.BoolVar(&o.media, "media", false, "serve the media in the folder, or synthetic media without a folder")
	f.StringVar(&o.address, "address", "127.0.0.1", "address at which media are served; everyone who can reach it can read them")
	f.StringVar(&o.encode, "encode", "", "file to encode as the video called clip, into the folder, or temporarily without one")
	return c
}

// addFlags adds the flags that folders and sites have in common.
func (o *serveOptions) addFlags(f *pflag.FlagSet, port string) {
	f.IntVar(&o.port, "port", 0, port)
	f.StringVar(&o.ca, "ca", "", "folder of the certificate authority, made for the names that are served if missing (default: a temporary one)")
	f.StringSliceVar(&o.allowHosts, "allow-host", nil, "further host that requests may name, with a certificate; repeatable")
	f.StringVar(&o.window, "window", "", "how much clients may send ahead on a stream: a size, as in 64KiB, or what an implementation grants: "+strings.Join(window.Names(), ", "))
	f.IntVar(&o.connections, "max-connections", serve.DefaultConnections, "connections that may be open, over all ports together, or with --media at each transport")
}

// checkFlags returns an error for flags that do not fit what is served.
func (o serveOptions) checkFlags(given func(string) bool) error {
	switch {
	case o.media && given("host"):
		return input(errors.New("--host cannot be combined with --media, which has a certificate for any name"))
	case o.media && given("window"):
		return input(errors.New("--window cannot be combined with --media: it is for HTTP/2, HTTP/3 and SPDY"))
	case o.connections < 1:
		return input(fmt.Errorf("--max-connections: %d must be positive", o.connections))
	case !o.media && given("address"):
		return input(errors.New("--address needs --media: folders are served on 127.0.0.1 only"))
	case !o.media && given("encode"):
		return input(errors.New("--encode needs --media"))
	}
	return nil
}

// windows returns the setting of --window, nil without it. For each protocol whose stack cannot follow the setting
// exactly, it prints a note.
func (o serveOptions) windows() (*window.Setting, error) {
	if o.window == "" {
		return nil, nil
	}
	s, err := window.Parse(o.window)
	if err != nil {
		return nil, fmt.Errorf("--window: %w", err)
	}
	for _, p := range protocol.Names() {
		_, err := s.Over(p)
		switch how := window.Deviation(p); {
		case errors.Is(err, window.ErrNone):
		case err != nil:
			fmt.Fprintf(stderr, "wiretime: note: --window: %v, which keeps its own window\n", err)
		case how != "":
			fmt.Fprintf(stderr, "wiretime: note: --window %s over %s: %s\n", s, p, how)
		}
	}
	return &s, nil
}

// drainTime is how long requests in flight may take after Ctrl-C.
const drainTime = 10 * time.Second

func runServe(ctx context.Context, dir string, o serveOptions) (err error) {
	if err := o.checkPorts(serve.Ports()); err != nil {
		return err
	}
	if err := o.checkHosts(); err != nil {
		return input(err)
	}
	windows, err := o.windows()
	if err != nil {
		return input(err)
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	config := serve.Config{Host: o.host, Others: o.allowHosts, Port: o.port, Limits: serve.Limits{Connections: o.connections}, Window: windows, Requests: stderr}
	if o.site == nil {
		if err := o.checkApart(dir); err != nil {
			return input(err)
		}
	}
	if err := o.handlers(dir, &config); err != nil {
		return input(err)
	}
	authority, err := o.authority(config.Names())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, authority.Close()) }()
	config.CA = authority.Authority
	server, err := serve.Start(ctx, config)
	if err != nil {
		return err
	}
	printErr := printEndpoints(stdout, server.Endpoints(), o.host, authority.Root)
	if printErr == nil && o.site != nil {
		printErr = printChromium(stdout, server.Endpoints(), o.site, authority)
	}
	if printErr == nil {
		<-ctx.Done()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	return errors.Join(printErr, server.Shutdown(ctx))
}

// checkPorts checks that so many consecutive ports fit from --port on.
func (o serveOptions) checkPorts(needed int) error {
	if last := 65535 - needed + 1; o.port < 0 || o.port > last {
		return input(fmt.Errorf("--port: want 1 to %d, since %d consecutive ports are needed", last, needed))
	}
	return nil
}

// checkHosts checks the names of hosts.
func (o serveOptions) checkHosts() error {
	if o.host == "" || strings.ContainsAny(o.host, "/: ") {
		return fmt.Errorf("--host: invalid host name %q", o.host)
	}
	for _, host := range o.allowHosts {
		if host == "" || strings.ContainsAny(host, "/ ") {
			return fmt.Errorf("--allow-host: invalid host name %q", host)
		}
	}
	return nil
}

// checkApart checks that the authority's folder, which holds its key, is not served.
func (o serveOptions) checkApart(dir string) error {
	if o.ca == "" {
		return nil
	}
	served, err := realPath(dir)
	if err != nil {
		return fmt.Errorf("serve the folder %s: %w", dir, err)
	}
	kept, err := realPath(o.ca)
	if err != nil {
		return fmt.Errorf("--ca: %w", err)
	}
	if inside, err := filepath.Rel(served, kept); err == nil && filepath.IsLocal(inside) {
		return fmt.Errorf("--ca: the folder %s is in the served folder %s: clients could read the authority's key", o.ca, dir)
	}
	return nil
}

// realPath returns an absolute path without links. What is missing at its end stays.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) && path != filepath.Dir(path) {
		parent, err := realPath(filepath.Dir(path))
		return filepath.Join(parent, filepath.Base(path)), err
	}
	return real, err
}

// authority opens the certificate authority of --ca, or makes a temporary one.
func (o serveOptions) authority(names []string) (*serve.Authority, error) {
	a, err := serve.OpenAuthority(o.ca, names)
	if o.ca == "" {
		return a, err
	}
	if err != nil {
		return nil, input(err)
	}
	if !a.Limited() {
		fmt.Fprintf(stderr, "wiretime: note: the certificate authority in %s is of an older version and may issue certificates for any name: trust it in no browser, and delete the folder to get one for %s only\n",
			o.ca, strings.Join(names, ", "))
	}
	return a, nil
}

// handlers sets what answers requests.
func (o serveOptions) handlers(dir string, c *serve.Config) (err error) {
	if o.site == nil {
		c.Handler, err = serve.Folder(dir)
		return err
	}
	c.Others = append(c.Others, o.site.Origins()...)
	c.Handler, c.Clear, err = serve.Site(o.site)
	return err
}

// printChromium prints commands that show a site in Chromium under its own URLs: all hosts
// are mapped to where the site is served, whatever port their URLs have.
func printChromium(out io.Writer, endpoints []serve.Endpoint, s *site.Site, ca *serve.Authority) error {
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

// printEndpoints prints the endpoints and commands that fetch from them.
func printEndpoints(out io.Writer, endpoints []serve.Endpoint, host, root string) error {
	w := terminal.NewTable(out)
	fmt.Fprintln(w, "protocol\tURL")
	for _, e := range endpoints {
		fmt.Fprintf(w, "%s\t%s\n", e.Protocol, e.URL)
	}
	fmt.Fprintf(w, "\nCertificate authority: %s\n\n", root)
	for _, e := range endpoints {
		words := []string{"wiretime get"}
		if e.Protocol != serve.Any {
			words = append(words, "--protocol", e.Protocol)
		}
		if strings.HasPrefix(e.URL, "https:") {
			words = append(words, "--cacert", quote(root))
		}
		if host != "localhost" {
			_, port, _ := strings.Cut(e.Address, ":")
			words = append(words, "--resolve", quote(host+":"+port+":127.0.0.1"))
		}
		fmt.Fprintln(w, strings.Join(append(words, quote(e.URL)), " "))
	}
	return w.Flush()
}

// quote quotes a word for the shell if that is necessary.
func quote(s string) string {
	if strings.IndexFunc(s, func(r rune) bool {
		return !strings.ContainsRune("/._-+@%=:,", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
