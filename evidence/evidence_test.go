package evidence

import (
	"bytes"
	"net/netip"
	"testing"

	"wiretime/capture"
	"wiretime/capture/capturetest"
)

const (
	client = "10.0.0.2:4000"
	server = "10.0.1.2:443"
	dns    = "10.0.1.1:53"
)

// seen returns the evidence of packets that pass the client's interface one after the other.
func seen(t *testing.T, packets ...capture.PacketRecord) *Evidence {
	t.Helper()
	file := capture.AppendHeader(nil, capture.Header{Interfaces: []capture.Interface{{Name: "client.lte"}, {Name: "server.lte"}}})
	for i := range packets {
		packets[i].Time, packets[i].Length = int64(i), len(packets[i].Data)
		file = capture.AppendPacket(file, &packets[i])
	}
	read, err := capture.ReadPcapng(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	return &Evidence{Packets: read}
}

func up(data []byte) capture.PacketRecord   { return capture.PacketRecord{Data: data} }
func down(data []byte) capture.PacketRecord { return capture.PacketRecord{Data: data, Inbound: true} }

// atServer is how the server's interface sees a packet.
func atServer(p capture.PacketRecord) capture.PacketRecord {
	p.Interface, p.Inbound = 1, !p.Inbound
	return p
}

func lost(p capture.PacketRecord) capture.PacketRecord {
	p.Comment = capture.DroppedPrefix + "queue"
	return p
}

// segment is a TCP segment with options.
func segment(from, to string, sequence uint32, flags capture.TCPFlags, options ...byte) []byte {
	return capturetest.Segment(from, to, sequence, 0, flags, options, nil)
}

func datagram(from, to string, payload ...byte) []byte {
	return capturetest.Datagram(from, to, payload)
}

// TestSightings sees a packet at both ends, one that is lost, and one that is not IPv4.
func TestSightings(t *testing.T) {
	p := up(segment(client, server, 1, capture.SYN))
	e := seen(t, p, atServer(p), lost(p), up([]byte{0x60}))
	all := e.Sightings()
	if len(all) != 4 || !all[0].AtClient || all[1].AtClient || all[1].FromClient() == all[0].FromClient() {
		t.Fatalf("got %+v", all)
	}
	for i, want := range []struct{ opens, dropped bool }{{true, false}, {true, false}, {true, true}, {false, false}} {
		if s := &all[i]; s.Opens() != want.opens || s.Dropped() != want.dropped {
			t.Errorf("%d: opens %v, dropped %v, want %+v", i, s.Opens(), s.Dropped(), want)
		}
	}
	n := 0
	for range e.AtClient() {
		n++
	}
	if n != 3 {
		t.Errorf("%d packets passed the client, want 3", n)
	}
	if got := new(Evidence).Sightings(); got != nil {
		t.Errorf("%v without a capture", got)
	}
}

// TestConnections follows handshakes.
func TestConnections(t *testing.T) {
	const long, short = 0xc3, 0x43
	syn, answer := up(segment(client, server, 7, capture.SYN)), down(segment(server, client, 9, capture.SYN|capture.ACK))
	type state struct{ opened, answered, flightLost bool }
	for _, c := range []struct {
		name    string
		packets []capture.PacketRecord
		want    []state
	}{
		{"TCP", []capture.PacketRecord{syn, answer}, []state{{true, true, false}}},
		{"a SYN without an answer", []capture.PacketRecord{syn}, []state{{true, false, false}}},
		{"a SYN that is lost and repeated", []capture.PacketRecord{lost(syn), syn, answer}, []state{{true, true, true}}},
		{"something lost later", []capture.PacketRecord{syn, answer, lost(up(segment(client, server, 8, capture.ACK)))}, []state{{true, true, false}}},
		{"the same port again", []capture.PacketRecord{syn, answer, up(segment(client, server, 70, capture.SYN))}, []state{{true, true, false}, {true, false, false}}},
		{"opened before the capture", []capture.PacketRecord{up(segment(client, server, 8, capture.ACK))}, []state{{false, false, false}}},
		{"QUIC", []capture.PacketRecord{up(datagram(client, server, long)), down(datagram(server, client, long))}, []state{{true, true, false}}},
		{"QUIC from another address", []capture.PacketRecord{up(datagram(client, server, short)), down(datagram(server, client, short))}, []state{{false, true, false}}},
		{"DNS", []capture.PacketRecord{up(datagram(client, dns, 1)), up(segment(client, dns, 1, capture.SYN))}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := seen(t, c.packets...).Connections()
			if len(got) != len(c.want) {
				t.Fatalf("%d connections, want %d", len(got), len(c.want))
			}
			for i, g := range got {
				if s := (state{g.Opened, g.Answered, g.FlightLost}); s != c.want[i] || g.Established() != (s.opened && s.answered) {
					t.Errorf("%+v, want %+v", s, c.want[i])
				}
			}
		})
	}
}

