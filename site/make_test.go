package site

import (
	"bytes"
	"fmt"
	"image/png"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"wiretime/site/sitetest"
)

// named matches the URLs in made pages.
var named = regexp.MustCompile(`//[a-z0-9.-]+\.test/[a-z0-9]+\.[a-z0-9]+`)

// checkMade checks a site against its specification: the numbers of objects, hosts and
// octets, one request per object, chains of requests as long as the depth, and bodies that
// match their types.
func checkMade(t *testing.T, s *Site, spec Spec) {
	t.Helper()
	var octets int64
	asked := map[string]string{} // URL to the resource that requests it
	for i := range s.Resources {
		r := &s.Resources[i]
		body, err := s.Body(r)
		must(t, err)
		octets += int64(len(body))
		if int64(len(body)) != r.Size {
			t.Fatalf("%s has %d octets, but its size is %d", r.URL, len(body), r.Size)
		}
		switch r.Header[0].Value {
		case "image/png":
			if _, err := png.Decode(bytes.NewReader(body)); err != nil {
				t.Errorf("%s of %d octets: %v", r.URL, r.Size, err)
			}
			continue
		case "font/woff2":
			continue
		}
		for _, ref := range named.FindAll(body, -1) {
			if by, twice := asked["https:"+string(ref)]; twice {
				t.Errorf("%s is requested by both %s and %s", ref, by, r.URL)
			}
			asked["https:"+string(ref)] = r.URL
		}
	}
	if len(s.Resources) != spec.Objects || len(s.Origins()) != spec.Domains || octets != spec.Total {
		t.Errorf("%d objects on %d hosts of %d octets, want %d on %d of %d",
			len(s.Resources), len(s.Origins()), octets, spec.Objects, spec.Domains, spec.Total)
	}
	depth := 0
	for _, r := range s.Resources {
		if r.URL == s.Page {
			continue
		}
		by, ok := asked[r.URL]
		if !ok {
			t.Errorf("nothing requests %s", r.URL)
			continue
		}
		if script := strings.HasSuffix(by, ".js"); script != (r.Initiator == by) || !script && r.Initiator != "" || (r.Kind != "") != script {
			t.Errorf("%s is requested by %s; its initiator is %q, its kind %q", r.URL, by, r.Initiator, r.Kind)
		}
		level := 1
		for ; by != s.Page; level++ {
			by = asked[by]
		}
		depth = max(depth, level)
	}
	if depth != spec.Depth || len(asked) != spec.Objects-1 {
		t.Errorf("%d objects are requested, up to %d deep, want %d deep", len(asked), depth, spec.Depth)
	}
}

// TestPapersPages compares pages with the papers' numbers, to the octet. The table is
// copied from Kim et al. (2013), tables 1, 5 and 8: objects, domains, kB.
func TestPapersPages(t *testing.T) {
	for line := range strings.SplitSeq(strings.TrimSpace(`
		kim-google-play           52  17   1592.43
		kim-2mb                   88   4   2299.99
		kim-4mb                   86   6   3985.02
		kim-google-plus            7   4     41.84
		kim-gmail                 11   4     51.46
		kim-lgvita                12   6    136.46
		kim-webtide               18   2    177.54
		kim-erianna               19   3    217
		kim-google-shopping       15   5    264.04
		kim-wordpress             17  11    268.25
		kim-twitter               12   3    288.23
		kim-cloudflare            32   4    445.68
		kim-lilp-blog             25   4    648.77
		kim-youtube               60  13    735.65
		kim-google-news           53   6    740.46
		kim-google-maps           53   5    836.92
		kim-is-the-spdy-protocol  31  12   1002.91
		kim-google-play           52  17   1592.43
		kim-humble-bundle         99  24   1630.22
		kim-tech-crunch          174  55   1880.33
		kim-anizon                90   4   2353.93
		kim-vip-wordpress         57  22   3802.77
		kim-gigaom               113  39   5499.83
		kim-site-1                20   1    127.3
		kim-site-2                 1   1    870
		kim-site-3                 1   1  18506.47
		kim-site-4                 3   1  42891.83
		nam-page                   8   1    500
		lulic-amazon             126   1    658
		lulic-bing                51   1    337
		lulic-yahoo               12   1    180
		lulic-youtube             60  13    735.65
		lulic-twitter             12   3    288.23
		lulic-wordpress           17  11    268.25
		lulic-youm7              260  24   3300`), "\n") {
		var name, size string
		var want Spec
		if _, err := fmt.Sscan(line, &name, &want.Objects, &want.Domains, &size); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			var err error
			want.Total, err = ParseSize(size + "kB")
			must(t, err)
			known, ok := paperPage(name)
			if !ok {
				t.Fatal("no such page")
			}
			want.Depth = known.Depth
			l := Library{Dir: t.TempDir()}
			must(t, l.KnownRef(name))
			s, err := l.Open(t.Context(), name)
			must(t, err)
			if s.Name != name || s.Title == "" || s.Source == "" {
				t.Errorf("it is %s, %q of %q", s.Name, s.Title, s.Source)
			}
			checkMade(t, s, want)
		})
	}
}

