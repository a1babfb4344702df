package guest

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"wiretime/capture"
	"wiretime/lab"
	"wiretime/network"
	"wiretime/protocol"
	"wiretime/site"
	"wiretime/workload/pageload"
)

// comebacks are visits to one small page by a returning client.
type comebacks struct {
	Path   network.Path
	Visits []comeback
}

type comeback struct{ Protocol, Visit string }

// cameBack is the outcome of a visit.
type cameBack struct {
	FirstByte time.Duration
	Octets    int // IP packets that reached the client
	Server    []capture.ServerEntry
}

const (
	comebacksFile = "comebacks.json"
	cameBackFile  = "came-back.json"
)

// TestComingBackSavesWholeRoundTrips checks the kinds of visits over a path with 200 ms of
// round trip and no rate. A resumed session of TLS 1.3 saves octets but no round trip,
// early data saves the one of QUIC's handshake, and an open connection leaves only the
// request's own.
//
// Sessions can be resumed whatever a guest's clock says: neither end rejects tickets or
// certificates for their dates.
func TestComingBackSavesWholeRoundTrips(t *testing.T) {
	const rtt = 200 * time.Millisecond
	const mostReadings = 300
	tests := []struct {
		comeback
		roundTrips     int
		resumed, early bool
	}{
		{comeback{"https/1.1", "cold"}, 3, false, false},
		{comeback{"https/1.1", "resumed"}, 3, true, false},
		{comeback{"https/1.1", "connected"}, 1, false, false},
		{comeback{"h3", "cold"}, 2, false, false},
		{comeback{"h3", "resumed"}, 2, true, false},
		{comeback{"h3", "0rtt"}, 1, true, true},
		{comeback{"h3", "connected"}, 1, false, false},
	}
	c := comebacks{Path: oneLink(network.Link{Delay: rtt / 2})}
	for _, test := range tests {
		c.Visits = append(c.Visits, test.comeback)
	}
	var outcomes []cameBack
	inGuest(t, comebacksProgram, comebacksFile, c, cameBackFile, &outcomes)
	if len(outcomes) != len(tests) {
		t.Fatalf("%d visits came back, want %d", len(outcomes), len(tests))
	}
	octets := map[comeback]int{}
	for i, test := range tests {
		t.Run(name(test.Protocol)+" "+test.Visit, func(t *testing.T) {
			got := outcomes[i]
			octets[test.comeback] = got.Octets
			over := got.FirstByte - time.Duration(test.roundTrips)*rtt
			if over < 0 || over > mostReadings*reading {
				t.Errorf("the first byte came after %v, want %d round trips and no more than %d readings of the clock", got.FirstByte, test.roundTrips, mostReadings)
			}
			if len(got.Server) != 1 || got.Server[0].Resumed != test.resumed || got.Server[0].EarlyData != test.early {
				t.Errorf("the server's log is %+v, want one request, resumed: %v, early: %v", got.Server, test.resumed, test.early)
			}
			t.Logf("the first byte came after %d round trips and %d readings of the clock; %d octets", test.roundTrips, over/reading, got.Octets)
		})
	}
	// certificates is the size of the certificates in octets, less the ticket that replaces
	// them and extra acknowledgements of either handshake.
	const certificates = 600
	for _, row := range []string{"https/1.1", "h3"} {
		if saved := octets[comeback{row, "cold"}] - octets[comeback{row, "resumed"}]; saved < certificates {
			t.Errorf("%s: a resumed session saved %d octets, want the certificates', %d and more", row, saved, certificates)
		}
	}
}

// come makes the visits one after the other.
func (c comebacks) come(ctx context.Context) (outcomes []cameBack, err error) {
	l, err := lab.New(ctx, labConfig(1))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	ca, err := protocol.OpenAuthority("/tmp/ca")
	if err != nil {
		return nil, err
	}
	page, err := site.Objects(1, 1)
	if err != nil {
		return nil, err
	}
	for i, visit := range c.Visits {
		row, err := protocol.Lookup(visit.Protocol)
		if err != nil {
			return nil, err
		}
		dir := filepath.Join("/tmp", fmt.Sprint(i))
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, err
		}
		r, err := pageload.Run(ctx, l, pageload.Load{Order: pageload.Order{Path: c.Path, Seed: 1, TCP: cubic, Protocol: visit.Protocol, Visit: visit.Visit, Timeout: time.Minute},
			Site: page, Authority: ca, Dir: dir, Session: &returner{lab: l, row: row, ca: ca, sessions: tls.NewLRUClientSessionCache(8)}})
		if err == nil {
			err = r.LoadError
		}
		if err != nil {
			return nil, fmt.Errorf("visit %d: %w", i, err)
		}
		octets, err := arrived(filepath.Join(dir, lab.CaptureFile))
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, cameBack{time.Duration(math.Round(r.Timing.TTFB * float64(time.Millisecond))), octets, r.Server})
	}
	return outcomes, nil
}

