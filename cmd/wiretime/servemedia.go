package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"time"

	"wiretime/capture"
	"wiretime/media/storage"
	"wiretime/media/transport"
	"wiretime/scratch"
	"wiretime/serve"
	"wiretime/terminal"
	"wiretime/workload/playback"
)

// mediaIdle is how long a client of a media server may rest. Players pause between segments for as long as their buffers
// last.
const mediaIdle = 2 * time.Minute

// serveMedia serves the media in a folder, or synthetic media without one.
func serveMedia(ctx context.Context, dir string, o serveOptions) (err error) {
	if err := o.checkPorts(len(transport.All())); err != nil {
		return err
	}
	address, err := netip.ParseAddr(o.address)
	if err != nil {
		return input(fmt.Errorf("--address: want an IP address of this machine, such as 127.0.0.1: %w", err))
	}
	if dir != "" {
		if err := o.checkApart(dir); err != nil {
			return input(err)
		}
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	if o.encode != "" {
		if dir == "" {
			folder, err := scratch.Make("", "wiretime-media-")
			if err != nil {
				return fmt.Errorf("make a folder for the encoded video: %w", err)
			}
			defer folder.Remove()
			dir = folder.Path
		}
		fmt.Fprintf(stderr, "Encoding %s in HD, FHD and QHD, which takes several times its duration\n", o.encode)
		if err := storage.Encode(ctx, dir, storage.ClipName, o.encode); err != nil {
			return fmt.Errorf("--encode: %w", err)
		}
	}
	media, err := serve.OpenMedia(dir)
	if err != nil {
		return input(err)
	}
	defer func() { err = errors.Join(err, media.Close()) }()
	authority, err := o.authority(append([]string{"localhost"}, o.allowHosts...))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, authority.Close()) }()
	servers, err := serve.StartMedia(ctx, transport.ServerConfig{
		Address: netip.AddrPortFrom(address, uint16(o.port)), Storage: media, CA: authority.Authority, Answered: printAnswered,
		Idle: mediaIdle, MaxConnections: o.connections, Report: func(err error) { fmt.Fprintln(stderr, err) },
	})
	if err != nil {
		return err
	}
	if !address.IsLoopback() {
		fmt.Fprintln(stderr, exposure(dir, address, servers))
	}
	if err = printMedia(stdout, servers, media, authority.Root); err == nil {
		<-ctx.Done()
	}
	return errors.Join(err, servers.Close())
}

// exposure says what is served to whom, at an address that other machines may reach.
func exposure(dir string, address netip.Addr, servers serve.MediaServers) string {
	what, at := "synthetic media", address.String()
	if dir != "" {
		what = "the media in " + dir
	}
	if address.IsUnspecified() {
		at = "any address of this machine"
	}
	var names []string
	for _, s := range servers {
		if s.Lacking == nil {
			names = append(names, s.Transport.Name)
		}
	}
	return fmt.Sprintf("wiretime: note: everyone who can reach %s can read %s, without a password, over %s", at, what, strings.Join(names, ", "))
}

// printAnswered logs a request on standard error.
func printAnswered(e capture.ServerEntry) {
	fmt.Fprintf(stderr, "%-13s %s %d %d B %.1f ms\n", e.Protocol, terminal.Line(e.URL), e.Status, e.BodyBytes, float64(e.End-e.Start)/float64(time.Millisecond))
}

// printMedia prints the servers, the media, and commands that stream them.
func printMedia(out io.Writer, servers serve.MediaServers, media *serve.Media, root string) error {
	w := terminal.NewTable(out)
	fmt.Fprintln(w, "transport\taddress")
	for _, s := range servers {
		if s.Lacking != nil {
			fmt.Fprintf(w, "%s\tnot served: %v\n", s.Transport.Name, s.Lacking)
		} else {
			fmt.Fprintf(w, "%s\t%v\n", s.Transport.Name, s.Address())
		}
	}
	fmt.Fprintln(w, "\nmedia\tresolution\tsegments\tsize of the first")
	for _, id := range media.Items {
		piece, err := media.Open(id)
		if err != nil {
			return errors.Join(err, w.Flush())
		}
		fmt.Fprintf(w, "%s\t%v\t%d\t%d B\n", terminal.Line(id.Item), id.Resolution, piece.Segments, piece.Size)
		if err := piece.Close(); err != nil {
			return errors.Join(err, w.Flush())
		}
	}
	if media.Synthetic {
		fmt.Fprintln(w, "and file@SIZE of any size, such as file@512kB; k is 1000")
	}
	fmt.Fprintf(w, "\nCertificate authority: %s\n\n", root)
	for _, s := range servers {
		if s.Lacking != nil {
			continue
		}
		words := []string{"wiretime stream --server", s.Address().String(), "--transport", s.Transport.Name}
		if s.Transport.Encrypted {
			words = append(words, "--cacert", quote(root))
		}
		if first := media.Items[0]; first.Resolution == storage.Plain {
			words = append(words, "--player", playback.Download, quote(first.Item))
		} else {
			words = append(words, quote(first.Item))
		}
		fmt.Fprintln(w, strings.Join(words, " "))
	}
	return w.Flush()
}
