package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// A spool takes a capture from the emulator through a pipe and writes it to a disk. What the
// disk is slow to take waits in memory, so that the emulator, which has packets to deliver,
// waits only once SpoolMemory is full.
type spool struct {
	from    *os.File
	written chan error // of the writing goroutine, which sends one value
}

// SpoolMemory is how many octets of memory a capture that goes to a disk may take.
const SpoolMemory = spoolPieces * spoolPiece

const (
	spoolPieces = 32
	spoolPiece  = 1 << 20
)

// newSpool returns a spool to a file, and the end of the pipe to write to.
func newSpool(to *os.File) (*spool, *os.File, error) {
	from, into, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("make a pipe for the capture: %w", err)
	}
	if pipe, err := from.SyscallConn(); err == nil { // a small one does, too
		_ = pipe.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, spoolPiece) })
	}
	s := &spool{from: from, written: make(chan error, 1)}
	full, empty := make(chan []byte, spoolPieces), make(chan []byte, spoolPieces)
	for range spoolPieces {
		empty <- nil
	}
	read := make(chan error, 1)
	go func() {
		read <- fill(from, full, empty)
		close(full)
	}()
	go func() {
		var failed error
		for piece := range full {
			if failed == nil {
				_, failed = to.Write(piece)
			}
			empty <- piece
		}
		s.written <- errors.Join(failed, <-read)
		close(s.written)
	}()
	return s, into, nil
}

// fill reads pieces until the writers have closed the pipe.
func fill(from *os.File, full chan<- []byte, empty <-chan []byte) error {
	for {
		piece := <-empty
		if piece == nil {
			piece = make([]byte, spoolPiece)
		}
		n, err := io.ReadFull(from, piece[:spoolPiece])
		if n > 0 {
			full <- piece[:n]
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// finish waits until everything is written that was put into the pipe, whose writers have
// closed it.
func (s *spool) finish(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = s.from.Close() })
	defer stop()
	err := <-s.written
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.Join(err, s.from.Close())
}

// abandon ends the spool whether or not the pipe was closed.
func (s *spool) abandon() {
	_ = s.from.Close()
	for range s.written { // what failed is of no interest any more
	}
}
