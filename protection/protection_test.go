package protection

import (
	"bytes"
	"crypto/aes"
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
	client, server := InitialKeys(unhex(t, "8394c8f03e515708"))
	for _, c := range []struct {
		name               string
		keys               *PacketKeys
		secret, iv, header string
	}{
		{"client", client, "c00cf151ca5be075ed0ebfb5c80323c42d6b7db67881289af4008f1f6c357aea", "fa044b2f42a3fd3b46fb255c", "9f50449e04a0e810283a1e9933adedd2"},
		{"server", server, "3c199828fd139efd216c155ad844cc81fb82fa8d7446fa7d78be803acdda951b", "0ac1493ca1905853b0bba03e", "c206b8d9b9f0f37644430b490eeaa314"},
	} {
		k := c.keys.keys
		if !bytes.Equal(k.secret, unhex(t, c.secret)) || !bytes.Equal(k.iv, unhex(t, c.iv)) {
			t.Errorf("%s: secret %x, iv %x; want %+v", c.name, k.secret, k.iv, c)
		}
		sample, mask, want := []byte("0123456789abcdef"), make([]byte, 16), make([]byte, 16)
		header, err := aes.NewCipher(unhex(t, c.header))
		if err != nil {
			t.Fatal(err)
		}
		header.Encrypt(want, sample)
		if c.keys.mask(mask, sample); !bytes.Equal(mask, want) {
			t.Errorf("%s: the mask of a sample is %x, want %x, since the header key is %s", c.name, mask, want, c.header)
		}
	}
}

// TestServerInitial decrypts the packet of RFC 9001 appendix A.3.
func TestServerInitial(t *testing.T) {
	packet := unhex(t, "cf000000010008f067a5502a4262b5004075c0d95a482cd0991cd25b0aac406a"+
		"5816b6394100f37a1c69797554780bb38cc5a99f5ede4cf73c3ec2493a1839b3dbcba3f6ea46c5b7684df3548e7ddeb9c3bf9c73cc3f3bded74b562bfb19fb84022f8ef4cdd93795d77d06edbb7aaf2f58891850abbdca3d20398c276456cbc42158407dd074ee")
	p, rest, ok := ParsePacket(append(packet, 1, 2), 0)
	if !ok || p.Level != Initial || len(p.Destination) != 0 || !bytes.Equal(p.Source, unhex(t, "f067a5502a4262b5")) || !bytes.Equal(rest, []byte{1, 2}) {
		t.Fatalf("%+v, rest %x, %v", p, rest, ok)
	}
	client, server := InitialKeys(unhex(t, "8394c8f03e515708"))
	if _, ok := client.Open(p); ok {
		t.Error("the client's keys open the server's packet")
	}
	frames, ok := server.Open(p)
	if want := unhex(t, "02000000000600405a020000560303"); !ok || len(frames) != 99 || !bytes.HasPrefix(frames, want) {
		t.Errorf("the frames are %x, %v; want 99 octets that begin with %x", frames, ok, want)
	}
	if server.largest != 1 {
		t.Errorf("the packet number is %d, want 1", server.largest)
	}
}

// TestChaCha decrypts the packet of RFC 9001 appendix A.5.
func TestChaCha(t *testing.T) {
	k := NewPacketKeys(SuiteByNumber(0x1303), unhex(t, "9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b"))
	k.largest = 654360563
	p, _, ok := ParsePacket(unhex(t, "4cfe4189655e5cd55c41f69080575d7999c25a5bfb"), 0)
	if frames, opened := k.Open(p); !ok || !opened || !bytes.Equal(frames, []byte{1}) || k.largest != 654360564 {
		t.Errorf("packet %d has the frames %x, %v; want packet 654360564 with PING, 01", k.largest, frames, opened)
	}
}

func TestPacketsThatAreRefused(t *testing.T) {
	for name, packet := range map[string]string{
		"empty":             "",
		"version 2":         "d06b3343cf08000000000000000000004000",
		"negotiation":       "80000000000800000000000000000000",
		"Retry":             "f00000000108000000000000000000004000",
		"no rest":           "c000000001",
		"long ID":           "c000000001ff00",
		"long token":        "c00000000100003fff",
		"longer than it is": "c000000001000000401401",
		"short, but an ID":  "4001",
	} {
		if p, rest, ok := ParsePacket(unhex(t, packet), 8); ok || len(rest) > 0 {
			t.Errorf("%s: %+v, rest %x", name, p, rest)
		}
	}
}

func FuzzPacket(f *testing.F) {
	f.Add([]byte("\xc3\x00\x00\x00\x01\x08\x83\x94\xc8\xf0\x3e\x51\x57\x08\x00\x00\x40\x14012345678901234567890"), 0)
	f.Add([]byte("\x40"), 8)
	f.Fuzz(func(t *testing.T, datagram []byte, idLength int) {
		client, _ := InitialKeys([]byte("12345678"))
		for len(datagram) > 0 {
			p, rest, ok := ParsePacket(datagram, idLength)
			if ok {
				client.Open(p)
			}
			if len(rest) >= len(datagram) {
				t.Fatalf("a packet of no octets: %x", datagram)
			}
			datagram = rest
		}
	})
}

// TestPacketNumber decodes the example of RFC 9000 appendix A.3.
func TestPacketNumber(t *testing.T) {
	if n := packetNumber(0xa82f30ea, 0x9b32, 2); n != 0xa82f9b32 {
		t.Errorf("the number is %#x, want 0xa82f9b32", n)
	}
}
