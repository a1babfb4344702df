package builtin

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"

	"wiretime/coding"
	"wiretime/costtest"
	"wiretime/needtest"
)

// zeros returns so many MiB of zeros under codings, the first one first. Between codings it is compressed hard, so that
// the second finds something to compress again.
func zeros(t testing.TB, mebibytes int, codings ...string) []byte {
	t.Helper()
	read, write := io.Pipe()
	go func() {
		var err error
		piece := make([]byte, 1<<20)
		for i := 0; i < mebibytes && err == nil; i++ {
			_, err = write.Write(piece)
		}
		_ = write.CloseWithError(err)
	}()
	var r io.Reader = read
	for _, name := range codings {
		var b bytes.Buffer
		w, err := codingWriter(name, &b)
		if err == nil {
			_, err = io.Copy(w, r)
		}
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		r = &b
	}
	all, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// emptyBlocks returns a gzip bomb of so many MiB that decodes to DEFLATE data without any content: only empty stored
// blocks, which are five octets each.
func emptyBlocks(t testing.TB, mebibytes int) []byte {
	t.Helper()
	blocks := bytes.Repeat([]byte{0, 0, 0, 0xff, 0xff}, 1<<20/5)
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte{0x78, 0x9c}) // zlib's head
	for i := 0; i < mebibytes && err == nil; i++ {
		_, err = w.Write(blocks)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestLimits loads pages that want more than they may have. None costs more memory than its limit explains.
func TestLimits(t *testing.T) {
	needtest.Long(t)
	limits := Limits{Body: 8 << 20, Page: 20 << 20, Requests: 50}
	coded := func(contentEncoding string, body []byte) file {
		return file{http.Header{"Content-Type": {"text/css"}, "Content-Encoding": {contentEncoding}}, body}
	}
	css := func(n int) (page string) {
		for i := range n {
			page += fmt.Sprintf("<link rel=stylesheet href=/bomb?%d>", i)
		}
		return page
	}
	for _, c := range []struct {
		name, page string
		bomb       file
		load, part string // what the errors of the load and of the resource say; empty: no error
	}{
		{"gzip", css(1), coded("gzip", zeros(t, 64, "gzip")), "", "limit of 8388608 octets"},
		{"br", css(1), coded("br", zeros(t, 64, "br")), "", "limit of 8388608 octets"},
		{"zstd", css(1), coded("zstd", zeros(t, 64, "zstd")), "", "limit of 8388608 octets"},
		{"twice", css(1), coded("gzip, br", zeros(t, 64, "gzip", "br")), "", "limit of 8388608 octets"},
		{"nothing in the end", css(1), coded("deflate, gzip", emptyBlocks(t, 64)), "", "limit of 8388608 octets"},
		{"four codings", css(1), coded("br, br, br, br", []byte("x")), "", "at most 3"},
		{"no coding", css(1), text("text/css", strings.Repeat(" ", 9<<20)), "", "limit of 8388608 octets"},
		{"just as much as allowed", css(1), text("text/css", strings.Repeat(" ", 8<<20)), "", ""},
		{"many bodies", css(4), coded("gzip", zeros(t, 6, "gzip")), "exceed the limit of 20971520 octets", ""},
		{"many requests", css(60), text("text/css", ""), "exceeds the limit of 50 requests", ""},
		{"the document", "", file{}, "limit of 8388608 octets", ""},
	} {
		for _, name := range []string{"http/1.1", "h2", "h3", "spdy/3.1"} {
			t.Run(c.name+" over "+strings.ReplaceAll(name, "/", "-"), func(t *testing.T) {
				page := html(c.page)
				if c.page == "" {
					page = coded("gzip", zeros(t, 64, "gzip"))
					page.header.Set("Content-Type", "text/html")
				}
				b := newBench(t, row(t, name), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					f := page
					if r.URL.Path != "/" {
						f = c.bomb
					}
					maps.Copy(w.Header(), f.header)
					_, _ = w.Write(f.body)
				}), pageHost)
				b.config.Limits = limits
				peak := watchHeap(t)
				har, _, err := b.load(t, "https://"+pageHost+"/")
				if used := peak(); used > 192<<20 {
					t.Errorf("the heap grew by %d MiB", used>>20)
				}
				if (err != nil) != (c.load != "") || err != nil && !strings.Contains(err.Error(), c.load) {
					t.Errorf("the load: %v, want %q", err, c.load)
				}
				if c.load != "" {
					return
				}
				e := har.Log.Entries[1].Response
				if (e.Error != "") != (c.part != "") || !strings.Contains(e.Error, c.part) {
					t.Errorf("the resource: %q, want %q", e.Error, c.part)
				}
			})
		}
	}
}

