package critical

import "wiretime/protection"

// unseal decrypts TLS in both directions of a connection as far as it can:
// without the connection's secrets the texts are empty. A text takes the place of the
// octets that it was decrypted from.
func unseal(fromClient, fromServer []byte, keys protection.KeyLog) [2]*text {
	unsealed, _ := protection.Unseal(fromClient, fromServer, keys) // kinds follow from phases where it fails
	var texts [2]*text
	for d, from := range unsealed.Texts {
		t := &text{data: from.Data, records: make([]record, 0, len(from.Records))}
		for _, r := range from.Records {
			at := int64(r.Offset) + 1 // position 0 of the lane is the SYN
			t.records = append(t.records, record{
				text: span{int64(r.Text), int64(r.Text + r.Length)}, wire: span{at, at + int64(r.Size)},
				header: int64(from.Head), sealed: true,
			})
		}
		texts[d] = t
	}
	return texts
}
