package warc

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"hash"
	"strings"
)

// hashes maps algorithm labels, without hyphens, to hash functions.
var hashes = map[string]func() hash.Hash{"md5": md5.New, "sha1": sha1.New, "sha256": sha256.New}

// wrongDigest returns the name of the record's digest field that does not match, or "" if
// all match or none can be checked. It checks the payload digest only if there is no block
// digest, and accepts it with or without the transfer coding, because programs disagree on
// what a payload is.
func wrongDigest(rec *record, block, payload, content []byte) string {
	const blockDigest, payloadDigest = "WARC-Block-Digest", "WARC-Payload-Digest"
	if fits, known := fitsDigest(rec.field(blockDigest), block); known {
		if fits {
			return ""
		}
		return blockDigest
	}
	label := rec.field(payloadDigest)
	fits, known := fitsDigest(label, payload)
	if !fits && known {
		fits, _ = fitsDigest(label, content)
	}
	if fits || !known {
		return ""
	}
	return payloadDigest
}

// fitsDigest compares octets with a labelled digest (ISO 28500:2017, section 5.8) such as
// sha1:AB2CD3EF4GH5IJ6KL7MN8OPQRSTUVWXY. Most programs write base32, some hexadecimal.
func fitsDigest(label string, octets []byte) (fits, known bool) {
	algorithm, value, _ := strings.Cut(label, ":")
	newHash, known := hashes[strings.ReplaceAll(strings.ToLower(algorithm), "-", "")]
	if !known {
		return false, false
	}
	h := newHash()
	h.Write(octets)
	sum := h.Sum(nil)
	if len(value) == 2*len(sum) {
		return strings.EqualFold(value, hex.EncodeToString(sum)), true
	}
	return strings.EqualFold(strings.TrimRight(value, "="), base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum)), true
}
