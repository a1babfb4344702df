package site

import (
	"encoding/xml"
	"errors"
	"io"
	"net/url"
	"reflect"
	"strings"
	"testing"
)

func TestObjects(t *testing.T) {
	for _, c := range []struct {
		ref, title string
		count      int
		size       int64
	}{
		{"objects", "40 objects of 20 kB", 40, 20_000},
		{"objects@40x20kB", "40 objects of 20 kB", 40, 20_000},
		{"objects@1x1MB", "1 object of 1 MB", 1, 1_000_000},
		{"objects@1000x119B", "1000 objects of 119 B", 1000, 119},
		{"objects@3x500B", "3 objects of 500 B", 3, 500},
		{"objects@10x100MB", "10 objects of 100 MB", 10, 100_000_000},
	} {
		t.Run(c.ref, func(t *testing.T) {
			s, err := Library{Dir: t.TempDir()}.Open(t.Context(), c.ref)
			must(t, err)
			if s.Name != "objects" || s.Title != c.title || len(s.Resources) != c.count+1 || !reflect.DeepEqual(s.Origins(), []string{"www.objects.test"}) {
				t.Fatalf("%s, %q: %d resources of %v", s.Name, s.Title, len(s.Resources), s.Origins())
			}
			answer := s.Respond("GET", "www.objects.test", "/")
			if !answer.Exact || answer.Header[0] != [2]string{"content-type", "text/html; charset=utf-8"} {
				t.Fatalf("the page: %q, %v", answer.Header, answer.Exact)
			}
			images, icons := readPage(t, answer.Body)
			if len(images) != c.count || icons != 1 {
				t.Errorf("the page has %d images and %d empty icons, want %d and 1", len(images), icons, c.count)
			}
			base, err := url.Parse(s.Page)
			must(t, err)
			for i, image := range images {
				u, err := base.Parse(image["src"])
				must(t, err)
				// The page shows them in the order in which the site lists them.
				r := &s.Resources[i+1]
				body, err := s.Body(r)
				must(t, err)
				if r.URL != u.String() || r.Size != c.size || int64(len(body)) != c.size || r.Header[0] != (Header{"content-type", "image/svg+xml"}) {
					t.Fatalf("image %d is %s; resource %+v has %d octets", i, u, r, len(body))
				}
			}
		})
	}
}

func TestObjectsAreImages(t *testing.T) {
	for _, size := range []int64{118, 119, 500, 20_000} {
		d := xml.NewDecoder(strings.NewReader(string(object(size))))
		elements := 0
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			must(t, err)
			if _, ok := token.(xml.StartElement); ok {
				elements++
			}
		}
		if elements != 2 {
			t.Errorf("an image of %d octets has %d elements, want a drawing of one rectangle", size, elements)
		}
	}
}

func TestObjectsAreTheSameAlways(t *testing.T) {
	one, err := Objects(3, 500)
	must(t, err)
	other, err := Objects(3, 500)
	must(t, err)
	if !reflect.DeepEqual(one, other) {
		t.Error("made twice they differ")
	}
}

func TestObjectsRefuses(t *testing.T) {
	for ref, want := range map[string]string{
		"objects@":                        "column 9: want a number of objects",
		"objects@x20kB":                   "column 9: want a number of objects",
		"objects@-1x20kB":                 "column 9: want a number of objects",
		"objects@40":                      "column 11: want an x",
		"objects@40*20kB":                 "column 11: want an x",
		"objects@40x":                     "column 12: want a size",
		"objects@40x1.5MB":                "column 13: want B, kB or MB",
		"objects@40x20":                   "column 14: want B, kB or MB",
		"objects@40x20KB":                 "column 14: want B, kB or MB",
		"objects@40x20kB ":                "column 14: want B, kB or MB",
		"objects@0x20kB":                  "0 objects: want 1 to 1000",
		"objects@1001x1B":                 "1001 objects: want 1 to 1000",
		"objects@1x0B":                    "objects of 0 octets: want 1 B to 100 MB",
		"objects@1x101MB":                 "objects of 101000000 octets: want 1 B to 100 MB",
		"objects@11x100MB":                "are 1100 MB: want no more than 1 GB",
		"objects@1000x1001kB":             "are 1001 MB: want no more than 1 GB",
		"objects@1x9999999999999999999B":  "column 11: want a size",
		"objects@1x9223372036854775807MB": "column 11: want a size",
		"objects@99999999999999999999x1B": "column 9: want a number",
	} {
		l := Library{Dir: t.TempDir()}
		if err := l.KnownRef(ref); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), ref) {
			t.Errorf("error is %v, want one with %q and %q", err, want, ref)
		}
	}
	if _, err := Objects(0, 1); err == nil || !strings.Contains(err.Error(), "make objects: 0 objects") {
		t.Errorf("error is %v", err)
	}
}

func FuzzParseObjects(f *testing.F) {
	for _, ref := range []string{"objects@40x20kB", "objects@1x1MB", "objects@7x", "objects@x", "objects@", "objects@1x9223372036854775807MB"} {
		f.Add(ref)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		count, size, err := parseObjects(ref)
		if err == nil && checkObjects(count, size) != nil {
			t.Errorf("%q gives %d objects of %d octets", ref, count, size)
		}
	})
}
