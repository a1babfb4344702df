package session

import (
	"bytes"
	"sync"
)

// Keys collects TLS secrets in NSS key log format. The zero value is ready to use by
// several goroutines.
type Keys struct {
	mu   sync.Mutex
	text []byte
}

// Write appends to the text.
func (k *Keys) Write(b []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.text = append(k.text, b...)
	return len(b), nil
}

// Text returns what has been written so far.
func (k *Keys) Text() []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	return bytes.Clone(k.text)
}
