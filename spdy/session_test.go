package spdy

import (
	"net"
	"testing"
)

// sessions are the two ends of one connection.
func sessions(t testing.TB, v Version, server, c Config) (*Session, *Session) {
	t.Helper()
	a, b := connection(t)
	cs, ss := NewClient(a, v, &c), NewServer(b, v, &server)
	t.Cleanup(func() {
		_ = cs.Close()
		_ = ss.Close()
		_ = cs.Wait()
		_ = ss.Wait()
	})
	return cs, ss
}

// connection is a TCP connection on this machine.
func connection(t testing.TB) (net.Conn, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return a, b
}
