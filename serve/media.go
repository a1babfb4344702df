package serve

import (
	"context"
	"errors"
	"net/netip"

	"wiretime/media/storage"
	"wiretime/media/transport"
)

// MediaSeed is the seed of synthetic media, which are the same in every run.
const MediaSeed = 1

// Media are media to serve.
type Media struct {
	storage.Storage
	// Items are the media to list, in each of their resolutions, with Segment 0.
	Items []storage.ID
	// Synthetic says that the media are synthetic. There are more than Items: files of any size,
	// such as file@512kB.
	Synthetic bool

	close func() error
}

// OpenMedia opens the media in a folder, or synthetic media if dir is empty. The caller must
// close them.
func OpenMedia(dir string) (*Media, error) {
	if dir == "" {
		return syntheticMedia(), nil
	}
	folder, err := storage.OpenFolder(dir)
	if err != nil {
		return nil, err
	}
	return &Media{Storage: folder, Items: folder.Items(), close: folder.Close}, nil
}

func syntheticMedia() *Media {
	m := &Media{Storage: storage.MakeAll(MediaSeed), Synthetic: true, close: func() error { return nil }}
	for _, r := range storage.Resolutions() {
		m.Items = append(m.Items, storage.ID{Item: storage.ClipName, Resolution: r})
	}
	m.Items = append(m.Items, storage.ID{Item: "file@1GB"}, storage.ID{Item: "file@100MB"})
	return m
}

// Close closes the media's folder.
func (m *Media) Close() error { return m.close() }

// MediaServer serves media over one transport.
type MediaServer struct {
	Transport transport.Transport
	// Server is nil if this machine cannot serve over the transport; Lacking says why.
	*transport.Server
	Lacking error
}

// MediaServers serve the same media, one over each transport.
type MediaServers []MediaServer

// StartMedia serves over all transports that this machine has. If the address has a port,
// it is the first of consecutive ones, a port for each transport. c.Transport is ignored.
func StartMedia(ctx context.Context, c transport.ServerConfig) (MediaServers, error) {
	var servers MediaServers
	first := c.Address.Port()
	for i, row := range transport.All() {
		s := MediaServer{Transport: row, Lacking: row.Available(nil)}
		if s.Lacking == nil {
			if first != 0 {
				c.Address = netip.AddrPortFrom(c.Address.Addr(), first+uint16(i))
			}
			c.Transport = row
			var err error
			if s.Server, err = transport.Serve(ctx, c); err != nil {
				return nil, errors.Join(err, servers.Close())
			}
		}
		servers = append(servers, s)
	}
	return servers, nil
}

// Close ends the servers and their sessions.
func (all MediaServers) Close() (err error) {
	for _, s := range all {
		if s.Server != nil {
			err = errors.Join(err, s.Server.Close())
		}
	}
	return err
}