// arrived adds up the octets of a capture that reached the client.
func arrived(name string) (octets int, err error) {
	file, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	packets, err := capture.ReadPcapng(file)
	if err != nil {
		return 0, err
	}
	for _, p := range packets.Records {
		if p.Inbound && packets.Interfaces[p.Interface].Name == "client.0" {
			octets += p.Length
		}
	}
	return octets, nil
}

// returner is a loader of one document that remembers sessions.
type returner struct {
	lab      *lab.Lab
	row      protocol.Protocol
	ca       *protocol.Authority
	sessions tls.ClientSessionCache
	early    bool // may send early data
	fetch    func(ctx context.Context, request *http.Request) error
	close    func() error // nil: nothing is open
}

func (r *returner) Load(ctx context.Context, url string) (*capture.HAR, capture.Timing, error) {
	began := time.Now()
	timing := capture.Timing{NavigationStart: began.UnixNano(), DCL: -1, OnLoad: -1, FCP: -1, LCP: -1, LastResource: -1}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, timing, err
	}
	if r.close == nil {
		config := &tls.Config{MinVersion: tls.VersionTLS13, ServerName: request.URL.Host, NextProtos: []string{r.row.ALPN},
			ClientSessionCache: r.sessions, InsecureSkipVerify: true, VerifyConnection: r.ca.Verify}
		if r.row.Transport == "udp" {
			err = r.overQUIC(ctx, config)
		} else {
			err = r.overTCP(ctx, config)
		}
		if err != nil {
			return nil, timing, err
		}
	}
	err = r.fetch(ctx, request)
	timing.TTFB = float64(time.Since(began)) / float64(time.Millisecond)
	return nil, timing, err
}

// Forget keeps what keep says; the server has closed the connections.
func (r *returner) Forget(_ context.Context, keep capture.Warm) error {
	r.early = keep.EarlyData
	if keep.Connections {
		return nil
	}
	return r.Close()
}

func (r *returner) Close() error {
	if r.close == nil {
		return nil
	}
	err := r.close()
	r.close = nil
	return err
}

// home is the address of the only origin.
const home = "198.19.1.1:443"

func (r *returner) overTCP(ctx context.Context, config *tls.Config) error {
	transport, err := r.lab.Dial(ctx, "tcp4", home)
	if err != nil {
		return err
	}
	conn := tls.Client(transport, config)
	r.close = func() error { _ = conn.Close(); return nil } // the server may have closed it already
	if err := conn.HandshakeContext(ctx); err != nil {
		return err
	}
	input := bufio.NewReader(conn)
	r.fetch = func(_ context.Context, request *http.Request) error {
		if err := request.Write(conn); err != nil {
			return err
		}
		response, err := http.ReadResponse(input, request)
		return drained(response, err)
	}
	return nil
}

func (r *returner) overQUIC(ctx context.Context, config *tls.Config) error {
	socket, err := r.lab.ListenPacket(ctx, "udp4", ":0")
	if err != nil {
		return err
	}
	transport := &quic.Transport{Conn: socket}
	r.close = func() error { return errors.Join(transport.Close(), socket.Close()) }
	dial := transport.Dial
	if r.early {
		dial = transport.DialEarly
	}
	server, err := net.ResolveUDPAddr("udp4", home)
	if err != nil {
		return err
	}
	conn, err := dial(ctx, server, config, nil)
	if err != nil {
		return err
	}
	client := (&http3.Transport{DisableCompression: true}).NewClientConn(conn)
	r.fetch = func(ctx context.Context, request *http.Request) error {
		stream, err := client.OpenRequestStream(ctx)
		if err != nil {
			return err
		}
		if err := stream.SendRequestHeader(request); err != nil {
			return err
		}
		_ = stream.Close() // fails if the response has come already
		response, err := stream.ReadResponse()
		return drained(response, err)
	}
	return nil
}

func drained(response *http.Response, err error) error {
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return errors.Join(err, response.Body.Close())
}

// serveComebacks makes the visits in a guest.
func serveComebacks() error {
	var c comebacks
	if err := readJSON(comebacksFile, &c); err != nil {
		return err
	}
	outcomes, err := c.come(context.Background())
	if err != nil {
		return err
	}
	text, err := json.Marshal(outcomes)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(shared, outDir, cameBackFile), text, 0o644)
}
