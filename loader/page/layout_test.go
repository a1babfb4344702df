package page

import (
	"math"
	"strings"
	"testing"
	"time"
)

// TestLayout compares the estimated tops of images with tops worked out by hand, in px.
func TestLayout(t *testing.T) {
	const reset = `<!DOCTYPE html><style>body{margin:0} p{margin:0} %s</style>`
	img := func(id, size string) string { return `<img id=` + id + ` ` + size + ` src=/` + id + `>` }
	for _, tt := range []struct {
		name, css, body string
		want            map[string]float64
	}{
		{"a line", "", img("a", "width=600 height=50") + img("b", "width=600 height=90"), map[string]float64{"a": 0, "b": 0}},
		{"two lines", "", img("a", "width=700 height=50") + img("b", "width=700 height=90"), map[string]float64{"a": 0, "b": 50}},
		{"blocks", "", `<div>` + img("a", "width=10 height=50") + `</div><div>` + img("b", "width=10 height=10") + `</div>`, map[string]float64{"a": 0, "b": 50}},
		{"margins collapse", ".m{margin:20px 0 30px}", `<div class=m>` + img("a", "width=10 height=10") + `</div><div class=m>` + img("b", "width=10 height=10") + `</div>`,
			map[string]float64{"a": 20, "b": 60}},
		{"images as blocks", "img{display:block}", img("a", "width=10 height=50") + img("b", "width=10 height=50"), map[string]float64{"a": 0, "b": 50}},
		{"a grid of fixed columns", ".g{display:grid;grid-template-columns:1fr 1fr;gap:10px}", `<div class=g><p>` + img("a", "width=10 height=50") + `</p><p>` +
			img("b", "width=10 height=70") + `</p><p>` + img("c", "width=10 height=50") + `</p></div>`, map[string]float64{"a": 0, "b": 0, "c": 80}},
		{"a grid with as many columns as fit", ".g{display:grid;grid-template-columns:repeat(auto-fill,600px)}", `<div class=g><p>` + img("a", "width=10 height=50") + `</p><p>` +
			img("b", "width=10 height=50") + `</p><p>` + img("c", "width=10 height=50") + `</p></div>`, map[string]float64{"a": 0, "b": 0, "c": 50}},
		{"a row", ".r{display:flex}", `<div class=r><p>` + img("a", "width=10 height=50") + `</p><p>` + img("b", "width=10 height=50") + `</p></div>` + img("c", "width=10 height=10"),
			map[string]float64{"a": 0, "b": 0, "c": 50}},
		{"a column", ".r{display:flex;flex-direction:column}", `<div class=r><p>` + img("a", "width=10 height=50") + `</p><p>` + img("b", "width=10 height=50") + `</p></div>`,
			map[string]float64{"a": 0, "b": 50}},
		{"explicit heights", ".h{height:300px} .m{min-height:200px}", `<div class=h></div><div class=m>` + img("a", "width=10 height=10") + `</div>` + img("b", "width=10 height=10"),
			map[string]float64{"a": 300, "b": 500}},
		{"sizes by style", "#a{width:100px;height:40px;display:block}", img("a", "width=10 height=10") + img("b", "width=10 height=10"), map[string]float64{"a": 0, "b": 40}},
		{"an element out of flow", ".o{position:absolute;height:500px}", `<div class=o>` + img("a", "width=10 height=10") + `</div>` + img("b", "width=10 height=10"),
			map[string]float64{"a": 0, "b": 0}},
		{"an element that is not displayed", ".n{display:none}", `<div class=n>` + img("a", "width=10 height=100") + `</div>` + img("b", "width=10 height=10"), map[string]float64{"b": 0}},
		{"rows of a table", "", `<table><tr><td>` + img("a", "width=10 height=50") + `<td>` + img("b", "width=10 height=50") + `<tr><td>` + img("c", "width=10 height=50") + `</table>`,
			map[string]float64{"a": 0, "b": 0, "c": 50}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := New(Config{URL: "https://www.page.test/"})
			defer p.Close()
			p.Begin(0)
			p.Respond(0, 0, Head{Status: 200, ContentType: "text/html"})
			p.Data(0, 0, []byte(strings.Replace(reset, "%s", tt.css, 1)+tt.body))
			p.Finish(0, 0, nil)
			for at, more := p.Next(); more && at < time.Second; at, more = p.Next() {
				p.Advance(at)
			}
			p.main.place()
			for _, e := range p.main.tree.elements {
				id, _ := e.attribute("id")
				if want, ok := tt.want[id]; ok && math.Abs(e.top-want) > 0.5 {
					t.Errorf("the top of %s is at %.1f, want %.1f", id, e.top, want)
				}
			}
		})
	}
}
