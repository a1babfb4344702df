package page

import (
	"errors"
	"hash/fnv"
	"slices"
	"testing"
	"time"

	"wiretime/costtest"
)

// FuzzPage loads a page twice: whole, and in pieces that arrive at the same
// moment. Both times it must request the same resources, and its load event
// must fire after everything it waits for.
func FuzzPage(f *testing.F) {
	for _, page := range []string{
		"", everything, "<", "<!", "<!--", "<img src=", "<img src='a", "<script>", "<script src=a.js></script><script>x</script>",
		"<p\x00 \xff\xfe=\xff><img src=\"\x00\">", "<meta charset=utf-16><img src=a>", "<meta charset=gbk><img src=\xc8\xd5>", "\xef\xbb\xbf<img src=a>", "\xff\xfe<\x00",
		"<style>@import 'a';@import url(b) layer(c) supports(d:e) print;@font-face{font-family:f;src:url(g)}*{font-family:f;background:url(h)}</style>text",
		"<style>@media{{{(([[}a{b:c;&d{e:url(f", "<style>:is(:not(:has(a))){--b:var(--b);background:var(--b,url(c))}", "<p style='background:url(a);--b:url(c);content:var(--b)'>",
		"<svg><style/><image href=a></svg><image src=b><template><img src=c></template>", "<picture><source srcset='a 1x,b 2x'><img src=c></picture>",
		"<img srcset='a 1w, b 2w' sizes='calc((((1px)' loading=lazy>", "<img srcset=',,,(,'>", "<base href=//b><base href=c><img src=d>",
		"<iframe srcdoc='<iframe srcdoc=&quot;<img src=a>&quot;></iframe>'></iframe><iframe src=/></iframe>", "<video><source src=a><source src=b>", "<object data=a><embed src=b><object data=c>",
		"<table><tr><td><p><li><option></table></p></td></html>x<head><link rel=stylesheet href=a>", "<link rel=stylesheet href=a><script>1</script><link rel=stylesheet href=b media='(min-width:1px)'>",
		"<body><link rel=stylesheet href=a><img src=b><script defer src=c></script><script async src=d></script><script type=module src=e></script>",
	} {
		f.Add([]byte(page), uint16(3))
	}
	f.Fuzz(func(t *testing.T, document []byte, chunk uint16) {
		var whole, pieces []string
		costtest.Check(t, len(document), pageCost, func() {
			whole = fuzzLoad(t, document, len(document)+1)
			pieces = fuzzLoad(t, document, int(chunk)%512+1)
		})
		if !slices.Equal(whole, pieces) {
			t.Errorf("whole:  %q\npieces: %q", whole, pieces)
		}
	})
}

// fuzzLoad returns what a page requests, sorted.
func fuzzLoad(t *testing.T, document []byte, chunk int) []string {
	s := server{answers: map[string]answer{"/": {body: string(document)}}, chunk: chunk, others: true}
	p := New(Config{URL: origin + "/"})
	defer p.Close()
	urls := map[string]bool{}
	s.watch = func(r Request) {
		if urls[r.URL] {
			t.Errorf("%s was requested twice", r.URL)
		}
		urls[r.URL] = true
	}
	s.run(t, p)
	if _, ok := p.Load(); !ok {
		t.Error("all requests have been answered, but load has not fired")
	}
	var out []string
	for url := range urls {
		out = append(out, url)
	}
	slices.Sort(out)
	return out
}

// any returns an answer for a URL: content, an error page or a failure.
func (s server) any(path string) answer {
	h := fnv.New32a()
	h.Write([]byte(path))
	a := answer{after: time.Duration(1+h.Sum32()%7*10) * time.Millisecond}
	switch h.Sum32() / 8 % 4 {
	case 0:
		a.status = 404
	case 1:
		a.err = errors.New("reset")
	}
	return a
}
