package site

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"wiretime/site/sitetest"
)

func TestAddFolder(t *testing.T) {
	src := sitetest.Folder(t, map[string]string{
		"index.html":           "<!DOCTYPE html>",
		"sub/index.html":       "sub",
		"sub/Ä b.PNG":          "png",
		"sub/alias.css":        "-> ../style.css",
		"style.css":            "css",
		"data.bin":             "bin",
		".git/config":          "secret",
		".hidden":              "secret",
		".well-known/security": "public",
	})
	dst := filepath.Join(t.TempDir(), "shop")
	made, err := AddFolder(src, dst, FolderOptions{Name: "shop"})
	must(t, err)
	s, err := Open(dst)
	must(t, err)
	if s.Name != "shop" || s.Page != "https://www.shop.test/" || made.Page != s.Page {
		t.Errorf("name %q, page %q", s.Name, s.Page)
	}
	got := map[string]string{}
	for i := range s.Resources {
		r := &s.Resources[i]
		body, err := s.Body(r)
		must(t, err)
		got[r.URL] = r.Header[0].Value + " " + string(body)
	}
	const host = "https://www.shop.test/"
	want := map[string]string{
		host:                          "text/html; charset=utf-8 <!DOCTYPE html>",
		host + "index.html":           "text/html; charset=utf-8 <!DOCTYPE html>",
		host + "sub/":                 "text/html; charset=utf-8 sub",
		host + "sub/index.html":       "text/html; charset=utf-8 sub",
		host + "sub/%C3%84%20b.PNG":   "image/png png",
		host + "sub/alias.css":        "text/css; charset=utf-8 css",
		host + "style.css":            "text/css; charset=utf-8 css",
		host + "data.bin":             "application/octet-stream bin",
		host + ".well-known/security": "application/octet-stream public",
	}
	if !maps.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestAddFolderTwiceIsTheSame(t *testing.T) {
	src := sitetest.Folder(t, map[string]string{"index.html": "x", "b.css": "y", "a/c.js": "z"})
	var manifests []string
	for range 2 {
		dst := filepath.Join(t.TempDir(), "s")
		_, err := AddFolder(src, dst, FolderOptions{Name: "s", Host: "s.example"})
		must(t, err)
		text, err := os.ReadFile(filepath.Join(dst, "site.json"))
		must(t, err)
		manifests = append(manifests, string(text))
	}
	if manifests[0] != manifests[1] {
		t.Errorf("two archives of one folder differ:\n%s\n%s", manifests[0], manifests[1])
	}
}

func TestAddFolderRefuses(t *testing.T) {
	const page = "<!DOCTYPE html>"
	outside := sitetest.Folder(t, map[string]string{"secret": "s"})
	for _, c := range []struct {
		name  string
		files map[string]string
		opt   FolderOptions
		want  string
	}{
		{"an empty folder", nil, FolderOptions{}, "empty: add an index.html"},
		{"no index.html", map[string]string{"home.html": page}, FolderOptions{}, "must be the file index.html"},
		{"index.html only further down", map[string]string{"sub/index.html": page}, FolderOptions{}, "must be the file index.html"},
		{"index.html that is a folder", map[string]string{"index.html/x": page}, FolderOptions{}, "must be the file index.html"},
		{"a link out of the folder", map[string]string{"index.html": page, "x": "-> " + outside + "/secret"}, FolderOptions{}, `"x" is a link that leads out`},
		{"index.html as a link out", map[string]string{"index.html": "-> " + outside + "/secret"}, FolderOptions{}, `"index.html" is a link that leads out`},
		{"a link upwards", map[string]string{"index.html": page, "sub/x": "-> ../../../etc/passwd"}, FolderOptions{}, `"sub/x" is a link that leads out`},
		{"a folder that is a link out", map[string]string{"index.html": page, "sub": "-> " + outside}, FolderOptions{}, `"sub" is a link that leads out`},
		{"a link through a link out", map[string]string{"index.html": page, "a": "-> .d/secret", ".d": "-> " + outside}, FolderOptions{}, `"a" is a link that leads out`},
		{"a link to nothing", map[string]string{"index.html": page, "x": "-> y"}, FolderOptions{}, `"x" is a broken link`},
		{"a link to a folder", map[string]string{"index.html": page, "x": "-> d", "d/f": ""}, FolderOptions{}, `"x" is a link to a folder`},
		{"a loop of links", map[string]string{"index.html": page, "x": "-> x"}, FolderOptions{}, `"x" is a link that leads`},
		{"a bad name", map[string]string{"index.html": page}, FolderOptions{Name: "a/b"}, "give the site a name"},
		{"a bad host", map[string]string{"index.html": page}, FolderOptions{Host: "www.a.test:8080"}, "host"},
		{"shards", map[string]string{"index.html": page}, FolderOptions{Shards: 4}, "served from one host"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.opt.Name == "" {
				c.opt.Name = "s"
			}
			refused(t, sitetest.Folder(t, c.files), c.opt, c.want)
		})
	}
	t.Run("no folder", func(t *testing.T) {
		refused(t, filepath.Join(outside, "none"), FolderOptions{Name: "s"}, "no such file")
	})
	t.Run("a file instead of a folder", func(t *testing.T) {
		refused(t, filepath.Join(outside, "secret"), FolderOptions{Name: "s"}, "not a directory")
	})
	t.Run("a named pipe", func(t *testing.T) {
		src := sitetest.Folder(t, map[string]string{"index.html": page})
		must(t, syscall.Mkfifo(filepath.Join(src, "pipe"), 0o644))
		refused(t, src, FolderOptions{Name: "s"}, `"pipe" is not a regular file`)
	})
	t.Run("unreadable files and folders", func(t *testing.T) {
		if os.Geteuid() == 0 {
			t.Skip("root can read everything: run the tests as another user")
		}
		src := sitetest.Folder(t, map[string]string{"index.html": page, "x.css": ""})
		must(t, os.Chmod(filepath.Join(src, "x.css"), 0))
		refused(t, src, FolderOptions{Name: "s"}, "make the file readable")
		src = sitetest.Folder(t, map[string]string{"index.html": page, "d/": ""})
		must(t, os.Chmod(filepath.Join(src, "d"), 0))
		refused(t, src, FolderOptions{Name: "s"}, "make the folder readable")
	})
}

