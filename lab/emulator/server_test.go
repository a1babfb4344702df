package emulator

import (
	"net/netip"
	"testing"

	"wiretime/network"
)

// header4 and header6 return packets that consist of a header only, from 10.0.0.1 and
// 2001:db8::1 to 198.19.1.2 and 2001:db8::2.
func header4() []byte {
	b := make([]byte, 20)
	b[0] = 0x45
	copy(b[12:], []byte{10, 0, 0, 1, 198, 19, 1, 2})
	return b
}

func header6() []byte {
	b := make([]byte, 40)
	b[0] = 0x60
	for i, last := range []byte{1, 2} {
		a := netip.MustParseAddr("2001:db8::").As16()
		a[15] = last
		copy(b[8+16*i:], a[:])
	}
	return b
}

func TestServerOfAPacket(t *testing.T) {
	for _, test := range []struct {
		name      string
		direction network.Direction
		packet    []byte
		want      string // "" for none
	}{
		{"upwards", network.Up, header4(), "198.19.1.2"},
		{"downwards", network.Down, header4(), "10.0.0.1"},
		{"upwards over IPv6", network.Up, header6(), "2001:db8::2"},
		{"downwards over IPv6", network.Down, header6(), "2001:db8::1"},
		{"cut short before its end", network.Up, header4()[:19], ""},
		{"cut short over IPv6", network.Up, header6()[:39], ""},
		{"nothing", network.Down, nil, ""},
	} {
		got := server(test.direction, test.packet)
		if got.IsValid() != (test.want != "") || got.IsValid() && got.String() != test.want {
			t.Errorf("%s: %v, want %q", test.name, got, test.want)
		}
	}
}
