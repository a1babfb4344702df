package link_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wiretime/lab"
	"wiretime/link"
	"wiretime/network"
)

func TestMain(m *testing.M) {
	lab.Helper()
	link.Helper()
	disconnected, err := link.Enter()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if disconnected != nil {
		fmt.Fprintln(os.Stderr, "note:", disconnected)
	}
	os.Exit(m.Run())
}

// path is a path with so many access links.
func path(links int) network.Path {
	p := network.Path{Name: "test"}
	for range links {
		l := network.Link{Delay: 10 * time.Millisecond}
		p.Access = append(p.Access, network.Access{Name: "access", Up: l, Down: l})
	}
	return p
}

// TestRun: the command's only route is through the path, it knows its depth, its packets are
// captured, and its exit code is what Run returns.
func TestRun(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "packets.pcapng")
	var out bytes.Buffer
	// Nothing listens there, so the answer is a reset; it has come when connecting has failed.
	command := exec.Command("bash", "-c", `echo depth $WIRETIME_DEPTH; cat /proc/net/route; (: </dev/tcp/100.64.1.1/9) 2>/dev/null; exit 7`)
	command.Stdout, command.Stderr = &out, os.Stderr
	err := link.Run(t.Context(), link.Config{Path: path(1), Seed: 1, Capture: kept}, command)
	exited, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exited.ExitCode() != 7 {
		t.Fatalf("Run returns %v, want the command's exit code 7", err)
	}
	for _, want := range []string{"depth 1\n", "wt0\t00000000\t01014064\t"} { // the default route's gateway is 100.64.1.1
		if !strings.Contains(out.String(), want) {
			t.Errorf("the command sees no %q:\n%s", want, &out)
		}
	}
	pcapng, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range [][]byte{{100, 64, 1, 2, 100, 64, 1, 1}, {100, 64, 1, 1, 100, 64, 1, 2}} {
		if !bytes.Contains(pcapng, address) {
			t.Errorf("the capture holds no packet with the source and destination %v", address)
		}
	}
}

// TestRelay: a connection from behind the path reaches a server in the current namespace, whose answer and end come back
// over the path. Where no server is, the connection ends.
func TestRelay(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			_, err = io.Copy(conn, conn)
			err = errors.Join(err, conn.Close(), listener.Close())
		}
		served <- err
	}()
	l, err := link.Open(t.Context(), link.Config{Path: path(1), Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	r, err := l.Relay(t.Context(), netip.MustParseAddrPort(listener.Addr().String()))
	if err != nil {
		t.Fatal(err)
	}
	echo := func() (string, error) {
		conn, err := l.Near.Connect(t.Context(), r.Address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write([]byte("there and back")); err != nil {
			return "", err
		}
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			return "", err
		}
		answer, err := io.ReadAll(conn)
		return string(answer), err
	}
	if answer, err := echo(); answer != "there and back" || err != nil {
		t.Errorf("the answer is %q, %v", answer, err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if answer, _ := echo(); answer != "" {
		t.Errorf("the answer of no server is %q", answer)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if report, err := l.Close(); err != nil || report.Arrived[0] == 0 || report.Delivered[1] == 0 {
		t.Errorf("the link reports %+v, %v", report, err)
	}
}

// TestRunRefuses: what cannot be run says why.
func TestRunRefuses(t *testing.T) {
	for _, test := range []struct {
		name, depth string
		config      link.Config
		says        string
	}{
		{"two access links", "0", link.Config{Path: path(2)}, "2 access links; want one"},
		{"nested too deep", "60", link.Config{Path: path(1)}, "the limit is 60"},
		{"capture in no folder", "0", link.Config{Path: path(1), Capture: "nowhere/x.pcapng"}, "nowhere/x.pcapng"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("WIRETIME_DEPTH", test.depth)
			err := link.Run(t.Context(), test.config, exec.Command("true"))
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("Run returns %v, want an error that says %q", err, test.says)
			}
		})
	}
}

func TestDepth(t *testing.T) {
	for value, want := range map[string]int{"": 0, "2": 2, "many": 0} {
		t.Setenv("WIRETIME_DEPTH", value)
		if got := link.Depth(); got != want {
			t.Errorf("with WIRETIME_DEPTH=%q the depth is %d, want %d", value, got, want)
		}
	}
}
