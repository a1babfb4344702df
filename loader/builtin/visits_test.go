package builtin

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/loader/loadertest"
	"wiretime/protocol"
)

// lasting returns a page that must be requested again, and its style sheet, which may be
// stored.
func lasting() map[string]file {
	asked := html(`<link rel=stylesheet href=/a.css>`)
	asked.header.Set("Cache-Control", "no-cache")
	asked.header.Set("Etag", `"1"`)
	asked.header.Set("Set-Cookie", "visitor=1")
	kept := text("text/css", "body { color: red }")
	kept.header.Set("Cache-Control", "max-age=3600")
	kept.header.Set("Etag", `"1"`)
	return map[string]file{"/": asked, "/a.css": kept}
}

// TestComingBack revisits a page in each state that a visit word stands for, and
// checks the record of the second visit and what the server saw.
func TestComingBack(t *testing.T) {
	page := "https://" + pageHost + "/"
	loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
		for _, word := range capture.Visits() {
			t.Run(word, func(t *testing.T) {
				warm, err := capture.ParseVisit(word)
				must(t, err)
				var cookies atomic.Int32
				content := files(lasting())
				b := newBench(t, p, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if _, err := r.Cookie("visitor"); err == nil && r.URL.Path == "/" {
						cookies.Add(1)
					}
					if r.Header.Get("If-None-Match") == `"1"` {
						w.WriteHeader(http.StatusNotModified)
						return
					}
					content.ServeHTTP(w, r)
				}), pageHost)
				b.config.EarlyData = warm.EarlyData
				v := b.open(t)
				_, _, err = v.Load(t.Context(), page)
				must(t, err)
				earlier := v.FrameLog()
				if !warm.Connections {
					b.server.Disconnect()
				}
				must(t, v.Forget(t.Context(), warm))
				if log := v.FrameLog(); bytes.Count(log, []byte("\n")) > 1 || len(log) > 0 != (len(earlier) > 0) {
					t.Errorf("frames of the earlier visit are left: %s", log)
				}
				b.server.StartLog()
				har, timing, err := v.Load(t.Context(), page)
				must(t, err)
				if timing.OnLoad <= 0 || !slices.Equal(sorted(paths(har)), []string{"/", "/a.css"}) || cookies.Load() != 1 {
					t.Errorf("requested %q, with the cookie: %d; timing %+v", paths(har), cookies.Load(), timing)
				}
				requests := 2
				if warm.Cache && !warm.Reload {
					requests = 1
				}
				log := b.server.Log()
				resumed := warm.Sessions && !warm.Connections && p.ALPN != ""
				if p.Name == "https/1.1" {
					resumed = log[0].Resumed // a second connection may have had the only ticket, and none in return yet
				}
				if len(log) != requests || log[0].Resumed != resumed || log[0].EarlyData && !warm.EarlyData {
					t.Errorf("the server saw %+v", log)
				}
				for _, e := range har.Log.Entries {
					r := e.Response
					want := capture.Response{Status: 200, Content: capture.Content{Size: r.Content.Size}, BodySize: r.Content.Size}
					cache := ""
					switch document := e.ResourceType == "document"; {
					case warm.Reload, warm.Cache && document:
						want.Status, want.BodySize = 304, 0
					case warm.Cache:
						cache = "disk"
					}
					if r.Status != want.Status || r.BodySize != want.BodySize || r.Content.Size == 0 || e.FromCache != cache || cache != "" && (e.Connection != "" || e.Timings.Wait != 0) {
						t.Errorf("%s is recorded as %+v, from cache %q, over connection %q", e.Request.URL, r, e.FromCache, e.Connection)
					}
					if opened := e.Timings.Connect >= 0; opened && warm.Connections && e.ResourceType == "document" {
						t.Errorf("%s opened a connection: %+v", e.Request.URL, e.Timings)
					}
				}
			})
		}
	})
}

// TestForgetAfterAPageThatWasGivenUp leaves requests of an earlier page to be
// cancelled.
func TestForgetAfterAPageThatWasGivenUp(t *testing.T) {
	loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
		for _, keep := range []capture.Warm{{}, {Sessions: true}, {Sessions: true, Connections: true}} {
			enough := errors.New("cancelled by the test")
			ctx, give := context.WithCancelCause(t.Context())
			page := files(map[string]file{"/": html(`<img src="/stuck.png"><img src="/stuck.png?2">`), "/other": html("other")})
			b := newBench(t, p, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/stuck.png" {
					give(enough)
					<-r.Context().Done()
					return
				}
				page.ServeHTTP(w, r)
			}), pageHost)
			v := b.open(t)
			if _, _, err := v.Load(ctx, "https://"+pageHost+"/"); !errors.Is(err, enough) {
				t.Errorf("the load: %v", err)
			}
			forgotten := make(chan error, 1)
			go func() { forgotten <- v.Forget(t.Context(), keep) }()
			select {
			case err := <-forgotten:
				must(t, err)
			case <-time.After(patience):
				t.Fatalf("%+v: Forget has not returned", keep)
			}
			har, _, err := v.Load(t.Context(), "https://"+pageHost+"/other")
			must(t, err)
			if got := paths(har); !slices.Equal(got, []string{"/other"}) {
				t.Errorf("requested %q", got)
			}
		}
	})
}
