package artefact

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// write writes a file into a new folder and returns its path.
func write(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// capture is like a capture: what does not compress, twice, half a megabyte apart.
func capture() []byte {
	random := rand.NewChaCha8([32]byte{})
	once := make([]byte, 512<<10)
	_, _ = random.Read(once)
	return append(once, once...)
}

func TestCompressedArtefactsReadAsTheyWere(t *testing.T) {
	var compressor Compressor
	var text []byte
	for i := range 1000 {
		text = fmt.Appendf(text, "line %d of a log\n", i*i)
	}
	for _, c := range []struct {
		name    string
		content []byte
		most    float64 // of its size that may remain
	}{
		{"empty", nil, 0}, {"short", []byte("x"), 0}, {"text", text, 0.5}, {"both ends of a capture", capture(), 0.51},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := write(t, "artefact", c.content)
			if err := compressor.Compress(path); err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(path + Suffix)
			if err != nil {
				t.Fatal(err)
			}
			if c.most > 0 && float64(info.Size()) > c.most*float64(len(c.content)) {
				t.Errorf("%d of %d octets remain", info.Size(), len(c.content))
			}
			if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the file is still there (%v)", err)
			}
			read, err := Read(path, int64(len(c.content)))
			if err != nil || !bytes.Equal(read, c.content) {
				t.Errorf("%d octets, want %d (%v)", len(read), len(c.content), err)
			}
			if len(c.content) > 0 {
				if _, err := Read(path, int64(len(c.content))-1); !errors.Is(err, ErrUnfit) {
					t.Errorf("one octet too many: %v", err)
				}
			}
		})
	}
}

func TestAFileThatWouldBeRefusedIsNotCompressed(t *testing.T) {
	var compressor Compressor
	path := write(t, "zeros", make([]byte, 1<<20))
	if err := compressor.Compress(path); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path + Suffix); !errors.Is(err, fs.ErrNotExist) {
		t.Error("it was compressed, or left behind:", err)
	}
	if read, err := Read(path, 1<<20); err != nil || len(read) != 1<<20 {
		t.Error(len(read), err)
	}
}

func TestHostileCompressedFiles(t *testing.T) {
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	whole := encoder.EncodeAll(capture(), nil)
	var bomb bytes.Buffer
	if _, err := new(Compressor).compress(&bomb, bytes.NewReader(make([]byte, 64<<20))); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		content []byte
		want    error
	}{
		"a bomb":           {bomb.Bytes(), ErrUnfit},
		"cut short":        {whole[:len(whole)/2], io.ErrUnexpectedEOF},
		"not compressed":   {[]byte("not compressed"), zstd.ErrMagicMismatch},
		"a changed octet":  {append(bytes.Clone(whole[:len(whole)-1]), whole[len(whole)-1]^1), zstd.ErrCRCMismatch},
		"too large window": {[]byte{0x28, 0xb5, 0x2f, 0xfd, 0, 0xff, 0, 0, 0}, zstd.ErrWindowSizeExceeded},
	} {
		path := strings.TrimSuffix(write(t, "artefact"+Suffix, c.content), Suffix)
		if _, err := Read(path, 1<<30); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	secret := write(t, "secret", whole)
	link := filepath.Join(t.TempDir(), "artefact")
	if err := os.Symlink(secret, link+Suffix); err != nil {
		t.Fatal(err)
	}
	if _, err := Contents(link); !errors.Is(err, ErrUnfit) {
		t.Errorf("a link: %v", err)
	}
	if _, err := Contents(filepath.Join(t.TempDir(), "nothing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
}

// FuzzContents reads what claims to be compressed: it comes to no more than 256 times its size.
func FuzzContents(f *testing.F) {
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{"", "x", strings.Repeat("log ", 100)} {
		f.Add(encoder.EncodeAll([]byte(text), nil))
	}
	f.Add(encoder.EncodeAll(make([]byte, 1<<20), nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		in, err := Contents(strings.TrimSuffix(write(t, "artefact"+Suffix, data), Suffix))
		if err != nil {
			return
		}
		defer in.Close()
		if n, _ := io.Copy(io.Discard, in); n > mostExpansion*int64(len(data)) {
			t.Errorf("%d octets of %d", n, len(data))
		}
	})
}

func BenchmarkCompress(b *testing.B) {
	var compressor Compressor
	content := append(capture(), capture()...)
	b.SetBytes(int64(len(content)))
	for b.Loop() {
		b.StopTimer()
		path := write(b, "artefact", content)
		b.StartTimer()
		if err := compressor.Compress(path); err != nil {
			b.Fatal(err)
		}
	}
}
