package builtin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"wiretime/loader/loadertest"
	"wiretime/protocol"
)

// TestEndlessRedirects checks that a page that redirects endlessly fails, and that an
// image that does is a failed image on a loaded page.
func TestEndlessRedirects(t *testing.T) {
	loop := file{header: http.Header{"Location": {"/loop"}}}
	loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
		b := newBench(t, p, files(map[string]file{"/": html(`<img src="/loop"><img src="/a.png">`), "/a.png": text("image/png", "a"), "/loop": loop}), pageHost)
		har, timing, err := b.load(t, "https://"+pageHost+"/loop")
		if err == nil || !strings.Contains(err.Error(), "follow the redirect to /loop: more than 20 redirects") {
			t.Errorf("the page: %v", err)
		}
		if len(har.Log.Entries) != redirectLimit+1 || har.Log.Entries[0].Response.RedirectURL != "/loop" || timing.OnLoad != -1 {
			t.Errorf("the page: %d entries, timing %+v", len(har.Log.Entries), timing)
		}
		har, timing, err = b.load(t, "https://"+pageHost+"/")
		if err != nil || timing.OnLoad <= 0 || len(har.Log.Entries) != 1+1+redirectLimit+1 {
			t.Errorf("an image: %d entries, timing %+v, %v", len(har.Log.Entries), timing, err)
		}
	})
}

// TestRedirectedPage checks that the page's URLs are relative to its final URL.
func TestRedirectedPage(t *testing.T) {
	b := newBench(t, row(t, "h2"), files(map[string]file{
		"/":            {header: http.Header{"Location": {"/there/"}, "Set-Cookie": {"seen=1; Path=/"}}},
		"/there/":      html(`<img src="a.png">`),
		"/there/a.png": text("image/png", "a"),
	}), pageHost)
	har, _, err := b.load(t, "https://"+pageHost+"/")
	must(t, err)
	if got := paths(har); !slices.Equal(got, []string{"/", "/there/", "/there/a.png"}) {
		t.Errorf("requested %q", got)
	}
	for _, e := range har.Log.Entries[1:] {
		var cookie string
		for _, h := range e.Request.Headers {
			if h.Name == "Cookie" {
				cookie = h.Value
			}
		}
		if cookie != "seen=1" {
			t.Errorf("%s was requested with the cookie %q", e.Request.URL, cookie)
		}
	}
}

// TestPageElsewhere checks that a redirected page's requests name the final host, and carry
// no cookies of other sites.
func TestPageElsewhere(t *testing.T) {
	const there, stranger = "www.there.test", "www.stranger.test"
	stamp := text("image/png", "a")
	stamp.header.Set("Set-Cookie", "stamp=1; Path=/")
	b := newBench(t, row(t, "h2"), files(map[string]file{
		"/":      {header: http.Header{"Location": {"https://" + there + "/page"}}},
		"/page":  html(`<img src=/a.png><img src=https://` + stranger + `/a.png>`),
		"/a.png": stamp,
	}), pageHost, there, stranger)
	visit := b.open(t)
	for _, cookie := range []string{"", "stamp=1"} {
		har, _, err := visit.Load(t.Context(), "https://"+pageHost+"/")
		must(t, err)
		if title := har.Log.Pages[0].Title; title != "https://"+pageHost+"/" {
			t.Errorf("the page is called %s", title)
		}
		want := map[string][2]string{
			"https://" + pageHost + "/":      {"", ""},
			"https://" + there + "/page":     {"", cookie},
			"https://" + there + "/a.png":    {"https://" + there + "/page", cookie},
			"https://" + stranger + "/a.png": {"https://" + there + "/", ""},
		}
		got := map[string][2]string{}
		for _, e := range har.Log.Entries {
			fields := map[string]string{}
			for _, h := range e.Request.Headers {
				fields[h.Name] = h.Value
			}
			got[e.Request.URL] = [2]string{fields["Referer"], fields["Cookie"]}
		}
		if !maps.Equal(got, want) {
			t.Errorf("referrers and cookies are\n%v, want\n%v", got, want)
		}
	}
}

// TestMalformedPages checks that whatever a page contains, everything recognisable
// is loaded and the load ends.
func TestMalformedPages(t *testing.T) {
	for _, tt := range []struct {
		name string
		page string
		css  string
		want []string // besides the page, in any order
	}{
		{name: "tags that do not end", page: `<img src=/a.png><div <img src=/b.png`, want: []string{"/a.png"}},
		{name: "URLs that are not fetched", page: `<img src="data:image/png;base64,AA=="><img src="blob:https://x/1"><img src="javascript:1"><iframe src="about:blank"></iframe><img src="http://[">`},
		{name: "nothing", page: ``},
		{name: "malformed CSS", page: `<link rel=stylesheet href=/a.css>`, css: `{{{ @import url(/c.css); } a { background: url(/d.png`, want: []string{"/a.css"}},
		{name: "CSS that imports itself", page: `<link rel=stylesheet href=/a.css>`, css: `@import url(/a.css); @import url(/a.css?again);`, want: []string{"/a.css", "/a.css?again"}},
		{name: "ten megabytes of inline script", page: `<script>` + strings.Repeat("x='<img src=/never.png>';\n", 400_000) + `</script><img src=/a.png>`, want: []string{"/a.png"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			css := text("text/css", tt.css)
			b := newBench(t, row(t, "http/1.1"), files(map[string]file{
				"/": html(tt.page), "/a.png": text("image/png", "a"), "/a.css": css, "/a.css?again": css,
			}), pageHost)
			har, timing, err := b.load(t, "https://"+pageHost+"/")
			must(t, err)
			if got := sorted(paths(har)[1:]); !slices.Equal(got, tt.want) {
				t.Errorf("requested %q, want %q", got, tt.want)
			}
			if timing.DCL <= 0 || timing.OnLoad < timing.DCL {
				t.Errorf("timing is %+v", timing)
			}
		})
	}
}

