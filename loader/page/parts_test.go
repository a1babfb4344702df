package page

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"golang.org/x/net/html/charset"

	"wiretime/weburl"
)

var screen = viewport{1280, 800, 1}

func TestMediaQueries(t *testing.T) {
	for query, want := range map[string]bool{
		"": true, "all": true, "screen": true, "print": false, "not print": true, "only screen": true, "tv": false, "not all": false,
		"print, screen": true, "(min-width: 1280px)": true, "(min-width:1281px)": false, "(max-width: 80em)": true, "(width:1280px)": true,
		"screen and (min-width:600px) and (max-width:1000px)": false, "not screen and (max-width:1000px)": true,
		"(400px <= width < 1280px)": false, "(400px <= width <= 1280px)": true, "(width > 100vw)": false, "(1000px < width)": true,
		"(orientation:landscape)": true, "(orientation: portrait)": false, "(min-aspect-ratio: 16/10)": true, "(max-aspect-ratio:1/1)": false,
		"(-webkit-min-device-pixel-ratio:2)": false, "(min-resolution: 192dpi)": false, "(min-resolution:.5dppx)": true,
		"(prefers-color-scheme: light)": true, "(prefers-color-scheme:dark)": false, "(prefers-reduced-motion)": false, "(hover:hover)": true,
		"(color)": true, "(monochrome)": false, "not (monochrome)": true, "(nonsense:1)": false, "not (nonsense:1)": false,
		"(nonsense) or (color)": true, "(color) and (nonsense)": false, "((color) and (hover)) or (print)": true, "(min-width: calc(600px + 10vw))": true,
		"(": false, ")": false, "screen and": false, "(min-width:)": false, "(min-width:600px": true, "screen print": false, "&": false,
	} {
		if got := screen.mediaMatches(query); got != want {
			t.Errorf("%q: %t", query, got)
		}
	}
}

func TestSupports(t *testing.T) {
	for condition, want := range map[string]bool{
		"(display:grid)": true, "not (display:grid)": false, "(display:grid) and (not (-moz-appearance:none))": true,
		"(-ms-ime-align:auto)": false, "(display:-moz-box)": false, "selector(:has(a))": true, "font-format(woff2)": true, "font-format(eot)": false,
		"(display:grid": true, "()": false, "": false, "(a) or (b:c)": true,
	} {
		if got := supports(cssTokens(condition)); got != want {
			t.Errorf("%q: %t", condition, got)
		}
	}
}

func TestBestSource(t *testing.T) {
	for _, c := range []struct {
		view        viewport
		src, srcset string
		sizes       string
		want        string
	}{
		{screen, "s", "", "", "s"},
		{screen, "s", "a 2x", "", "s"},
		{viewport{1280, 800, 2}, "s", "a 2x, b 3x", "", "a"},
		{viewport{1280, 800, 1.5}, "s", "a 2x", "", "a"},
		{viewport{1280, 800, 1.2}, "s", "a 2x", "", "s"},
		{screen, "s", "a 1x, b 2x", "", "a"},
		{screen, "s", "a 300w, b 600w, c 1400w", "(min-width:1000px) 50vw, 100vw", "c"}, // as Chromium does
		{screen, "s", "a 300w, b 640w, c 1400w", "(min-width:1000px) 50vw, 100vw", "b"},
		{screen, "s", "a 300w, b 600w", "", "b"},
		{screen, "s", "a 300w 200h, b 600w", "calc(100vw - 1000px)", "a"},
		{screen, "s", "a 300w, b 600w", "(nonsense) 10px, min(300px, 90vw)", "a"},
		{screen, "s", "a 300w, b 600w", "nonsense", "b"},
		{screen, "s", "a, b 2x", "", "a"},
		{screen, "s", "a -1x, b 1q, c 2x 3", "", "s"},
		{screen, "s", ",,, a,b,c 1x , ", "", "a,b,c"},
		{screen, "s", "data:image/png;base64,AA== 1x, b 2x", "", "data:image/png;base64,AA=="},
		{screen, "", "a 0.5x", "", "a"},
		{screen, "", "", "", ""},
	} {
		size := c.view.width
		if c.sizes != "" {
			size = c.view.sourceSize(c.sizes)
		}
		if got := c.view.bestSource(c.src, c.srcset, size); got != c.want {
			t.Errorf("%q of %q at %v: %q, want %q", c.srcset, c.sizes, c.view.ratio, got, c.want)
		}
	}
}

// asked returns what a page requests besides its document.
func asked(t *testing.T, page string, answers map[string]answer) string {
	t.Helper()
	s := server{answers: map[string]answer{"/": {body: page}}}
	maps.Copy(s.answers, answers)
	log, _ := s.load(t, Config{})
	var paths []string
	for _, line := range log[1:] {
		if fields := strings.Fields(line); fields[2] != "now" {
			paths = append(paths, strings.TrimPrefix(fields[1], "/"))
		}
	}
	return strings.Join(paths, " ")
}

