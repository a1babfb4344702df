package station

import (
	"slices"
	"strings"
	"testing"

	"wiretime/evidence"
	"wiretime/loader/chromium"
	"wiretime/metric"
	"wiretime/site"
	"wiretime/workload/pageload"
)

// TestSteps: a user's steps load what the site says that each causes, in Chromium by its mouse and wheel, in the own loader
// by the archive.
func TestSteps(t *testing.T) {
	gallery, err := site.Gallery()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := chromium.Find("")
	loaders := []string{pageload.Builtin, pageload.Chromium}
	if err != nil {
		loaders = loaders[:1]
	}
	s := openWith(t, binary, gallery)
	for _, loader := range loaders {
		for _, row := range []string{"http/1.1", "h2"} {
			t.Run(loader+" "+row, func(t *testing.T) {
				o := order(row, "")
				o.Loader = loader
				l := load(t, s, o, gallery)
				pages := l.HAR.Log.Pages
				if len(pages) != 1+len(gallery.Journey) {
					t.Fatalf("the HAR has %d pages", len(pages))
				}
				for i, page := range pages {
					checkStep(t, gallery, l.HAR.Log.Pages[i].Title, i, asked(l, page.ID))
				}
				if l.Timing.DCL <= 0 || l.Timing.OnLoad <= l.Timing.DCL || pages[1].Timings.OnLoad >= 0 || pages[3].Timings.OnLoad <= 0 {
					t.Errorf("the timing is %+v, that of the pages %+v", l.Timing, pages)
				}
				each := metric.EachPage(&evidence.Evidence{HAR: l.HAR, Timing: l.Timing})
				if each[1].URL != "scroll bottom" || each[1].PLT <= 0 || each[1].DCL >= 0 || !strings.HasSuffix(each[3].URL, "/picture") || each[3].OnLoad <= 0 {
					t.Errorf("the steps are %+v", each)
				}
			})
		}
	}
}

// asked returns the paths that a page of a HAR asked the network for, sorted.
func asked(l loaded, page string) []string {
	var paths []string
	for _, e := range l.HAR.Log.Entries {
		if e.Page == page && e.FromCache == "" {
			_, path, _ := strings.Cut(e.Request.URL, "gallery.test")
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// checkStep compares what was asked for with what the site says of a step; 0 is the site's page.
func checkStep(t *testing.T, s *site.Site, title string, step int, got []string) {
	t.Helper()
	var want []string
	for _, r := range s.Resources {
		_, path, _ := strings.Cut(r.URL, "gallery.test")
		own := r.Step == step && !strings.Contains(path, "view-")
		if ofPicture := s.Leads(step) != "" && strings.Contains(path, "view-"); own || ofPicture {
			want = append(want, path)
		}
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s asked for %q, want %q", title, got, want)
	}
}

// TestStepsThatCannotBe: an element that is missing fails the load, which names it.
func TestStepsThatCannotBe(t *testing.T) {
	gallery, err := site.Gallery()
	if err != nil {
		t.Fatal(err)
	}
	missing, err := gallery.Edit(func(s *site.Site) error {
		s.Journey = slices.Clone(s.Journey)
		s.Journey[1] = "click #nothing"
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := loadInto(t, open(t, missing), order("h2", ""), missing, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if r.LoadError == nil || !strings.Contains(r.LoadError.Error(), "page 3 of the journey's 5: click #nothing: no element matches #nothing") {
		t.Errorf("the load: %v", r.LoadError)
	}
}