// TestResourceThatNeverAnswers checks that the load ends at its limit, that what was
// seen is recorded, and that the resource is marked.
func TestResourceThatNeverAnswers(t *testing.T) {
	loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
		ctx, give := context.WithCancelCause(t.Context())
		stuck := make(chan struct{})
		page := files(map[string]file{"/": html(`<img src="/stuck.png"><img src="/a.png">`), "/a.png": text("image/png", "a")})
		b := newBench(t, p, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/stuck.png" {
				page.ServeHTTP(w, r)
				return
			}
			close(stuck)
			<-r.Context().Done()
		}), pageHost)
		go func() {
			<-stuck
			give(errors.New("the page was not there in time"))
		}()
		har, timing, err := b.open(t).Load(ctx, "https://"+pageHost+"/")
		if err == nil || !strings.Contains(err.Error(), "the page was not there in time") {
			t.Errorf("the load: %v", err)
		}
		if timing.OnLoad != -1 || timing.LastResource != -1 {
			t.Errorf("timing is %+v", timing)
		}
		i := slices.Index(paths(har), "/stuck.png")
		if i < 0 || har.Log.Entries[i].Response.Error == "" || har.Log.Entries[i].Response.Status != 0 {
			t.Fatalf("the resource is recorded as %+v", har.Log.Entries)
		}
	})
}

// TestBodiesThatAreNotWhole checks that a truncated resource has failed, however it ends,
// and that the page is loaded without it.
func TestBodiesThatAreNotWhole(t *testing.T) {
	plain := bytes.Repeat([]byte("body { color: red } "), 1000)
	type broken struct {
		name  string
		rows  []string
		serve func(w http.ResponseWriter)
	}
	tests := []broken{
		{"content-length too long", protocol.Names(), func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "100000")
			_, _ = w.Write(plain)
			panic(http.ErrAbortHandler)
		}},
		{"closed in the middle of a body", protocol.Names(), func(w http.ResponseWriter) {
			_, _ = w.Write(plain)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}},
	}
	for _, coding := range []string{"gzip", "br", "zstd"} {
		octets := encode(t, plain, coding)
		tests = append(tests, broken{"truncated " + coding, []string{"https/1.1", "h2"}, func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", coding)
			_, _ = w.Write(octets[:len(octets)-5])
		}})
	}
	for _, tt := range tests {
		for _, name := range tt.rows {
			t.Run(fmt.Sprintf("%s over %s", tt.name, strings.ReplaceAll(name, "/", "-")), func(t *testing.T) {
				page := files(map[string]file{"/": html(`<link rel=stylesheet href=/broken.css><img src=/a.png>`), "/a.png": text("image/png", "a")})
				b := newBench(t, row(t, name), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path != "/broken.css" {
						page.ServeHTTP(w, r)
						return
					}
					w.Header().Set("Content-Type", "text/css")
					tt.serve(w)
				}), pageHost)
				har, timing, err := b.load(t, "https://"+pageHost+"/")
				must(t, err)
				i := slices.Index(paths(har), "/broken.css")
				if i < 0 || har.Log.Entries[i].Response.Error == "" {
					t.Errorf("the resource is recorded as %+v", har.Log.Entries)
				}
				if !slices.Contains(paths(har), "/a.png") || timing.OnLoad <= 0 {
					t.Errorf("requested %q, timing %+v", paths(har), timing)
				}
			})
		}
	}
}

// TestUnreachableOverUDP checks that an origin that does not answer over UDP fails at
// the load's limit, or is fetched over h2 if the fallback is enabled.
func TestUnreachableOverUDP(t *testing.T) {
	for _, fallback := range []string{"", "h2"} {
		t.Run("fallback "+fallback, func(t *testing.T) {
			b := newBench(t, row(t, "h2"), files(map[string]file{"/": html(`<img src=/a.png>`), "/a.png": text("image/png", "a")}), pageHost)
			deaf, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp4", b.hosts[pageHost].String()+":0")
			must(t, err)
			defer deaf.Close()
			b.loader.options.ListenPacket = func(ctx context.Context, kind, address string) (net.PacketConn, error) {
				c, err := new(net.ListenConfig).ListenPacket(ctx, kind, address)
				return astray{c, deaf.LocalAddr()}, err
			}
			b.config.Protocol, b.config.Fallback = row(t, "h3"), fallback
			limit := patience
			if fallback == "" {
				limit = time.Second
			}
			ctx, cancel := context.WithTimeoutCause(t.Context(), limit, errors.New("the page's limit"))
			defer cancel()
			har, _, err := b.open(t).Load(ctx, "https://"+pageHost+"/")
			if fallback == "" {
				if err == nil || !strings.Contains(err.Error(), "the page's limit") {
					t.Errorf("the load: %v", err)
				}
				return
			}
			must(t, err)
			for _, e := range har.Log.Entries {
				if e.Protocol != fallback {
					t.Errorf("%s came over %q", e.Request.URL, e.Protocol)
				}
			}
			if got := paths(har); !slices.Equal(got, []string{"/", "/a.png"}) {
				t.Errorf("requested %q", got)
			}
		})
	}
}

// astray is a socket that sends all packets to one place.
type astray struct {
	net.PacketConn
	to net.Addr
}

func (a astray) WriteTo(b []byte, _ net.Addr) (int, error) { return a.PacketConn.WriteTo(b, a.to) }
