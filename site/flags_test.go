package site

import (
	"bytes"
	"context"
	"errors"
	"image/png"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
)

// packages is the repository's cache, so that the tests fetch the flags only once.
const packages = "../.cache"

// flagsOrSkip makes the site, or skips the test if this machine cannot fetch the flags.
func flagsOrSkip(t *testing.T, shards int) *Site {
	t.Helper()
	if _, err := os.Stat(filepath.Join(packages, flagsPackage.file())); err != nil {
		if _, err := exec.LookPath("npm"); err != nil {
			t.Skip("npm is missing and the flags were never fetched: install npm to run this test")
		}
	}
	s, err := WorldFlags(t.Context(), packages, shards)
	must(t, err)
	return s
}

func TestWorldFlags(t *testing.T) {
	for _, c := range []struct {
		shards int
		hosts  []string // of the images
	}{
		{1, []string{"www.world-flags.test"}},
		{4, []string{"s1.world-flags.test", "s2.world-flags.test", "s3.world-flags.test", "s4.world-flags.test"}},
	} {
		t.Run(strconv.Itoa(c.shards), func(t *testing.T) {
			s := flagsOrSkip(t, c.shards)
			if len(s.Resources) != 197 {
				t.Errorf("%d resources, want the page and 196 images", len(s.Resources))
			}
			answer := s.Respond("GET", "www.world-flags.test", "/")
			if !answer.Exact || answer.Header[0] != [2]string{"content-type", "text/html; charset=utf-8"} {
				t.Fatalf("the page: %q, %v", answer.Header, answer.Exact)
			}
			images, icons := readPage(t, answer.Body)
			if len(images) != 196 || icons != 1 {
				t.Fatalf("the page has %d images and %d empty icons, want 196 and 1", len(images), icons)
			}
			seen := map[string]bool{}
			page, err := url.Parse("http://www.world-flags.test/")
			must(t, err)
			for i, image := range images {
				u, err := page.Parse(image["src"])
				must(t, err)
				if want := c.hosts[i%len(c.hosts)]; u.Host != want {
					t.Errorf("image %d is on %s, want %s", i, u.Host, want)
				}
				r, ok := s.Lookup("GET", u.String())
				if !ok || seen[u.String()] {
					t.Fatalf("image %s is missing or there twice", u)
				}
				seen[u.String()] = true
				body, err := s.Body(r)
				must(t, err)
				config, err := png.DecodeConfig(bytes.NewReader(body))
				must(t, err)
				if image["width"] != strconv.Itoa(config.Width) || image["height"] != strconv.Itoa(config.Height) || config.Width != 100 {
					t.Errorf("%s: %d x %d pixels, the page says %s x %s", u, config.Width, config.Height, image["width"], image["height"])
				}
				if !strings.HasPrefix(image["alt"], "Flag: ") || len(image["alt"]) < 10 {
					t.Errorf("%s: alt is %q", u, image["alt"])
				}
			}
		})
	}
}

func readPage(t *testing.T, page []byte) (images []map[string]string, icons int) {
	t.Helper()
	doc, err := html.Parse(bytes.NewReader(page))
	must(t, err)
	for n := range doc.Descendants() {
		attributes := map[string]string{}
		for _, a := range n.Attr {
			attributes[a.Key] = a.Val
		}
		if n.Data == "img" {
			images = append(images, attributes)
		}
		if n.Data == "link" && attributes["rel"] == "icon" && attributes["href"] == "data:," {
			icons++
		}
	}
	return images, icons
}

func TestWorldFlagsCanBeSaved(t *testing.T) {
	s := flagsOrSkip(t, 2)
	dir := filepath.Join(t.TempDir(), "world-flags")
	must(t, s.Save(dir))
	got, err := Open(dir)
	must(t, err)
	if len(got.Resources) != 197 || len(got.Origins()) != 3 {
		t.Errorf("%d resources, origins %q", len(got.Resources), got.Origins())
	}
}

