package message

import (
	"bytes"
	"strconv"
	"strings"
)

// undoTransfer gives the content of a body that was recorded as it crossed the wire. Some
// programs keep the content but leave the field that says it is in chunks: then it is what
// it is. A length that is not the body's does not cut it, because programs that decode
// bodies leave the old one there.
func (r *Response) undoTransfer(body []byte) []byte {
	codings := strings.ToLower(r.field("transfer-encoding"))
	if !strings.Contains(codings, "chunked") {
		if length, err := strconv.ParseInt(r.field("content-length"), 10, 64); err == nil && length > int64(len(body)) && len(body) > 0 {
			r.repair("The body is cut off, or was decoded: %d octets of the %d that Content-Length says. They were kept.", len(body), length)
		}
		return body
	}
	content, whole, ok := dechunk(body)
	switch {
	case !ok && len(body) > 0:
		r.repair("Transfer-Encoding says chunked and the body is not: it was kept as it is.")
		return body
	case !whole && len(body) > 0:
		r.repair("The chunked body is cut off after %d octets, which were kept.", len(content))
	}
	return content
}

// dechunk undoes the chunked transfer coding (RFC 9112 section 7.1). ok is false if the
// body does not begin with a chunk; whole, if it does not end with the last one.
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
