package record_test

import (
	"slices"
	"strings"
	"testing"

	"wiretime/site/record"
	"wiretime/site/recording"
)

// TestRecordsAJourney: the clicks and scrolls of a script become the site's journey, and the site says what each of them
// caused and which of them led to another page.
func TestRecordsAJourney(t *testing.T) {
	shop := startShop(t, map[string]object{
		"GET https://www.p.test/": {header: html, body: `<!DOCTYPE html><link rel=icon href="data:,"><script src=/a.js></script>
<button id=more>More</button> <a href=/next>Next</a><div style="height: 9000px"></div><img src=below.png loading=lazy width=10 height=10>`},
		"GET https://www.p.test/a.js": {header: js, body: `onload = () => document.querySelector("#more").onclick = async () => {
	const list = await (await fetch("/list.json")).json();
	for (const source of list) new Image().src = source;
}`},
		"GET https://www.p.test/list.json": {header: json, body: `["/one.png", "/two.png"]`},
		"GET https://www.p.test/one.png":   {header: "Content-Type: image/png", body: picture(10)},
		"GET https://www.p.test/two.png":   {header: "Content-Type: image/png", body: picture(20)},
		"GET https://www.p.test/below.png": {header: "Content-Type: image/png", body: picture(30)},
		"GET https://www.p.test/next":      {header: html, body: `<!DOCTYPE html><link rel=icon href="data:,"><img src=there.png>`},
		"GET https://www.p.test/there.png": {header: "Content-Type: image/png", body: picture(40)},
	})
	o := shop.options(t, "https://www.p.test/")
	o.Journey, o.Script = true, script(t, "wait 10ms\nclick #more\nclick? #nothing\nscroll bottom\nclick a")
	r, err := record.Record(t.Context(), o)
	must(t, err)
	s, _, err := r.Site("p", recording.Options{})
	must(t, err)
	if want := []string{"click #more", "scroll bottom", "click a"}; !slices.Equal(s.Journey, want) {
		t.Fatalf("the journey is %q, want %q", s.Journey, want)
	}
	if s.Leads(3) != "https://www.p.test/next" || s.Leads(1) != "" || s.Leads(2) != "" {
		t.Errorf("the steps lead to %q, %q and %q", s.Leads(1), s.Leads(2), s.Leads(3))
	}
	steps := map[string]int{"list.json": 1, "one.png": 1, "two.png": 1, "below.png": 2, "next": 3}
	for _, resource := range s.Resources {
		_, name, _ := strings.Cut(resource.URL, ".test/")
		if resource.Step != steps[name] {
			t.Errorf("%q belongs to step %d, want %d", name, resource.Step, steps[name])
		}
		if name == "one.png" && resource.Initiator != "https://www.p.test/list.json" || name == "list.json" && resource.Initiator != "" || resource.Step > 0 && resource.Delay > 5000 {
			t.Errorf("%q waits %v ms for %q", name, resource.Delay, resource.Initiator)
		}
	}
}