// refused expects an error from AddFolder and no file at the archive's path.
func refused(t *testing.T, src string, opt FolderOptions, want string) {
	t.Helper()
	parent := t.TempDir()
	_, err := AddFolder(src, filepath.Join(parent, "s"), opt)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error is %v, want one with %q", err, want)
	}
	left, err := os.ReadDir(parent)
	must(t, err)
	if len(left) > 0 {
		t.Errorf("%s is left", left)
	}
}

func TestSaveLeavesNothingHalfMade(t *testing.T) {
	s := threeOrigins(t)
	delete(s.bodies, s.Resources[2].Body)
	parent := t.TempDir()
	if err := s.Save(filepath.Join(parent, "three")); err == nil {
		t.Error("a site without one of its bodies was saved")
	}
	left, err := os.ReadDir(parent)
	must(t, err)
	if len(left) > 0 {
		t.Errorf("%s is left", left)
	}
}

func TestDefaultLibrary(t *testing.T) {
	for _, c := range []struct{ data, cache, wantDir, wantCache string }{
		{"/d", "/c", "/d/wiretime/sites", "/c/wiretime"},
		{"", "", "/home/u/.local/share/wiretime/sites", "/home/u/.cache/wiretime"},
		{"relative", "", "/home/u/.local/share/wiretime/sites", "/home/u/.cache/wiretime"},
	} {
		t.Setenv("HOME", "/home/u")
		t.Setenv("XDG_DATA_HOME", c.data)
		t.Setenv("XDG_CACHE_HOME", c.cache)
		if l, err := DefaultLibrary(); err != nil || l.Dir != c.wantDir || l.Cache != c.wantCache {
			t.Errorf("%+v: got %+v, %v", c, l, err)
		}
	}
	t.Setenv("HOME", "")
	if l, err := DefaultLibrary(); err == nil {
		t.Errorf("without a home: %+v", l)
	}
}

func TestLibrary(t *testing.T) {
	l := Library{Dir: filepath.Join(t.TempDir(), "sites"), Cache: t.TempDir()}
	names, err := l.List()
	if err != nil || !slices.Equal(names, builtIn()) || !slices.Equal(names[:10], []string{"world-flags", "world-flags-sprite", "objects", "magazine", "journey", "gallery", "mobile-2012", "search", "search-full", "kim-google-play"}) {
		t.Fatalf("a new library has %q, %v", names, err)
	}
	src := sitetest.Folder(t, map[string]string{"index.html": "x"})
	for _, name := range []string{"shop", "news"} {
		_, err := l.Add(src, FolderOptions{Name: name})
		must(t, err)
	}
	must(t, os.Mkdir(filepath.Join(l.Dir, ".unfinished-1"), 0o755))
	must(t, os.Mkdir(filepath.Join(l.Dir, "broken"), 0o755))
	names, err = l.List()
	if err != nil || !slices.Equal(names, append(builtIn(), "broken", "news", "shop")) {
		t.Errorf("the library has %q, %v", names, err)
	}
	s, err := l.Open(t.Context(), "news")
	if err != nil || s.Page != "https://www.news.test/" {
		t.Errorf("opened %v, %v", s, err)
	}
	for _, name := range []string{"shop", "world-flags", "objects", "magazine", "journey", "search", "search-full", "kim-gmail", "nam-page", "lulic-bing"} {
		if _, err := l.Add(src, FolderOptions{Name: name}); err == nil {
			t.Errorf("the name %s was accepted twice", name)
		}
	}
	for ref, want := range map[string]string{
		"shop":            "",
		"world-flags":     "",
		"world-flags@4":   "",
		"world-flags@196": "",
		"world-flag":      `nearest name is "world-flags"`,
		"shpo":            `nearest name is "shop"`,
		"":                "nearest name is",
		"../sites/shop":   "unknown site",
		"shop@2":          `write "shop"`,
		"world-flags@":    "must be 1 to 196",
		"world-flags@0":   "must be 1 to 196",
		"world-flags@197": "must be 1 to 196",
		"broken":          "not a site archive",
		"objects":         "",
		"journey":         "",
		"journey@2":       "takes no numbers",
		"objects@1x1B":    "",
		"objects@40x20":   "column 14",
		"object":          `nearest name is "objects"`,
	} {
		err := l.KnownRef(ref)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error is %v, want %q", ref, err, want)
		}
		if want == "" {
			continue
		}
		if _, err := l.Open(t.Context(), ref); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("open %q: error is %v, want %q", ref, err, want)
		}
	}
}