func TestNamsPage(t *testing.T) {
	s, err := Library{Dir: t.TempDir()}.Open(t.Context(), "nam-page")
	must(t, err)
	types := map[string]int{}
	for _, r := range s.Resources {
		types[r.Header[0].Value]++
	}
	want := map[string]int{"text/html; charset=utf-8": 1, "text/css; charset=utf-8": 1, "text/javascript; charset=utf-8": 1, "image/png": 5}
	if !reflect.DeepEqual(types, want) {
		t.Errorf("it has %v, want %v", types, want)
	}
}

func TestPageReferences(t *testing.T) {
	for ref, want := range map[string]Spec{
		"page@71x14x2652kB":          {Objects: 71, Domains: 14, Total: 2_652_000, Depth: 3},
		"page@52x17x1592.43kB":       {Objects: 52, Domains: 17, Total: 1_592_430, Depth: 3},
		"page@1x1x870kB":             {Objects: 1, Domains: 1, Total: 870_000, Depth: 0},
		"page@2x1x1000B":             {Objects: 2, Domains: 1, Total: 1000, Depth: 1},
		"page@3x3x1.5MB":             {Objects: 3, Domains: 3, Total: 1_500_000, Depth: 2},
		"page@1000x1000x12.345678MB": {Objects: 1000, Domains: 1000, Total: 12_345_678, Depth: 3},
	} {
		t.Run(ref, func(t *testing.T) {
			l := Library{Dir: t.TempDir()}
			must(t, l.KnownRef(ref))
			s, err := l.Open(t.Context(), ref)
			must(t, err)
			checkMade(t, s, want)
		})
	}
}

// TestPageIsNoReservedName checks that "page" without numbers is an ordinary name.
func TestPageIsNoReservedName(t *testing.T) {
	l := Library{Dir: t.TempDir()}
	if err := l.KnownRef("page"); err == nil {
		t.Error("a page exists before it was added")
	}
	_, err := l.Add(sitetest.Folder(t, map[string]string{"index.html": "x"}), FolderOptions{Name: "page"})
	must(t, err)
	must(t, l.KnownRef("page"))
	if s, err := l.Open(t.Context(), "page"); err != nil || len(s.Resources) != 2 {
		t.Errorf("opened %v, %v", s, err)
	}
	if s, err := l.Open(t.Context(), "page@3x1x3kB"); err != nil || len(s.Resources) != 3 {
		t.Errorf("opened %v, %v", s, err)
	}
}

func TestPageReferencesRefused(t *testing.T) {
	for ref, want := range map[string]string{
		"page@":                           "column 6: want a number of objects",
		"page@x1x1kB":                     "column 6: want a number of objects",
		"page@10":                         "column 8: want an x",
		"page@10x":                        "column 9: want a number of domains",
		"page@10x2":                       "column 10: want an x",
		"page@10x2x":                      `column 11: size "": want a number and B, kB or MB`,
		"page@10x2x3":                     `column 11: size "3": want a number`,
		"page@10x2x1.2345kB":              `column 11: size "1.2345kB": not a whole number of octets`,
		"page@10x2x.5kB":                  "column 11",
		"page@10x2x5.kB":                  "column 11",
		"page@10x2x1kkB":                  "column 11",
		"page@10x2x1001MB":                "1 GB at most",
		"page@10x2x99999999999999999999B": "column 11",
		"page@0x1x1kB":                    "objects 0: want 1 to 1000",
		"page@1001x1x1MB":                 "objects 1001: want 1 to 1000",
		"page@10x0x1MB":                   "domains 0: want 1 to 10",
		"page@10x11x1MB":                  "domains 11: want 1 to 10",
		"page@10x1x0B":                    "size 0 B: want no more",
		"page@10x1x1kB":                   "with 10 objects",
	} {
		err := Library{Dir: t.TempDir()}.KnownRef(ref)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), ref) {
			t.Errorf("error is %v, want one with %q and %q", err, want, ref)
		}
	}
}

