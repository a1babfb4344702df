package chromium

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"

	"wiretime/capture"
	"wiretime/evidence"
	"wiretime/lab"
	"wiretime/lab/labtest"
	"wiretime/metric"
	"wiretime/needtest"
	emulated "wiretime/network"
	"wiretime/site"
	"wiretime/workload/pageload"
)

// between is a visit that calls a function between an earlier page and the measured one.
type between struct {
	*Visit
	do func(context.Context) error
}

func (b between) Forget(ctx context.Context, keep capture.Warm) error {
	return errors.Join(b.Visit.Forget(ctx, keep), b.do(ctx))
}

// emptyMemory empties the memory cache of the page's process.
func (v *Visit) emptyMemory(ctx context.Context) error {
	_, err := call(ctx, v.page, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true})
	_, again := call(ctx, v.page, network.SetCacheDisabled, network.SetCacheDisabledParams{})
	return errors.Join(err, again)
}

// comeBack visits a page twice over h2, and calls do between the two visits.
func (b *bench) comeBack(t *testing.T, page *site.Site, visit string, do func(context.Context, *Visit) error) *evidence.Evidence {
	t.Helper()
	v, dir := b.open(t), t.TempDir()
	link := emulated.Link{Delay: 5 * time.Millisecond}
	r, err := pageload.Run(t.Context(), b.lab, pageload.Load{Order: pageload.Order{
		Path: emulated.Path{Name: "test", Access: []emulated.Access{{Name: "access", Up: link, Down: link}}}, Seed: 1,
		TCP: lab.TCPOptions{Congestion: "cubic", InitCwnd: 10}, Protocol: "h2", Visit: visit, Timeout: patience,
	}, Site: page, Authority: b.authority, Dir: dir, Session: between{v, func(ctx context.Context) error { return do(ctx, v) }}})
	must(t, err)
	must(t, r.LoadError)
	return &evidence.Evidence{
		Protocol: "h2", Visit: visit, HAR: r.HAR, Server: r.Server, Packets: labtest.ReadCapture(t, dir), Timing: r.Timing, ServerLost: r.ServerLost,
	}
}

// manyKinds makes a page with resources of every kind, on several hosts, all with validators.
func manyKinds(t *testing.T) *site.Site {
	t.Helper()
	page, err := site.Make(site.Spec{
		Name: "kinds", Objects: 20, Domains: 3, Total: 100_000, Sizes: site.SizesEqual, Depth: 2, Seed: 1, Validators: true,
		Mix: site.Mix{HTML: site.Share{Requests: 2}, CSS: site.Share{Requests: 3}, JS: site.Share{Requests: 4}, Font: site.Share{Requests: 5}, Image: site.Share{Requests: 6}},
	})
	must(t, err)
	return page
}

// TestCacheThatIsThrownAway empties the browser's caches between two visits. The second visit
// is then invalid, and the violation names a resource that should have been in the cache.
func TestCacheThatIsThrownAway(t *testing.T) {
	needtest.Long(t)
	page := manyKinds(t)
	b := newBench(t, Options{})
	found := "the client fetched 20 resources whole that the earlier visit had left in its cache: " + page.Page
	for _, visit := range []string{"cached", "again", "reload"} {
		for _, thrown := range []bool{false, true} {
			ev := b.comeBack(t, page, visit, func(ctx context.Context, v *Visit) error {
				if !thrown {
					return nil
				}
				_, err := call(ctx, v.page, network.ClearBrowserCache, cdp.Empty{})
				return errors.Join(err, v.emptyMemory(ctx))
			})
			var list []string
			for _, violation := range metric.Pages().Violations(ev) {
				if violation.Rule == 2 && !strings.Contains(violation.Detail, "without a resumed TLS session") {
					list = append(list, violation.Detail)
				}
			}
			if thrown != (len(list) > 0) || thrown && !strings.HasPrefix(list[0], found) {
				t.Errorf("%s, thrown away %v: violations %q, want %q only if it was", visit, thrown, list, found)
			}
		}
	}
}

// TestReloadOfEverything checks what docs/measuring.md says of making Chromium revalidate
// everything. With max-age=0 in every request and an empty memory cache, it requests
// everything with its validators, but also sends preflights to other origins, since the
// field is not a safelisted one.
func TestReloadOfEverything(t *testing.T) {
	page := manyKinds(t)
	b := newBench(t, Options{})
	ev := b.comeBack(t, page, "reload", func(ctx context.Context, v *Visit) error {
		_, err := call(ctx, v.page, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Cache-Control": "max-age=0"}})
		return errors.Join(err, v.emptyMemory(ctx))
	})
	var unchanged, preflights int
	for i := range ev.Server {
		switch e := &ev.Server[i]; {
		case e.Method == "OPTIONS":
			preflights++
		case e.Status == 304:
			unchanged++
		}
	}
	if unchanged != len(page.Resources) || preflights == 0 || unchanged+preflights != len(ev.Server) {
		t.Errorf("of %d requests %d were conditional and %d preflights; want %d conditional ones", len(ev.Server), unchanged, preflights, len(page.Resources))
	}
}

// TestReloadThatFails reloads a page whose server has stopped.
func TestReloadThatFails(t *testing.T) {
	needtest.Long(t)
	b := newBench(t, Options{})
	v, page := b.open(t), manyKinds(t)
	b.load(t, row(t, "h2"), page, kept{v}, patience)
	must(t, v.Forget(t.Context(), capture.Warm{Sessions: true, Connections: true, Cache: true, Reload: true}))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	har, _, err := v.Load(ctx, page.Page)
	if err == nil || !strings.Contains(err.Error(), "net::ERR_") || !slices.ContainsFunc(har.Log.Entries, func(e capture.Entry) bool { return e.Response.Error != "" }) {
		t.Errorf("error %v, want the browser's reason", err)
	}
	must(t, v.Close())
}

// kept is a visit that stays open after a load.
type kept struct{ *Visit }

func (kept) Close() error { return nil }
