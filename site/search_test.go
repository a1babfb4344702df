package site

import (
	"strings"
	"testing"
)

func TestSearchHasTheSizesOfThePaper(t *testing.T) {
	for _, tt := range []struct {
		count     int
		full      bool
		resources int
		octets    int64
	}{
		{1, false, 1, 70_000},
		{50, false, 50, 50 * 70_000},
		{1, true, 6, 250_000},
		{50, true, 300, 50 * 250_000},
	} {
		s, err := Search(tt.count, tt.full)
		if err != nil {
			t.Fatal(err)
		}
		var octets int64
		for _, r := range s.Resources {
			octets += r.Size
		}
		if len(s.Tabs) != tt.count-1 || len(s.Resources) != tt.resources || octets != tt.octets {
			t.Errorf("%d pages, full %v: %d tabs beside the page, %d resources, %d octets", tt.count, tt.full, len(s.Tabs), len(s.Resources), octets)
		}
	}
	for _, count := range []int{0, 201} {
		if _, err := Search(count, false); err == nil {
			t.Errorf("%d pages: no error", count)
		}
	}
}

// TestSearchPushesPartsWithTheirPage has the server push each page's parts: none is pushed with another page.
func TestSearchPushesPartsWithTheirPage(t *testing.T) {
	s, err := Search(12, true)
	if err == nil {
		s, err = s.Hint(Rule{Do: Push, OwnHost: true})
	}
	if err != nil {
		t.Fatal(err)
	}
	pages := 0
	for _, r := range s.Resources {
		_, number, isPage := strings.Cut(r.URL, "?q=")
		if !isPage {
			continue
		}
		pages++
		if len(r.Push) != len(searchContent) {
			t.Errorf("%s pushes %q", r.URL, r.Push)
		}
		for _, part := range r.Push {
			if !strings.Contains(part, "/"+number+"/") {
				t.Errorf("%s pushes %s", r.URL, part)
			}
		}
	}
	if pages != 12 {
		t.Errorf("%d pages, want 12", pages)
	}
}
