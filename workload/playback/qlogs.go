package playback

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

// QLogFile returns the name of the qlog of the client's n-th QUIC connection, counted from 1.
// The file holds the first 8 MB at most.
func QLogFile(n int) string { return fmt.Sprintf("client-%d.sqlog", n) }

// qlogBuffer spares files, in a guest those of the host, many small writes.
const qlogBuffer = 1 << 20

// qlogs writes the qlogs of a client's connections into one folder.
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
	return &qlog{buffer: bufio.NewWriterSize(file, qlogBuffer), file: file, of: q}
}

// fails notes an error; the caller has the lock.
func (q *qlogs) fails(err error) {
	if q.failed == nil && err != nil {
		q.failed = fmt.Errorf("write a qlog: %w", err)
	}
}

// err returns why a qlog is incomplete, nil if none is. It may be called when all connections
// have ended.
func (q *qlogs) err() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.failed
}

// qlogLimit is how many octets of a connection's qlog are kept: of a file of 1 GB it
// would be some 300 MB.
const qlogLimit = 8 << 20

// qlog keeps the first records of a connection, whole ones.
type qlog struct {
	buffer  *bufio.Writer
	file    *os.File
	of      *qlogs
	written int64
	whole   int64 // of what is written, up to the end of a record
	full    bool
}

// Write keeps p if there is room for it. The connection ignores errors of Write, so Close returns
// them again.
func (l *qlog) Write(p []byte) (int, error) {
	if l.full = l.full || l.written+int64(len(p)) > qlogLimit; l.full {
		return len(p), nil
	}
	if end := bytes.LastIndexByte(p, '\n'); end >= 0 {
		l.whole = l.written + int64(end) + 1
	}
	l.written += int64(len(p))
	return l.buffer.Write(p)
}

// Close ends the file and records its error.
func (l *qlog) Close() error {
	err := l.buffer.Flush()
	if err == nil && l.full {
		err = l.file.Truncate(l.whole)
	}
	err = errors.Join(err, l.file.Close())
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	l.of.fails(err)
	return err
}
