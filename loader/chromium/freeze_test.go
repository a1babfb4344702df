package chromium

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"wiretime/capture"
	"wiretime/loader/browser"
	"wiretime/needtest"
	"wiretime/site"
)

// volatile returns a script that requests a URL with the time of day and random
// numbers, and names who requests it. It yields a promise.
func volatile(who string) string {
	return fmt.Sprintf(`fetch('https://www.page.test/pixel?' + [%q, Date.now(), new Date().getTime(), Date(), Math.random(), Math.random(),
		crypto.getRandomValues(new Uint16Array(3)), crypto.randomUUID()].map(encodeURIComponent).join('&'), {mode: 'no-cors'})`, who)
}

// forgetful returns a page whose frames and workers of all kinds request such
// URLs.
func forgetful(t *testing.T) *site.Site {
	document := func(who, more string) string {
		return "<!DOCTYPE html><title>Page</title><script>" + volatile(who) + "</script>" + more
	}
	return archive(t, map[string]string{
		"GET https://www.page.test/": document("page", `
			<iframe src=/frame.html></iframe><iframe src=https://frame.other.test/frame.html></iframe>
			<iframe srcdoc="<script src=/frame.js></script>"></iframe>`+patient(`
				const heard = (w) => new Promise((done) => { w.onmessage = done; });
				const shared = new SharedWorker('/shared.js');
				const ready = navigator.serviceWorker.register('/service.js').then(() => navigator.serviceWorker.ready);
				await Promise.all([heard(new Worker('/worker.js')), heard(new Worker('/module.js', {type: 'module'})), heard(shared.port), ready]);`)),
		"GET https://www.page.test/frame.html":    document("frame", ""),
		"GET https://www.page.test/frame.js":      volatile("text"),
		"GET https://frame.other.test/frame.html": document("other", "<iframe src=https://deep.third.test/></iframe>"),
		"GET https://deep.third.test/":            document("deep", ""),
		"GET https://www.page.test/worker.js":     volatile("worker") + `.then(() => { new Worker('/inner.js').onmessage = () => postMessage(1); })`,
		"GET https://www.page.test/inner.js":      volatile("inner") + `.then(() => postMessage(1))`,
		"GET https://www.page.test/module.js":     volatile("module") + `.then(() => postMessage(1))`,
		"GET https://www.page.test/shared.js":     "const asked = " + volatile("shared") + "; onconnect = (e) => asked.then(() => e.ports[0].postMessage(1))",
		"GET https://www.page.test/service.js":    "oninstall = (e) => e.waitUntil(" + volatile("service") + ")",
	})
}

// asked returns the URLs that a page's scripts made, by requester.
func (b *bench) asked(t *testing.T, page *site.Site, freeze *browser.Freeze) map[string]string {
	t.Helper()
	v, err := b.browser.Open(t.Context(), freeze)
	must(t, err)
	l := b.load(t, row(t, "h2"), page, v, patience)
	urls := map[string]string{}
	for _, e := range l.HAR.Log.Entries {
		if _, query, is := strings.Cut(e.Request.URL, "pixel?"); is {
			who, rest, _ := strings.Cut(query, "&")
			urls[who] = rest
		}
	}
	return urls
}

// TestFrozenPageAsksForTheSameAgain loads a page whose frames and workers make URLs from
// the time of day and random numbers. Frozen, it requests the same ones again, also in
// another browser; with another seed or unfrozen it requests others.
func TestFrozenPageAsksForTheSameAgain(t *testing.T) {
	needtest.Long(t)
	page := forgetful(t)
	freeze := &browser.Freeze{At: time.Date(2020, 2, 29, 12, 0, 0, 5e6, time.UTC), Seed: 1 << 40}
	for _, switches := range [][]string{nil, {"--site-per-process"}} {
		b := newBench(t, Options{}, switches...)
		first := b.asked(t, page, freeze)
		who := strings.Join(slices.Sorted(maps.Keys(first)), " ")
		if who != "deep frame inner module other page service shared text worker" {
			t.Fatalf("with %v %s asked", switches, who)
		}
		if difference := gocmp.Diff(first, b.asked(t, page, freeze)); difference != "" {
			t.Errorf("with %v the frozen page requested other URLs the second time:\n%s", switches, difference)
		}
		left, alone := b.asked(t, page, nil), b.asked(t, page, nil)
		seeded := b.asked(t, page, &browser.Freeze{At: freeze.At, Seed: 2})
		for who, url := range first {
			if alone[who] == left[who] || alone[who] == url || seeded[who] == url || !strings.HasPrefix(url, "1582977600005&1582977600005&Sat%20Feb%2029%202020") {
				t.Errorf("with %v %s requested %s when frozen, %s with another seed, %s and %s when left alone", switches, who, url, seeded[who], left[who], alone[who])
			}
			for other, same := range first {
				if other != who && same == url {
					t.Errorf("with %v %s and %s drew the same: %s", switches, who, other, url)
				}
			}
		}
	}
}

