package socket

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

func here(f func() error) error { return f() }

// TestConnect exchanges octets over a socket that prepare has bound to an address.
func TestConnect(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", "[::1]:0"} {
		t.Run(at, func(t *testing.T) {
			l, err := net.Listen("tcp", at)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			to := l.Addr().(*net.TCPAddr).AddrPort()
			opened, err := Connect(t.Context(), here, unix.IPPROTO_TCP, to, func(fd int) error {
				return unix.Bind(fd, Address(netip.AddrPortFrom(to.Addr(), 0)))
			})
			if err != nil {
				t.Fatal(err)
			}
			defer opened.Close()
			conn, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := conn.Write([]byte("octets")); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, 6)
			if _, err := io.ReadFull(opened, got); err != nil || string(got) != "octets" {
				t.Errorf("%q, %v came", got, err)
			}
		})
	}
}

// TestConnectFails covers a missing listener, a prepare that fails, a thread that fails,
// and a context that ends while nobody answers.
func TestConnectFails(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().(*net.TCPAddr).AddrPort()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Connect(t.Context(), here, unix.IPPROTO_TCP, nobody, nil); !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("nobody listens: %v", err)
	}
	odd := errors.New("odd")
	if _, err := Connect(t.Context(), here, unix.IPPROTO_TCP, nobody, func(int) error { return odd }); !errors.Is(err, odd) {
		t.Errorf("prepare fails: %v", err)
	}
	if _, err := Connect(t.Context(), func(func() error) error { return odd }, unix.IPPROTO_TCP, nobody, nil); !errors.Is(err, odd) {
		t.Errorf("the thread fails: %v", err)
	}
	silent, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(silent)
	if err := errors.Join(unix.Bind(silent, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(silent, 0)); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(silent)
	if err != nil {
		t.Fatal(err)
	}
	// The second waits until the first is accepted.
	full := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(name.(*unix.SockaddrInet4).Port))
	first, err := Connect(t.Context(), here, unix.IPPROTO_TCP, full, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err = Connect(ctx, func(f func() error) error { defer cancel(odd); return f() }, unix.IPPROTO_TCP, full, nil)
	if !errors.Is(err, odd) {
		t.Errorf("the context ends: %v", err)
	}
}
