package mahimahi

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"wiretime/costtest"
	"wiretime/site/message"
	"wiretime/site/recording"
	"wiretime/site/sitetest"
)

// lengthed encodes a length-delimited field, number a varint field.
func lengthed(field int, content string) string {
	b := binary.AppendUvarint(nil, uint64(field)<<3|2)
	return string(binary.AppendUvarint(b, uint64(len(content)))) + content
}

func number(field int, value uint64) string {
	return string(binary.AppendUvarint(binary.AppendUvarint(nil, uint64(field)<<3), value))
}

// httpMessageOf encodes an HTTPMessage from the lines of its head and a body.
func httpMessageOf(head, body string) string {
	lines := strings.Split(head, "\n")
	out := lengthed(1, lines[0])
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		out += lengthed(2, lengthed(1, name)+lengthed(2, value))
	}
	return out + lengthed(3, body)
}

// saved encodes a record of an https request and its response.
func saved(request, response, body string) string {
	return lengthed(1, "192.0.2.1") + number(2, 443) + number(3, schemeHTTPS) + lengthed(4, httpMessageOf(request, "")) + lengthed(5, httpMessageOf(response, body))
}

const (
	html = "HTTP/1.1 200 OK\nContent-Type: text/html; charset=utf-8"
	css  = "HTTP/1.1 200 OK\nContent-Type: text/css"
)

// describe renders a recording as lines.
func describe(r *recording.Recording) string {
	var b strings.Builder
	fmt.Fprintf(&b, "page %s\n", r.Page)
	for _, e := range r.Exchanges {
		fmt.Fprintf(&b, "%s: %s %s %d %q %s\n", e.Where, e.Method, e.URL, e.Status, e.Body, e.Address)
	}
	for _, p := range r.Repairs {
		fmt.Fprintf(&b, "! %s: %s\n", p.Where, p.What)
	}
	return b.String()
}