// TestFrozenPageIsAPage checks what scripts expect of any page in a frozen one.
func TestFrozenPageIsAPage(t *testing.T) {
	page := archive(t, map[string]string{"GET https://www.page.test/": "<p>Hello"})
	b := newBench(t, Options{})
	v, err := b.browser.Open(t.Context(), &browser.Freeze{At: time.Date(2020, 2, 29, 12, 0, 0, 0, time.UTC), Seed: 1})
	must(t, err)
	tests := []struct{ script, want string }{
		{"new Date() instanceof Date", "true"},
		{"new Date().constructor === Date", "true"},
		{"new (class extends Date { year() { return this.getUTCFullYear(); } })().year()", "2020"},
		{"new Date(2001, 1, 3).getDate()", "3"},
		{"new Date('2001-01-01T00:00:00Z').getTime()", "978307200000"},
		{"new Date(undefined).getTime()", "NaN"},
		{"Date.parse('2001-01-01T00:00:00Z') === Date.UTC(2001, 0)", "true"},
		{"[Date.name, Date.length, Date.now.name, typeof Date()]", "Date,7,now,string"},
		{"Object.keys(Math).length + Object.keys(Date).length", "0"},
		{"Array.from({length: 1000}, Math.random).every((n) => n >= 0 && n < 1)", "true"},
		{"new Set(Array.from({length: 1000}, Math.random)).size", "1000"},
		{"Math.abs(Array.from({length: 10000}, Math.random).reduce((a, b) => a + b) / 10000 - 0.5) < 0.02", "true"},
		{"/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID())", "true"},
		{"((a) => crypto.getRandomValues(a) === a && a[0] !== a[1])(new BigUint64Array(2))", "true"},
		{"crypto.getRandomValues(new Uint8Array(new ArrayBuffer(8), 2, 3)).length", "3"},
		{"((b) => { crypto.getRandomValues(new Uint8Array(b, 2, 3)); return new Uint8Array(b).slice(5); })(new ArrayBuffer(8))", "0,0,0"},
		{"(() => { try { crypto.getRandomValues(new Float32Array(1)); } catch (e) { return e.name; } })()", "TypeMismatchError"},
		{"(() => { try { crypto.getRandomValues(new Uint8Array(65537)); } catch (e) { return e.name; } })()", "QuotaExceededError"},
		{"(() => { const p = performance.now(); while (performance.now() === p); return performance.now() > p; })()", "true"},
		{"Math.abs(performance.timeOrigin + performance.now() - Date.now()) > 1e9", "true"},
		{"((start) => { while (Date.now() - start < 30_000); return true; })(Date.now())", "true"},
		{"(() => { const days = new Set(); for (let i = 0; i < 900; i++) days.add(+new Date()); return days.size; })() <= 2", "true"},
		{"document.createElement('iframe').contentWindow", "null"},
		{"((f) => { document.body.append(f); return f.contentWindow.Date.now(); })(document.createElement('iframe'))", "1582977600000"},
	}
	b.load(t, row(t, "h2"), page, afterwards{v, func(ctx context.Context) {
		for _, test := range tests {
			got, err := v.evaluate(ctx, "(async () => String("+test.script+"))()")
			if err != nil || got != test.want {
				t.Errorf("%s is %s, want %s (%v)", test.script, got, test.want, err)
			}
		}
	}}, patience)
}

// afterwards is a visit that does something when its page has loaded.
type afterwards struct {
	*Visit
	do func(ctx context.Context)
}

func (a afterwards) Load(ctx context.Context, url string) (*capture.HAR, capture.Timing, error) {
	har, timing, err := a.Visit.Load(ctx, url)
	a.do(ctx)
	return har, timing, err
}
