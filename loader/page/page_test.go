package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// server answers a page's requests, each after its own delay.
type server struct {
	answers map[string]answer // by path and query; others answer completely after 10 ms
	chunk   int               // octets of the document at a time, all at the same moment; 0: whole
	others  bool              // answer other requests with every kind of answer
	watch   func(Request)
}

type answer struct {
	after  time.Duration
	body   string
	status int
	err    error
	kind   string // content type; "": by the path
	links  []string
	parts  []part // instead of body; times since the answer
}

type part struct {
	after time.Duration
	body  string
}

const origin = "https://a.example"

// happening is one event from the network.
type happening struct {
	at   time.Duration
	what func(now time.Duration)
}

// load loads a page to its end and returns what happened, one line each.
func (s server) load(t testing.TB, c Config) (log []string, p *Page) {
	t.Helper()
	if c.URL == "" {
		c.URL = origin + "/"
	}
	p = New(c)
	t.Cleanup(p.Close)
	return s.run(t, p), p
}

func (s server) run(t testing.TB, p *Page) (log []string) {
	t.Helper()
	var coming []happening
	now := time.Duration(0)
	look := func() {
		for _, r := range p.Requests() {
			log = append(log, fmt.Sprintf("%v %s %s %s", now, strings.TrimPrefix(r.URL, origin), r.Kind, r.Priority))
			coming = append(coming, s.answer(p, r, now)...)
			if s.watch != nil {
				s.watch(r)
			}
		}
		for _, c := range p.Changes() {
			if !c.Silent {
				log = append(log, fmt.Sprintf("%v %d now %s", now, c.ID, c.Priority))
			}
		}
		slices.SortStableFunc(coming, func(a, b happening) int { return int(a.at - b.at) })
	}
	p.Begin(now)
	for range 1_000_000 {
		look()
		at, ok := p.Next()
		if len(coming) > 0 && (!ok || coming[0].at <= at) {
			now = coming[0].at
			coming[0].what(now)
			coming = coming[1:]
			continue
		}
		if !ok {
			return log
		}
		now = at
		p.Advance(now)
	}
	t.Fatal("the page never settles")
	return nil
}

var contentTypes = map[string]string{
	".css": "text/css", ".js": "text/javascript", ".png": "image/png", ".html": "text/html", ".svg": "image/svg+xml", ".woff2": "font/woff2",
}

