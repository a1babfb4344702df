package page

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"
)

// events are pages and when their events fire. The document arrives at 10 ms;
// so do all resources without a delay of their own, counted from their request.
var events = []struct {
	name    string
	page    string
	answers map[string]answer
	config  Config
	log     string // without the document
	moments string
}{
	{
		name: "empty", moments: "DCL 10ms load 10ms",
	},
	{
		name:    "an image delays load, not DOMContentLoaded",
		page:    `<img src=a.png>`,
		answers: map[string]answer{"/a.png": {after: ms(100)}},
		log:     "10ms /a.png image Medium\n16.666666ms 1 now High",
		moments: "DCL 10ms load 110ms",
	},
	{
		name:    "a failed image does not delay load for ever",
		page:    `<img src=a.png>`,
		answers: map[string]answer{"/a.png": {after: ms(5), err: errors.New("refused")}},
		log:     "10ms /a.png image Medium",
		moments: "DCL 10ms load 15ms",
	},
	{
		name:    "a script blocks the parser, not the preload scanner",
		page:    `<script src=a.js></script><iframe src=f.html></iframe><img src=a.png>`,
		answers: map[string]answer{"/a.js": {after: ms(40)}},
		log:     "10ms /a.js script High\n10ms /a.png image Medium\n50ms /f.html document VeryHigh",
		moments: "DCL 50ms load 60ms",
	},
	{
		name:    "an inline script waits for stylesheets before it",
		page:    `<link rel=stylesheet href=a.css><script>1</script><iframe src=f.html></iframe>`,
		answers: map[string]answer{"/a.css": {after: ms(40)}},
		log:     "10ms /a.css stylesheet VeryHigh\n50ms /f.html document VeryHigh",
		moments: "DCL 50ms load 60ms",
	},
	{
		name:    "but not for later ones, or for other media",
		page:    `<link rel=stylesheet media=print href=a.css><script>1</script><link rel=stylesheet href=b.css><iframe src=f.html></iframe>`,
		answers: map[string]answer{"/a.css": {after: ms(40)}, "/b.css": {after: ms(30)}},
		log:     "10ms /b.css stylesheet VeryHigh\n10ms /a.css stylesheet VeryLow\n10ms /f.html document VeryHigh",
		moments: "DCL 10ms load 50ms",
	},
	{
		name:    "stylesheets alone do not delay DOMContentLoaded",
		page:    `<link rel=stylesheet href=a.css><p>text`,
		answers: map[string]answer{"/a.css": {after: ms(40)}},
		log:     "10ms /a.css stylesheet VeryHigh",
		moments: "DCL 10ms load 50ms",
	},
	{
		name:    "a stylesheet in the body blocks the parser",
		page:    `<p>text<link rel=stylesheet href=a.css><iframe src=f.html></iframe>`,
		answers: map[string]answer{"/a.css": {after: ms(40)}},
		log:     "10ms /a.css stylesheet VeryHigh\n50ms /f.html document VeryHigh",
		moments: "DCL 50ms load 60ms",
	},
	{
		name:    "deferred scripts and modules run in order, after stylesheets",
		page:    `<link rel=stylesheet href=a.css><script defer src=a.js></script><script type=module src=b.js></script><script type=module async src=c.js></script>`,
		answers: map[string]answer{"/a.css": {after: ms(30)}, "/a.js": {after: ms(20)}, "/b.js": {after: ms(10)}, "/c.js": {after: ms(70)}},
		config:  Config{Recorded: []Recorded{{URL: origin + "/1", Initiator: origin + "/a.js", Kind: Fetch}, {URL: origin + "/2", Initiator: origin + "/b.js", Kind: Fetch}}},
		log: `10ms /a.css stylesheet VeryHigh
			10ms /a.js script Low
			10ms /b.js script High
			10ms /c.js script High
			40ms /1 fetch High
			40ms /2 fetch High`,
		moments: "DCL 40ms load 80ms",
	},
	{
		name:    "an async script delays load only",
		page:    `<script async src=a.js></script>`,
		answers: map[string]answer{"/a.js": {after: ms(50)}},
		log:     "10ms /a.js script Low",
		moments: "DCL 10ms load 60ms",
	},
	{
		name:    "nomodule and data blocks are not scripts",
		page:    `<script nomodule src=a.js></script><script type=application/json src=b.js></script><script type=importmap>{}</script><script src=c.js type="Text/JavaScript">`,
		log:     "10ms /c.js script High",
		moments: "DCL 10ms load 20ms",
	},
	{
		name:    "preloads and prefetches delay nothing until they are used",
		page:    `<link rel=preload as=image href=a.png><link rel=prefetch href=b.html><link rel=modulepreload href=c.js><link rel=preload as=script href=d.js><script src=d.js async></script>`,
		answers: map[string]answer{"/a.png": {after: ms(90)}, "/b.html": {after: ms(90)}, "/c.js": {after: ms(90)}, "/d.js": {after: ms(30)}},
		log:     "10ms /a.png image Low\n10ms /c.js script High\n10ms /d.js script High\n10ms /b.html other VeryLow",
		moments: "DCL 10ms load 40ms",
	},
	{
		name:    "stylesheets that the page enables once loaded",
		page:    `<link rel=preload as=style href=a.css onload="this.rel='stylesheet'"><link rel=stylesheet href=b.css media=print onload="this.media='all'"><p class=a></p><p class=b></p>`,
		answers: map[string]answer{"/a.css": {after: ms(30), body: ".a{background:url(a.png)}"}, "/b.css": {after: ms(40), body: ".b{background:url(b.png)}"}},
		log:     "10ms /a.css stylesheet VeryHigh\n10ms /b.css stylesheet VeryLow\n50ms /a.png image Low\n50ms 3 now High\n66.666666ms /b.png image Low\n66.666666ms 4 now High",
		moments: "DCL 10ms load 60ms",
	},
	{
		name:    "lazy images come with layout and delay nothing",
		page:    `<img loading=lazy src=a.png><p>` + strings.Repeat("text ", 10000) + `<img width=1280 height=2600><img loading=lazy src=b.png><img src=c.png>`,
		answers: map[string]answer{"/a.png": {after: ms(90)}},
		log:     "10ms /c.png image Medium\n16.666666ms /a.png image Low",
		moments: "DCL 10ms load 20ms",
	},
	{
		name: "the page waits for the load of its frames",
		page: `<iframe src=f.html></iframe><iframe srcdoc="<img src=s.png>"></iframe><iframe src=about:blank></iframe><iframe src="javascript:1"></iframe>`,
		answers: map[string]answer{
			"/f.html": {body: `<base href=/deep/er/><script src=f.js></script><img src=f.png>`}, "/deep/er/f.js": {after: ms(40)},
		},
		log:     "10ms /f.html document VeryHigh\n10ms /s.png image Medium\n16.666666ms 2 now High\n20ms /deep/er/f.js script High\n20ms /deep/er/f.png image Medium",
		moments: "DCL 10ms load 60ms",
	},
	{
		name:    "a frame that contains itself",
		page:    `<iframe src=/></iframe><iframe src=f.html></iframe><p>`,
		answers: map[string]answer{"/f.html": {body: `<iframe src=f.html#again></iframe><iframe src=g.html>`}},
		log:     "10ms /f.html document VeryHigh\n20ms /g.html document VeryHigh",
		moments: "DCL 10ms load 30ms",
	},
	{
		name:    "media delay load until their first content",
		page:    `<video src=a.mp4></video><audio preload=none src=b.mp3></audio><video poster=p.png><source type=video/none src=c.mp4><source src=d.mp4></video>`,
		answers: map[string]answer{"/a.mp4": {after: ms(10), parts: []part{{0, "moov"}, {ms(500), "mdat"}}}, "/d.mp4": {after: ms(20)}},
		log:     "10ms /p.png image Medium\n10ms /a.mp4 media Low\n10ms /d.mp4 media Low\n16.666666ms 1 now High",
		moments: "DCL 10ms load 30ms",
	},
	{
		name:    "media try the next source when one fails",
		page:    `<video><source src=a.mp4><source src=b.mp4></video>`,
		answers: map[string]answer{"/a.mp4": {status: 404, body: "gone"}},
		log:     "10ms /a.mp4 media Low\n20ms /b.mp4 media Low",
		moments: "DCL 10ms load 30ms",
	},
	{
		name:    "objects load at layout, unless they are hidden",
		page:    `<object data=a.html></object><div style="display:none"><object data=b.html></object></div><embed type=image/png src=c.png>`,
		log:     "16.666666ms /a.html document VeryHigh\n16.666666ms /c.png image Low",
		moments: "DCL 10ms load 26.666666ms",
	},
	{
		name: "requests of scripts, from the recording",
		page: "<p>\n<script>\nfetch('/f')</script><script src=a.js></script>",
		config: Config{Recorded: []Recorded{
			{URL: origin + "/f", Initiator: origin + "/", Line: 3, Kind: Fetch, Delay: ms(1)},
			{URL: origin + "/i.png", Initiator: origin + "/a.js", Kind: Image, Delay: ms(2), BeforeLoad: true},
			{URL: origin + "/b.js", Initiator: origin + "/a.js", Kind: Script},
			{URL: origin + "/c.json", Initiator: origin + "/b.js", Kind: XHR, Delay: ms(5)},
			{URL: origin + "/late.png", Initiator: origin + "/b.js", Kind: Image, Delay: ms(50)},
			{URL: origin + "/after.png", Initiator: origin + "/a.js", Kind: Image, Delay: ms(40), AfterLoad: true},
			{URL: origin + "/d", Initiator: "https://elsewhere.example/x.js", Kind: Ping, Delay: ms(3)},
			{URL: "data:,x", Initiator: origin + "/a.js", Kind: Image},
		}},
		log: `10ms /a.js script High
			11ms /f fetch High
			20ms /b.js script Low
			22ms /i.png image Low
			32ms /c.json xhr High
			32ms /late.png image Low
			32ms /d ping VeryLow
			72ms /after.png image Low`,
		moments: "DCL 20ms load 32ms",
	},
	{
		name:    "a failed script requests nothing",
		page:    `<script src=a.js></script><script src=b.js></script>`,
		answers: map[string]answer{"/a.js": {status: 404}, "/b.js": {err: errors.New("reset")}},
		config:  Config{Recorded: []Recorded{{URL: origin + "/x", Initiator: origin + "/a.js"}, {URL: origin + "/y", Initiator: origin + "/b.js"}}},
		log:     "10ms /a.js script High\n10ms /b.js script High",
		moments: "DCL 20ms load 20ms",
	},
	{
		name: "a frame created by a script is parsed",
		config: Config{Recorded: []Recorded{
			{URL: origin + "/f.html", Initiator: origin + "/", Kind: Frame}, {URL: origin + "/s.css", Initiator: origin + "/", Kind: Stylesheet},
		}},
		page:    "<p class=x>",
		answers: map[string]answer{"/f.html": {body: "<img src=x.png>"}, "/s.css": {body: ".x{background:url(bg.png)}"}},
		log:     "10ms /f.html document VeryHigh\n10ms /s.css stylesheet VeryHigh\n20ms /x.png image Medium\n33.333333ms /bg.png image Low\n33.333333ms 4 now High",
		moments: "DCL 10ms load 30ms",
	},
	{
		name:    "work takes time",
		page:    `<script src=a.js></script><script>` + strings.Repeat("x", 979) + `</script><img src=a.png>`,
		answers: map[string]answer{"/a.js": {body: strings.Repeat("x", 2000)}},
		config: Config{
			CPU:      CPU{ParsePerKB: ms(1), ScriptPerKB: ms(10), Scale: 2},
			Recorded: []Recorded{{URL: origin + "/x", Initiator: origin + "/a.js", Kind: Fetch}},
		},
		// The first 26 octets take 52 us, the scripts 40 and 19.58 ms, the rest of the document 1.992 and 0.03 ms.
		log:     "10ms /a.js script High\n10ms /a.png image Medium\n60ms /x fetch High",
		moments: "DCL 81.602ms load 81.602ms",
	},
	{
		name: "cost of stylesheets, and of scripts with a known cost",
		page: `<link rel=stylesheet href=a.css><script src=a.js></script>`,
		answers: map[string]answer{
			"/a.css": {body: strings.Repeat(" ", 3000)}, "/a.js": {body: strings.Repeat("x", 2000)},
		},
		config:  Config{CPU: CPU{StylePerKB: ms(1), ScriptPerKB: time.Hour, Scripts: map[string]time.Duration{origin + "/a.js": ms(7)}}},
		log:     "10ms /a.css stylesheet VeryHigh\n10ms /a.js script High",
		moments: "DCL 30ms load 30ms",
	},
	{
		name:    "Link fields",
		answers: map[string]answer{"/": {links: []string{`</a.css>; rel=preload; as=style, <b.woff2>; rel="preload"; as="font"; crossorigin`, `<c.js>;rel=modulepreload,<//b.example>;rel=preconnect,<d.png>;rel=preload;as=image;media=print`}}},
		log:     "10ms /a.css stylesheet VeryHigh\n10ms /b.woff2 font High\n10ms /c.js script High",
		moments: "DCL 10ms load 10ms",
	},
	{
		name:    "a document that is not HTML",
		answers: map[string]answer{"/": {kind: "image/png", body: "<img src=a.png>"}},
		moments: "DCL 10ms load 10ms",
	},
	{
		name:    "a truncated document",
		answers: map[string]answer{"/": {body: "<img src=a.png><img src=b", err: errors.New("reset")}},
		moments: "DCL 10ms load 10ms",
	},
	{
		name:    "an error page is a page",
		page:    "<img src=a.png>",
		answers: map[string]answer{"/": {status: 500}},
		log:     "10ms /a.png image Medium\n16.666666ms 1 now High",
		moments: "DCL 10ms load 20ms",
	},
}

