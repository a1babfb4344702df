package critical

import (
	"bytes"
	"encoding/hex"
	"testing"
)

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestInitialKeys derives the secrets of RFC 9001 appendix A.1.
func TestInitialKeys(t *testing.T) {
	q := &quicReader{}
	q.begin(unhex(t, "8394c8f03e515708"))
	for d, want := range []struct{ secret, iv, header string }{
		{"c00cf151ca5be075ed0ebfb5c80323c42d6b7db67881289af4008f1f6c357aea", "fa044b2f42a3fd3b46fb255c", "9f50449e04a0e810283a1e9933adedd2"},
		{"3c199828fd139efd216c155ad844cc81fb82fa8d7446fa7d78be803acdda951b", "0ac1493ca1905853b0bba03e", "c206b8d9b9f0f37644430b490eeaa314"},
	} {
		p := q.seals[d][initial]
		if !bytes.Equal(p.secret, unhex(t, want.secret)) || !bytes.Equal(p.iv, unhex(t, want.iv)) || !bytes.Equal(p.header, unhex(t, want.header)) {
			t.Errorf("direction %d: secret %x, iv %x, header key %x; want %+v", d, p.secret, p.iv, p.header, want)
		}
	}
}

// TestChaCha decrypts the packet of RFC 9001 appendix A.5.
func TestChaCha(t *testing.T) {
	p := newProtection(suites[0x1303], unhex(t, "9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b"))
	packet := unhex(t, "4cfe4189655e5cd55c41f69080575d7999c25a5bfb")
	if mask := p.suite.mask(p.header, packet[5:21]); !bytes.HasPrefix(mask, unhex(t, "aefefe7d03")) {
		t.Errorf("the mask is %x", mask)
	}
	if text, ok := p.open(654360564, packet[4:], unhex(t, "4200bff4")); !ok || !bytes.Equal(text, []byte{1}) {
		t.Errorf("the payload is %x, %v; want PING, 01", text, ok)
	}
}

// TestPacketNumber decodes the example of RFC 9000 appendix A.3.
func TestPacketNumber(t *testing.T) {
	if n := packetNumber(0xa82f30ea, 0x9b32, 2); n != 0xa82f9b32 {
		t.Errorf("the number is %#x, want 0xa82f9b32", n)
	}
}
