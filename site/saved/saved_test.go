package saved

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"wiretime/costtest"
	"wiretime/site/recording"
	"wiretime/site/sitetest"
)

// describe renders a recording as lines.
func describe(r *recording.Recording) string {
	var b strings.Builder
	fmt.Fprintf(&b, "page %s %q\n", r.Page, r.Title)
	for _, e := range r.Exchanges {
		contentType := "none"
		if len(e.Header) > 0 {
			contentType = e.Header[0].Value
		}
		fmt.Fprintf(&b, "%s %s %s\n", e.URL, contentType, e.Body)
	}
	for _, p := range r.Repairs {
		fmt.Fprintf(&b, "! %s: %s\n", p.Where, p.What)
	}
	return b.String()
}

func TestReadFolder(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"as Chromium saves it", map[string]string{
			"A day.html":                      "<!DOCTYPE html>\n<!-- saved from url=(0027)https://www.a.test/b/c?d=e#f -->\n<title> A\n day </title><link rel=\"stylesheet\" href=\"./A day_files/css\"><script src=\"./A day_files/a.js.download\"></script><img src=\"./A day_files/i.png\"><iframe src=\"./A day_files/saved_resource.html\"></iframe><object data='A%20day_files/deep/%C3%84%20%231%3F.svg'></object>",
			"A day_files/css":                 "p{background:url(i.png)}",
			"A day_files/a.js.download":       "1",
			"A day_files/i.png":               "png",
			"A day_files/saved_resource.html": "<img src=\"./i.png\">",
			"A day_files/.DS_Store":           "x",
			"other.html":                      "x",
			"A day_files.zip":                 "x",
			"A dayfiles/x":                    "x",
			"A day_files/deep/.hidden/x":      "x",
			"A day_files/deep/Ä #1?.svg":      "<svg/>",
		}, `page https://www.a.test/b/c?d=e "A day"
https://www.a.test/b/c?d=e text/html ` + "<!DOCTYPE html>\n<!-- saved from url=(0027)https://www.a.test/b/c?d=e#f -->\n<title> A\n day </title><link rel=\"stylesheet\" href=\"./A day_files/css\"><script src=\"./A day_files/a.js.download\"></script><img src=\"./A day_files/i.png\"><iframe src=\"./A day_files/saved_resource.html\"></iframe><object data='A%20day_files/deep/%C3%84%20%231%3F.svg'></object>" + `
https://www.a.test/b/A%20day_files/a.js.download text/javascript 1
https://www.a.test/b/A%20day_files/css text/css p{background:url(i.png)}
https://www.a.test/b/A%20day_files/deep/%C3%84%20%231%3F.svg image/svg+xml <svg/>
https://www.a.test/b/A%20day_files/i.png image/png png
https://www.a.test/b/A%20day_files/saved_resource.html text/html <img src="./i.png">
`},
		{"as Firefox saves it", map[string]string{
			"p.htm":                 `<img src="p-Dateien/i%20j.png" srcset="p-Dateien/i%20j.png 1x, p-Dateien/k,l.png 2x">`,
			"p-Dateien/i j.png":     "png",
			"p-Dateien/k,l.png":     "png",
			"p-Dateien/unused.woff": "woff", "p-Dateien/x/unused.html": "<img src=../i%20j.png>",
		}, `page https://www.p.test/ ""
https://www.p.test/ text/html <img src="p-Dateien/i%20j.png" srcset="p-Dateien/i%20j.png 1x, p-Dateien/k,l.png 2x">
https://www.p.test/p-Dateien/i%20j.png image/png png
https://www.p.test/p-Dateien/k,l.png image/png png
! : Files that the page does not reference were left out: p-Dateien/unused.woff, p-Dateien/x/unused.html.
`},
		{"an English folder before a translated one", map[string]string{"p.html": "<img src=p_files/a.txt>", "p_files/a.txt": "a", "p_fichiers/b.txt": "b"},
			"page https://www.p.test/ \"\"\nhttps://www.p.test/ text/html <img src=p_files/a.txt>\nhttps://www.p.test/p_files/a.txt text/plain a\n"},
		{"no folder", map[string]string{"p.html": "<p>", "p_files": "x"}, "page https://www.p.test/ \"\"\nhttps://www.p.test/ text/html <p>\n! : The folder p_files is missing: the document was read without it.\n"},
		{"a URL that it was not saved from the web", map[string]string{"p.html": "<!-- saved from url=(0014)about:internet --><img src=p_files/a.txt>", "p_files/a.txt": "a"},
			"page https://www.p.test/ \"\"\nhttps://www.p.test/ text/html <!-- saved from url=(0014)about:internet --><img src=p_files/a.txt>\nhttps://www.p.test/p_files/a.txt text/plain a\n"},
		{"a URL without a path", map[string]string{"p.html": "<!-- saved from url=(0014)http://u@a.test:81 --><img src=p_files/a.txt>", "p_files/a.txt": "a"},
			"page http://a.test:81/ \"\"\nhttp://a.test:81/ text/html <!-- saved from url=(0014)http://u@a.test:81 --><img src=p_files/a.txt>\nhttp://a.test:81/p_files/a.txt text/plain a\n"},
		{"types by use and by content", map[string]string{
			"p.html":        `<link rel=stylesheet href=p_files/a><script src=p_files/b></script><iframe src=p_files/c></iframe><iframe src=p_files/d.pdf></iframe><img src=p_files/e><img src=p_files/f><link rel=icon href=p_files/g><object data=p_files/h></object>`,
			"p_files/a":     "@import 'a.php'; @import url(\"x/b.css\");",
			"p_files/a.php": "a", "p_files/x/b.css": "b", "p_files/b": "c", "p_files/c": "d", "p_files/d.pdf": "e", "p_files/e": "\x89PNG\r\n\x1a\n", "p_files/f": " <svg>", "p_files/g": "\x00\x01", "p_files/h": "hi",
		}, `page https://www.p.test/ ""
https://www.p.test/ text/html <link rel=stylesheet href=p_files/a><script src=p_files/b></script><iframe src=p_files/c></iframe><iframe src=p_files/d.pdf></iframe><img src=p_files/e><img src=p_files/f><link rel=icon href=p_files/g><object data=p_files/h></object>
https://www.p.test/p_files/a text/css @import 'a.php'; @import url("x/b.css");
https://www.p.test/p_files/a.php text/css a
https://www.p.test/p_files/b text/javascript c
https://www.p.test/p_files/c text/html d
https://www.p.test/p_files/d.pdf application/pdf e
https://www.p.test/p_files/e image/png ` + "\x89PNG\r\n\x1a\n" + `
https://www.p.test/p_files/f image/svg+xml  <svg>
https://www.p.test/p_files/g application/octet-stream ` + "\x00\x01" + `
https://www.p.test/p_files/h text/plain; charset=utf-8 hi
https://www.p.test/p_files/x/b.css text/css b
`},
		{"what is not there", map[string]string{
			"p.html":        `<img src=p_files/a.png><img src=p_files/a.png#x><img src=../b.png><img src=file:///etc/passwd><img src=p_files/../../c.png><script src=https://b.test/d.js></script><img src=/e.png><img src=data:,x><a href=f.html></a><link rel=canonical href=https://c.test/><noscript><img src=g.png></noscript><template><img src=h.png></template><style>/* url(i.png) */p{background:url( "p_files/j.png" )}</style><p style="background:url('k.png')"><video poster=p_files/l.png><img src="http://[::"><img src=""><link rel="icon stylesheet" href=p_files/x.css>`,
			"p_files/x.css": "p{}",
		}, `page https://www.p.test/ ""
https://www.p.test/ text/html <img src=p_files/a.png><img src=p_files/a.png#x><img src=../b.png><img src=file:///etc/passwd><img src=p_files/../../c.png><script src=https://b.test/d.js></script><img src=/e.png><img src=data:,x><a href=f.html></a><link rel=canonical href=https://c.test/><noscript><img src=g.png></noscript><template><img src=h.png></template><style>/* url(i.png) */p{background:url( "p_files/j.png" )}</style><p style="background:url('k.png')"><video poster=p_files/l.png><img src="http://[::"><img src=""><link rel="icon stylesheet" href=p_files/x.css>
https://www.p.test/p_files/x.css text/css p{}
! : Files that the page references but the folder lacks: a.png, j.png, l.png.
! : Files outside the folder that the page references were not read: ../b.png, file:///etc/passwd, p_files/../../c.png, k.png.
! : URLs that the page references but the browser did not save will be missing: https://b.test/d.js, https://www.p.test/e.png.
`},
		{"a base", map[string]string{"p.html": `<base href="p_files/"><base href="https://b.test/"><img src=a.png>`, "p_files/a.png": "png"},
			"page https://www.p.test/ \"\"\nhttps://www.p.test/ text/html <base href=\"p_files/\"><base href=\"https://b.test/\"><img src=a.png>\nhttps://www.p.test/p_files/a.png image/png png\n"},
		{"links within the folder", map[string]string{"p.html": "<img src=p_files/a.txt><img src=p_files/b.txt>", "p_files/a.txt": "a", "p_files/b.txt": "-> a.txt"},
			"page https://www.p.test/ \"\"\nhttps://www.p.test/ text/html <img src=p_files/a.txt><img src=p_files/b.txt>\nhttps://www.p.test/p_files/a.txt text/plain a\nhttps://www.p.test/p_files/b.txt text/plain a\n"},
		{"a name that is not UTF-8", map[string]string{"p.html": "", "p_files/\xff": "a"},
			"page https://www.p.test/ \"\"\nhttps://www.p.test/ text/html \n! p_files/?: The name is not UTF-8, so no document can reference it: left out.\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := sitetest.Folder(t, c.files)
			name := "p.html"
			for f := range c.files {
				if (strings.HasSuffix(f, ".html") || strings.HasSuffix(f, ".htm")) && !strings.Contains(f, "/") && f != "other.html" {
					name = f
				}
			}
			r, err := Read(filepath.Join(dir, name), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := describe(r); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

func TestReadManyThatAreMissing(t *testing.T) {
	var page strings.Builder
	for n := range 12 {
		fmt.Fprintf(&page, "<img src=p_files/%d.png>", n)
	}
	r, err := Read(filepath.Join(sitetest.Folder(t, map[string]string{"p.html": page.String(), "p_files/.a": "a"}), "p.html"), Options{Name: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	if r.Page != "https://www.shop.test/" {
		t.Errorf("page %s", r.Page)
	}
	if what := r.Repairs[0].What; !strings.HasSuffix(what, "9.png and 2 more.") {
		t.Errorf("repair %q", what)
	}
}

func TestReadRefuses(t *testing.T) {
	outside := sitetest.Folder(t, map[string]string{"secret": "s"})
	for _, c := range []struct {
		name  string
		files map[string]string
		file  string
		want  string
	}{
		{"nothing", nil, "p.html", "no such file"},
		{"another type", map[string]string{"p.pdf": "x"}, "p.pdf", `unsupported extension ".pdf"`},
		{"a folder as the document", map[string]string{"p.html/x": "x"}, "p.html", "not a regular file"},
		{"a document that is a link out", map[string]string{"p.html": "-> " + outside + "/secret"}, "p.html", "path escapes"},
		{"a folder that is a link out", map[string]string{"p.html": "x", "p_files": "-> " + outside}, "p.html", ""},
		{"a link out of the folder", map[string]string{"p.html": "x", "p_files/a": "-> " + outside + "/secret"}, "p.html", "path escapes"},
		{"a link to what is beside the page", map[string]string{"p.html": "x", "p_files/a": "-> ../secret", "secret": "s"}, "p.html", "path escapes"},
		{"a link to nothing", map[string]string{"p.html": "x", "p_files/a": "-> b"}, "p.html", "no such file"},
		{"two folders in other languages", map[string]string{"p.html": "x", "p-Dateien/a": "a", "p_fichiers/a": "a"}, "p.html", `"p-Dateien" "p_fichiers"`},
		{"an MHTML file that is a folder", map[string]string{"p.mhtml/x": "x"}, "p.mhtml", "not a regular file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := Read(filepath.Join(sitetest.Folder(t, c.files), c.file), Options{})
			if c.want == "" {
				if err != nil || len(r.Exchanges) != 1 {
					t.Errorf("%+v, %v", r, err)
				}
			} else if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestReadPassesOverPipes(t *testing.T) {
	// Nobody writes to the pipe, so reading it would block.
	dir := sitetest.Folder(t, map[string]string{"p.html": "<img src=p_files/a>", "p_files/a": "a"})
	if err := syscall.Mkfifo(filepath.Join(dir, "p_files", "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := Read(filepath.Join(dir, "p.html"), Options{})
	if err != nil || len(r.Exchanges) != 2 || len(r.Repairs) != 1 || r.Repairs[0].Where != "p_files/pipe" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestSiteName(t *testing.T) {
	for stem, want := range map[string]string{"A Day – out": "a-day-out", "": "saved", "日本": "saved", strings.Repeat("ab-", 40): strings.Repeat("ab-", 13) + "a"} {
		if got := siteName(stem); got != want {
			t.Errorf("siteName(%q) = %q, want %q", stem, got, want)
		}
	}
}

func TestCandidates(t *testing.T) {
	for srcset, want := range map[string][]string{
		"":                                 nil,
		"a.png":                            {"a.png"},
		"a.png 1x, b.png 2x":               {"a.png", "b.png"},
		"a.png, b.png":                     {"a.png", "b.png"},
		" ,a,b.png 100w , ":                {"a,b.png"},
		"data:image/png;base64,AA== 2x, b": {"data:image/png;base64,AA==", "b"},
	} {
		if got := candidates(srcset); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("candidates(%q) = %q, want %q", srcset, got, want)
		}
	}
}

// FuzzScan scans arbitrary documents and style sheets. No reference may lead to a place
// without a URL.
func FuzzScan(f *testing.F) {
	for _, s := range []string{"", "<img src=a srcset='b 1x, c'>", "<base href='//b'><link rel=stylesheet href=x>", "<style>@import 'a';p{background:url(b", "<template><noscript></template><img src=a></noscript>", "@import url( 'a\\' );", "<p style='background:url(\"a'>", "<title>x", "<svg><image xlink:href=a>"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		limits := recording.Limits{}.OrDefault()
		p := &page{file: "p.html", host: "www.p.test", limits: limits, left: limits.Total - int64(2*len(text))}
		base := p.baseURL(text)
		files := []*savedFile{{name: "p.html", url: base.String(), body: text, kind: kindDocument}, {name: "p_files/a", url: base.JoinPath("p_files", "a").String(), body: text, kind: kindStylesheet}}
		costtest.Check(t, 2*len(text), cost, func() { p.follow(files, base.JoinPath("p_files").String()+"/") })
		for _, f := range files {
			left := int64(1 << 20)
			(&scanner{base: base, left: &left, note: func(reference string, target *url.URL, k kind) {
				if target == nil || reference == "" {
					t.Errorf("%q leads to %v", reference, target)
				}
			}}).css(f.body)
		}
	})
}