func TestRead(t *testing.T) {
	first := saved("GET / HTTP/1.1\nHost: www.a.test", html, "<p>")
	const firstLines = "page https://www.a.test/\nsave.1: GET https://www.a.test/ 200 \"<p>\" 192.0.2.1\n"
	outside := sitetest.Folder(t, map[string]string{"save.x": first})
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"one record", map[string]string{"save.1": first}, firstLines},
		{"the page before the rest", map[string]string{"save.0": saved("GET /a.css HTTP/1.1\nHost: www.a.test", css, "p{}"), "save.1": first},
			firstLines + "save.0: GET https://www.a.test/a.css 200 \"p{}\" 192.0.2.1\n"},
		{"http, other ports, whole URLs, no host", map[string]string{
			"a": number(3, schemeHTTP) + number(2, 443) + lengthed(4, httpMessageOf("GET /x HTTP/1.1\nhost: a.test:8080", "")) + lengthed(5, httpMessageOf(css, "")),
			"b": number(2, 443) + lengthed(4, httpMessageOf("POST /x?a b HTTP/1.1\nHost: a.test", "secret")) + lengthed(5, httpMessageOf("HTTP/1.1 204", "")),
			"c": lengthed(1, "2001:db8::1") + number(2, 81) + lengthed(4, httpMessageOf("GET /x", "")) + lengthed(5, httpMessageOf(css, "")),
			"d": lengthed(1, "x") + lengthed(4, httpMessageOf("GET http://b.test/y HTTP/1.1\nHost: a.test", "")) + lengthed(5, httpMessageOf(css, "")),
		}, "page \na: GET http://a.test:8080/x 200 \"\" \nb: POST https://a.test/x?a 204 \"\" \nc: GET http://[2001:db8::1]:81/x 200 \"\" 2001:db8::1\nd: GET http://b.test/y 200 \"\" \n"},
		{"fields that are not Mahimahi's", map[string]string{"save.1": number(9, 1) + string(binary.AppendUvarint(nil, 10<<3|1)) + "12345678" + string(binary.AppendUvarint(nil, 11<<3|5)) + "1234" + lengthed(12, "x") + first}, firstLines},
		{"chunks", map[string]string{"save.1": saved("GET / HTTP/1.1\nHost: www.a.test", html+"\nTransfer-Encoding: chunked", "3\r\n<p>\r\n0\r\n\r\n")}, firstLines},
		{"chunks that are cut off", map[string]string{"save.1": saved("GET / HTTP/1.1\nHost: www.a.test", html+"\nTransfer-Encoding: chunked", "9\r\n<p>")},
			firstLines + "! save.1: https://www.a.test/: The chunked body is truncated after 3 octets, which were kept.\n"},

		{"records that are damaged", map[string]string{
			"save.1": first, "save.2": first[:40], "save.3": first[:len(first)-1], "save.4": "", "save.5": "\xff\xff\xff", "save.6": lengthed(4, "\x0b"), "save.7": lengthed(4, "") + lengthed(5, ""),
			"save.8": saved("GET / HTTP/1.1\nHost: www.a.test", "nothing", "x"), "save.9": saved("CONNECT a.test:443 HTTP/1.1\nHost: a.test", css, ""),
			"save.A": saved("get / HTTP/1.1\nHost: www.a.test", css, ""), "save.B": saved("GET / HTTP/1.1\nHost: a\xff.test", css, ""),
		}, firstLines + `! save.2: Left out: not a Protocol Buffers message, or truncated.
! save.3: Left out: not a Protocol Buffers message, or truncated.
! save.4: Left out: no request and response in it.
! save.5: Left out: not a Protocol Buffers message, or truncated.
! save.6: Left out: not a Protocol Buffers message, or truncated: wire type 3.
! save.7: Left out: "" is not the first line of a request.
! save.8: Left out: https://www.a.test/: invalid status line "nothing".
! save.9: Left out: "a.test:443" is not the URL of a request.
! save.A: Left out: "get / HTTP/1.1" is not the first line of a request.
! save.B: Left out: "https://a\xff.test/" is not the URL of a request.
`},
		{"what is no record", map[string]string{"save.1": first, ".git/config": "x", "notes.txt": "hello", "old/save.2": first, "link": "-> save.1"},
			"page https://www.a.test/\nlink: GET https://www.a.test/ 200 \"<p>\" 192.0.2.1\nsave.1: GET https://www.a.test/ 200 \"<p>\" 192.0.2.1\n! notes.txt: Left out: not a Protocol Buffers message, or truncated: wire type 4.\n! old: Left out: not a regular file.\n"},
		{"a name that is not UTF-8", map[string]string{"save.1": first, "save.\xff": first[:9]}, firstLines + "! save.?: Left out: not a Protocol Buffers message, or truncated.\n"},
		{"a link that leads out", map[string]string{"save.1": first, "save.2": "-> " + outside + "/save.x"}, firstLines + "! save.2: Left out: statat save.2: path escapes from parent.\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := Read(sitetest.Folder(t, c.files), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := describe(r); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

func TestReadFindsThePage(t *testing.T) {
	document := func(host, path, referer string) string {
		return saved("GET "+path+" HTTP/1.1\nHost: "+host+"\nReferer: "+referer, html, "<p>")
	}
	asset := func(referer string) string {
		return saved("GET /x.css HTTP/1.1\nHost: cdn.test\nreferer: "+referer, css, "")
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		page  string // as it is asked for
		want  string
	}{
		{"the host that most records come from", map[string]string{"1": document("ads.test", "/", "https://www.a.test/"), "2": document("www.a.test", "/", ""), "3": asset("https://www.a.test/"), "4": asset("https://ads.test/")}, "", "https://www.a.test/"},
		{"in any case", map[string]string{"1": document("ads.test", "/", ""), "2": document("WWW.a.test", "/", ""), "3": asset("https://www.A.test/")}, "", "https://WWW.a.test/"},
		{"the path / before others", map[string]string{"1": document("ads.test", "/frame", ""), "2": document("www.a.test", "/", ""), "3": asset("https://ads.test/frame")}, "", "https://www.a.test/"},
		{"other paths, if there is none", map[string]string{"1": document("ads.test", "/frame", ""), "2": document("www.a.test", "/news", ""), "3": asset("https://www.a.test/news")}, "", "https://www.a.test/news"},
		{"a redirect to it", map[string]string{"1": saved("GET / HTTP/1.1\nHost: a.test", "HTTP/1.1 301 Moved\nLocation: https://www.a.test/", ""), "2": document("www.a.test", "/", "")}, "", "https://a.test/"},
		{"no document", map[string]string{"1": asset("x"), "2": saved("POST / HTTP/1.1\nHost: a.test", html, ""), "3": saved("GET / HTTP/1.1\nHost: a.test", "HTTP/1.1 404 X\nContent-Type: text/html", "")}, "", ""},
		{"one that is asked for", map[string]string{"1": document("ads.test", "/frame", ""), "2": document("www.a.test", "/", "")}, "https://ads.test/frame", "https://ads.test/frame"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := Read(sitetest.Folder(t, c.files), Options{Page: c.page})
			if err != nil || r.Page != c.want {
				t.Errorf("page %q, %v, want %q", r.Page, err, c.want)
			}
			if r.Page != "" && r.Exchanges[0].URL != r.Page {
				t.Errorf("the first exchange is %s", r.Exchanges[0].URL)
			}
		})
	}
	if _, err := Read(sitetest.Folder(t, map[string]string{"1": document("a.test", "/", "")}), Options{Page: "https://b.test/"}); err == nil || !strings.Contains(err.Error(), `which has "https://a.test/"`) {
		t.Errorf("a missing page: %v", err)
	}
}

