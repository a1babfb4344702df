package station

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// QLogFile names the qlog of the client's n-th QUIC connection of a stream, from 1: its
// first 8 MB at most.
func QLogFile(n int) string { return fmt.Sprintf("client-%d.sqlog", n) }

// qlogBuffer spares files, in a guest those of the host, many small writes.
const qlogBuffer = 1 << 20

// qlogs are those of a client's connections, in one folder.
type qlogs struct {
	dir string

	mu     sync.Mutex
	begun  int
	failed error // the first
}

// begin begins the qlog of the next connection; nil if that fails.
func (q *qlogs) begin(string) io.WriteCloser {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.begun++
	file, err := os.Create(filepath.Join(q.dir, QLogFile(q.begun)))
	if err != nil {
		q.fails(err)
		return nil
	}
	return &qlog{bufio.NewWriterSize(file, qlogBuffer), file, q, qlogLimit}
}

// fails notes an error; the caller has the lock.
func (q *qlogs) fails(err error) {
	if q.failed == nil && err != nil {
		q.failed = fmt.Errorf("write a qlog: %w", err)
	}
}

// err is why a qlog is not whole; nil if all are. It is known when their
// connections have ended.
func (q *qlogs) err() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.failed
}

// qlogLimit is how many octets of a connection's qlog are kept: of a file of 1 GB it
// would be some 300 MB.
const qlogLimit = 8 << 20

type qlog struct {
	*bufio.Writer
	file *os.File
	of   *qlogs
	left int // of qlogLimit
}

// Write keeps what there is room for, and records whole.
func (l *qlog) Write(p []byte) (int, error) {
	kept := p
	if len(kept) > l.left {
		kept = kept[:bytes.LastIndexByte(kept[:l.left], '\n')+1]
		l.left = 0
	} else {
		l.left -= len(kept)
	}
	if _, err := l.Writer.Write(kept); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close ends the file. The connection that writes to it passes over errors: they are
// noted here, as those of writing come with it again.
func (l *qlog) Close() error {
	err := errors.Join(l.Flush(), l.file.Close())
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	l.of.fails(err)
	return err
}
