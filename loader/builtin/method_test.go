package builtin

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	"wiretime/loader/loadertest"
	"wiretime/loader/page"
	"wiretime/protocol"
)

// TestRecordedMethods checks that what scripts posted is posted over every row, each
// request once, and that a redirect to GET is followed by GET.
func TestRecordedMethods(t *testing.T) {
	loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
		var mu sync.Mutex
		var asked []string
		b := newBench(t, p, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			asked = append(asked, fmt.Sprintf("%s %s %s", r.Method, r.URL.Path, r.Header.Get("Origin")))
			mu.Unlock()
			switch r.URL.Path {
			case "/":
				w.Header().Set("Content-Type", "text/html")
				_, _ = w.Write([]byte("<!doctype html><p>A page."))
			case "/moved":
				w.Header().Set("Location", "/seen")
				w.WriteHeader(http.StatusSeeOther)
			default:
				w.WriteHeader(http.StatusNoContent)
			}
		}), "www.method.test")
		const origin = "https://www.method.test"
		for _, of := range []struct{ method, path string }{{"POST", "/beacon"}, {"", "/beacon"}, {"PUT", "/moved"}} {
			b.config.Recorded = append(b.config.Recorded, page.Recorded{URL: origin + of.path, Method: of.method, Kind: page.Fetch, Initiator: origin + "/"})
		}
		har, _, err := b.load(t, origin+"/")
		must(t, err)
		from := p.Scheme + "://www.method.test"
		want := []string{"GET / ", "GET /beacon ", "GET /seen ", "POST /beacon " + from, "PUT /moved " + from}
		slices.Sort(asked)
		if !slices.Equal(asked, want) {
			t.Errorf("the server received %q, want %q", asked, want)
		}
		var methods []string
		for _, e := range har.Log.Entries {
			methods = append(methods, e.Request.Method)
		}
		slices.Sort(methods)
		if !slices.Equal(methods, []string{"GET", "GET", "GET", "POST", "PUT"}) {
			t.Errorf("the HAR has the methods %q", methods)
		}
	})
}
