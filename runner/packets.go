package runner

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"wiretime/capture"
	"wiretime/lab"
	"wiretime/panics"
)

// packets is the capture of an attempt, as it was read.
type packets struct {
	*capture.Packets
	err     error  // why they could not be read
	release func() // gives the memory back that they take
}

// readPackets reads the capture in the folder dir. The caller calls release when the packets are of no more use.
func (r *run) readPackets(dir string) *packets {
	path := filepath.Join(dir, lab.CaptureFile)
	info, err := os.Lstat(path)
	if err != nil {
		return &packets{err: err, release: func() {}}
	}
	return r.reading(info.Size(), func() (*capture.Packets, error) { return capture.ReadPackets(path) })
}

// copyPackets copies a capture of so many octets to a file, which the error is about, and reads it on the way, once. The
// caller calls release when the packets are of no more use.
func (r *run) copyPackets(to *os.File, from io.Reader, octets int64) (*packets, error) {
	writer := bufio.NewWriter(to) // remembers that writing has failed
	read := r.reading(octets, func() (*capture.Packets, error) { return capture.ReadPcapng(io.TeeReader(from, writer)) })
	if read.err != nil {
		read.err = fmt.Errorf("%s: %w", to.Name(), read.err)
	}
	_, err := io.Copy(writer, from) // what lies behind an error
	if err = errors.Join(err, writer.Flush()); err != nil {
		read.release()
		return nil, err
	}
	return read, nil
}

// reading waits for the memory that a capture of so many octets takes, and reads it.
func (r *run) reading(octets int64, read func() (*capture.Packets, error)) *packets {
	release, err := r.memory.read(octets)
	if err != nil {
		return &packets{err: err, release: func() {}}
	}
	p := &packets{release: release}
	p.err = panics.Do(func() (err error) {
		p.Packets, err = read()
		return err
	})
	return p
}