func TestWorldFlagsFromTheCache(t *testing.T) {
	flagsOrSkip(t, 1) // fills the cache that the stand-in for npm copies from
	pack, err := filepath.Abs(filepath.Join(packages, flagsPackage.file()))
	must(t, err)
	bin := t.TempDir()
	npm := "#!/bin/sh\nfor a; do case $a in --cache=*) /bin/mkdir ${a#--cache=};; esac; done\n/bin/cp " + pack + " .\n"
	must(t, os.WriteFile(filepath.Join(bin, "npm"), []byte(npm), 0o755))
	t.Setenv("PATH", bin)
	t.Chdir(t.TempDir())
	_, err = WorldFlags(t.Context(), "cache", 1)
	must(t, err)
	for dir, want := range map[string]string{".": "cache", "cache": flagsPackage.file()} {
		left, err := os.ReadDir(dir)
		must(t, err)
		if len(left) != 1 || left[0].Name() != want {
			t.Errorf("%s holds %s, want %s alone", dir, left, want)
		}
	}
	t.Setenv("PATH", "")
	_, err = WorldFlags(t.Context(), "cache", 1)
	must(t, err)
}

func TestNations(t *testing.T) {
	seen := map[string]bool{}
	for _, code := range nations {
		seen[code] = true
	}
	if len(nations) != 196 || len(seen) != 196 {
		t.Errorf("%d nations, %d different, want 196", len(nations), len(seen))
	}
}

func TestWorldFlagsRefuses(t *testing.T) {
	for _, shards := range []int{-1, 0, 197} {
		if _, err := WorldFlags(t.Context(), t.TempDir(), shards); err == nil || !strings.Contains(err.Error(), "want 1 to 196") {
			t.Errorf("%d shards: %v", shards, err)
		}
	}
	for _, c := range []struct {
		name string
		npm  string // a shell script in npm's place; empty: none
		want string
	}{
		{"npm is missing", "", "install npm"},
		{"npm is offline", "echo npm error ENOTFOUND >&2; exit 1", "npm error ENOTFOUND: go online"},
		{"the package is not the pinned one", "echo fake > svg-country-flags-1.2.10.tgz", "registry served another package"},
		{"npm leaves no package", "exit 0", "no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bin, cache := t.TempDir(), filepath.Join(t.TempDir(), "cache")
			if c.npm != "" {
				must(t, os.WriteFile(filepath.Join(bin, "npm"), []byte("#!/bin/sh\n"+c.npm+"\n"), 0o755))
			}
			t.Setenv("PATH", bin)
			_, err := WorldFlags(t.Context(), cache, 1)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want one with %q", err, c.want)
			}
			if left, _ := os.ReadDir(cache); len(left) > 0 {
				t.Errorf("%s is left", left)
			}
		})
	}
	t.Run("the fetched file was changed", func(t *testing.T) {
		cache := t.TempDir()
		must(t, os.WriteFile(filepath.Join(cache, flagsPackage.file()), []byte("changed"), 0o644))
		if _, err := WorldFlags(t.Context(), cache, 1); err == nil || !strings.Contains(err.Error(), "remove the file") {
			t.Errorf("error is %v", err)
		}
	})
	t.Run("one bit of the genuine package was changed", func(t *testing.T) {
		flagsOrSkip(t, 1) // fetches it
		pack, err := os.ReadFile(filepath.Join(packages, flagsPackage.file()))
		must(t, err)
		pack[len(pack)/2] ^= 1
		cache := t.TempDir()
		must(t, os.WriteFile(filepath.Join(cache, flagsPackage.file()), pack, 0o644))
		if _, err := WorldFlags(t.Context(), cache, 1); err == nil || !strings.Contains(err.Error(), "integrity mismatch") {
			t.Errorf("error is %v", err)
		}
	})
	t.Run("the user gives up", func(t *testing.T) {
		bin := t.TempDir()
		must(t, os.WriteFile(filepath.Join(bin, "npm"), []byte("#!/bin/sh\nexec /bin/sleep 60\n"), 0o755))
		t.Setenv("PATH", bin)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := WorldFlags(ctx, t.TempDir(), 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
	})
}
