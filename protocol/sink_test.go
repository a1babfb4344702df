package protocol

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
)

func TestSink(t *testing.T) {
	sink := Sink(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	digest := func(text string) string { sum := sha256.Sum256([]byte(text)); return hex.EncodeToString(sum[:]) + "\n" }
	for _, test := range []struct {
		name, method string
		body         io.Reader
		status       int
		answer       string
	}{
		{"an upload", http.MethodPost, strings.NewReader("octets"), http.StatusOK, digest("octets")},
		{"an empty upload", http.MethodPost, http.NoBody, http.StatusOK, digest("")},
		{"one that breaks off", http.MethodPost, io.MultiReader(strings.NewReader("oct"), iotest.ErrReader(io.ErrUnexpectedEOF)), http.StatusBadRequest, "the upload broke off\n"},
		{"another request", http.MethodGet, http.NoBody, http.StatusTeapot, ""},
	} {
		answer := httptest.NewRecorder()
		sink.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), test.method, "/", test.body))
		if answer.Code != test.status || answer.Body.String() != test.answer {
			t.Errorf("%s is answered with %d %q, want %d %q", test.name, answer.Code, answer.Body, test.status, test.answer)
		}
	}
}

// TestUploadContent checks that the content consists of 32-bit numbers, and that the digest is the content's.
func TestUploadContent(t *testing.T) {
	content, err := io.ReadAll(UploadContent(10_001))
	if err != nil || len(content) != 10_001 || string(content[:9]) != "\x00\x00\x00\x00\x01\x00\x00\x00\x02" || content[4*0x123] != 0x23 || content[4*0x123+1] != 1 {
		t.Errorf("%d octets %x..., error %v", len(content), content[:9], err)
	}
	sum := sha256.Sum256(content)
	if got, want := UploadSHA256(10_001), hex.EncodeToString(sum[:]); got != want {
		t.Errorf("the digest is %s, want %s", got, want)
	}
}
