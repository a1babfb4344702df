package har

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wiretime/site"
	"wiretime/site/recording"
)

// realFolder holds HAR files that other programs wrote.
const realFolder = "../../../shared/data/har"

func realFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(realFolder, name))
	if err != nil {
		t.Skip("the HAR files are not there (../shared/data/har beside the checkout)")
	}
	return data
}

// TestRealFiles imports files that other programs wrote. It checks what each contains, how
// much of it the site has, and that all octets and exchanges are accounted for.
func TestRealFiles(t *testing.T) {
	for _, c := range []struct {
		file, page         string
		entries, resources int
		bodies             int // that were recorded, and are not empty
		start              string
	}{
		{"nytimes-2015.har", "", 227, 224, 0, "https://www.nytimes.com/"},
		{"nytimes-2015.har", "page_1_1", 101, 100, 0, "https://www.nytimes.com/"},
		{"ferguson-2022-h2-h3.har", "", 174, 171, 0, "https://www.ferguson.com/"},
		{"spdy-chrome.har", "1", 19, 19, 0, "https://www.wikipedia.org/"},
		{"spdy-firefox.har", "page_1", 18, 18, 0, "https://www.wikipedia.org/"},
		{"enorm-magazin-with-bodies.har", "", 65, 64, 0, "https://enorm-magazin.de/"},
		{"h2o-examp1e-with-bodies.har", "", 16, 11, 10, "https://h2o.examp1e.net/"},
	} {
		t.Run(c.file+" "+c.page, func(t *testing.T) {
			data := realFile(t, c.file)
			r, s, repairs := importFile(t, data, c.page)
			left := 0
			for _, repair := range repairs {
				left += repair.LeftOut
			}
			if len(r.Exchanges) != c.entries || len(s.Resources) != c.resources || s.Page != c.start {
				t.Errorf("%d exchanges, %d resources, %s, want %d, %d, %s", len(r.Exchanges), len(s.Resources), s.Page, c.entries, c.resources, c.start)
			}
			if len(r.Exchanges)-left != len(s.Resources) {
				t.Errorf("%d exchanges, %d of them left out, %d resources", len(r.Exchanges), left, len(s.Resources))
			}
			if share := float64(len(s.Resources)) / float64(distinct(r)); share < .98 {
				t.Errorf("the site has %.1f %% of the recorded URLs", 100*share)
			}
			if recorded := recordedBodies(s); recorded != c.bodies {
				t.Errorf("%d recorded bodies, want %d", recorded, c.bodies)
			}
			checkSizes(t, r, s)
			_, again, _ := importFile(t, data, c.page)
			for i := range s.Resources {
				one, err := json.Marshal(s.Resources[i])
				if err != nil {
					t.Fatal(err)
				}
				if two, _ := json.Marshal(again.Resources[i]); !bytes.Equal(one, two) {
					t.Errorf("the second import turns %s into %s", one, two)
				}
			}
		})
	}
}

func importFile(t *testing.T, data []byte, page string) (*recording.Recording, *site.Site, []recording.Repair) {
	t.Helper()
	r, err := Read(bytes.NewReader(data), "test.har", Options{Page: page})
	if err != nil {
		t.Fatal(err)
	}
	s, repairs, err := r.Site("x", recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r, s, repairs
}

// distinct counts URLs that were fetched over HTTP and answered.
func distinct(r *recording.Recording) int {
	urls := map[string]bool{}
	for _, e := range r.Exchanges {
		if _, rest, ok := strings.Cut(e.URL, "://"); ok && e.Status >= 200 {
			urls[e.Method+rest] = true
		}
	}
	return len(urls)
}

func recordedBodies(s *site.Site) int {
	n := 0
	for _, r := range s.Resources {
		if !r.Made && r.Size > 0 {
			n++
		}
	}
	return n
}

// checkSizes compares what a site sends with what crossed the wire.
func checkSizes(t *testing.T, r *recording.Recording, s *site.Site) {
	t.Helper()
	var all, allWant int64
	away := 0
	for _, e := range r.Exchanges {
		got, ok := s.Lookup(e.Method, strings.Replace(strings.ToLower(e.URL[:5]), "http:", "https:", 1)+e.URL[5:])
		if !ok || e.Transfer < 0 || e.Status/100 == 3 || e.HasBody && got.Made {
			continue
		}
		want := e.Transfer
		if e.Size >= 0 {
			want = min(want, e.Size+32) // some recorders include heads
		}
		all, allWant = all+got.Size, allWant+want
		if d := max(got.Size-want, want-got.Size); d > 32+want/50 {
			away++
		}
	}
	// Stubs with many references are longer, and recoded bodies differ in size.
	if d := max(all-allWant, allWant-all); d*100 > allWant*2 || away*10 > len(r.Exchanges) {
		t.Errorf("%d octets in all, %d were recorded; %d resources differ by more than 2 %%", all, allWant, away)
	}
}

// BenchmarkImport5MB imports five megabytes: the real files several times, each time with
// other hosts.
func BenchmarkImport5MB(b *testing.B) {
	var entries []json.RawMessage
	size := 0
	for i := 0; size < 5_000_000; i++ {
		name := []string{"ferguson-2022-h2-h3.har", "nytimes-2015.har", "h2o-examp1e-with-bodies.har"}[i%3]
		var f struct {
			Log struct{ Entries []json.RawMessage }
		}
		if err := json.Unmarshal(realFile(b, name), &f); err != nil {
			b.Fatal(err)
		}
		for _, e := range f.Log.Entries {
			other := bytes.ReplaceAll(bytes.ReplaceAll(e, []byte("www."), []byte("www"+string(rune('a'+i))+".")), []byte(`"pageref"`), []byte(`"_pageref"`))
			entries = append(entries, other)
			size += len(other)
		}
	}
	data, err := json.Marshal(map[string]any{"log": map[string]any{"entries": entries}})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		r, err := Read(bytes.NewReader(data), "5MB.har", Options{})
		if err != nil {
			b.Fatal(err)
		}
		if _, _, err := r.Site("x", recording.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
