package session

import (
	"bytes"
	"sync"
)

// Keys gathers TLS secrets in NSS key log format. The zero value is ready to be written
// to, by several goroutines.
type Keys struct {
	mu   sync.Mutex
	text []byte
}

// Write adds to what is there.
func (k *Keys) Write(b []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.text = append(k.text, b...)
	return len(b), nil
}

// Text is what is there.
func (k *Keys) Text() []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	return bytes.Clone(k.text)
}