func TestEvents(t *testing.T) {
	for _, c := range events {
		t.Run(c.name, func(t *testing.T) {
			s := server{answers: map[string]answer{}}
			maps.Copy(s.answers, c.answers)
			document := s.answers["/"]
			if c.page != "" {
				document.body = c.page
			}
			s.answers["/"] = document
			log, p := s.load(t, c.config)
			check(t, log[1:], c.log)
			if got := moments(p); got != c.moments {
				t.Errorf("%s, want %s", got, c.moments)
			}
		})
	}
}

// TestStream loads a page that arrives in pieces.
func TestStream(t *testing.T) {
	s := server{answers: map[string]answer{"/": {parts: []part{
		{0, `<!DOCTYPE html><meta charset=utf-8><link rel=stylesheet href=a.css><scr`},
		{ms(5), `ipt src=a.js></script><img sr`},
		{ms(100), `c=a.png>`},
		{ms(200), `<img src=b.png>`},
	}}}}
	log, p := s.load(t, Config{})
	check(t, log, `
		0s / document VeryHigh
		10ms /a.css stylesheet VeryHigh
		15ms /a.js script High
		110ms /a.png image Low
		116.666666ms 3 now High
		210ms /b.png image Low
		216.666666ms 4 now High`)
	if got := moments(p); got != "DCL 210ms load 220ms" {
		t.Error(got)
	}
}