func (s server) answer(p *Page, r Request, now time.Duration) []happening {
	path := strings.TrimPrefix(r.URL, origin)
	a, ok := s.answers[path]
	if !ok && s.others {
		a = s.any(path)
	}
	if a.after == 0 {
		a.after = 10 * time.Millisecond
	}
	if a.kind == "" {
		a.kind = "text/html"
		name, _, _ := strings.Cut(path, "?")
		if i := strings.LastIndexByte(name, '.'); i >= 0 && contentTypes[name[i:]] != "" {
			a.kind = contentTypes[name[i:]]
		}
	}
	if a.status == 0 {
		a.status = 200
	}
	at := now + a.after
	out := []happening{{at, func(now time.Duration) {
		if a.err == nil {
			p.Respond(now, r.ID, Head{Status: a.status, URL: r.URL, ContentType: a.kind, Links: a.links})
		}
	}}}
	if a.parts == nil {
		step := len(a.body)
		if s.chunk > 0 && r.Kind == Document {
			step = s.chunk
		}
		for rest := a.body; rest != ""; {
			n := min(step, len(rest))
			a.parts = append(a.parts, part{0, rest[:n]})
			rest = rest[n:]
		}
	}
	last := at
	for _, part := range a.parts {
		last = at + part.after
		out = append(out, happening{last, func(now time.Duration) { p.Data(now, r.ID, []byte(part.body)) }})
	}
	return append(out, happening{last, func(now time.Duration) { p.Finish(now, r.ID, a.err) }})
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// moments returns DCL and load.
func moments(p *Page) string {
	dcl, ok := p.DCL()
	load, loaded := p.Load()
	if !ok || !loaded {
		return "never"
	}
	return fmt.Sprintf("DCL %v load %v", dcl, load)
}

func lines(s string) []string {
	var out []string
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

func check(t *testing.T, got []string, want string) {
	t.Helper()
	if diff := cmp.Diff(lines(want), append([]string(nil), got...)); diff != "" {
		t.Errorf("unexpected behaviour of the page (-want +got):\n%s", diff)
	}
}

// everything is a page with one of everything.
const everything = `<!DOCTYPE html><html><head>
<link rel=stylesheet href=a.css?d=100>
<link rel=stylesheet media=print href=print.css>
<link rel="alternate stylesheet" title=x href=alt.css>
<link rel=preload as=font crossorigin href=p.woff2>
<link rel=preload as=script href=p.js>
<link rel=preload as=style href=p.css>
<link rel=preload as=image href=p.png>
<link rel=preload as=fetch crossorigin href=p.json>
<link rel=modulepreload href=m.js>
<link rel=prefetch href=pf.html>
<script src=head.js></script>
<script src=async.js async></script>
<script src=defer.js defer></script>
<script type=module src=mod.js></script>
</head><body>
<style>@import "imp.css"; .x{background:url(bg.png)} .none{background:url(never.png)} @font-face{font-family:F;src:url(f.woff2) format("woff2")} body{font-family:F}</style>
<script src=body1.js></script>
<img src=1.png><img src=2.png width=10 height=10><img src=3.png><img src=4.png><img src=5.png><img src=6.png><img src=7.png>
<img loading=lazy src=lazy.png>
<div class=x>text</div>
<script src=late.js?d=50></script>
<link rel=stylesheet href=late.css?d=300>
<iframe src=frame.html></iframe>
<video src=v.mp4 poster=poster.png></video>
<object data=o.svg type=image/svg+xml></object>
<embed src=e.html>
<svg><image href=svgi.png /><use href="sprite.svg#a"/></svg>
<input type=image src=inp.png>
</body></html>
`

// TestOrder compares with what Chromium 156 does with the same page, served
// from the same machine. It differs only in the sprite, which Chromium requests
// just before the frame, and in the moments: Chromium's frames are not at
// multiples of a sixtieth of a second.
func TestOrder(t *testing.T) {
	s := server{answers: map[string]answer{
		"/": {body: everything}, "/a.css?d=100": {after: ms(100)}, "/late.js?d=50": {after: ms(50)}, "/late.css?d=300": {after: ms(300)},
	}}
	log, p := s.load(t, Config{})
	check(t, log, `
		0s / document VeryHigh
		10ms /a.css?d=100 stylesheet VeryHigh
		10ms /p.woff2 font High
		10ms /p.js script High
		10ms /p.css stylesheet VeryHigh
		10ms /p.png image Low
		10ms /p.json other High
		10ms /m.js script High
		10ms /head.js script High
		10ms /async.js script Low
		10ms /defer.js script Low
		10ms /mod.js script High
		10ms /imp.css stylesheet VeryHigh
		10ms /body1.js script High
		10ms /1.png image Medium
		10ms /2.png image Low
		10ms /3.png image Medium
		10ms /4.png image Medium
		10ms /5.png image Medium
		10ms /6.png image Medium
		10ms /7.png image Low
		10ms /late.js?d=50 script Medium
		10ms /late.css?d=300 stylesheet Medium
		10ms /poster.png image Low
		10ms /svgi.png image Low
		10ms /inp.png image Low
		10ms /print.css stylesheet VeryLow
		10ms /alt.css stylesheet VeryLow
		10ms /pf.html other VeryLow
		116.666666ms /bg.png image Low
		116.666666ms /f.woff2 font VeryHigh
		116.666666ms /lazy.png image Low
		116.666666ms 29 now High
		310ms /frame.html document VeryHigh
		310ms /sprite.svg other Low
		310ms /v.mp4 media Low
		316.666666ms /o.svg document VeryHigh
		316.666666ms /e.html document VeryHigh`)
	if got := moments(p); got != "DCL 310ms load 326.666666ms" {
		t.Error(got)
	}
}