// watchHeap collects garbage without a pause and returns a function that tells by how much the heap has grown at most, in
// octets. It counts only what is in use: how much garbage lies about depends on how busy the machine is.
func watchHeap(t *testing.T) (peak func() uint64) {
	inUse := func() uint64 {
		runtime.GC()
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		return live[0].Value.Uint64()
	}
	before := inUse()
	var most uint64
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			most = max(most, inUse())
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	end := sync.OnceFunc(func() { close(stop); watching.Wait() })
	t.Cleanup(end)
	return func() uint64 {
		end()
		return most - min(most, before)
	}
}

// TestCancelWhileDecoding ends a load while a bomb is being decoded that would take minutes: of 1 TiB of content, and of
// 1 TiB between two codings that decodes to nothing.
func TestCancelWhileDecoding(t *testing.T) {
	frame := func(content []byte) []byte { return encode(t, content, "zstd") }
	blocks := bytes.Repeat([]byte{0, 0, 0, 0xff, 0xff}, 1<<20)
	for _, c := range []struct {
		name, contentEncoding string
		bomb                  []byte
	}{
		{"content", "zstd, gzip, gzip", encode(t, bytes.Repeat(frame(make([]byte, 64<<20)), 1<<14), "gzip")},
		{"nothing in the end", "deflate, zstd, gzip", append(frame([]byte{0x78, 0x9c}), bytes.Repeat(frame(blocks), 200_000)...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			bomb := encode(t, c.bomb, "gzip")
			ctx, give := context.WithCancelCause(t.Context())
			b := newBench(t, row(t, "http/1.1"), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/octet-stream")
				w.Header().Set("Content-Encoding", c.contentEncoding)
				_, _ = w.Write(bomb[:len(bomb)-8]) // without gzip's end: it is not over
				_ = http.NewResponseController(w).Flush()
				give(errors.New("the test has seen enough"))
				<-r.Context().Done()
			}), pageHost)
			b.config.Limits = Limits{Body: 1 << 50, Page: 1 << 50}
			if _, _, err := b.open(t).Load(ctx, "https://"+pageHost+"/"); err == nil || !strings.Contains(err.Error(), "the test has seen enough") {
				t.Errorf("the load ended with %v", err)
			}
		})
	}
}

// FuzzDecoder feeds anything to a decoder, in two pieces. It never decodes more than the limit, and costs no more than
// the octets that it reads and writes explain.
func FuzzDecoder(f *testing.F) {
	for _, coding := range codings {
		f.Add(strings.Join(coding, ", "), zeros(f, 1, coding...), 7)
	}
	f.Add("deflate, gzip", emptyBlocks(f, 1), 100)
	f.Add("gzip", []byte("\x1f\x8b\x08\x1f\x00\x00\x00\x00\x00\x00\xff\xff"), 3)
	f.Fuzz(func(t *testing.T, contentEncoding string, body []byte, cut int) {
		limits := Limits{Body: 1 << 18}
		cut = min(max(cut, 0), len(body))
		// Windows of brotli have up to 16 MiB, those of zstd 8 MiB, for each of three codings.
		cost := costtest.Limit{Fixed: 96 << 20, PerOctet: 64, Time: 2000}
		costtest.Check(t, len(body)+4*int(limits.Body), cost, func() {
			d := newDecoder(context.Background(), contentEncoding, limits)
			if d == nil {
				return
			}
			defer d.stop()
			var n int64
			take := func(b []byte) error {
				if n += int64(len(b)); n > limits.Body {
					return limits.bodyError()
				}
				return nil
			}
			if d.feed(body[:cut], take) == nil && d.feed(body[cut:], take) == nil {
				_ = d.finish(take)
			}
		})
	})
}

// codingWriter applies a coding, at a level at which it is fast.
func codingWriter(name string, to io.Writer) (io.WriteCloser, error) {
	fastest, _ := coding.Levels(name)
	return coding.NewWriter(name, to, max(fastest, 1))
}
