package site

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestJourney checks the numbers in Journey's documentation.
func TestJourney(t *testing.T) {
	s, err := Library{}.Open(t.Context(), "journey")
	if err != nil {
		t.Fatal(err)
	}
	pages := append([]string{s.Page}, s.Journey...)
	if len(pages) != 4 || len(s.Resources) != 4+3+4*17 {
		t.Fatalf("%d pages and %d resources, want 4 and 75", len(pages), len(s.Resources))
	}
	for _, page := range pages {
		r, ok := s.Lookup("GET", page)
		if !ok || r.Size != journeyPageSize || !slices.ContainsFunc(r.Header, func(h Header) bool { return h.Name == "etag" }) {
			t.Fatalf("page %s is %+v", page, r)
		}
		body, err := s.Body(r)
		if err != nil {
			t.Fatal(err)
		}
		images, shared := int64(0), 0
		for _, r := range s.Resources {
			path := strings.TrimPrefix(r.URL, "https://www.journey.test")
			if !bytes.Contains(body, []byte(`"`+path+`"`)) {
				continue
			}
			if strings.HasSuffix(path, ".svg") {
				images += r.Size
			}
			if !strings.HasPrefix(path, "/images/") {
				shared++
			}
			if !slices.Contains(r.Header, unchanging) {
				t.Errorf("%s is not cacheable for good: %v", path, r.Header)
			}
		}
		if images != journeyImagesSize || shared != 3 {
			t.Errorf("the images of %s are %d octets, and %d of its resources are shared; want %d and 3", page, images, shared, journeyImagesSize)
		}
	}
	again, err := Journey()
	if err != nil || !reflect.DeepEqual(s, again) {
		t.Errorf("a second call made a different site, error %v", err)
	}
}
