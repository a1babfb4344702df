package artefact

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

// Suffix is what the names of compressed artefacts end in: they are Zstandard's (RFC 8878).
const Suffix = ".zst"

const (
	// window is how far back, in octets, an artefact's content is found again. A packet's copies at both ends
	// of a path are as far apart as what is under way between them.
	window = 1 << 20
	// mostExpansion is how many times its own size a compressed artefact may have when it is decompressed:
	// otherwise a small file of a stranger's could take any memory.
	mostExpansion = 256
)

// Compressor compresses artefacts, one at a time. It may be used by several goroutines at once. The zero value is ready; its memory
// (some megabytes, from the first file on) takes as long to make as a small file to compress.
type Compressor struct {
	mu      sync.Mutex
	encoder *zstd.Encoder
}

// Compress replaces the file at path by a compressed one, whose name is longer by Suffix. A file that would become more than 256
// times as small stays as it is, since Contents would refuse it. After an error the file is still there.
// The folder is not one to which others can write.
func (c *Compressor) Compress(path string) (err error) {
	in, err := Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(path+Suffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("compress %s: %w", path, err), os.Remove(out.Name()))
		}
	}()
	read, err := c.compress(out, in)
	var info fs.FileInfo
	if err == nil {
		info, err = out.Stat()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	if read > mostExpansion*info.Size() {
		return os.Remove(out.Name())
	}
	return os.Remove(path)
}

func (c *Compressor) compress(to io.Writer, from io.Reader) (read int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.encoder == nil {
		if c.encoder, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1)); err != nil {
			return 0, err
		}
	}
	c.encoder.Reset(to)
	read, err = io.Copy(c.encoder, from)
	return read, errors.Join(err, c.encoder.Close())
}

// Contents opens the regular file at path as Open does. If the file is missing, it decompresses the one that Compressor
// made of it. A compressed file that has more than 256 times its size is an error that wraps ErrUnfit.
func Contents(path string) (io.ReadCloser, error) {
	file, err := Open(path)
	if !errors.Is(err, fs.ErrNotExist) {
		if err != nil {
			return nil, err
		}
		return file, nil
	}
	compressed, other := Open(path + Suffix)
	if errors.Is(other, fs.ErrNotExist) {
		return nil, err
	}
	if other != nil {
		return nil, other
	}
	info, err := compressed.Stat()
	var decoder *zstd.Decoder
	if err == nil {
		decoder, err = zstd.NewReader(bufio.NewReader(compressed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(window))
	}
	if err != nil {
		return nil, errors.Join(err, compressed.Close())
	}
	return &contents{decoder: decoder, file: compressed, left: mostExpansion * info.Size()}, nil
}

// contents decompresses a file.
type contents struct {
	decoder *zstd.Decoder
	file    *os.File
	left    int64 // octets that may still come
}

func (c *contents) Read(p []byte) (int, error) {
	n, err := c.decoder.Read(p)
	if c.left -= int64(n); c.left < 0 {
		return 0, fmt.Errorf("decompress %s: %w: it has more than %d times its size", c.file.Name(), ErrUnfit, mostExpansion)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("decompress %s: %w", c.file.Name(), err)
	}
	return n, err
}

func (c *contents) Close() error {
	c.decoder.Close()
	return c.file.Close()
}

// decompressAll reads what Compressor has made of the file at path. missing is the error if there is nothing.
func decompressAll(path string, most int64, missing error) ([]byte, error) {
	in, err := Contents(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missing
	}
	if err != nil {
		return nil, err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("read %s: %w: larger than %d octets", path, ErrUnfit, most)
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}
