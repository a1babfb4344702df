package urllist

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"wiretime/costtest"
	"wiretime/site/recording"
)

func TestRead(t *testing.T) {
	const list = "\uFEFF# a shop\r\n" +
		"https://www.shop.test/shop.css 18kB\r\n" +
		"\n" +
		"\thttps://cdn.test/logo?a=b#c 4MB  image/svg+xml;charset=utf-8 # its logo\n" +
		"  # http://not.test/\n" +
		"https://cdn.test/Ä/font 900B FONT\n" +
		"http://api.test\n" +
		"https://a.test/b.html?c 1B\n" +
		"http://api.test/x fetch#y\n"
	if _, err := Read(strings.NewReader(list), "shop.txt", Options{}); err == nil || !strings.Contains(err.Error(), `line 9, column 19: invalid type "fetch#y"`) {
		t.Errorf("a # within a word: %v", err)
	}
	r, err := Read(strings.NewReader(strings.Replace(list, "fetch#y", "fetch #y", 1)), "shop.txt", Options{Name: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range r.Exchanges {
		got = append(got, fmt.Sprintf("%s: %s %s %d %v %d %s|%s from %s", e.Where, e.Method, e.URL, e.Status, e.HasBody, e.Size, e.Kind, e.MIME, e.Initiator))
	}
	want := `the page: GET https://www.shop.test/ 200 false 1616 document|text/html from 
line 2: GET https://www.shop.test/shop.css 200 false 18000 | from https://www.shop.test/
line 4: GET https://cdn.test/logo?a=b#c 200 false 4000000 |image/svg+xml;charset=utf-8 from https://www.shop.test/
line 6: GET https://cdn.test/Ä/font 200 false 900 font| from https://www.shop.test/
line 7: GET http://api.test 200 false 20000 | from https://www.shop.test/
line 8: GET https://a.test/b.html?c 200 false 1 document| from https://www.shop.test/
line 9: GET http://api.test/x 200 false 20000 fetch| from https://www.shop.test/`
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	if r.Page != "https://www.shop.test/" || r.Source != "list of URLs shop.txt" || r.Title != "6 URLs of shop.txt" || len(r.Repairs) != 0 {
		t.Errorf("page %s, source %q, title %q, repairs %v", r.Page, r.Source, r.Title, r.Repairs)
	}
}

func TestReadRefuses(t *testing.T) {
	for _, c := range []struct{ list, want string }{
		{"", "no URLs in the list"},
		{"# nothing\n", "no URLs in the list"},
		{"www.a.test/b", `line 1, column 1: invalid URL "www.a.test/b": want one like https://`},
		{"\n  ftp://a.test/", "line 2, column 3: "},
		{"https:///a", "line 1, column 1: "},
		{"https://[::", "line 1, column 1: "},
		{"https://me:secret@a.test/", `line 1, column 1: "https://me:xxxxx@a.test/" has a user name`},
		{"https://a.test/" + strings.Repeat("x", maxURL), "invalid URL"},
		{"https://a.test/ 20", `line 1, column 17: invalid size "20"`},
		{"https://a.test/ 20KB", "line 1, column 17: "},
		{"https://a.test/ 1.5kB", "line 1, column 17: "},
		{"https://a.test/ 300MB", `size "300MB" exceeds the limit of a body: 268435456 octets`},
		{"https://a.test/ 99999999999999999999B", "exceeds the limit of a body"},
		{"https://a.test/ä 2kB picture", `line 1, column 22: invalid type "picture": want a media type such as image/png, or one of document`},
		{"https://a.test/ image 2kB", `line 1, column 23: unexpected "2kB"`},
		{"https://a.test/ 2kB image x", "line 1, column 27: "},
		{"https://a.test/\nhttps://b.test/\nhttps://a.test#x", `line 3, column 1: duplicate URL "https://a.test/": first in line 1`},
		{"https://www.list.test", `line 1, column 1: "https://www.list.test/" is the URL of the page`},
		{"https://a.test/\nhttps://a.test/\xff", "line 2, column 16: invalid UTF-8"},
		{"https://a.test/\x00", "line 1, column 1: "},
		{lines(5, "256MB"), "line 5, column 1: the sum of all sizes exceeds 1073741824 octets: import a single page, or raise the limit with --max-size"},
		{lines(100_001, "1B"), "line 100001, column 1: more than 100000 URLs"},
	} {
		if _, err := Read(strings.NewReader(c.list), "list.txt", Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: got %v, want %s", c.list, err, c.want)
		}
	}
}

func lines(n int, size string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "https://a.test/%d %s\n", i, size)
	}
	return b.String()
}

// FuzzRead checks that the URLs and sizes of a list are within limits, and that errors name
// a place.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"", "https://a.test/ 20kB image\n", "\uFEFF# x\r\nhttp://a.test/é?b#c 0B text/css", "https://a.test/\xff", "https://a.test/ 99999999999999999999MB", "https://a.test/ a/b;c=d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var r *recording.Recording
		var err error
		costtest.Check(t, len(text), costtest.Limit{Fixed: 1 << 20, PerOctet: 64, Time: time.Microsecond}, func() {
			r, err = Read(strings.NewReader(text), "x", Options{})
		})
		if err != nil {
			if !strings.Contains(err.Error(), "line ") && !strings.Contains(err.Error(), "no URLs") {
				t.Errorf("an error that names no place: %v", err)
			}
			return
		}
		for _, e := range r.Exchanges {
			if !strings.HasPrefix(strings.ToLower(e.URL), "http") || e.Size < 0 || e.Size > 256<<20 || e.HasBody {
				t.Errorf("%+v", e)
			}
		}
	})
}