func TestSpecRefused(t *testing.T) {
	for want, change := range map[string]func(*Spec){
		`name "A"`:                               func(s *Spec) { s.Name = "A" },
		"objects -1: want 1 to 1000":             func(s *Spec) { s.Objects = -1 },
		"domains 72: want 1 to 71":               func(s *Spec) { s.Domains = 72 },
		"size 1001 MB: want no more than 1 GB":   func(s *Spec) { s.Total = 1_001_000_000 },
		`sizes "": want web, equal or one-large`: func(s *Spec) { s.Sizes = "" },
		"depth 0: want 1 to 10 with 71 objects":  func(s *Spec) { s.Depth = 0 },
		"depth 11: want 1 to 10 with 71":         func(s *Spec) { s.Depth = 11 },
		"depth 1: want 0 to 0 with 1":            func(s *Spec) { s.Objects, s.Domains, s.Depth = 1, 1, 1 },
		"mix of .css: -1 requests":               func(s *Spec) { s.Mix.CSS.Requests = -1 },
		"mix: no type has requests":              func(s *Spec) { s.Mix = Mix{CSS: Share{0, 1}} },
	} {
		spec := DefaultSpec()
		change(&spec)
		if err := spec.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %q", err, want)
		}
		if _, err := Make(spec); err == nil || !strings.HasPrefix(err.Error(), "make "+spec.Name+": ") {
			t.Errorf("error is %v", err)
		}
	}
}

func TestSizes(t *testing.T) {
	spec := DefaultSpec()
	spec.Objects, spec.Domains, spec.Total = 40, 1, 4_000_003
	sizes := func(how Sizes) (all []int64, images map[int64]bool) {
		spec.Sizes = how
		s, err := Make(spec)
		must(t, err)
		checkMade(t, s, spec)
		images = map[int64]bool{}
		for _, r := range s.Resources {
			all = append(all, r.Size)
			if r.Header[0].Value == "image/png" {
				images[r.Size] = true
			}
		}
		return all, images
	}
	t.Run("equal", func(t *testing.T) {
		all, _ := sizes(SizesEqual)
		for _, size := range all {
			if size != 100_000 && size != 100_001 {
				t.Errorf("one has %d octets", size)
			}
		}
	})
	t.Run("one-large", func(t *testing.T) {
		all, images := sizes(SizesOneLarge)
		large := 0
		for _, size := range all {
			if size >= 3_600_000 && size < 3_600_100 && images[size] {
				large++
			}
		}
		if large != 1 {
			t.Errorf("%d images have nine tenths: %d", large, all)
		}
	})
	t.Run("web", func(t *testing.T) {
		all, images := sizes(SizesWeb)
		if len(images) < 8 {
			t.Errorf("images have %d different sizes: %v", len(images), all)
		}
	})
}

// TestPageIsAlwaysTheSame compares pages with known hashes: results of different days and
// machines must refer to one page.
func TestPageIsAlwaysTheSame(t *testing.T) {
	for ref, want := range map[string]string{
		"page@71x14x2652kB": "6b3ec84e87e20d83cff893274e070e419a96fcf66f6c3efd1954e20fdbe1f624",
		"kim-google-play":   "63a0f4e1889f46125401ec1c92ee31e30fdc94e989770d9136a77680169c76fb",
		"kim-site-1":        "5d30a19b5b5f936511fa8488530c54677be9d3f6b0db5e49469d0457111a237d",
	} {
		s, err := Library{Dir: t.TempDir()}.Open(t.Context(), ref)
		must(t, err)
		var all strings.Builder
		for _, r := range s.Resources {
			fmt.Fprintln(&all, r.URL, r.Body)
		}
		if got := Hash([]byte(all.String())); got != want {
			t.Errorf("%s has the hash %s, want %s: published figures would refer to another page", ref, got, want)
		}
	}
	spec := DefaultSpec()
	first, err := Make(spec)
	must(t, err)
	spec.Seed++
	second, err := Make(spec)
	must(t, err)
	if reflect.DeepEqual(first.Resources, second.Resources) {
		t.Error("different seeds make the same page")
	}
}

