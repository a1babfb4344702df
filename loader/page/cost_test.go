package page

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"wiretime/costtest"
	"wiretime/needtest"
)

// The costs that pages and their parts may have. A page of tags is dear in relation to its octets: each of three has an
// element with a style.
var (
	pageCost = costtest.Limit{Fixed: 64 << 20, PerOctet: 20 << 10, Time: 50 * time.Microsecond}
	partCost = costtest.Limit{Fixed: 4 << 20, PerOctet: 1 << 10, Time: 5 * time.Microsecond}
)

// TestHostilePages loads pages of some 100,000 octets each of which took quadratic or exponential time, or memory, without
// a limit.
func TestHostilePages(t *testing.T) {
	const size = 100_000
	rep := func(s string, n int) string { return strings.Repeat(s, n/len(s)) }
	numbered := func(format string, n int) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for _, c := range []struct{ name, page string }{
		{"descendants", "<style>x i i i i i i i i b{display:none}</style>" + rep("<i>", 1500) + "<b>"},
		{"descendants in :not()", "<style>b:not(x i i i i i i i i b){color:red;display:block}</style>" + rep("<i>", 1500) + "<b>"},
		{"descendants in :is()", "<style>:is(x i i i i i i i i b){display:none}</style>" + rep("<i>", 1500) + "<b>"},
		{"descendants in :has()", "<style>i:has(x i i i i i i i i b){display:none}</style>" + rep("<i>", 1500) + "<b>"},
		{"siblings", "<style>x~i~i~i~i~i~b{display:none}</style>" + rep("<i></i>", 1500) + "<b>"},
		{"children counted in :has()", "<style>" + rep("i:has(b:nth-child(2n)){display:none}", size/10) + "</style>" + rep("<i></i>", size)},
		{"rules nested in a long list", "<style>" + rep("a,", 4000) + "b{" + rep("&x{gap:1}", size) + "}</style><p>"},
		{"variables without content", "<style>:root{--v0:;" + emptyDoubling(30) + "}p{background:var(--v29)}</style><p>text</p>"},
		{"many variables", "<style>:root{" + numbered("--a%d:b;", size/2) + "}p{background:" + rep("var(--z,)", 9000) + "}</style>" + rep("<p>", size/4)},
		{"a long value", "<style>p{margin:" + rep("1px ", size/2) + ";font-family:" + rep("a,", size/4) + "b;grid-template-columns:" + rep("1fr ", size/4) + "}</style>" + rep("<p>", size)},
		{"inherited families", "<style>body{font-family:" + rep("aaaa,", size/2) + "b}@font-face{font-family:c;src:url(d)}</style>" + rep("<p>x", size/2)},
		{"faces and weights", "<style>" + rep("@font-face{font-family:f;src:url(a)}", size/2) + "body{font-family:f}</style>" + numbered("<b style=font-weight:1.%d>a</b>", size)},
		{"ranges", "<style>" + rep("@font-face{font-family:f;src:url(a);unicode-range:"+rep("U+1,", 10000)+"U+2}", size) + "body{font-family:f}</style>" + letters2000()},
		{"inline blocks in inline blocks", rep("<button>", 8*190) + rep("<button></button>", size)},
		{"wide attributes", "<style>" + rep(":not([x~=b]){gap:1px}", size/2) + "</style><p x='" + rep("a ", size/2) + "'>"},
		{"many attributes", "<style>" + rep("[x]{gap:1px}", size/2) + "</style><p " + rep("a ", size/2) + ">"},
		{"a long base", "<base href='/" + rep("a", size/2) + "/'>" + numbered("<img src=%d>", size/2)},
		{"frames", rep("<iframe srcdoc='<img src=never.html>'></iframe>", size)},
		{"long numbers", "<p style='width:" + rep("1", size) + "px;height:1" + rep("a", size) + "'>"},
		{"digits and a unit", "<p style='width:" + rep("1", size/2) + rep("a", size/2) + "'>"},
		{"types", "<p style='background:image-set(url(a)" + rep("type(", size) + "'>"},
		{"urls", "<p style='background:" + rep(`src("a"`, size) + "'>"},
		{"comments before a custom property", "<style>a{" + rep("/**/ ", size/2) + "--a:" + rep("{}", size/2) + "}</style>"},
		{"conditions", "<style>@media " + rep("((a) and ", size) + "{}</style>"},
		{"calculations", "<p style='width:" + rep("calc(1px + min(", size) + "'>"},
		{"negations in a selector", "<style>" + rep(rep(":not(", 2000)+rep(")", 400)+"{gap:1px}", size) + "</style>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := server{answers: map[string]answer{"/": {body: c.page + "<img src=/x.png>"}}, chunk: 1400}
			costtest.Check(t, len(c.page), pageCost, func() {
				log, p := s.load(t, Config{})
				if _, ok := p.Load(); !ok {
					t.Errorf("load never fired: %.300s", log)
				}
			})
		})
	}
}

// TestHostileSheets parses sheets of a megabyte each of which took quadratic time, or memory.
func TestHostileSheets(t *testing.T) {
	const size = 1 << 20
	rep := func(s string, n int) string { return strings.Repeat(s, n/len(s)) }
	for _, c := range []struct{ name, sheet string }{
		{"ampersands", rep("a,", 4000) + "b{" + rep("&", size) + "{gap:1px}}"},
		{"layers without a name", rep("@layer{}", size)},
		{"layers in a layer with a long name", "@layer " + rep("a", size/2) + "{" + rep("@layer b{}", size/2) + "}"},
		{"formats", "@font-face{font-family:a;src:url(b)" + rep("format(", size) + "}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			costtest.Check(t, len(c.sheet), partCost, func() { parseSheet([]byte(c.sheet), viewport{1280, 800, 1}, "", wholeSheet) })
		})
	}
}

// emptyDoubling returns custom properties without content each of which uses the previous one twice.
func emptyDoubling(n int) string {
	var b strings.Builder
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, "--v%d:var(--v%d)var(--v%d);", i, i-1, i-1)
	}
	return b.String()
}

// letters2000 returns text with many letters.
func letters2000() string {
	var b strings.Builder
	for r := range rune(2000) {
		b.WriteRune(0x4E00 + r)
	}
	return b.String()
}

// TestSheetOftenUsed links one sheet many times, and imports it into many layers.
func TestSheetOftenUsed(t *testing.T) {
	needtest.Long(t)
	sheet := strings.Repeat(".a{gap:1px}", 100_000)
	var layers strings.Builder
	for i := range 900 {
		fmt.Fprintf(&layers, "@import '/a.css' layer(l%d);", i)
	}
	for name, page := range map[string]string{
		"links": strings.Repeat("<link rel=stylesheet href=/a.css>", 3000), "imports": "<style>" + layers.String() + "</style>",
	} {
		t.Run(name, func(t *testing.T) {
			s := server{answers: map[string]answer{"/": {body: page}, "/a.css": {body: sheet, kind: "text/css"}}}
			costtest.Check(t, len(page)+len(sheet), pageCost, func() {
				if _, p := s.load(t, Config{}); p.unfinished > 0 {
					t.Error("the page did not finish")
				}
			})
		})
	}
}
