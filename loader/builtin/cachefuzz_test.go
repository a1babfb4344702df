package builtin

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"wiretime/costtest"
)

// FuzzCache stores a response with any fields that rule caching, finds it again, and has it validated. A response is
// never used for another request than its own, nor is one whose fields forbid it.
func FuzzCache(f *testing.F) {
	f.Add("max-age=60", "", "Accept", "text/html", "5", "")
	f.Add(`private, max-age="60" , no-cache="a,b"`, "Sun, 22 Nov 2026 00:00:00 GMT", "accept , Cookie", "text/html", "-1", `W/"tag"`)
	f.Add("no-store", "0", "*", "", "", "")
	f.Add("max-age=99999999999999999999,,=,\x00=1", "x", ",,*", "", "99999999999999999999", "")
	f.Add(strings.Repeat("max-age=1,", 1000), "", strings.Repeat("a,", 1000), "", "", "a")
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, control, expires, vary, accept, age, tag string) {
		header := http.Header{"Cache-Control": {control}, "Vary": {vary}}
		for name, value := range map[string]string{"Expires": expires, "Age": age, "Etag": tag} {
			if value != "" {
				header.Set(name, value)
			}
		}
		octets := len(control) + len(expires) + len(vary) + len(accept) + len(age) + len(tag)
		costtest.Check(t, octets, costtest.Limit{Fixed: 64 << 10, PerOctet: 400, Time: 20_000}, func() {
			var c cache
			request := http.Header{"Accept": {accept}}
			c.keep(&answer{url: "u", request: request, status: http.StatusOK, header: header, at: now})
			kept, fresh := c.find("u", request, now)
			if kept == nil {
				if fresh {
					t.Error("a response that is not stored is fresh")
				}
				return
			}
			directives := cacheControl(header)
			if _, no := directives["no-store"]; no {
				t.Errorf("%q is stored", control)
			}
			if _, no := directives["no-cache"]; no && fresh {
				t.Errorf("%q is fresh", control)
			}
			other := http.Header{"Accept": {accept + "x"}}
			if found, _ := c.find("u", other, now); found != nil {
				for name := range strings.SplitSeq(vary, ",") {
					if strings.EqualFold(strings.TrimSpace(name), "accept") {
						t.Errorf("a response that varies with %q is used for another request", vary)
					}
				}
			}
			kept.ask(request)
			c.refreshed(kept, http.Header{"Cache-Control": {control}}, now)
		})
	})
}