func TestStyles(t *testing.T) {
	const p = "<p class=a id=i>text</p>"
	for _, c := range []struct{ name, css, page, want string }{
		{"a rule that matches", ".a{background:url(x)}", p, "x"},
		{"a rule that does not match", ".b{background:url(x)}", p, ""},
		{"the winner counts", "p.a{background:url(x)} .a{background:url(y)} #i{color:red}", p, "x"},
		{"the later one", ".a{background-image:url(x)} .a{background:url(y)}", p, "y"},
		{"the important one", ".a{background:url(x)!important} #i{background:url(y)}", p, "x"},
		{"a rule that removes it", ".a{background:url(x)} #i{background:none}", p, ""},
		{"layers", ".a{background:url(x)} @layer l{#i{background:url(y)}}", p, "x"},
		{"layers in order", "@layer a,b; @layer b{.a{background:url(x)}} @layer a{#i{background:url(y)}}", p, "x"},
		{"hidden elements", ".a{display:none;background:url(x)} .b{background:url(y)}", "<div class=a><p class=b>t</div>", ""},
		{"attributes", "", `<p style="background:url(x)"><p hidden style="background:url(y)"><input type=hidden style="background:url(z)">`, "x"},
		{"pseudo-elements", ".a::before{content:'';background:url(x)} .a:after{background:url(y)} .a::-x-y{background:url(z)}", p, "x"},
		{"several layers", ".a{background:linear-gradient(red,blue),url(x),url('y') no-repeat, url( z )}", p, "x y z"},
		{"escapes", `.a{background:url(a\20 b\)c)}`, p, "a%20b)c"},
		{"image sets", ".a{background:-webkit-image-set(url(a) 2x, 'x' 1x)}", p, "x"},
		{"other properties", ".a{list-style:url(a);cursor:url(b),auto;content:url(c);mask:url(d);border-image:url(e) 1;filter:url(f#g) url(#h);clip-path:url(#i)}", p, "c a e d b f"},
		{"variables", ":root{--a:var(--b,red);--b:url(x)} .a{background:var(--a)} .a{cursor:var(--c,url(y)),auto;content:var(--d)}", p, "x y"},
		{"circular variables", ":root{--a:var(--b);--b:var(--a) var(--a)} .a{background:var(--a)}", p, ""},
		{"media", "@media print{.a{background:url(y)}} @media (min-width:100px){.a{background:url(x)}}", p, "x"},
		{"supports", "@supports not (display:grid){.a{background:url(y)}} @supports (display:grid){.a{background:url(x)}}", p, "x"},
		{"nesting", "body{.a &{background:url(z)} > .a{&:not(.b){background:url(x)}} .c &.a, & .d{cursor:url(y)}}", p, "x"},
		{":is and :where", ":is(.b, :where(#i, b)){background:url(x)} p:not(:is(.a,.b)){cursor:url(y)}", p, "x"},
		{"siblings", "p + b{background:url(x)} p ~ i{background:url(y)} b:first-child{cursor:url(z)}", "<p>a</p><b></b><i></i>", "x y"},
		{":has", "div:has(.a){background:url(x)} div:has(.b){cursor:url(y)}", "<div>" + p + "</div>", "x"},
		{"unknown selectors", "p:unknown, .a{background:url(x)} .a:contains(text){cursor:url(y)}", p, "x"},
		{"states", ".a:hover{background:url(y)} .a:not(:hover){background:url(x)}", p, "x"},
		{"malformed", "}}} .b{ {;:url(z)} } @media{ ;;; } .a{background:;;url(y);background:url(x)", p, "x"},
		{"unclosed", ".a{background:url(x", p, "x"},
		{"comments", "<!-- .a{/* } */background:/**/url(x)/*", p, "x"},
		{"NUL", ".a\x00{} .a{background:url('x\x00')}", p, "x%EF%BF%BD"},
		{"not over the network", ".a{background:url(data:image/png,x),url(about:blank),url(blob:x),url(''),url()}", p, ""},
		{"keyframes and pages", "@keyframes k{from{background:url(x)}} @page{background:url(y)}", p, ""},
		{"a font that text uses", "@font-face{font-family:'F f';src:local(x),url(x.eot) format('eot'),url(x) format(\"woff2\"),url(y)} .a{font:italic 12px/1 F f,serif}", p, "x"},
		{"a font that no text uses", "@font-face{font-family:F;src:url(x)} .a,b{font-family:F}", "<p class=a> </p><b></b><p>text", ""},
		{"inherited", "@font-face{font-family:F;src:url(x)} body{font-family:F}", "<div><p>text", "x"},
		{"in a hidden element", "@font-face{font-family:F;src:url(x)} .a{font-family:F;display:none}", p, ""},
		{"by unicode-range", "@font-face{font-family:F;src:url(x);unicode-range:U+0-FF} @font-face{font-family:F;src:url(y);unicode-range:U+400-4??,u+26} .a{font-family:F}", p, "x"},
		{"a font of another range", "@font-face{font-family:F;src:url(x);unicode-range:U+0-FF} @font-face{font-family:F;src:url(y);unicode-range:U+400-4FF} .a{font-family:F}", "<p class=a>абв", "y"},
		{"by weight and style", "@font-face{font-family:F;src:url(r)} @font-face{font-family:F;font-weight:700;src:url(b)} @font-face{font-family:F;font-style:italic;src:url(i)} p{font-family:F}", "<p><b>x</b>", "b"},
		{"the next family", "@font-face{font-family:F;src:url(x)} @font-face{font-family:G;src:url(y)} .a{font-family:Nowhere,F,G}", p, "x"},
		{"after a system font", "@font-face{font-family:F;src:url(x)} .a{font-family:Arial,F}", p, ""},
		{"a font of generated content", "@font-face{font-family:F;src:url(x)} i::before{font-family:F;content:'\\e001'} b::before{font-family:F}", "<i></i><b></b>", "x"},
		{"a font of a form", "@font-face{font-family:F;src:url(x)} @font-face{font-family:G;src:url(y)} input{font-family:F} body{font-family:G}", "<input placeholder=hint>", "x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := asked(t, "<!DOCTYPE html><style>"+c.css+"</style>"+c.page, nil); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestImports(t *testing.T) {
	sheets := map[string]answer{
		"/dir/a.css": {body: `@charset "utf-8"; @layer x; @import "b.css"; @import url(c.css) print; @import "d.css" layer(y) supports(display:grid) (min-width:1px);
			@import url("e.css") supports(not (display:grid)); @import "data:text/css,p{}"; .a{background:url(bg.png)} @import "late.css";`},
		"/dir/b.css":     {body: `@import "a.css"; @import "/dir/b.css"; @import "sub/f.css";`},
		"/dir/c.css":     {body: `.a{cursor:url(print.png)}`},
		"/dir/d.css":     {body: `.a{background:url(layered.png);list-style:url(d.png)}`},
		"/dir/sub/f.css": {body: `.a{border-image:url(f.png)}`},
	}
	got := asked(t, "<link rel=stylesheet href=/dir/a.css><img src=slow.png><p class=a>text", sheets)
	if want := "dir/a.css slow.png dir/b.css dir/c.css dir/d.css dir/sub/f.css dir/bg.png dir/d.png dir/sub/f.png"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	chain := map[string]answer{}
	for i := range 100 {
		chain[fmt.Sprintf("/%d", i)] = answer{kind: "text/css", body: fmt.Sprintf(`@import "%d";@import "%d";`, i+1, i+2)}
	}
	if n := len(strings.Fields(asked(t, "<style>@import '0';</style>", chain))); n < 10 || n > 40 {
		t.Errorf("%d requests for stylesheets that import each other", n)
	}
	for name, a := range map[string]answer{
		"of another type": {kind: "text/plain", body: ".a{background:url(x)}"}, "missing": {kind: "text/css", status: 404, body: ".a{background:url(x)}"},
	} {
		if got := asked(t, "<link rel=stylesheet href=a><p class=a>text", map[string]answer{"/a": a}); got != "a" {
			t.Errorf("a stylesheet %s: %q", name, got)
		}
	}
}

func TestElements(t *testing.T) {
	for _, c := range []struct{ name, page, want string }{
		{"truncated", "<img src=a.png><img src=b.png", "a.png"},
		{"truncated in a value", `<img src=a.png><img src="b.png>`, "a.png"},
		{"upper case", "<IMG SRC=a.png><Script Src=b.js></SCRIPT>", "a.png b.js"},
		{"a duplicate attribute", "<img src=a.png src=b.png>", "a.png"},
		{"entities", "<img src='a?b&amp;c'>", "a?b&c"},
		{"not over the network", `<img src="data:,"><img src="blob:x"><script src="javascript:1"></script><link rel=stylesheet href="about:blank"><iframe src="data:text/html,<img src=x>"></iframe><video src="blob:x">`, ""},
		{"empty", "<img src><img src=''><script src></script><link rel=stylesheet><iframe src=''></iframe><video poster=''><object data>", ""},
		{"NULs and invalid UTF-8", "<img\x00 src=a.png><img src=\"b\xff\xfe\x00.png\">\x00\xff", "b%EF%BF%BD%EF%BF%BD.png"},
		{"templates", "<template><img src=a.png><template></template><script src=b.js></script><iframe src=c></iframe></template><img src=d.png>", "d.png"},
		{"noscript", "<noscript><img src=a.png><link rel=stylesheet href=b.css></noscript><img src=c.png>", "c.png"},
		{"raw text", "<textarea><img src=a.png></textarea><title><img src=b.png></title><style><img src=c.png></style><script>'<img src=d.png>'</script><!-- <img src=e.png> --><xmp><img src=f.png></xmp><img src=g.png>", "g.png"},
		{"the first base", "<base href=/b/><base href=/c/><img src=a.png>", "b/a.png"},
		{"a base applies to what follows", "<iframe src=f></iframe><img src=a.png><base href=/b/><iframe src=g></iframe>", "a.png f b/g"},
		{"picture", `<picture><source srcset=a.png media="print"><source srcset=b.avif type=image/none><source srcset="c.webp, d.webp 2x" type=image/webp><source srcset=e.png><img src=f.png></picture><img src=g.png>`, "c.webp g.png"},
		{"a picture without a matching source", `<picture><source srcset=a.png media="print"><img src=b.png srcset="c.png 1x"></picture>`, "c.png"},
		{"image inputs", "<input type=image src=a.png><input src=b.png><input type=IMAGE src=c.png>", "a.png c.png"},
		{"svg", "<svg><image href=a.png /><image xlink:href=b.png /><use href=c.svg#d /><use href=#e /><script src=f.js></script></svg><image src=g.png>", "a.png b.png f.js g.png c.svg"},
		{"links that are not stylesheets", "<link rel=stylesheet disabled href=a.css><link rel=stylesheet type=text/less href=b.css><link rel=icon href=c.png><link rel=manifest href=d.json><link rel='preconnect dns-prefetch' href=//e.example><link rel=stylesheet href=f.css type=text/css>", "f.css"},
		{"preloads", "<link rel=preload href=a><link rel=preload as=document href=b><link rel=preload as=font type=font/woff2 href=c><link rel=preload as=font type=text/plain href=d><link rel=preload as=image imagesrcset='e 1x, f 2x'><link rel=preload as=image media=print href=g><link rel=preload as=track href=h><link rel=preload as=style type=text/less href=i>", "c e h"},
		{"the same twice", "<img src=a.png><img src=a.png#x><link rel=preload as=image href=a.png><div style='background:url(a.png)'>", "a.png"},
		{"tracks", "<video preload=none><track default src=a.vtt></video><video src=b.mp4><track default src=c.vtt><track src=d.vtt></video>", "b.mp4"},
		{"misnesting", "</p></div></body></html><p><div></p><b><p></b></p><table><tr><td><img src=a.png></table></td><li><dd><option><tr><rt><head><body><html><img src=b.png>", "a.png b.png"},
		{"a header before the body", "<head></head><link rel=stylesheet href=a.css><img src=b.png>", "a.css b.png"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := asked(t, c.page, nil); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestEncodings(t *testing.T) {
	for _, c := range []struct{ label, contentType, before string }{
		{"utf-8", "text/html", ""},
		{"utf-8", "text/html", "\xef\xbb\xbf"},
		{"windows-1252", "text/html; charset=ISO-8859-1", ""},
		{"shift_jis", "text/html", "<meta charset=shift_jis>"},
		{"gbk", "text/html", `<meta http-equiv=Content-Type content="text/html; charset=gb2312">`},
		{"utf-16le", "text/html; charset=utf-16le", ""},
	} {
		e, _ := charset.Lookup(c.label)
		text := "ñ"
		if c.label == "shift_jis" || c.label == "gbk" {
			text = "日"
		}
		body, err := e.NewEncoder().String("<img src=/" + text + ">")
		if err != nil {
			t.Fatal(err)
		}
		s := server{answers: map[string]answer{"/": {body: c.before + body, kind: c.contentType}}, chunk: 1}
		log, _ := s.load(t, Config{})
		want, _ := weburl.Resolve(origin, text)
		if len(log) < 2 || !strings.Contains(log[1], strings.TrimPrefix(want, origin)) {
			t.Errorf("%s of %s: %q", c.label, c.contentType, log)
		}
	}
}

func TestKinds(t *testing.T) {
	for k := Frame; k <= XHR; k++ {
		if got := KindOf(k.String()); got != k {
			t.Errorf("%v is %v", k, got)
		}
	}
	if KindOf("websocket") != Other || KindOf("other") != Other || Prefetch.String() != "other" || Document.String() != "document" {
		t.Error("an unknown kind has a name")
	}
}

// TestDeepNesting loads 100,000 nested elements, with rules that look up and
// down.
func TestDeepNesting(t *testing.T) {
	page := "<style>div div b{background:url(x.png)} div:has(i){cursor:url(y.png)} b::before{content:'x'}</style>" + strings.Repeat("<div>", 100_000) + "<b>text</b>"
	if got := asked(t, page, nil); got != "x.png" {
		t.Error(got)
	}
}