func FuzzMake(f *testing.F) {
	f.Add(71, 14, int64(2_652_000), 3, uint64(1), uint8(0), uint8(0b11111))
	f.Add(1, 1, int64(870_000), 0, uint64(1), uint8(1), uint8(0b11111))
	f.Add(11, 11, int64(50_000), 10, uint64(7), uint8(2), uint8(0b00010))
	f.Add(12, 3, int64(4_000), 2, uint64(7), uint8(0), uint8(0b10000))
	f.Add(300, 40, int64(100_000), 2, uint64(9), uint8(1), uint8(0b01101))
	f.Fuzz(func(t *testing.T, objects, domains int, total int64, depth int, seed uint64, sizes, kinds uint8) {
		all := []Sizes{SizesWeb, SizesEqual, SizesOneLarge}
		one := func(bit int) Share { return Share{float64(kinds >> bit & 1), float64(seed % 1000)} }
		spec := Spec{
			Name: "x", Objects: objects, Domains: domains, Total: total, Depth: depth, Seed: seed, Sizes: all[int(sizes)%len(all)],
			Mix: Mix{HTML: one(0), CSS: one(1), JS: one(2), Font: one(3), Image: one(4)},
		}
		if total > 3_000_000 || spec.Check() != nil {
			return
		}
		s, err := Make(spec)
		must(t, err)
		checkMade(t, s, spec)
	})
}

func FuzzParsePage(f *testing.F) {
	for _, ref := range []string{"page@52x17x1592.43kB", "page@1x1x0.5MB", "page@1x1x1.0B", "page@7x", "page@x", "page@", "page@1x1x9223372036854775807MB"} {
		f.Add(ref)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		spec, err := parsePage(ref)
		if err == nil && spec.Check() != nil {
			t.Errorf("%q gives %+v", ref, spec)
		}
	})
}

// TestValidators checks which pages have an ETag on every response: those of Kim et al. and those that
// ask for it. An ETag names the content, and changes nothing else.
func TestValidators(t *testing.T) {
	everywhere := func(s *Site) bool {
		tags := map[string]string{}
		for _, r := range s.Resources {
			i := slices.IndexFunc(r.Header, func(h Header) bool { return h.Name == "etag" })
			if i < 0 {
				return false
			}
			tag := r.Header[i].Value
			if body, known := tags[tag]; known && body != r.Body {
				t.Errorf("%s has two contents with the tag %s", s.Name, tag)
			}
			tags[tag] = r.Body
		}
		return true
	}
	for _, ref := range append(builtIn(), "page@20x4x100kB") {
		if ref == worldFlags {
			continue // made from files that would have to be fetched
		}
		s, err := Library{Dir: t.TempDir(), Cache: packages}.Open(t.Context(), ref)
		must(t, err)
		onlyDocuments := ref == searchName
		if want := strings.HasPrefix(ref, "kim-") || onlyDocuments; everywhere(s) != want {
			t.Errorf("%s has an ETag on every response: %v, want %v", ref, !want, want)
		}
	}
	spec := DefaultSpec()
	plain, err := Make(spec)
	must(t, err)
	spec.Validators = true
	tagged, err := Make(spec)
	must(t, err)
	if !everywhere(tagged) {
		t.Error("a page made with validators lacks some")
	}
	for i := range tagged.Resources {
		r := &tagged.Resources[i]
		r.Header = slices.DeleteFunc(r.Header, func(h Header) bool { return h.Name == "etag" && i > 0 })
	}
	if !reflect.DeepEqual(plain.Resources, tagged.Resources) {
		t.Error("the page differs in more than its validators")
	}
}
