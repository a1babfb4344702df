package site

import (
	"slices"
	"strings"
	"testing"
)

func TestParseStep(t *testing.T) {
	for entry, want := range map[string]struct {
		step Step
		is   bool
	}{
		"https://www.a.test/": {Step{}, false},
		"click #more":         {Step{Click: "#more"}, true},
		"click  a.item > img": {Step{Click: "a.item > img"}, true},
		"scroll bottom":       {Step{Bottom: true}, true},
		"scroll 2000":         {Step{Scroll: 2000}, true},
	} {
		if s, is, err := ParseStep(entry); err != nil || s != want.step || is != want.is {
			t.Errorf("%q: %+v, %v, %v", entry, s, is, err)
		}
	}
	for _, entry := range []string{"", "click", "click [", "scroll", "scroll top", "scroll 0", "scroll -5", "scroll 9999999", "hover x"} {
		if s, is, err := ParseStep(entry); err == nil || !is {
			t.Errorf("%q: %+v, %v, want an error", entry, s, is)
		}
	}
}

// TestGallery: each step causes what the site says of it, and the page that one leads to is among those that are visited.
func TestGallery(t *testing.T) {
	s, err := Gallery()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Gallery()
	if err != nil || !slices.EqualFunc(s.Resources, again.Resources, func(a, b Resource) bool { return a.URL == b.URL && a.Body == b.Body }) {
		t.Error("another gallery differs")
	}
	if want := []string{galleryHost + "/", galleryHost + "/picture"}; !s.HasSteps() || !slices.Equal(s.Visited(), want) {
		t.Errorf("it visits %q", s.Visited())
	}
	caused := map[int]int{}
	for _, r := range s.Resources {
		caused[r.Step]++
	}
	want := map[int]int{0: 1 + 2 + galleryFirst + galleryViews, galleryScroll: galleryLazy, galleryClickMore: 1 + galleryMore, galleryClickPicture: 1, galleryClickComments: 1 + galleryFaces}
	for step, n := range want {
		if caused[step] != n {
			t.Errorf("step %d causes %d resources, want %d", step, caused[step], n)
		}
	}
	dir := t.TempDir() + "/gallery"
	must(t, s.Save(dir))
	kept, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(kept.Problems()) > 0 || !slices.Equal(kept.Journey, s.Journey) || kept.Leads(galleryClickPicture) != galleryHost+"/picture" || kept.Leads(galleryScroll) != "" {
		t.Errorf("what was kept has the journey %q and the problems %q", kept.Journey, kept.Problems())
	}
	for _, r := range kept.Resources {
		if was, ok := s.Lookup(r.Method, r.URL); !ok || was.Step != r.Step {
			t.Errorf("%s: step %d was kept as %d", r.URL, was.Step, r.Step)
		}
	}
}

func TestJourneysThatCannotBe(t *testing.T) {
	for want, change := range map[string]func(*Site){
		"want the URL of a page":  func(s *Site) { s.Journey[0] = "hover #more" },
		"not among the resources": func(s *Site) { s.Journey[0] = "https://www.gallery.test/nowhere" },
		"step is 7":               func(s *Site) { s.Resources[3].Step = 7 },
		"is a page, not a step":   func(s *Site) { s.Journey[0] = "https://www.gallery.test/picture" },
	} {
		s, err := Gallery()
		if err != nil {
			t.Fatal(err)
		}
		change(s)
		if err := s.build(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
