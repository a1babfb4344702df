package site

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"regexp"
)

// integrityPattern matches integrity metadata (Subresource Integrity, section 3.5).
var integrityPattern = regexp.MustCompile(`sha(256|384|512)-[A-Za-z0-9+/_-]{42,86}={0,2}`)

// integrity returns a body's digests in the form that pages state them.
func integrity(body []byte) [3]string {
	a, b, c := sha256.Sum256(body), sha512.Sum384(body), sha512.Sum512(body)
	return [3]string{
		"sha256-" + base64.StdEncoding.EncodeToString(a[:]),
		"sha384-" + base64.StdEncoding.EncodeToString(b[:]),
		"sha512-" + base64.StdEncoding.EncodeToString(c[:]),
	}
}

// noteSums records how the digests of a body change.
func noteSums(sums map[string]string, before, after []byte) {
	if sums == nil {
		return
	}
	now := integrity(after)
	for i, old := range integrity(before) {
		sums[old] = now[i]
	}
}

// replaceSums replaces old digests by new ones.
func replaceSums(text []byte, sums map[string]string) []byte {
	if !bytes.Contains(text, []byte("sha")) {
		return text
	}
	return integrityPattern.ReplaceAllFunc(text, func(sum []byte) []byte {
		if now, ok := sums[string(sum)]; ok {
			return []byte(now)
		}
		return sum
	})
}