func TestReadRefuses(t *testing.T) {
	if _, err := Read(filepath.Join(t.TempDir(), "x"), Options{}); err == nil {
		t.Error("a missing folder was accepted")
	}
	for want, files := range map[string]map[string]string{
		"the folder has no files":       nil,
		"none of the files is a record": {"a": "hello", "b": "world"},
	} {
		if _, err := Read(sitetest.Folder(t, files), Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	long := saved("GET / HTTP/1.1\nHost: www.a.test", html, strings.Repeat("x", 100))
	if _, err := read(sitetest.Folder(t, map[string]string{"1": long, "2": long}), Options{}, &message.Budget{Body: 100, Total: 150}); err == nil || !strings.Contains(err.Error(), "limit of a recording is exceeded") {
		t.Errorf("bodies over the total limit: %v", err)
	}
	r, err := read(sitetest.Folder(t, map[string]string{"1": long, "2": saved("GET / HTTP/1.1\nHost: www.a.test", html, "<p>"), "3": strings.Repeat("x", 2<<20)}), Options{}, &message.Budget{Body: 99, Total: 150})
	if err != nil || len(r.Exchanges) != 1 || len(r.Repairs) != 2 {
		t.Errorf("an oversized body and an oversized file: %+v, %v", r, err)
	}
	// Nobody writes to the pipe, so reading it would block.
	dir := sitetest.Folder(t, map[string]string{"1": long})
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r, err := Read(dir, Options{}); err != nil || len(r.Repairs) != 1 || !strings.Contains(r.Repairs[0].What, "not a regular file") {
		t.Errorf("a pipe: %+v, %v", r, err)
	}
}

// FuzzRecord checks that a record gives an error or a valid exchange, whatever its octets.
func FuzzRecord(f *testing.F) {
	first := saved("GET / HTTP/1.1\nHost: www.a.test\nReferer: http://a.test/", html, "<p>")
	for _, s := range []string{"", first, first[:30], saved("GET http://a.test/ HTTP/1.1", css+"\nTransfer-Encoding: chunked", "2\r\nhi\r\n"), number(2, 1<<63), lengthed(4, lengthed(2, "\xff")), "\x22\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, octets []byte) {
		i := importer{budget: &message.Budget{Body: 1 << 16, Total: 1 << 18}, referrers: map[string]int{}}
		var err error
		costtest.Check(t, len(octets), costtest.Limit{Fixed: 64 << 20, PerOctet: 64, Time: time.Microsecond}, func() { err = i.record("x", octets) })
		if err != nil {
			if len(i.exchanges) > 0 {
				t.Errorf("%v, and an exchange", err)
			}
			return
		}
		if e := i.exchanges[0]; e.Method == "" || !strings.HasPrefix(strings.ToLower(e.URL), "http") || e.Status < 100 || len(e.Body) > 1<<16 {
			t.Errorf("%+v", e)
		}
	})
}
