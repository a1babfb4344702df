package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"wiretime/loader/loadertest"
	"wiretime/protocol"
)

// uploadBench starts a server with a handler, and opens a visit that uploads content of the given length to it.
func uploadBench(t *testing.T, p protocol.Protocol, octets int64, handler http.Handler) (*bench, *Visit) {
	t.Helper()
	b := newBench(t, p, handler)
	v := New(b.options).Upload(p, octets, Terms{})
	t.Cleanup(func() { must(t, v.Close()) })
	return b, v
}

// TestUpload posts to a sink over every protocol. The sink receives every octet and learns their number in advance, and the
// HAR has only the POST.
func TestUpload(t *testing.T) {
	for _, octets := range []int64{1, 4095, 300_001, 2_000_000} {
		loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
			announced := make(chan int64, 1)
			sink := protocol.Sink(http.NotFoundHandler())
			b, v := uploadBench(t, p, octets, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				announced <- r.ContentLength
				sink.ServeHTTP(w, r)
			}))
			har, timing, err := v.Load(b.context(t), b.url(pageHost, "/"))
			must(t, err)
			if n := <-announced; n != octets {
				t.Errorf("the client announced %d octets, want %d", n, octets)
			}
			must(t, b.server.Close())
			log := b.server.Log()
			if len(log) != 1 || log[0].Received == nil {
				t.Fatalf("the server log is %+v, want one upload", log)
			}
			in := log[0].Received
			if in.Octets != octets || in.SHA256 != protocol.UploadSHA256(octets) {
				t.Errorf("the sink received %d octets with SHA-256 %s, want %d with %s", in.Octets, in.SHA256, octets, protocol.UploadSHA256(octets))
			}
			if in.First < log[0].Start || in.Last < in.First || log[0].End < in.Last {
				t.Errorf("the request came at %d, its content from %d to %d, and it ended at %d", log[0].Start, in.First, in.Last, log[0].End)
			}
			if len(har.Log.Entries) != 1 {
				t.Fatalf("%d HAR entries, want one", len(har.Log.Entries))
			}
			if e := har.Log.Entries[0]; e.Request.Method != http.MethodPost || e.Response.Status != http.StatusOK || e.Protocol != p.Spoken || e.Time != timing.OnLoad {
				t.Errorf("the HAR entry is %+v, and onLoad %g ms", e, timing.OnLoad)
			}
		})
	}
}

// TestUploadFails has servers that do not accept an upload. The error says what they did, and how far the upload got.
func TestUploadFails(t *testing.T) {
	const octets = 20_000_000 // more than sockets and windows hold
	readSome := func(r *http.Request) { _, _ = io.CopyN(io.Discard, r.Body, 100_000) }
	for _, test := range []struct {
		name    string
		handler func(w http.ResponseWriter, r *http.Request) // nil: it does nothing until the client gives up
		want    []string                                     // one of these is in the error
	}{
		{"refused at once", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		}, []string{"413"}},
		{"fails in the middle", func(w http.ResponseWriter, r *http.Request) {
			readSome(r)
			http.Error(w, "disk full", http.StatusInsufficientStorage)
		}, []string{"507"}},
		{"closes in the middle", func(_ http.ResponseWriter, r *http.Request) {
			readSome(r)
			panic(http.ErrAbortHandler)
		}, []string{"reset", "closed", "EOF", "stream", "broken", "H3_INTERNAL_ERROR"}},
		{"never reads", nil, []string{"patience is over"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
				came, over := make(chan struct{}), make(chan struct{})
				b, v := uploadBench(t, p, octets, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					close(came)
					if test.handler == nil {
						<-over
						return
					}
					test.handler(w, r)
				}))
				ctx, cancel := context.WithCancelCause(b.context(t))
				if test.handler == nil {
					go func() {
						<-came
						cancel(errors.New("patience is over"))
					}()
				}
				_, timing, err := v.Load(ctx, b.url(pageHost, "/"))
				cancel(nil)
				close(over)
				if err == nil {
					t.Fatal("the upload succeeded")
				}
				named := false
				for _, word := range test.want {
					named = named || strings.Contains(err.Error(), word)
				}
				if !named || !strings.Contains(err.Error(), fmt.Sprintf("of %d octets", octets)) {
					t.Errorf("error %q, want one with any of %q that says how far the upload got", err, test.want)
				}
				if test.handler == nil && timing.OnLoad >= 0 {
					t.Errorf("onLoad is %g ms though nothing was answered", timing.OnLoad)
				}
			})
		})
	}
}
