package protection

import (
	"crypto/hkdf"
	"hash"
)

// ExpandLabel is TLS 1.3's HKDF-Expand-Label (RFC 8446 section 7.1), which QUIC uses
// too. It returns size octets, or an error if size exceeds what the hash can give.
func ExpandLabel[H hash.Hash](h func() H, secret []byte, label string, context []byte, size int) ([]byte, error) {
	const prefix = "tls13 "
	info := []byte{byte(size >> 8), byte(size), byte(len(prefix) + len(label))}
	info = append(info, prefix+label...)
	info = append(info, byte(len(context)))
	info = append(info, context...)
	return hkdf.Expand(h, secret, string(info), size)
}