// TestFlows tells sessions apart by the first packet of each flow.
func TestFlows(t *testing.T) {
	overUDP := append(make([]byte, 12), 1, 0, 0, 4)
	for _, c := range []struct {
		name  string
		first capture.PacketRecord
		want  Wire
	}{
		{"TCP", up(segment(client, server, 1, capture.SYN)), WireTCP},
		{"TCP under way", up(segment(client, server, 1, capture.ACK)), ""},
		{"from the server", down(segment(server, client, 1, capture.SYN)), ""},
		{"SCTP", up(capturetest.Packet(capture.SCTP, client, server, append(make([]byte, 12), 1, 0, 0, 4))), WireSCTP},
		{"SCTP under way", up(capturetest.Packet(capture.SCTP, client, server, make([]byte, 28))), ""},
		{"SCTP over UDP", up(datagram(client, server, overUDP...)), WireSCTPOverUDP},
		{"DTLS", up(datagram(client, server, 22, 0xfe, 0xff)), WireDTLS},
		{"QUIC", up(datagram(client, server, 0xc3)), WireQUIC},
		{"QUIC under way", up(datagram(client, server, 0x43)), ""},
	} {
		got := seen(t, c.first).Flows()
		if len(got) != 1 || got[0].Opens != c.want || got[0].Source != netip.MustParseAddrPort(client) {
			t.Errorf("%s: %+v, want %q", c.name, got, c.want)
		}
	}
	if got := seen(t, up(datagram(client, dns, 1))).Flows(); len(got) != 0 {
		t.Errorf("DNS: %v", got)
	}
}

// TestOpenedBySYN reads what TCP's options say of MPTCP.
func TestOpenedBySYN(t *testing.T) {
	for _, c := range []struct {
		name    string
		options []byte
		want    Wire
	}{
		{"none", nil, WireTCP},
		{"MP_CAPABLE behind others", []byte{2, 4, 5, 180, 1, 3, 3, 7, 30, 4, 0x01, 0}, WireMPTCP},
		{"MP_JOIN", []byte{30, 12, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0}, ""},
		{"behind the end", []byte{0, 0, 0, 0, 30, 4, 0x01, 0}, WireTCP},
		{"of no length", []byte{30, 0, 0x01, 0}, WireTCP},
		{"longer than there is room", []byte{30, 40, 0x01, 0}, WireTCP},
	} {
		if got := openedBySYN(segment(client, server, 1, capture.SYN, c.options...)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestAddress compares URLs as the browser, the server and the wire write them.
func TestAddress(t *testing.T) {
	for _, same := range [][2]string{
		{"https://A.test", "https://a.test/"},
		{"https://a.test:443/x#y", "https://a.test/x"},
		{"http://a.test:80/", "http://a.test/"},
		{"https://me:secret@a.test/", "https://a.test/"},
		{"https://a.test/?", "https://a.test/"},
		{"HTTP://WWW.Test:80#x", "http://www.test/"},
		{"https://a.test:443/a?b=c", "https://a.test/a?b=c"},
	} {
		if a, b := Address(same[0]), Address(same[1]); a != b {
			t.Errorf("%s and %s differ: %s, %s", same[0], same[1], a, b)
		}
	}
	for _, differ := range [][2]string{
		{"https://a.test/?a=1", "https://a.test/?a=2"},
		{"https://a.test:80/", "https://a.test/"},
		{"http://a.test/", "https://a.test/"},
		{"https://a.test/%2f", "https://a.test//"},
		{"https://a.test:8443/", "https://a.test/"},
		{"://", "https:///"},
	} {
		if a, b := Address(differ[0]), Address(differ[1]); a == b {
			t.Errorf("%s and %s are the same: %s", differ[0], differ[1], a)
		}
	}
}

// TestInline tells the URLs of resources that no server has.
func TestInline(t *testing.T) {
	for address, want := range map[string]bool{
		"data:image/svg+xml,<svg fill='#%zz'>": true, "DATA:,x": true, "blob:https://a.test/1": true, "about:blank": true,
		"https://a.test/data:": false, "http://data/": false, "": false,
	} {
		if got := Inline(address); got != want {
			t.Errorf("%q: %v", address, got)
		}
	}
}
