package page

import (
	"fmt"
	"strings"
	"testing"

	"wiretime/needtest"
)

// TestHugeInput loads pages that would take more than a day if anything here
// took quadratic time.
func TestHugeInput(t *testing.T) {
	needtest.Long(t)
	const mega, some = 10 << 20, 2 << 20
	rep := func(s string, n int) string { return strings.Repeat(s, n/len(s)) }
	for _, c := range []struct{ name, page string }{
		{"script", "<script>" + rep("var a=1;if(a<2){b('</div>')}\n", mega) + "</script><img src=x.png>"},
		{"script without an end", "<img src=x.png><script>" + rep("x<y;", some)},
		{"style", "<style>" + rep("a.b:hover{color:red;background:#fff}\n", mega) + "</style><img src=x.png>"},
		{"style of urls", "<style>" + rep(".c{background:url(never.png)}", some) + "</style><p>text</p><img src=x.png>"},
		{"style without an end", "<img src=x.png><style>" + rep("a{b:url(c", some)},
		{"nested blocks", "<img src=x.png><style>" + rep("{", some) + "</style>"},
		{"nested rules", "<img src=x.png><style>" + rep("&a{", some) + "</style>"},
		{"nested brackets", "<img src=x.png><style>a{b:" + rep("(", some) + "</style>"},
		{"nested selectors", "<img src=x.png><style>" + rep(":not(", some) + "{display:none}</style>"},
		{"selector list", "<img src=x.png><style>" + rep(".a,", some) + ".b{display:none; &.c{display:block} &.d{display:none}}</style>"},
		{"media queries", `<img src=x.png><style media="` + rep("(((", some) + `">a{}</style>`},
		{"nested elements", rep("<div><b>", some) + "<img src=x.png>"},
		{"end tags", rep("<div>", some/10) + rep("</span></p></td>", some/2) + "<img src=x.png>"},
		{"tables", rep("<table><td><p>", some/10) + rep("</p></tr><tr>", some/2) + "<img src=x.png>"},
		{"inline in paragraphs", "<p><table><td>" + rep("<i>", some/4) + rep("</p><p>", some/4) + "<img src=x.png>"},
		{"attributes", "<p " + rep("a=b ", some) + "><img src=x.png>"},
		{"data URLs", `<img src="data:image/png;base64,` + rep("AAAA", mega) + `"><img src=x.png>`},
		{"comments", "<!--" + rep("a-b ", some) + "--><img src=x.png>"},
		{"text", "<style>@font-face{font-family:f;src:url(f.woff2)}p{font-family:f}</style><p>" + rep("añ語 ", some) + "<img src=x.png>"},
		{"srcset", `<img srcset="` + rep("x.png 100w, ", some) + `" sizes="` + rep("(max-width:1px) 2px, ", some/4) + `1px">`},
		{"rules and elements", "<style>" + rep("p.a ~ p.a:nth-child(3n){background:url(never.png)} *{cursor:auto}", 1<<20) + "</style>" + rep("<p class=a>", 1<<20) + "<img src=x.png>"},
		{"var", "<style>:root{--a:b c;" + strings.Join(doubling(64), ";") + "}p{background:var(--v63)}</style><p>text</p><img src=x.png>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := server{answers: map[string]answer{"/": {body: c.page}}, chunk: 1400}
			log, p := s.load(t, Config{})
			if text := strings.Join(log, "\n"); !strings.Contains(text, "x.png image") || strings.Contains(text, "never") {
				t.Errorf("want a request for the image after it, and no other: %.300s", text)
			}
			if _, ok := p.Load(); !ok {
				t.Error("load never fired")
			}
		})
	}
}

// doubling returns custom properties each of which is twice the previous one.
func doubling(n int) []string {
	out := []string{"--v0:url(x)"}
	for i := 1; i < n; i++ {
		out = append(out, fmt.Sprintf("--v%d:var(--v%d) var(--v%d)", i, i-1, i-1))
	}
	return out
}
