package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"wiretime/capture"
	"wiretime/lab/emulator"
)

// CaptureFile is the name of the file that SaveCapture writes: every packet at both ends
// with its fate, and the TLS keys.
const CaptureFile = "load.pcapng"

// CapturePlace says where a capture is kept while its load runs. The zero value is memory
// (Scratch), without a limit.
type CapturePlace struct {
	// Disk is a folder on a disk. The emulator hands the packets to this process, which writes
	// them, so that it never waits for the disk itself.
	Disk string
	// Most is how many octets of memory a capture may take that is kept there; 0: no limit.
	Most int64
}

// ErrOutgrown says that a capture did not fit into the memory that was set aside for it. The
// lab is as good as before.
var ErrOutgrown = errors.New("the capture outgrew the memory that was set aside for it")

// KeepCapture sets where captures are kept from the next Prepare on.
func (l *Lab) KeepCapture(p CapturePlace) { l.place = p }

// startCapture gives the emulator an empty file to write to, or a pipe to one on a disk. It is
// in memory where that fits: a disk that is busy with an earlier load's capture would make
// packets late. The caller closes what is returned once the emulator has it.
func (h *Hosts) startCapture(comment string, keep emulator.Keep) (r emulator.Recording, err error) {
	if err := h.emptyCapture(); err != nil {
		return r, err
	}
	r = emulator.Recording{File: h.capture, Comment: comment, Keep: keep}
	switch {
	case h.place.Disk == "":
		r.Most = h.place.Most
	case !h.lab.config.Virtual: // time stands still there while a disk is waited for
		r.Comment += "; the capture was kept on disk while the load ran"
		h.spool, r.File, err = newSpool(h.capture)
	}
	return r, err
}

func (h *Hosts) emptyCapture() (err error) {
	if h.capture == nil {
		folder := Scratch
		if h.place.Disk != "" {
			folder = h.place.Disk
		}
		if h.capture, err = os.CreateTemp(folder, "capture-*.pcapng"); err != nil {
			return fmt.Errorf("make the capture file: %w", err)
		}
		return nil
	}
	if err := h.capture.Truncate(0); err != nil {
		return fmt.Errorf("empty the capture file: %w", err)
	}
	if _, err := h.capture.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("empty the capture file: %w", err)
	}
	return nil
}

// endCapture waits until the capture is complete. why is the emulator's error, if it has one.
func (h *Hosts) endCapture(ctx context.Context, why string) error {
	if h.spool != nil {
		err := h.spool.finish(ctx)
		h.spool = nil
		if err != nil {
			return fmt.Errorf("write the capture to disk, %s: %w", h.place.Disk, err)
		}
	}
	if why == "" {
		return nil
	}
	if full := strings.Contains(why, unix.ENOSPC.Error()); full && h.place.Disk != "" {
		return fmt.Errorf("write the capture to disk, %s: %w", h.place.Disk, unix.ENOSPC)
	} else if full || strings.Contains(why, emulator.Outgrown) {
		return fmt.Errorf("write the capture to memory, %s: %w", Scratch, ErrOutgrown)
	}
	return fmt.Errorf("write the capture: %s", why)
}

// Close removes the capture. SaveCapture must have been called before if it is to be kept.
func (h *Hosts) Close() error {
	if h.spool != nil {
		h.spool.abandon()
	}
	if h.capture == nil {
		return nil
	}
	return errors.Join(h.capture.Close(), os.Remove(h.capture.Name()))
}

// ReadCapture parses the packets of the last Run.
func (h *Hosts) ReadCapture() (*capture.Packets, error) {
	if _, err := h.capture.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return capture.ReadPcapng(h.capture)
}

// SaveCapture writes the packets of the last Run, after the TLS keys, into the folder dir.
func (h *Hosts) SaveCapture(dir string) error {
	if err := h.insertSecrets(filepath.Join(dir, CaptureFile)); err != nil {
		return fmt.Errorf("put the TLS keys into the capture: %w", err)
	}
	return nil
}

func (h *Hosts) insertSecrets(final string) error {
	if _, err := h.capture.Seek(0, io.SeekStart); err != nil {
		return err
	}
	target, err := os.Create(final)
	if err != nil {
		return err
	}
	return errors.Join(capture.InsertSecrets(target, h.capture, h.keys.text()), target.Close())
}
