package critical

import (
	"github.com/quic-go/qpack"

	"wiretime/protection"
)

// requestURL returns the URL in the HEADERS frame of an HTTP/3 request (RFC
// 9114 section 7.2.2), or "".
func requestURL(data []byte) string {
	const headers = 1
	r := protection.NewReader(data)
	for !r.Failed() && r.Left() > 0 {
		kind, length := r.Number(), r.Number()
		body := r.Take(length)
		if r.Failed() || kind != headers {
			continue
		}
		var f fields
		next := qpack.NewDecoder().Decode(body)
		for {
			field, err := next()
			if err != nil {
				break
			}
			f.note(field.Name, field.Value)
		}
		return f.url()
	}
	return ""
}
