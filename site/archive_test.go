package site

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// folded is minimal as an archive of format 1 has it.
var folded = strings.Replace(minimal, `"format": 2`, `"format": 1`, 1)

func TestSavedSiteOpensAsItWas(t *testing.T) {
	s := threeOrigins(t)
	dir := filepath.Join(t.TempDir(), "new", "three")
	if err := s.Save(dir); err != nil {
		t.Fatal(err)
	}
	got, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.bodies["6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"], []byte("1")) {
		t.Error("the body \"1\" is not there")
	}
	for i := range s.Resources {
		want, _ := s.Body(&s.Resources[i])
		body, err := got.Body(&s.Resources[i])
		if err != nil || !bytes.Equal(body, want) {
			t.Errorf("%s: %q, %v, want %q", s.Resources[i].URL, body, err, want)
		}
	}
	if err := s.Save(dir); err == nil || !strings.Contains(err.Error(), "already there") {
		t.Errorf("saving over it: %v", err)
	}
	if _, err := s.Body(&Resource{Body: emptyHash[1:] + "0"}); err == nil {
		t.Error("a foreign resource has a body")
	}
}

func TestOpenRefusesADamagedArchiveOfFormat1(t *testing.T) {
	page := "bodies/" + emptyHash
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, dir string)
		want   string
	}{
		{"no site.json", func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "site.json"))) }, "not a site archive"},
		{"a missing body", func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, page))) }, "add the site again"},
		{"a longer body", func(t *testing.T, dir string) { must(t, os.WriteFile(filepath.Join(dir, page), []byte("x"), 0o644)) }, "has not the 0 octets"},
		{"another body of the same size", func(t *testing.T, dir string) {
			text := strings.Replace(folded, `"size": 0`, `"size": 1`, 1)
			must(t, os.WriteFile(filepath.Join(dir, "site.json"), []byte(text), 0o644))
			must(t, os.WriteFile(filepath.Join(dir, page), []byte("x"), 0o644))
		}, "SHA-256 differs"},
		{"two sizes of one body", func(t *testing.T, dir string) {
			text := strings.Replace(folded, "  ]\n", `,{"method":"GET","url":"https://a.test/","status":200,"body":"`+emptyHash+`","size":7}]`, 1)
			must(t, os.WriteFile(filepath.Join(dir, "site.json"), []byte(text), 0o644))
		}, "0 octets, site.json says 7"},
		{"a body that is a link out of the archive", func(t *testing.T, dir string) {
			must(t, os.Remove(filepath.Join(dir, page)))
			must(t, os.Symlink(os.DevNull, filepath.Join(dir, page)))
		}, "escapes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, "site.json"), []byte(folded), 0o644))
			must(t, os.Mkdir(filepath.Join(dir, "bodies"), 0o755))
			must(t, os.WriteFile(filepath.Join(dir, page), nil, 0o644))
			if _, err := Open(dir); err != nil {
				t.Fatal(err)
			}
			c.damage(t, dir)
			_, err := Open(dir)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want one with %q", err, c.want)
			}
		})
	}
}
