package message

import (
	"bytes"
	"strconv"
	"strings"
)

// undoTransfer returns the content of a body in the form that crossed the wire. Some
// programs store decoded content but keep Transfer-Encoding: chunked; undoTransfer then
// returns the body unchanged. It does not cut the body at Content-Length, because programs
// that decode bodies keep the old length.
func (r *Response) undoTransfer(body []byte) []byte {
	codings := strings.ToLower(r.field("transfer-encoding"))
	if !strings.Contains(codings, "chunked") {
		if length, err := strconv.ParseInt(r.field("content-length"), 10, 64); err == nil && length > int64(len(body)) && len(body) > 0 {
			r.repair("The body is truncated or already decoded: %d octets, but Content-Length is %d. It was kept.", len(body), length)
		}
		return body
	}
	content, whole, ok := dechunk(body)
	switch {
	case !ok && len(body) > 0:
		r.repair("Transfer-Encoding is chunked, but the body is not: kept as it is.")
		return body
	case !whole && len(body) > 0:
		r.repair("The chunked body is truncated after %d octets, which were kept.", len(content))
	}
	return content
}

// dechunk undoes the chunked transfer coding (RFC 9112 section 7.1). ok is false if the
// body does not begin with a chunk. whole is false if it does not end with the last chunk.
func dechunk(body []byte) (content []byte, whole, ok bool) {
	for rest := body; ; {
		line, after, found := bytes.Cut(rest, []byte("\n"))
		digits, _, _ := strings.Cut(string(line[:min(len(line), 1000)]), ";")
		size, err := strconv.ParseUint(strings.TrimSpace(digits), 16, 63)
		if !found || err != nil {
			return content, false, ok
		}
		if size == 0 {
			return content, true, true // trailers may follow
		}
		ok = true
		if size > uint64(len(after)) {
			return append(content, after...), false, true
		}
		content = append(content, after[:size]...)
		rest = bytes.TrimPrefix(after[size:], []byte("\r"))
		if !bytes.HasPrefix(rest, []byte("\n")) {
			return content, false, true
		}
		rest = rest[1:]
	}
}
