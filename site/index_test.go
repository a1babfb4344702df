package site

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestOpenWithoutItsIndex checks that an archive opens without a usable index, and that
// Problems reports it.
func TestOpenWithoutItsIndex(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other")
	magazine, err := Magazine()
	must(t, err)
	must(t, magazine.Save(other))
	good := saved(t)
	whole := content(t, filepath.Join(good, indexFile))
	for _, c := range []struct {
		name, want string
		damage     func(t *testing.T, dir, file string)
	}{
		{"missing", "no such file", func(t *testing.T, _, file string) { must(t, os.Remove(file)) }},
		{"empty", "damaged", func(t *testing.T, _, file string) { must(t, os.WriteFile(file, nil, 0o644)) }},
		{"cut short", "damaged", func(t *testing.T, _, file string) { must(t, os.Truncate(file, int64(len(whole)-1))) }},
		{"longer", "damaged", func(t *testing.T, _, file string) {
			must(t, os.WriteFile(file, append(slices.Clip(whole), 0), 0o644))
		}},
		{"with another octet", "damaged", func(t *testing.T, _, file string) {
			changed := bytes.Clone(whole)
			changed[len(changed)-20] ^= 1
			must(t, os.WriteFile(file, changed, 0o644))
		}},
		{"of another version", "damaged", func(t *testing.T, _, file string) {
			must(t, os.WriteFile(file, bytes.Replace(whole, []byte("index 4"), []byte("index 5"), 1), 0o644))
		}},
		{"of another archive", "belongs to another site.json", func(t *testing.T, _, file string) {
			must(t, os.WriteFile(file, content(t, filepath.Join(other, indexFile)), 0o644))
		}},
		{"a folder", "not a regular file", func(t *testing.T, _, file string) {
			must(t, os.Remove(file))
			must(t, os.Mkdir(file, 0o755))
		}},
		{"a pipe", "not a regular file", func(t *testing.T, _, file string) {
			must(t, os.Remove(file))
			must(t, syscall.Mkfifo(file, 0o644))
		}},
		{"a link out of the archive", "escapes", func(t *testing.T, _, file string) {
			must(t, os.Remove(file))
			must(t, os.Symlink(filepath.Join(other, indexFile), file))
		}},
		{"with bodies elsewhere", "outside the file", func(t *testing.T, dir, _ string) {
			forge(t, dir, func(x *index) { x.spans[0].offset = 1 << 40 })
		}},
		{"with bodies before the file", "outside the file", func(t *testing.T, dir, _ string) {
			forge(t, dir, func(x *index) { x.spans[0].offset = -8 })
		}},
		{"with bodies of great length", "outside the file", func(t *testing.T, dir, _ string) {
			forge(t, dir, func(x *index) { x.spans[0].size = 1<<63 - 1 })
		}},
		{"that says what site.json may not", "is not a valid field", func(t *testing.T, dir, _ string) {
			forge(t, dir, func(x *index) { x.site.Resources[0].Header = []Header{{"a", "b\r\nc: d"}} })
		}},
		{"with a body twice as long as it is said to be elsewhere", "octets, but the index says", func(t *testing.T, dir, _ string) {
			forge(t, dir, func(x *index) { x.packSize++ })
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := copied(t, good)
			c.damage(t, dir, filepath.Join(dir, indexFile))
			got, want := reopen(t, dir), threeOrigins(t)
			if !reflect.DeepEqual(got.Resources, want.Resources) || !reflect.DeepEqual(contents(t, got), contents(t, want)) {
				t.Errorf("got %+v, want %+v", got.Resources, want.Resources)
			}
			must(t, got.Verify(t.Context()))
			if problems := strings.Join(got.Problems(), " "); !strings.Contains(problems, "slowly") || !strings.Contains(problems, c.want) {
				t.Errorf("problems are %q, want %q among them", problems, c.want)
			}
			must(t, Library{Dir: filepath.Dir(dir)}.KnownRef("three"))
		})
	}
}

