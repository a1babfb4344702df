package server_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"wiretime/needtest"
	"wiretime/server"
	"wiretime/site"
	"wiretime/site/har"
	"wiretime/site/recording"
)

// TestRecordedPages fetches every resource of recorded pages, of up to 72 hosts, from
// every server that can serve them, over the last of its rows.
func TestRecordedPages(t *testing.T) {
	files, _ := filepath.Glob("../../shared/data/har/*.har")
	if len(files) == 0 {
		t.Skip("the HAR files are not there (../shared/data/har beside the checkout)")
	}
	for _, name := range files {
		s := recorded(t, name)
		for _, k := range server.Kinds() {
			t.Run(filepath.Base(name)+" "+k.Name, func(t *testing.T) {
				if k.Name != "nginx" && k.Name != "node-spdy" {
					needtest.Long(t)
				}
				installed(t, k)
				c := config(t, k, k.Protocols[len(k.Protocols)-1], s)
				if err := k.Supports(s, c.Protocol); err != nil {
					t.Skip(err)
				}
				c.Hosts = map[string]netip.Addr{}
				for i, host := range s.Origins() {
					c.Hosts[host] = netip.AddrFrom4([4]byte{127, 1, 0, byte(1 + i)})
				}
				r := startConfig(t, c)
				client := r.client(t)
				for i := range s.Resources {
					resource := &s.Resources[i]
					body, err := s.Body(resource)
					must(t, err)
					response, got := r.get(t, client, resource.Method, resource.URL)
					compare(t, resource, response, body, got)
				}
				client.CloseIdleConnections() // Apache logs some requests only then
				awaitLogged(t, r.Server, len(s.Resources))
				must(t, r.Stop())
				log, err := r.Log()
				must(t, err)
				if len(log) != len(s.Resources) {
					t.Errorf("the log has %d requests, want %d", len(log), len(s.Resources))
				}
				for _, e := range log {
					if e.Miss {
						t.Errorf("%s is missing from the archive", e.URL)
					}
				}
			})
		}
	}
}

func recorded(t *testing.T, name string) *site.Site {
	t.Helper()
	file, err := os.Open(name)
	must(t, err)
	defer file.Close()
	r, err := har.Read(file, name, har.Options{})
	must(t, err)
	s, _, err := r.Site("recorded", recording.Options{})
	must(t, err)
	return s
}

// awaitLogged returns when a server has logged n requests, since some log after they have
// answered. It gives up after a while.
func awaitLogged(t *testing.T, s *server.Server, n int) {
	t.Helper()
	limit := time.After(20 * time.Second)
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		log, err := s.Log()
		must(t, err)
		if len(log) >= n {
			return
		}
		select {
		case <-look.C:
		case <-limit:
			return
		}
	}
}
