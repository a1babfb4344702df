package protection

// Reader reads the fields of QUIC's headers and frames. After the first read past the end it stays
// failed, and its methods return zeros.
type Reader struct {
	data   []byte
	at     int
	failed bool
}

// NewReader returns a Reader at the beginning of data.
func NewReader(data []byte) *Reader { return &Reader{data: data} }

// Failed reports whether a read went past the end.
func (r *Reader) Failed() bool { return r.failed }

// Left returns how many octets have not been read.
func (r *Reader) Left() int { return len(r.data) - r.at }

// Take reads n octets. They share the memory of the data.
func (r *Reader) Take(n uint64) []byte {
	if r.failed || n > uint64(r.Left()) {
		r.failed, r.at = true, len(r.data)
		return nil
	}
	from := r.at
	r.at += int(n)
	return r.data[from:r.at]
}

// Octet reads one octet.
func (r *Reader) Octet() byte {
	if b := r.Take(1); b != nil {
		return b[0]
	}
	return 0
}

// Number reads a variable-length integer (RFC 9000 section 16).
func (r *Reader) Number() uint64 {
	first := r.Octet()
	n := uint64(first & 0x3f)
	for _, b := range r.Take(1<<(first>>6) - 1) {
		n = n<<8 | uint64(b)
	}
	return n
}

// Skip reads n variable-length integers and drops them.
func (r *Reader) Skip(n int) {
	for range n {
		r.Number()
	}
}