// forge replaces an archive's index by a changed one with correct sums.
func forge(t *testing.T, dir string, change func(*index)) {
	t.Helper()
	manifest, file := content(t, filepath.Join(dir, manifestFile)), filepath.Join(dir, indexFile)
	x, err := decodeIndex(manifest, content(t, file))
	must(t, err)
	hash := x.spans[0].hash
	change(&x)
	data, err := encodeIndex(manifest, x)
	must(t, err)
	must(t, os.WriteFile(file, data, 0o644))
	if again, err := decodeIndex(manifest, data); err != nil || again.spans[0].hash != hash {
		t.Fatalf("the forged index cannot be decoded: %v", err)
	}
}

// TestForgedIndexIsSeenByVerify checks that Verify detects an index that swaps two bodies.
func TestForgedIndexIsSeenByVerify(t *testing.T) {
	dir := saved(t)
	forge(t, dir, func(x *index) { x.spans[0].offset += packAlign })
	if err := reopen(t, dir).Verify(t.Context()); err == nil || !strings.Contains(err.Error(), "x.js?v=1: does not match its SHA-256") {
		t.Errorf("error is %v", err)
	}
}

// TestSiteJSONIsEditedByHand checks that site.json is authoritative and finds its bodies by
// their names.
func TestSiteJSONIsEditedByHand(t *testing.T) {
	dir := saved(t)
	file := filepath.Join(dir, manifestFile)
	s, _, err := parseManifest(content(t, file))
	must(t, err)
	slash := s.Resources[3]
	s.Resources = []Resource{s.Resources[2], s.Resources[1]}
	s.Resources[0].Header = []Header{{"x-new", "é"}}
	slash.URL = "https://new.three.test/"
	s.Resources = append(s.Resources, slash)
	s.Title = "Edited"
	text, err := s.encode()
	must(t, err)
	must(t, os.WriteFile(file, text, 0o644))
	got := reopen(t, dir)
	want := map[string]string{"https://img.three.test/a%2Fb": "encoded slash", "https://www.three.test/a%20page": "page", "https://new.three.test/": ""}
	if got.Title != "Edited" || got.Resources[0].Header[0].Value != "é" || !reflect.DeepEqual(contents(t, got), want) {
		t.Errorf("got %+v, %q", got, contents(t, got))
	}
	if problems := got.Problems(); !strings.Contains(problems[0], "belongs to another site.json") {
		t.Errorf("problems are %q", problems)
	}
	again := filepath.Join(t.TempDir(), "again")
	must(t, got.Save(again))
	if problems := reopen(t, again).Problems(); strings.Contains(strings.Join(problems, ""), "slowly") {
		t.Errorf("saved anew: %q", problems)
	}
}

// TestEveryFieldIsInTheIndex fills every field by its type, so that it fails for a new
// field of Site that the index omits.
func TestEveryFieldIsInTheIndex(t *testing.T) {
	n := 0
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		n++
		switch v.Kind() {
		case reflect.String:
			v.SetString("text " + strconv.Itoa(n))
		case reflect.Int, reflect.Int64:
			v.SetInt(int64(n))
		case reflect.Float64:
			v.SetFloat(float64(n) + 0.1)
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			fill(v.Index(0))
			fill(v.Index(1))
		case reflect.Struct:
			if v.Type() == reflect.TypeFor[time.Time]() {
				v.Set(reflect.ValueOf(time.Unix(int64(n), 5).UTC()))
				return
			}
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					fill(v.Field(i))
				}
			}
		default:
			t.Fatalf("no sample value for %v", v.Type())
		}
	}
	var want Site
	fill(reflect.ValueOf(&want).Elem())
	x := index{site: &want, packSize: 1000}
	for i := range want.Resources {
		r := &want.Resources[i]
		x.spans = append(x.spans, span{r.Body, int64(i * 8), r.Size})
	}
	data, err := encodeIndex([]byte("manifest"), x)
	must(t, err)
	got, err := decodeIndex([]byte("manifest"), data)
	must(t, err)
	if !reflect.DeepEqual(got, x) {
		t.Errorf("got  %+v\nwant %+v", *got.site, *x.site)
	}
}
