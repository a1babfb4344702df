package protection

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
)

// datagram is what one end of a connection sent.
type datagram struct {
	sender int
	data   []byte
}

// tapped records the datagrams that an end sends.
type tapped struct {
	net.PacketConn
	sender int
	sent   func(datagram)
}

func (c tapped) WriteTo(b []byte, to net.Addr) (int, error) {
	c.sent(datagram{c.sender, bytes.Clone(b)})
	return c.PacketConn.WriteTo(b, to)
}

// converse asks a question over QUIC and returns the datagrams of both ends in the order in which they were sent, and the
// key log.
func converse(t testing.TB) (all []datagram, log []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var mu sync.Mutex
	record := func(d datagram) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, d)
	}
	var transports [2]*quic.Transport
	for sender := range transports {
		socket, err := net.ListenPacket("udp4", "127.0.0.1:0")
		must(t, err)
		defer socket.Close()
		transports[sender] = &quic.Transport{Conn: tapped{socket, sender, record}}
		defer transports[sender].Close()
	}
	listener, err := transports[1].Listen(&tls.Config{Certificates: []tls.Certificate{certificate(t)}, NextProtos: []string{"h3"}}, nil)
	must(t, err)
	var serving sync.WaitGroup
	serving.Go(func() {
		c, err := listener.Accept(ctx)
		if err != nil {
			t.Error(err)
			return
		}
		if s, err := c.AcceptStream(ctx); err != nil {
			t.Error(err)
		} else {
			_, _ = io.WriteString(s, "answer")
			_ = s.Close()
		}
		<-c.Context().Done()
	})
	var keys bytes.Buffer
	c, err := transports[0].Dial(ctx, transports[1].Conn.LocalAddr(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h3"}, KeyLogWriter: &keys}, nil) //nolint:gosec // the certificate is not tested
	must(t, err)
	s, err := c.OpenStreamSync(ctx)
	must(t, err)
	_, err = io.WriteString(s, "question")
	must(t, err)
	must(t, s.Close())
	answer, err := io.ReadAll(s)
	must(t, err)
	if string(answer) != "answer" {
		t.Fatalf("the answer is %q", answer)
	}
	must(t, c.CloseWithError(0, ""))
	serving.Wait()
	mu.Lock()
	defer mu.Unlock()
	return all, keys.Bytes()
}

// TestConversation decrypts a connection, and the same one without its keys.
func TestConversation(t *testing.T) {
	datagrams, log := converse(t)
	c := NewConversation(ReadKeyLog(log))
	sealed := 0
	said := [2][]byte{}
	for _, d := range datagrams {
		sealed += c.Datagram(d.sender, d.data, func(o Opened) {
			for f := range Frames(o.Payload) {
				if f.Kind == Stream && o.Level == Application && f.Offset == uint64(len(said[d.sender])) {
					said[d.sender] = append(said[d.sender], f.Data...)
				}
			}
		})
	}
	if sealed > 0 || !c.HasSecrets() || c.ALPN != "h3" || c.Transport[0] == nil || c.Transport[1] == nil {
		t.Errorf("%d packets stayed encrypted, secrets %v, ALPN %q, transport parameters %x", sealed, c.HasSecrets(), c.ALPN, c.Transport)
	}
	if string(said[0]) != "question" || string(said[1]) != "answer" {
		t.Errorf("the client said %q, the server %q", said[0], said[1])
	}

	c = NewConversation(nil)
	opened, sealed := 0, 0
	for _, d := range datagrams {
		sealed += c.Datagram(d.sender, d.data, func(o Opened) {
			if opened++; o.Level != Initial {
				t.Errorf("a packet of level %d was decrypted without keys", o.Level)
			}
		})
	}
	if c.HasSecrets() || opened == 0 || sealed == 0 || c.ALPN != "" {
		t.Errorf("without keys: secrets %v, %d packets opened, %d sealed, ALPN %q", c.HasSecrets(), opened, sealed, c.ALPN)
	}
}

// FuzzConversation reads datagrams that need not be QUIC. Each octet of senders says who sent the next datagram and how long
// it is.
func FuzzConversation(f *testing.F) {
	const unit = 16 // octets
	datagrams, log := converse(f)
	var data, senders []byte
	for _, d := range datagrams[:4] {
		units := (len(d.data) + unit - 1) / unit
		data = append(append(data, d.data...), make([]byte, units*unit-len(d.data))...)
		senders = append(senders, byte(units<<1|d.sender))
	}
	f.Add(data, senders, log)
	f.Fuzz(func(t *testing.T, data, senders, log []byte) {
		c := NewConversation(ReadKeyLog(log))
		for _, by := range senders {
			n := min(len(data), int(by>>1)*unit)
			sealed := c.Datagram(int(by&1), data[:n], func(o Opened) {
				if len(o.Payload) > n {
					t.Errorf("a datagram of %d octets has a payload of %d", n, len(o.Payload))
				}
			})
			if sealed > n {
				t.Errorf("a datagram of %d octets has %d packets", n, sealed)
			}
			data = data[n:]
		}
	})
}
