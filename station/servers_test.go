package station

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"wiretime/evidence"
	"wiretime/lab"
	"wiretime/metric"
	"wiretime/needtest"
	"wiretime/protocol"
	"wiretime/server"
	"wiretime/site"
	"wiretime/workload/pageload"
)

// eachServer runs a test for every row of every server that is installed.
func eachServer(t *testing.T, test func(t *testing.T, k server.Kind, p protocol.Protocol)) {
	for _, k := range server.Kinds() {
		for _, row := range k.Protocols {
			t.Run(k.Name+" "+strings.ReplaceAll(row, "/", "-"), func(t *testing.T) {
				_, err := k.Find()
				needtest.Program(t, k.Name, err)
				p, err := protocol.Lookup(row)
				if err != nil {
					t.Fatal(err)
				}
				test(t, k, p)
			})
		}
	}
}

// servedBy is the order with somebody else's server.
func servedBy(o pageload.Order, k server.Kind) pageload.Order {
	o.Server = k.Name
	return o
}

// evidence returns what the load left, for metrics and checks.
func (l loaded) evidence(o pageload.Order) *evidence.Evidence {
	return &evidence.Evidence{
		Protocol: o.Protocol, HAR: l.HAR, Server: l.Server, Packets: l.packets, Timing: l.Timing, ServerLost: l.ServerLost, Visit: o.Visit,
	}
}

// visitsOf returns the visits that a loader makes to each server over a row. Cold visits and reloads by the built-in
// loader, which need open connections and answers to conditional requests, show what depends on server and row. The other
// visits differ in what the client does, so each server gets them over one row only. Netty, which takes seconds to start, gets
// none.
func visitsOf(loader string, k server.Kind, row string) []string {
	visits, once := []string{"cold"}, "h2"
	if loader == pageload.Builtin {
		visits = append(visits, "reload")
	}
	switch k.Name {
	case "apache2":
		once = "https/1.1" // over h2 it takes seconds to write its log
	case "node-spdy":
		once = "spdy/3"
	}
	if row != once {
		return visits
	}
	if loader == pageload.Chromium {
		visits = append(visits, "reload")
	}
	return append(visits, "connected", "again")
}

// TestOtherPeoplesServers loads a page of three hosts from every server over every row,
// by the built-in loader and by Chromium: each server is asked for the same, the captures
// agree, and cold and open connections are as they are to be.
func TestOtherPeoplesServers(t *testing.T) {
	page, err := site.Magazine()
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, page)
	owns := map[string]loaded{} // from Wiretime's own server, by order
	eachServer(t, func(t *testing.T, k server.Kind, p protocol.Protocol) {
		if k.Name != "nginx" && k.Name != "node-spdy" {
			needtest.Long(t)
		}
		for _, loader := range []string{pageload.Builtin, pageload.Chromium} {
			if loader == pageload.Chromium && (p.NoBrowser != "" || k.NoBrowser(p.Name) != "") {
				continue
			}
			for _, visit := range visitsOf(loader, k, p.Name) {
				t.Run(loader+" "+visit, func(t *testing.T) {
					o := order(p.Name, visit)
					o.Loader = loader
					key := p.Name + " " + loader + " " + visit
					own, ok := owns[key]
					if !ok {
						own = load(t, s, o, page)
						owns[key] = own
					}
					o = servedBy(o, k)
					l := load(t, s, o, page)
					if v := metric.Pages().Violations(l.evidence(o)); len(v) > 0 {
						t.Error(v)
					}
					if len(l.Server) != len(own.Server) || len(l.HAR.Log.Entries) != len(own.HAR.Log.Entries) {
						t.Errorf("%d requests in its log and %d in the HAR; Wiretime's own server has %d and %d", len(l.Server), len(l.HAR.Log.Entries), len(own.Server), len(own.HAR.Log.Entries))
					}
					t.Logf("onLoad %.1f ms, with Wiretime's own server %.1f ms", l.Timing.OnLoad, own.Timing.OnLoad)
				})
			}
		}
	})
}

// TestCaptureHoldsTheClientsKeys has tshark decrypt loads from a server that tells nobody
// its keys.
func TestCaptureHoldsTheClientsKeys(t *testing.T) {
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip(err)
	}
	k, err := server.Lookup("caddy")
	if err == nil {
		_, err = k.Find()
	}
	if err != nil {
		t.Skip(err)
	}
	page, err := site.Objects(3, 2000)
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, page)
	for row, field := range map[string]string{"https/1.1": "http.request.uri", "h2": "http2.headers.path", "h3": "quic.stream.stream_id"} {
		for _, loader := range []string{pageload.Builtin, pageload.Fetch, pageload.Chromium} {
			t.Run(loader+" "+strings.ReplaceAll(row, "/", "-"), func(t *testing.T) {
				o := servedBy(order(row, "cold"), k)
				o.Loader = loader
				dir := t.TempDir()
				r, err := loadInto(t, s, o, page, dir)
				if err == nil {
					err = r.LoadError
				}
				if err != nil {
					t.Fatal(err)
				}
				out, err := exec.Command(tshark, "-r", filepath.Join(dir, lab.CaptureFile), "-Y", field, "-T", "fields", "-e", field).Output()
				if err != nil {
					t.Fatal(err)
				}
				if n := len(strings.Fields(strings.ReplaceAll(string(out), ",", " "))); n < len(page.Resources) {
					t.Errorf("tshark reads %d times %s of %d requests:\n%s", n, field, len(page.Resources), out)
				}
			})
		}
	}
}

// TestAServerThatCannotStartCostsItsLoadAlone has a load say what the server said, and the
// next one in the same lab go on.
func TestAServerThatCannotStartCostsItsLoadAlone(t *testing.T) {
	page, err := site.Objects(1, 100)
	if err != nil {
		t.Fatal(err)
	}
	s := openWith(t, "", page)
	o := order("h2", "cold")
	o.Loader, o.Server = pageload.Builtin, "mine"
	o.Template = server.Template{Name: "mine", Protocols: []string{"h2"}, Command: []string{"sh", "-c", "echo it will not; exit 4"}}
	_, err = loadInto(t, s, o, page, t.TempDir())
	var refused *pageload.ServerError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "exit status 4; last output: it will not") {
		t.Error(err)
	}
	o.Server = server.Own
	load(t, s, o, page)
}

// TestAServerThatDiesFailsItsLoad names the server's end as the reason, not what the loader
// saw of it.
func TestAServerThatDiesFailsItsLoad(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip(err)
	}
	page, err := site.Objects(1, 100)
	if err != nil {
		t.Fatal(err)
	}
	s := openWith(t, "", page)
	o := order("http/1.1", "cold")
	o.Loader, o.Server = pageload.Builtin, "mine"
	o.Template = server.Template{Name: "mine", Protocols: []string{"http/1.1"}, Command: []string{"python3", "-c", mortal, "{address}", "{port}"}}
	r, err := loadInto(t, s, o, page, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if r.LoadError == nil || !strings.Contains(r.LoadError.Error(), "the server mine exited unexpectedly: exit status 5; last output: that was too much") {
		t.Error(r.LoadError)
	}
}

// mortal is a server that ends with its first request.
const mortal = `import os, socket, sys
listener = socket.create_server((sys.argv[1], int(sys.argv[2])))
while True:
    connection = listener.accept()[0]
    if connection.recv(100):
        print("that was too much", flush=True)
        os._exit(5)
`