// TestIdleParser checks that a parser waiting for bytes is faster than the
// preload scanner until something blocks it, as in Chromium 156.
func TestIdleParser(t *testing.T) {
	s := server{answers: map[string]answer{"/": {parts: []part{
		{0, `<!DOCTYPE html><head><title>a</title></head><body><p>x<img src=a.png>`},
		{ms(200), `<img src=b.png><script src=s.js></script><img src=c.png><script src=t.js></script><link rel=stylesheet href=u.css>`},
	}}}}
	log, p := s.load(t, Config{})
	check(t, log, `
		0s / document VeryHigh
		10ms /a.png image Medium
		16.666666ms 1 now High
		210ms /b.png image Low
		210ms /s.js script High
		210ms /c.png image Medium
		210ms /t.js script Medium
		210ms /u.css stylesheet Medium
		216.666666ms 2 now High`)
	if got := moments(p); got != "DCL 220ms load 220ms" {
		t.Error(got)
	}
}

func TestHints(t *testing.T) {
	p := New(Config{URL: origin + "/dir/page"})
	defer p.Close()
	p.Begin(0)
	p.Hint(ms(5), 0, []string{"<a.css>; rel=preload; as=style", `</b.js>; rel=preload; as="script"; fetchpriority=low`})
	var got []string
	for _, r := range p.Requests()[1:] {
		got = append(got, r.URL+" "+r.Priority.String()+" "+r.Initiator.Type)
	}
	check(t, got, origin+"/dir/a.css VeryHigh preload\n"+origin+"/b.js Low preload")
}

