package metric

import (
	"slices"
	"testing"

	"wiretime/capture"
)

// TestPushes has the server push four bodies: a style sheet that the page uses, one that it had requested already, a
// script that it does not use, and an image that it uses.
func TestPushes(t *testing.T) {
	const style, late, script, image = "https://www.example.test/style.css", "https://www.example.test/late.css", "https://www.example.test/script.js", "https://www.example.test/image.png"
	s := h2Scene()
	expect(t, s.load(t, "h2"), map[string]float64{"pushed": none, "pushed_in_vain": none, "requests_saved": none})
	for i, url := range []string{style, late, script, image, late} {
		s.fetch(412, 500, url, "h2")
		pushed := &s.log[len(s.log)-1]
		pushed.Pushed, pushed.BodyBytes = i < 4, int64(1)<<i
	}
	// The browser reports one request for the late style sheet, which the server answered twice, and none for the script.
	s.entries = slices.Delete(s.entries, 5, 6)
	s.entries = slices.Delete(s.entries, 3, 4)
	expect(t, s.load(t, "h2"), map[string]float64{"pushed": 1 + 2 + 4 + 8, "pushed_in_vain": 2 + 4, "requests_saved": 2})
}

// TestHintDelay has a document whose first octets arrive at 312 ms announce five resources.
func TestHintDelay(t *testing.T) {
	const page = "https://www.example.test/"
	s := h2Scene()
	expect(t, s.load(t, "h2"), map[string]float64{"hint_delay": none})
	document := &s.entries[0]
	document.Timings.Receive = 100
	document.Response.Headers = []capture.Pair{
		{Name: "link", Value: `</a.png>; rel=preload; as=image, <` + page + `never.png>; rel=preload; as=image`},
		{Name: "Link", Value: `</b.png>; rel=preload; as=image`},
		{Name: "link", Value: `</font.test>; rel=preconnect`},
		{Name: "x-subresource", Value: "image/png; " + page + "c.png"},
	}
	s.fetch(322, 400, page+"a.png", "h2")
	s.fetch(332, 400, page+"b.png", "h2")
	s.fetch(372, 400, page+"c.png", "h2")
	s.fetch(382, 400, page+"b.png", "h2") // its second request
	expect(t, s.load(t, "h2"), map[string]float64{"hint_delay": (10 + 20 + 60) / 3.0})

	// A frame that announces what its page has requested before did not hasten it, nor did the second page of a journey.
	for i, id := range []string{"page_1", "page_2"} {
		s.fetch(500, 600, page+"frame.html?"+id, "h2")
		frame := &s.entries[5+i]
		frame.Page, frame.Response.Headers = id, []capture.Pair{{Name: "link", Value: "</a.png>; rel=preload; as=image"}}
	}
	s.pages = []capture.Page{{ID: "page_1"}, {ID: "page_2"}}
	expect(t, s.load(t, "h2"), map[string]float64{"hint_delay": (10 + 20 + 60) / 3.0})
}
