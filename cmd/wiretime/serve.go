package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"wiretime/capture"
	"wiretime/media/storage"
	"wiretime/media/transport"
	"wiretime/protocol"
	"wiretime/serve"
	"wiretime/site"
	"wiretime/workload/playback"
)

type serveOptions struct {
	port            int
	host, ca        string
	site            *site.Site // instead of a folder; nil for one
	media           bool
	address, encode string // of media
}

func serveCommand() *cobra.Command {
	var o serveOptions
	c := &cobra.Command{
		Use:   "serve DIR | serve --media [DIR]",
		Short: "Serve a folder, or media, over every protocol at once",
		Long: `Serve serves a folder on 127.0.0.1, over every protocol on a port of its own, and
on one port where ALPN decides. It prints where, and how to fetch from there.
Requests are logged on standard error. Ctrl-C ends it, once the requests under
way are answered.

A folder with an index.html is served as it is when the program starts, as 'site
add' takes it: from memory, the same bytes over every protocol. Another is served
as it is when it is asked for. What lies outside of the folder is never served.

With --media it serves media over every transport that this machine has, on a port
of its own, and prints which there are: a video called clip, of 600 segments of a
second in HD, FHD and QHD, and files of any size, such as file@1GB, all made to
size. With a folder, these are the files in it and, of each folder in it, the
files in its folders hd, fhd and qhd as a video's segments, in the order of their
names. With --encode, ffmpeg makes such a video first. Ctrl-C ends it at once.`,
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
	f.IntVar(&o.port, "port", 0, fmt.Sprintf("the first of %d ports, with --media of %d (default: free ones)", serve.Ports(), len(transport.All())))
	f.StringVar(&o.host, "host", "localhost", "the name in the URLs and in the certificate")
	f.StringVar(&o.ca, "ca", "", "folder of the certificate authority, made if it is not there (default: a new one for this run)")
	f.BoolVar(&o.media, "media", false, "serve media: those in the folder, or without one those that are made to size")
	f.StringVar(&o.address, "address", "127.0.0.1", "the address to serve media at")
	f.StringVar(&o.encode, "encode", "", "a clip to encode as the video called clip, in the folder, or without one for this run")
	return c
}

// checkFlags refuses those that are not for what is served.
func (o serveOptions) checkFlags(given func(string) bool) error {
	switch {
	case o.media && given("host"):
		return input(errors.New("--host goes with pages: for media there are certificates of any name that is asked for"))
	case !o.media && given("address"):
		return input(errors.New("--address goes with --media: pages are served on 127.0.0.1 only"))
	case !o.media && given("encode"):
		return input(errors.New("--encode goes with --media"))
	}
	return nil
}

// drainTime is how long requests under way may take once the server is to end.
const drainTime = 10 * time.Second

func runServe(ctx context.Context, dir string, o serveOptions) error {
	if err := o.checkPorts(serve.Ports()); err != nil {
		return err
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
	authority, forget, err := o.authority()
	if err != nil {
		return err
	}
	defer forget()
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

// checkPorts checks that there are so many from the first on.
func (o serveOptions) checkPorts(needed int) error {
	if last := 65535 - needed + 1; o.port < 0 || o.port > last {
		return input(fmt.Errorf("--port: %d ports are needed, so the first is 1 to %d", needed, last))
	}
	return nil
}

// authority opens or makes the certificates' authority and notes in o where it is.
// forget takes it away again if it is for this run only.
func (o *serveOptions) authority() (a *protocol.Authority, forget func(), err error) {
	forget = func() {}
	if o.ca == "" {
		parent, err := os.MkdirTemp("", "wiretime-serve-")
		if err != nil {
			return nil, nil, fmt.Errorf("make a certificate authority: %w", err)
		}
		forget = func() { _ = os.RemoveAll(parent) }
		o.ca = filepath.Join(parent, "ca")
	}
	if a, err = protocol.OpenAuthority(o.ca); err != nil {
		forget()
		return nil, nil, input(err)
	}
	return a, forget, nil
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

// root is the file of the authority's own certificate.
func (o serveOptions) root() string { return filepath.Join(o.ca, "root.pem") }

// printEndpoints prints where the folder is served and how to fetch from there.
func printEndpoints(out io.Writer, endpoints []serve.Endpoint, o serveOptions) error {
	root := o.root()
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

// mediaSeed is that of media that are made to size: those of two runs are the same.
const mediaSeed = 1

// serveMedia serves the media in a folder, or those that are made to size.
func serveMedia(ctx context.Context, dir string, o serveOptions) error {
	if err := o.checkPorts(len(transport.All())); err != nil {
		return err
	}
	address, err := netip.ParseAddr(o.address)
	if err != nil {
		return input(fmt.Errorf("--address: want an address of this machine, such as 127.0.0.1: %w", err))
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	content, err := openMedia(ctx, dir, o.encode)
	if err != nil {
		return err
	}
	defer content.close()
	authority, forget, err := o.authority()
	if err != nil {
		return err
	}
	defer forget()
	config := transport.ServerConfig{Address: netip.AddrPortFrom(address, uint16(o.port)), Storage: content, CA: authority, Answered: printAnswered}
	servers, err := startMedia(ctx, config)
	if err == nil {
		err = printMedia(os.Stdout, servers, content, o.root())
	}
	if err == nil {
		<-ctx.Done()
		stop() // a second Ctrl-C ends the program at once
	}
	for _, s := range servers {
		if s.Server != nil {
			err = errors.Join(err, s.Close())
		}
	}
	return err
}

// mediaContent is what is served.
type mediaContent struct {
	storage.Storage
	items []storage.ID // with Segment 0: those to tell of, in their resolutions
	more  string       // what else there is
	close func()
}

// openMedia opens a folder's media; without a folder, those that are made to size.
// A clip is encoded first.
func openMedia(ctx context.Context, dir, clip string) (*mediaContent, error) {
	if dir == "" && clip == "" {
		return madeMedia(), nil
	}
	forget := func() {}
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "wiretime-media-"); err != nil {
			return nil, fmt.Errorf("make room for the encoded clip: %w", err)
		}
		forget = func() { _ = os.RemoveAll(dir) }
	}
	if clip != "" {
		fmt.Fprintf(os.Stderr, "Encoding %s in HD, FHD and QHD, which takes some times as long as it plays\n", clip)
		if err := storage.Encode(ctx, dir, storage.ClipName, clip); err != nil {
			forget()
			return nil, fmt.Errorf("--encode: %w", err)
		}
	}
	folder, err := storage.OpenFolder(dir)
	if err != nil {
		forget()
		return nil, input(err)
	}
	return &mediaContent{folder, folder.Items(), "", func() { _ = folder.Close(); forget() }}, nil
}

func madeMedia() *mediaContent {
	c := &mediaContent{Storage: storage.MakeAll(mediaSeed), more: "and file@SIZE of any size, such as file@512kB; k is 1000", close: func() {}}
	for _, r := range storage.Resolutions() {
		c.items = append(c.items, storage.ID{Item: storage.ClipName, Resolution: r})
	}
	c.items = append(c.items, storage.ID{Item: "file@1GB"}, storage.ID{Item: "file@100MB"})
	return c
}

// mediaServer serves over one transport, or says why it does not.
type mediaServer struct {
	row transport.Transport
	*transport.Server
	lacking error
}

// startMedia serves over all transports that this machine has, on ports one after
// the other if the configuration has the first. The caller closes the servers,
// even after an error.
func startMedia(ctx context.Context, c transport.ServerConfig) (servers []mediaServer, err error) {
	first := c.Address.Port()
	for i, row := range transport.All() {
		s := mediaServer{row: row, lacking: row.Available(nil)}
		if s.lacking == nil {
			if first != 0 {
				c.Address = netip.AddrPortFrom(c.Address.Addr(), first+uint16(i))
			}
			c.Transport = row
			if s.Server, err = transport.Serve(ctx, c); err != nil {
				return servers, err
			}
		}
		servers = append(servers, s)
	}
	return servers, nil
}

// printAnswered writes a line for a request on standard error.
func printAnswered(e capture.ServerEntry) {
	fmt.Fprintf(os.Stderr, "%-13s %s %d %d B %.1f ms\n", e.Protocol, e.URL, e.Status, e.BodyBytes, float64(e.End-e.Start)/float64(time.Millisecond))
}

// printMedia prints what is served, and where.
func printMedia(out io.Writer, servers []mediaServer, content *mediaContent, root string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "transport\taddress")
	for _, s := range servers {
		if s.lacking != nil {
			fmt.Fprintf(w, "%s\tnot served: %v\n", s.row.Name, s.lacking)
		} else {
			fmt.Fprintf(w, "%s\t%v\n", s.row.Name, s.Address())
		}
	}
	fmt.Fprintln(w, "\nmedia\tresolution\tsegments\tsize of the first")
	for _, id := range content.items {
		piece, err := content.Open(id)
		if err != nil {
			return errors.Join(err, w.Flush())
		}
		fmt.Fprintf(w, "%s\t%v\t%d\t%d B\n", id.Item, id.Resolution, piece.Segments, piece.Size)
		if err := piece.Close(); err != nil {
			return errors.Join(err, w.Flush())
		}
	}
	if content.more != "" {
		fmt.Fprintln(w, content.more)
	}
	fmt.Fprintf(w, "\nThe certificates' authority: %s\n\n", root)
	for _, s := range servers {
		if s.lacking != nil {
			continue
		}
		words := []string{"wiretime stream --server", s.Address().String(), "--transport", s.row.Name}
		if s.row.Encrypted {
			words = append(words, "--cacert", quote(root))
		}
		if first := content.items[0]; first.Resolution == storage.Plain {
			words = append(words, "--player", playback.Download, quote(first.Item))
		} else {
			words = append(words, quote(first.Item))
		}
		fmt.Fprintln(w, strings.Join(words, " "))
	}
	return w.Flush()
}
