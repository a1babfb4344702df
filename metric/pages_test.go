package metric

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wiretime/capture"
	"wiretime/study"
)

// turn adds a page that is navigated to at the given ms, with the entries that
// fetches adds.
func (s *scene) turn(id string, at float64, fetches func()) {
	s.pages = append(s.pages, capture.Page{ID: id, Title: "title of " + id, Started: time.Unix(0, ns(at)),
		Timings: capture.PageTimings{OnContentLoad: 20, OnLoad: 30, FirstContentfulPaint: -1, LargestContentfulPaint: -1}})
	first := len(s.entries)
	fetches()
	for i := first; i < len(s.entries); i++ {
		s.entries[i].Page = id
	}
}

// journey is h2Scene's page, 1 s to think, and a second page whose resources end
// after 200 ms.
func journey() *scene {
	s := h2Scene()
	s.turn("page_1", 0, func() {})
	s.turn("page_2", 1412, func() {
		s.fetch(1512, 1612, "https://www.example.test/next.css", "h2")
		s.fetch(1412, 1512, "https://www.example.test/next", "h2")
	})
	s.up(1412.5, fromClient(102, 3032, capture.ACK, 100))
	s.down(1512, fromServer(3032, 202, capture.ACK, 1000))
	s.up(1513, fromClient(202, 4032, capture.ACK, 0))
	return s
}

// tabs are three pages opened at once, of which the first is done last.
func tabs() *scene {
	s := h2Scene()
	s.turn("page_1", 0, func() {})
	s.turn("page_2", 1, func() { s.fetch(1, 300, "https://www.example.test/b", "h2") })
	s.turn("page_3", 2, func() { s.fetch(2, 200, "https://www.example.test/c", "h2") })
	return s
}

func TestPages(t *testing.T) {
	for name, c := range map[string]struct {
		scene *scene
		want  []study.Page
		plt   float64
		tow   float64
	}{
		"one page": {h2Scene(), nil, 412, 411},
		"a journey, the time to think left out": {journey(), []study.Page{
			{URL: "https://www.example.test/", Started: 0, DCL: 20, OnLoad: 30, PLT: 412}, {URL: "https://www.example.test/next", Started: 1412, DCL: 20, OnLoad: 30, PLT: 200},
		}, 612, 1513 - 1000},
		"tabs": {tabs(), []study.Page{
			{URL: "https://www.example.test/", Started: 0, DCL: 20, OnLoad: 30, PLT: 412}, {URL: "https://www.example.test/b", Started: 1, DCL: 20, OnLoad: 30, PLT: 299}, {URL: "https://www.example.test/c", Started: 2, DCL: 20, OnLoad: 30, PLT: 198},
		}, 412, 411},
	} {
		t.Run(name, func(t *testing.T) {
			l := c.scene.load(t, "h2")
			if d := cmp.Diff(c.want, EachPage(l)); d != "" {
				t.Error(d)
			}
			expect(t, l, map[string]float64{"plt": c.plt, "tow": c.tow, "requests": float64(len(c.scene.entries))})
			if got := Pages().Violations(l); len(got) > 0 {
				t.Error(got)
			}
		})
	}
}

func TestAPageWithoutEntriesHasNoPLT(t *testing.T) {
	s := h2Scene()
	s.turn("page_1", 0, func() {})
	s.turn("page_2", 900, func() {})
	l := s.load(t, "h2")
	if pages := EachPage(l); pages[1] != (study.Page{URL: "title of page_2", Started: 900, DCL: 20, OnLoad: 30, PLT: -1}) {
		t.Errorf("the second page is %+v", pages[1])
	}
	expect(t, l, map[string]float64{"plt": 412})
}

// connected is h2Scene without its look-up and its handshake.
func connected() *scene {
	s := h2Scene()
	s.records = s.records[2*5:]
	return s
}

func TestTimeOnWireOfAConnectionThatWasOpen(t *testing.T) {
	l := connected().load(t, "h2")
	expect(t, l, map[string]float64{"tow": none}) // nothing says that it was to be open
	for _, visit := range []string{"connected", "again", "reload"} {
		l.Visit = visit
		expect(t, l, map[string]float64{"tow": 411 - 201, "connections": 0, "retransmissions": 1})
	}
	l.Timing.NavigationStart += 201*int64(time.Millisecond) + 300 // as late as browsers may tell it
	expect(t, l, map[string]float64{"tow": 411 - 201})
	quic := h3Scene()
	quic.records = quic.records[2*4:]
	l = quic.load(t, "h3")
	l.Visit = "connected"
	expect(t, l, map[string]float64{"tow": 330 - 201, "connections": 0})
}
