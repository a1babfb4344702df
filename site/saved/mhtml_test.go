package saved

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wiretime/costtest"
	"wiretime/site/recording"
	"wiretime/site/sitetest"
)

// mhtmlOf returns an MHTML file in Chromium's form. Each part consists of header lines, an
// empty line and the body, with LF line ends.
func mhtmlOf(header string, parts ...string) string {
	file := header + "MIME-Version: 1.0\nContent-Type: multipart/related;\n\ttype=\"text/html\";\n\tboundary=\"----MultipartBoundary--x----\"\n\n\n"
	for _, p := range parts {
		file += "------MultipartBoundary--x----\n" + p + "\n"
	}
	return strings.ReplaceAll(file+"------MultipartBoundary--x------\n", "\n", "\r\n")
}

const (
	chromium = "From: <Saved by Blink>\nSnapshot-Content-Location: https://www.a.test/b\nSubject: =?utf-8?Q?Ein=20sch=C3=B6ner=20Tag?=\nDate: Mon, 6 May 2024 07:08:09 -0100\n"
	noScript = "! : Chromium does not save scripts in MHTML files: the page is in the state that its scripts produced.\n"
)

func TestReadMHTML(t *testing.T) {
	const document = "Content-Type: text/html\nContent-ID: <frame-1@mhtml.blink>\nContent-Transfer-Encoding: quoted-printable\nContent-Location: https://www.a.test/b\n\n"
	for _, c := range []struct {
		name, file, want string
	}{
		{"as Chromium saves it", mhtmlOf(chromium,
			document+"<link href=3D\"cid:css-2@mhtml.blink\"><iframe src=3D\"cid:frame-=\n3@mhtml.blink\"></iframe><iframe src=3D\"cid:frame-4@mhtml.blink\">",
			"Content-Type: image/png\nContent-Transfer-Encoding: base64\nContent-Location: https://cdn.test/i.png?a=b#c\n\ncG5n\n",
			"Content-Type: text/css\nContent-Transfer-Encoding: quoted-printable\nContent-Location: cid:css-2@mhtml.blink\n\n@charset \"utf-8\";=0A",
			"Content-Type: text/html\nContent-ID: <frame-3@mhtml.blink>\nContent-Transfer-Encoding: quoted-printable\nContent-Location: https://b.test\n\nframe",
			"Content-Type: text/html\nContent-ID: <frame-4@mhtml.blink>\nContent-Transfer-Encoding: quoted-printable\nContent-Location: https://b.test/\n\nother",
			"Content-Type: text/html\nContent-ID: <frame-5@mhtml.blink>\nContent-Transfer-Encoding: quoted-printable\n\nsrcdoc",
		), `page https://www.a.test/b "Ein schöner Tag"
https://www.a.test/b text/html <link href="https://www.a.test/mhtml/3"><iframe src="https://b.test/"></iframe><iframe src="https://www.a.test/mhtml/5">
https://cdn.test/i.png?a=b image/png png
https://www.a.test/mhtml/3 text/css @charset "utf-8";` + "\n" + `
https://b.test/ text/html frame
https://www.a.test/mhtml/5 text/html other
https://www.a.test/mhtml/6 text/html srcdoc
` + noScript},
		{"the document is not the first", mhtmlOf("Snapshot-Content-Location: https://www.a.test/b\n", "Content-Type: text/html\nContent-ID: <f>\nContent-Location: https://b.test/\n\nframe", document+"x"),
			"page https://www.a.test/b \"\"\nhttps://www.a.test/b text/html x\nhttps://b.test/ text/html frame\n" + noScript},
		{"the multipart names the document", strings.Replace(mhtmlOf("", "Content-Type: text/html\nContent-ID: <f>\nContent-Location: https://b.test/\n\nframe", "Content-Type: text/html\nContent-ID: <g>\nContent-Location: https://c.test/\n\ncid:f"), `type=`, `start="<g>"; type=`, 1),
			"page https://c.test/ \"\"\nhttps://c.test/ text/html https://b.test/\nhttps://b.test/ text/html frame\n"},
		{"relative locations, files, blobs", mhtmlOf("Content-Location: https://www.a.test/b/c\n", "Content-Type: text/html\nContent-Location: c\n\n<img src=d.png><img src='file:///C:/e.png'><img src='blob:https://www.a.test/1'><img src='blob:https://www.a.test/12'>",
			"Content-Type: image/png\nContent-Location: d.png\n\nd", "Content-Type: image/png\nContent-Location: file:///C:/e.png\n\ne", "Content-Type: image/png\nContent-Location: blob:https://www.a.test/1\n\nf", "Content-Type: image/png\nContent-Location: blob:https://www.a.test/12\n\ng"),
			`page https://www.a.test/b/c ""
https://www.a.test/b/c text/html <img src=d.png><img src='https://www.a.test/mhtml/3'><img src='https://www.a.test/mhtml/4'><img src='https://www.a.test/mhtml/5'>
https://www.a.test/b/d.png image/png d
https://www.a.test/mhtml/3 image/png e
https://www.a.test/mhtml/4 image/png f
https://www.a.test/mhtml/5 image/png g
`},
		{"a document without a location", mhtmlOf("", "Content-Type: text/html\n\n<img src=d.png>", "Content-Type: image/png\nContent-Location: d.png\n\nd"),
			"page https://www.p.test/ \"\"\nhttps://www.p.test/ text/html <img src=d.png>\nhttps://www.p.test/d.png image/png d\n"},
		{"a multipart in another", mhtmlOf("", "Content-Type: multipart/alternative; boundary=y\n\n--y\nContent-Type: text/plain\n\nno\n--y\nContent-Type: text/html\nContent-Location: https://a.test/\n\n<p>\n--y--"),
			"page https://a.test/ \"\"\nhttps://a.test/ text/html <p>\n! part 1: Left out: nothing can reference the part, because its location \"\" is invalid or belongs to another part.\n"},
		{"parts that are not in order", mhtmlOf("",
			"Content-Type: text/html\nContent-Location: https://a.test/\n\n<p>",
			"Content-Type: text/css\nContent-Location: https://a.test/\n\np{}",
			"Content-Type: image/png\nContent-Location: https://a.test/1\nContent-Transfer-Encoding: base64\n\ncG5n!!!",
			"Content-Type: text/css\nContent-Location: https://a.test/2\nContent-Transfer-Encoding: quoted-printable\n\np=ZZ",
			"Content-Type: text/css\nContent-Location: https://a.test/3\nContent-Transfer-Encoding: x-uuencode\n\np",
			"Content-Type: text/\x01css\nContent-Location: https://a.test/4\n\np",
			"Content-Type: text/css\nContent-Location: https://a.test/\xff\n\np",
			"Content-Location: https://a.test/5\n\np",
		), `page https://a.test/ ""
https://a.test/ text/html <p>
https://a.test/1 image/png png
https://a.test/2 text/css p=ZZ
https://a.test/3 text/css p
https://a.test/4 none p
https://a.test/5 none p
! part 3: The part is damaged (unexpected EOF): the first 3 octets were kept.
! part 5: The part is damaged (unknown transfer encoding "x-uuencode"): the first 1 octets were kept.
! part 6: Invalid type "text/\x01css": served without a type.
! part 7: The location is not UTF-8: left out.
! part 2: Left out: nothing can reference the part, because its location "https://a.test/" is invalid or belongs to another part.
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, file := range []string{c.file, strings.ReplaceAll(c.file, "\r\n", "\n")} {
				r, err := Read(filepath.Join(sitetest.Folder(t, map[string]string{"p.MHT": file}), "p.MHT"), Options{})
				if err != nil {
					t.Fatal(err)
				}
				if got := describe(r); got != c.want {
					t.Errorf("got\n%swant\n%s", got, c.want)
				}
			}
		})
	}
}

func TestReadMHTMLSaysWhen(t *testing.T) {
	r, err := Read(filepath.Join(sitetest.Folder(t, map[string]string{"p.mhtml": mhtmlOf(chromium, "Content-Type: text/html\n\nx")}), "p.mhtml"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := time.Date(2024, 5, 6, 8, 8, 9, 0, time.UTC); !r.Began.Equal(want) || r.Source != "page saved as p.mhtml" {
		t.Errorf("%v, source %q", r.Began, r.Source)
	}
}

func TestReadMHTMLCutOff(t *testing.T) {
	first := "Content-Type: text/html\nContent-Location: https://a.test/\n\n<p>"
	file := mhtmlOf("", first, "Content-Type: text/css\nContent-Location: https://a.test/a\n\np{}")
	whole := strings.Index(file, "text/css") // then the first part has ended
	for n := range len(file) - len("--\r\n") {
		p := &page{host: "www.p.test", limits: recording.Limits{}.OrDefault()}
		err := p.parseMHTML([]byte(file[:n]))
		switch {
		case n < whole-40:
			if err == nil && len(p.recording.Repairs) == 0 {
				t.Errorf("a file of %d octets is not reported as truncated", n)
			}
		case n >= whole && (err != nil || p.recording.Exchanges[0].URL != "https://a.test/" || len(p.recording.Repairs) != 1):
			t.Errorf("%d octets: %v, %s", n, err, describe(&p.recording))
		}
	}
}

func TestReadMHTMLRefuses(t *testing.T) {
	for want, file := range map[string]string{
		"at the beginning of the file":      "<html>",
		"not an MHTML file":                 "MIME-Version: 1.0\r\nContent-Type: text/html\r\n\r\n<p>",
		"multipart/related with a boundary": "Content-Type: multipart/related\r\n\r\n<p>",
		"no HTML document":                  mhtmlOf("", "Content-Type: text/css\nContent-Location: https://a.test/\n\np{}"),
	} {
		p := &page{host: "www.p.test", limits: recording.Limits{}.OrDefault()}
		if err := p.parseMHTML([]byte(file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// FuzzMHTML checks that the page of a recording is in it, and that each exchange has its
// own URL, whatever the octets.
func FuzzMHTML(f *testing.F) {
	for _, s := range []string{
		"", mhtmlOf(chromium, "Content-Type: text/html\nContent-ID: <a>\nContent-Location: https://www.a.test/b\n\ncid:b", "Content-Type: text/css\nContent-Location: cid:b\n\ncid:a"),
		mhtmlOf("", "Content-Type: text/html\n\n<p>", "Content-Type: text/html\nContent-Location: a b\n\n"), mhtmlOf("Content-Location: https:\n", "Content-Type: text/html\nContent-Location: ?\nContent-Transfer-Encoding: base64\n\ncG5n"),
		mhtmlOf("", "Content-Type: multipart/related; boundary=y\n\n--y\nContent-Type: text/html\nContent-Location: https://www.p.test/mhtml/2\n\n<p>\n--y--", "Content-Type: text/html\nContent-ID: <a>\n\n"),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, octets []byte) {
		p := &page{host: "www.p.test", limits: recording.Limits{}.OrDefault()}
		var err error
		costtest.Check(t, len(octets), cost, func() { err = p.parseMHTML(octets) })
		if err != nil {
			return
		}
		urls := map[string]bool{}
		for _, e := range p.recording.Exchanges {
			if urls[e.URL] || !strings.HasPrefix(e.URL, "http") {
				t.Errorf("URL %q", e.URL)
			}
			urls[e.URL] = true
		}
		if !urls[p.recording.Page] {
			t.Errorf("the page %q is missing", p.recording.Page)
		}
	})
}
