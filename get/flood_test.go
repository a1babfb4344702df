package get_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"wiretime/get"
)

// TestFloods uses servers that never come to an end, each in another part of a response. What comes before the body ends
// with an error; a body, or silence, with the context. None of it is held in memory.
func TestFloods(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	const cancelled = "context canceled"
	for _, c := range []struct {
		name, head, again string // sent once, and again and again
		want              string
	}{
		{"status line", "HTTP/1.1 200 ", strings.Repeat("O", 4000), "exceeded 1048576 bytes"},
		{"fields", ok, "a: " + strings.Repeat("b", 1000) + "\r\n", "exceeded 1048576 bytes"},
		{"interim responses", "", "HTTP/1.1 103 Early Hints\r\n\r\n", "exceeded 1048576 bytes"},
		{"chunk extensions", ok + "Transfer-Encoding: chunked\r\n\r\n", "1;" + strings.Repeat("e", 3000) + "\r\nx\r\n", "too much"},
		{"trailers", ok + "Transfer-Encoding: chunked\r\n\r\n0\r\n", "a: " + strings.Repeat("b", 1000) + "\r\n", "trailer"},
		{"body", ok + "\r\n", strings.Repeat("x", 32<<10), cancelled},
		{"silence", ok, "", cancelled},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, give := context.WithCancel(t.Context())
			var serving sync.WaitGroup
			serving.Go(func() {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				if _, err = http.ReadRequest(bufio.NewReader(conn)); err == nil {
					_, err = io.WriteString(conn, c.head)
				}
				again := []byte(c.again)
				for sent := 0; err == nil && len(again) > 0 && sent < 64<<20; sent += len(again) {
					_, err = conn.Write(again)
				}
				if c.want == cancelled {
					give()
				}
				_, _ = io.Copy(io.Discard, conn)
			})
			client, err := get.New(get.Config{Story: io.Discard})
			if err != nil {
				t.Fatal(err)
			}
			r, err := http.NewRequest(http.MethodGet, "http://"+l.Addr().String()+"/", nil)
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err = get.Batch{Client: &http.Client{Transport: client}, Requests: []*http.Request{r}}.Fetch(ctx, io.Discard)
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want %q", err, c.want)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 32<<20 {
				t.Errorf("%d MiB were allocated", used>>20)
			}
			give()
			if err := errors.Join(client.Close(), l.Close()); err != nil {
				t.Error(err)
			}
			serving.Wait()
		})
	}
}
