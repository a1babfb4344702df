package serve_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go/http3"

	"wiretime/media/storage"
	"wiretime/media/transport"
	"wiretime/needtest"
	"wiretime/serve"
	"wiretime/spdy"
)

var updateHostile = flag.Bool("update-hostile", false, "write docs/hostile-peers.md anew")

// serverMark in the environment makes TestHostileServer serve.
const serverMark = "TEST_HOSTILE_SERVER"

// bigSize is the size of the file /big.
const bigSize = 8 << 20

// listening says where the servers of a process listen, by protocol or transport.
type listening map[string]string

// load is what the servers of a process have under way.
type load struct {
	Heap       uint64 // octets of heap and stacks in use after a collection
	Peak       uint64 // most octets obtained from the system so far
	Goroutines int
	Processor  time.Duration // so far
}

// TestHostileServer is the process that TestHostilePeers attacks: all servers of wiretime serve, for a
// folder and for media. It serves until its standard input ends.
func TestHostileServer(t *testing.T) {
	if os.Getenv(serverMark) == "" {
		t.Skip("TestHostilePeers starts it")
	}
	folder, err := serve.Folder(makeFolder(t, map[string]string{"small": "ok", "big": strings.Repeat("x", bigSize)}))
	if err != nil {
		t.Fatal(err)
	}
	ca, err := serve.OpenAuthority("", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ca.Close()
	handler := http.NewServeMux()
	handler.Handle("/", folder)
	handler.HandleFunc("/load", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(measure()) })
	server, err := serve.Start(t.Context(), serve.Config{Handler: handler, CA: ca.Authority, Requests: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	media, err := serve.OpenMedia("")
	if err != nil {
		t.Fatal(err)
	}
	servers, err := serve.StartMedia(t.Context(), transport.ServerConfig{
		Address: netip.MustParseAddrPort("127.0.0.1:0"), Storage: media, CA: ca.Authority,
		Patience: time.Second, Idle: 2 * time.Second, MaxConnections: 100, // as wiretime serve, but for the times
	})
	if err != nil {
		t.Fatal(err)
	}
	at := listening{}
	for _, e := range server.Endpoints() {
		at[e.Protocol] = e.Address
	}
	for _, s := range servers {
		if s.Server != nil {
			at[s.Transport.Name] = s.Address().String()
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(at); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = server.Shutdown(ctx)
	if err := servers.Close(); err != nil {
		t.Error(err)
	}
}

func measure() load {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return load{Heap: m.HeapInuse + m.StackInuse, Peak: m.Sys, Goroutines: runtime.NumGoroutine(), Processor: processorTime()}
}

// attack is one way of abusing a server.
type attack struct {
	name string
	over string // the protocol or transport that is attacked
	// makes attacks, and leaves its connections open. It returns how many of them the server has
	// closed or refused by itself.
	makes func(v *victim) (ended int, err error)
	ends  bool // the server must end at least one of them
}

// victim is a server that is attacked.
type victim struct {
	t    *testing.T
	at   listening
	over string
	open []io.Closer // of the attacker
}

func (v *victim) address() string { return v.at[v.over] }

// startVictim starts a process of its own, so that its memory and time are the server's alone.
func startVictim(t *testing.T, over string) *victim {
	t.Helper()
	command := exec.CommandContext(context.Background(), "/proc/self/exe", "-test.run=^TestHostileServer$")
	command.Env = append(os.Environ(), serverMark+"=1")
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	v := &victim{t: t, over: over}
	lines := bufio.NewReader(out)
	first, err := lines.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(first, &v.at)
	}
	if err != nil {
		t.Fatalf("the server did not start: %v: %s", err, first)
	}
	t.Cleanup(func() {
		for _, c := range v.open {
			_ = c.Close()
		}
		_ = in.Close()
		rest, _ := io.ReadAll(lines)
		if err := command.Wait(); err != nil {
			t.Errorf("the server: %v: %s", err, rest)
		}
	})
	return v
}

// insecure is the TLS configuration of a client of a protocol.
func insecure(alpn ...string) *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, ServerName: "localhost", NextProtos: alpn}
}

// client returns an HTTP client of one protocol, and how to close it.
func client(protocol string) (*http.Client, func()) {
	if v, ok := spdy.ParseVersion(protocol); ok {
		tr := &spdy.Transport{Versions: []spdy.Version{v}, OnlySPDY: true, TLSClientConfig: insecure()}
		return &http.Client{Transport: tr}, func() { _ = tr.Close() }
	}
	if protocol == "h3" {
		tr := &http3.Transport{TLSClientConfig: insecure("h3")}
		return &http.Client{Transport: tr}, func() { _ = tr.Close() }
	}
	tr := &http.Transport{TLSClientConfig: insecure(), Protocols: new(http.Protocols)}
	tr.Protocols.SetHTTP1(protocol != "h2")
	tr.Protocols.SetHTTP2(protocol == "h2")
	return &http.Client{Transport: tr}, tr.CloseIdleConnections
}

// get fetches a path over a protocol, on a connection of its own.
func (v *victim) get(protocol, path string) ([]byte, error) {
	c, done := client(protocol)
	defer done()
	scheme := "https://"
	if protocol == "http/1.1" {
		scheme = "http://"
	}
	ctx, cancel := context.WithTimeout(v.t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+v.at[protocol]+path, nil)
	if err != nil {
		return nil, err
	}
	r.Host = "localhost"
	response, err := c.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}

// beside is a well-behaved client of what is attacked.
func (v *victim) beside() error {
	if row, err := transport.Lookup(v.over); err == nil {
		return v.view(row)
	}
	got, err := v.get(v.over, "/small")
	if err == nil && string(got) != "ok" {
		err = fmt.Errorf("%q came", got)
	}
	return err
}

// view receives a segment over a transport.
func (v *victim) view(row transport.Transport) error {
	c, err := transport.NewClient(transport.ClientConfig{
		Transport: row, Server: netip.MustParseAddrPort(v.address()), Name: "localhost", Verify: func(tls.ConnectionState) error { return nil },
	})
	if err != nil {
		return err
	}
	s, err := c.Connect(v.t.Context())
	if err != nil {
		return err
	}
	defer s.Close()
	response, err := s.Request(v.t.Context(), transport.Request{ID: storage.ID{Item: "file@10kB"}})
	if err != nil {
		return err
	}
	n, err := io.Copy(io.Discard, response)
	return errors.Join(err, response.Close(), errors.Join(map[bool]error{n != 10_000: fmt.Errorf("%d octets came", n)}[true]))
}

func (v *victim) load() load {
	v.t.Helper()
	got, err := v.get("http/1.1", "/load")
	var l load
	if err == nil {
		err = json.Unmarshal(got, &l)
	}
	if err != nil {
		v.t.Fatalf("ask the server for its load: %v", err)
	}
	return l
}

// Limits of what an attack may cost the server, beside what it takes without one.
const (
	mostHeap       = 64 << 20
	mostPeak       = 256 << 20
	mostGoroutines = 2500 // 250 streams, or connections, each with some
	besides        = 10   // requests of the well-behaved client
)

// TestHostilePeers attacks the servers of wiretime serve, and a well-behaved client fetches from the
// attacked server meanwhile. Memory and goroutines must stay below a limit, and the client must be
// served. Time is only shown.
func TestHostilePeers(t *testing.T) {
	quick := []string{"h2", "spdy/3.1"} // the older versions of SPDY share the code of the newest one
	all := *updateHostile || needtest.IsLong()
	table := "| attacked | attack | ended by the server | heap, MB | peak, MB | goroutines | processor, s | well-behaved client |\n" +
		"| --- | --- | --- | --- | --- | --- | --- | --- |\n"
	for _, a := range attacks() {
		if !all && !slices.Contains(quick, a.over) {
			continue
		}
		t.Run(strings.ReplaceAll(a.over, "/", "-")+" "+a.name, func(t *testing.T) {
			v := startVictim(t, a.over)
			if v.at[a.over] == "" {
				t.Skipf("this machine does not serve %s", a.over)
			}
			if err := v.beside(); err != nil {
				t.Fatalf("without an attack: %v", err)
			}
			before := v.load()
			var attacking sync.WaitGroup
			ended, served := 0, 0
			var failed error
			attacking.Go(func() { ended, failed = a.makes(v) })
			for range besides {
				if err := v.beside(); err != nil {
					t.Errorf("the well-behaved client: %v", err)
				} else {
					served++
				}
			}
			attacking.Wait()
			if failed != nil {
				t.Fatalf("attack: %v", failed)
			}
			after := v.load()
			if err := v.beside(); err != nil {
				t.Errorf("the well-behaved client, later: %v", err)
			}
			heap := int64(after.Heap) - int64(before.Heap)
			row := fmt.Sprintf("| %s | %s | %d | %.1f | %.0f | %d | %.2f | %d of %d |\n", a.over, a.name, ended, float64(heap)/1e6,
				float64(after.Peak)/1e6, after.Goroutines-before.Goroutines, (after.Processor - before.Processor).Seconds(), served, besides)
			t.Log(row)
			table += row
			if a.ends && ended == 0 {
				t.Error("the server did not end the attacker")
			}
			if heap > mostHeap || after.Peak > mostPeak || after.Goroutines-before.Goroutines > mostGoroutines {
				t.Errorf("%+v, before it was %+v", after, before)
			}
		})
	}
	t.Log("\n" + table)
	if *updateHostile {
		if err := os.WriteFile(filepath.Join("..", "docs", "hostile-peers.md"), []byte(hostilePage+table), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const hostilePage = `# Hostile peers

Made by ` + "`go test ./serve -run TestHostilePeers -update-hostile`" + `. Each attack meets a new process with all servers of
` + "`wiretime serve`" + `, and leaves its connections open; meanwhile a well-behaved client makes ten requests of the attacked server, each
on a connection of its own. *Heap* (with stacks, after a collection) and *goroutines* are what the attack left more than there was
before. *Peak* is all memory that the process ever took from the system. *Processor* includes the well-behaved client's requests.
*Ended by the server* counts the attacker's connections that the server closed or refused. The test fails above 64 MB of heap, 256 MB
of peak or 2,500 goroutines. Media servers had a patience of a second.

`
