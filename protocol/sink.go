package protocol

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"net/http"
	"strconv"
	"time"

	"wiretime/capture"
)

// sinkRead is how many octets of an upload a sink reads at a time: two full frames of HTTP/2.
const sinkRead = 32 << 10

// Sink returns a handler that reads the content of each POST and leaves other requests to next. It answers complete content
// with 200 and the content's SHA-256 in hexadecimal digits, and content that breaks off with 400. The server's log tells how
// much was received, and when.
func Sink(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			next.ServeHTTP(w, r)
			return
		}
		in := &intake{digest: sha256.New()}
		if m, ok := w.(*meter); ok {
			m.intake = in
		}
		if err := in.read(r.Body); err != nil {
			http.Error(w, "the upload broke off", http.StatusBadRequest)
			return
		}
		answer := in.sum() + "\n"
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
		_, _ = io.WriteString(w, answer) // if the client has gone away, the body size in the log shows it
	})
}

// intake describes what a sink has received of an upload.
type intake struct {
	octets      int64
	first, last time.Time // zero before the first octets
	digest      hash.Hash
}

func (in *intake) read(content io.Reader) error {
	buffer := make([]byte, sinkRead)
	for {
		n, err := content.Read(buffer)
		if n > 0 {
			in.last = time.Now()
			if in.first.IsZero() {
				in.first = in.last
			}
			in.octets += int64(n)
			in.digest.Write(buffer[:n])
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (in *intake) sum() string { return hex.EncodeToString(in.digest.Sum(nil)) }

// received returns the intake as the log has it.
func (in *intake) received(l *serverLog) *capture.Received {
	r := &capture.Received{Octets: in.octets, SHA256: in.sum()}
	if !in.first.IsZero() {
		r.First, r.Last = l.at(in.first), l.at(in.last)
	}
	return r
}

// UploadContent returns the content of an upload of a given number of octets. It consists of the 32-bit numbers 0, 1, 2 and
// so on, low octet first, so that lost, repeated and reordered octets change its digest.
func UploadContent(octets int64) io.Reader { return io.LimitReader(&numbers{}, octets) }

// UploadSHA256 returns the SHA-256 of UploadContent in hexadecimal digits.
func UploadSHA256(octets int64) string {
	digest := sha256.New()
	_, _ = io.Copy(digest, UploadContent(octets)) // neither can fail
	return hex.EncodeToString(digest.Sum(nil))
}

// numbers is the endless content of uploads.
type numbers struct {
	next  uint32 // the first number of the next block
	block [4 << 10]byte
	rest  []byte // the unread end of block
}

func (n *numbers) Read(b []byte) (int, error) {
	if len(n.rest) == 0 {
		for i := 0; i < len(n.block); i += 4 {
			binary.LittleEndian.PutUint32(n.block[i:], n.next)
			n.next++
		}
		n.rest = n.block[:]
	}
	count := copy(b, n.rest)
	n.rest = n.rest[count:]
	return count, nil
}