func TestHeadDone(t *testing.T) {
	p := New(Config{URL: origin})
	defer p.Close()
	p.Begin(0)
	p.Respond(ms(10), 0, Head{Status: 200, ContentType: "text/html; charset=utf-8"})
	p.Data(ms(10), 0, []byte("<script src=a.js></script><script async src=b.js></script><p>text"))
	requests := p.Requests()
	if p.HeadDone() || requests[1].Priority < High || requests[2].Priority >= High {
		t.Errorf("done: %t; %+v", p.HeadDone(), requests)
	}
	p.Finish(ms(20), 1, nil)
	if !p.HeadDone() {
		t.Error("the head's script has run, but the body has not begun")
	}
}

// TestSilentChange lets the parser reach what the scanner found late.
func TestSilentChange(t *testing.T) {
	p := New(Config{URL: origin})
	defer p.Close()
	p.Begin(0)
	p.Respond(ms(10), 0, Head{ContentType: "text/html; charset=utf-8"})
	p.Data(ms(10), 0, []byte("<img src=a.png><script src=b.js></script>"))
	requests, changes := p.Requests(), p.Changes()
	if r := requests[2]; r.Priority != Medium || len(changes) != 1 || changes[0] != (Change{r.ID, High, true}) {
		t.Errorf("%+v, then %+v", r, changes)
	}
}
