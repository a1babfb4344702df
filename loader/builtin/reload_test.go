package builtin

import (
	"net/http"
	"slices"
	"sync"
	"testing"

	"wiretime/capture"
	"wiretime/loader/loadertest"
	"wiretime/protocol"
)

// TestReload visits a page, reloads it and visits it again. The reload requests everything
// once, with the validators that it has, however fresh it is.
func TestReload(t *testing.T) {
	page := html(`<link rel=stylesheet href=/a.css><img src=/a.png><img src=/plain.png><img src=/a.png?private>`)
	page.header.Set("Etag", `"page"`)
	sheet := text("text/css", "body { background: url(/a.png) }")
	sheet.header.Set("Cache-Control", "max-age=3600")
	sheet.header.Set("Last-Modified", "Mon, 01 Jul 2013 10:00:00 GMT")
	image := text("image/png", "image")
	image.header.Set("Cache-Control", "max-age=3600, immutable")
	image.header.Set("Etag", `"image"`)
	plain := text("image/png", "plain")
	plain.header.Set("Cache-Control", "max-age=3600")
	private := text("image/png", "private")
	private.header.Set("Cache-Control", "no-store")
	private.header.Set("Etag", `"private"`)
	content := files(map[string]file{"/": page, "/a.css": sheet, "/a.png": image, "/plain.png": plain, "/a.png?private": private})

	const whole, unchanged = "200", "304"
	loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
		var mu sync.Mutex
		var asked []string
		b := newBench(t, p, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer := whole
			if tag, since := r.Header.Get("If-None-Match"), r.Header.Get("If-Modified-Since"); tag != "" || since != "" {
				answer = unchanged
			}
			mu.Lock()
			asked = append(asked, answer+" "+r.URL.RequestURI()+" "+r.Header.Get("Cache-Control"))
			mu.Unlock()
			if answer == unchanged {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			content.ServeHTTP(w, r)
		}), pageHost)
		v := b.open(t)
		again := capture.Warm{Sessions: true, Connections: true, Cache: true}
		reload := again
		reload.Reload = true
		for _, visit := range []struct {
			name string
			keep capture.Warm
			want []string
		}{
			{"first", capture.Warm{}, []string{"200 / ", "200 /a.css ", "200 /a.png ", "200 /a.png?private ", "200 /plain.png "}},
			{"reload", reload, []string{"200 /a.png?private max-age=0", "200 /plain.png max-age=0", "304 / max-age=0", "304 /a.css max-age=0", "304 /a.png max-age=0"}},
			{"again", again, []string{"200 /a.png?private ", "304 / "}},
		} {
			must(t, v.Forget(t.Context(), visit.keep))
			mu.Lock()
			asked = nil
			mu.Unlock()
			har, _, err := v.Load(t.Context(), "https://"+pageHost+"/")
			must(t, err)
			mu.Lock()
			got := slices.Clone(asked)
			mu.Unlock()
			if slices.Sort(got); !slices.Equal(got, visit.want) {
				t.Errorf("%s: asked for %q, want %q", visit.name, got, visit.want)
			}
			for _, e := range har.Log.Entries {
				if e.Response.Content.Size == 0 {
					t.Errorf("%s: %s has no content", visit.name, e.Request.URL)
				}
			}
		}
	})
}

// TestReloadOfARedirectedPage reloads a page from the URL to which it was redirected.
func TestReloadOfARedirectedPage(t *testing.T) {
	moved := text("text/plain", "")
	moved.header.Set("Location", "/home")
	b := newBench(t, row(t, "h2"), files(map[string]file{"/": moved, "/home": html("home")}), pageHost)
	v := b.open(t)
	keep := capture.Warm{Sessions: true, Connections: true, Cache: true, Reload: true}
	for _, visit := range []struct {
		keep capture.Warm
		want []string
	}{{capture.Warm{}, []string{"/", "/home"}}, {keep, []string{"/home"}}, {capture.Warm{}, []string{"/", "/home"}}} {
		must(t, v.Forget(t.Context(), visit.keep))
		har, _, err := v.Load(t.Context(), "https://"+pageHost+"/")
		must(t, err)
		if got := paths(har); !slices.Equal(got, visit.want) {
			t.Errorf("with %+v: requested %q, want %q", visit.keep, got, visit.want)
		}
	}
}
