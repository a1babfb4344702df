package artefact

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"wiretime/costtest"
)

// BenchmarkCodecs compresses each file of a name (WIRETIME_BENCH_FILE) in the store WIRETIME_BENCH_STORE, and reports the
// share that remains and the processor time for each file.
func BenchmarkCodecs(b *testing.B) {
	files, err := filepath.Glob(filepath.Join(os.Getenv("WIRETIME_BENCH_STORE"), "loads", "*", os.Getenv("WIRETIME_BENCH_FILE")))
	if err != nil || len(files) == 0 {
		b.Skip("WIRETIME_BENCH_STORE names no store, or it has no files of the name WIRETIME_BENCH_FILE")
	}
	var all [][]byte
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, content)
	}
	type writer interface {
		io.WriteCloser
		Reset(io.Writer)
	}
	zstandard := func(level zstd.EncoderLevel, window int) func() (writer, error) {
		return func() (writer, error) {
			return zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1))
		}
	}
	deflate := func(level int) func() (writer, error) {
		return func() (writer, error) { return gzip.NewWriterLevel(nil, level) }
	}
	for _, c := range []struct {
		name string
		open func() (writer, error)
	}{
		{"Zstandard, fastest, 1 MiB", zstandard(zstd.SpeedFastest, window)},
		{"Zstandard, default, 8 MiB", zstandard(zstd.SpeedDefault, 8<<20)},
		{"Zstandard, best, 8 MiB", zstandard(zstd.SpeedBestCompression, 8<<20)},
		{"S2", func() (writer, error) { return s2.NewWriter(nil, s2.WriterConcurrency(1)), nil }},
		{"gzip, level 1", deflate(1)},
		{"gzip, level 6", deflate(6)},
	} {
		b.Run(c.name, func(b *testing.B) {
			w, err := c.open()
			if err != nil {
				b.Fatal(err)
			}
			var before, after int
			var out bytes.Buffer
			began := costtest.ProcessTime(b)
			for i := 0; b.Loop(); i++ {
				content := all[i%len(all)]
				out.Reset()
				w.Reset(&out)
				_, err := w.Write(content)
				if err == nil {
					err = w.Close()
				}
				if err != nil {
					b.Fatal(err)
				}
				before, after = before+len(content), after+out.Len()
			}
			b.ReportMetric(100*float64(after)/float64(before), "%")
			b.ReportMetric((costtest.ProcessTime(b)-began).Seconds()*1000/float64(b.N), "processor-ms/op")
		})
	}
}
