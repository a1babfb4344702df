package warc

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"encoding/base32"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"wiretime/costtest"
	"wiretime/site/message"
	"wiretime/site/recording"
)

// rec returns a WARC record: its fields without the length, with LF line ends here, and its
// block.
func rec(fields, block string) string {
	return fmt.Sprintf("WARC/1.1\r\n%sContent-Length: %d\r\n\r\n%s\r\n\r\n", strings.ReplaceAll(fields, "\n", "\r\n"), len(block), block)
}

// response returns a response record, dated at a second of a fixed day.
func response(url string, second int, message string) string {
	return rec(fmt.Sprintf("WARC-Type: response\nWARC-Target-URI: %s\nWARC-Date: 2024-05-06T07:08:%02dZ\nWARC-Record-ID: <urn:uuid:%s>\nContent-Type: application/http; msgtype=response\n", url, second, url), message)
}

const (
	page = "https://www.a.test/"
	html = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>"
	css  = "HTTP/1.1 200 OK\r\nContent-Type: text/css\r\n\r\np{}"
)

func zipped(t testing.TB, records ...string) string {
	t.Helper()
	var b bytes.Buffer
	for _, r := range records {
		w := gzip.NewWriter(&b)
		if _, err := io.WriteString(w, r); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// describe renders a recording as lines.
func describe(r *recording.Recording) string {
	var b strings.Builder
	fmt.Fprintf(&b, "page %s\n", r.Page)
	for _, e := range r.Exchanges {
		fmt.Fprintf(&b, "%s %s %d %q", e.Method, e.URL, e.Status, e.Body)
		if e.Started > 0 {
			fmt.Fprintf(&b, " at %v", e.Started)
		}
		if e.Took >= 0 {
			fmt.Fprintf(&b, " took %v", e.Took)
		}
		for _, s := range []string{e.Address, e.Kind, e.Initiator} {
			if s != "" {
				fmt.Fprintf(&b, " %s", s)
			}
		}
		b.WriteByte('\n')
	}
	for _, p := range r.Repairs {
		fmt.Fprintf(&b, "! %s: %s\n", p.Where, p.What)
	}
	return b.String()
}

func digest(s string) string {
	sum := sha1.Sum([]byte(s))
	return "sha1:" + base32.StdEncoding.EncodeToString(sum[:])
}

func TestRead(t *testing.T) {
	const pageLine = "page https://www.a.test/\nGET https://www.a.test/ 200 \"<p>\"\n"
	first := response(page, 0, html)
	for _, c := range []struct {
		name, file, want string
	}{
		{"one response", first, pageLine},
		{"version 1.0, a URI in brackets, LF alone", "WARC/1.0\nWARC-Type: response\nWARC-Target-URI: <https://www.a.test/>\nContent-Type: application/http\nContent-Length: 47\n\n" + html, pageLine},
		{"names in any case, folded fields", "WARC/1.1\r\nwarc-type:response\r\nWARC-TARGET-URI:\r\n " + page + "\r\ncontent-length: 47\r\n\r\n" + html, pageLine},
		{"in the order of their dates", response(page, 1, html) + response(page+"a", 0, css) + response(page+"b", 3, css),
			"page https://www.a.test/\nGET https://www.a.test/a 200 \"p{}\"\nGET https://www.a.test/ 200 \"<p>\" at 1000\nGET https://www.a.test/b 200 \"p{}\" at 3000\n"},
		{"dates that are none", strings.ReplaceAll(first, "2024-05", "2024-13") + strings.ReplaceAll(response(page+"a", 0, css), "T07:08:00Z", "T07:08:00.5+02:00") + response(page+"b", 0, css),
			pageLine + "GET https://www.a.test/a 200 \"p{}\"\nGET https://www.a.test/b 200 \"p{}\" at 7.1995e+06\n"},
		{"dates of the far past", strings.ReplaceAll(first, "2024-05-06", "0001-01-02") + response(page+"a", 0, css),
			pageLine + "GET https://www.a.test/a 200 \"p{}\" at 9.223372036854775e+12\n"},
		{"a redirect to the page", response(page, 2, html) + response("http://a.test/", 1, "HTTP/1.1 301 Moved\r\nLocation: https://www.a.test\r\n\r\n"),
			"page http://a.test/\nGET http://a.test/ 301 \"\"\nGET https://www.a.test/ 200 \"<p>\" at 1000\n"},
		{"no page", response(page+"a", 0, css), "page \nGET https://www.a.test/a 200 \"p{}\"\n"},
		{"an error is no page", response(page+"x", 0, strings.Replace(html, "200", "404", 1)) + response(page, 1, html),
			"page https://www.a.test/\nGET https://www.a.test/x 404 \"<p>\"\nGET https://www.a.test/ 200 \"<p>\" at 1000\n"},

		{"what Browsertrix adds", rec("WARC-Type: response\nWARC-Target-URI: "+page+"\nWARC-IP-Address: 192.0.2.1\nWARC-Resource-Type: document\nWARC-Protocol: h2\n", html),
			"page https://www.a.test/\nGET https://www.a.test/ 200 \"<p>\" 192.0.2.1 document\n"},
		{"an address that is none", rec("WARC-Type: response\nWARC-Target-URI: "+page+"\nWARC-IP-Address: x\n", html), pageLine},
		{"methods, by either's identifier or by the URL",
			rec("WARC-Type: request\nWARC-Target-URI: "+page+"\nWARC-Record-ID: <urn:1>\nWARC-Concurrent-To: <urn:2>\n", "POST / HTTP/1.1\r\nCookie: secret\r\n\r\nsecret") +
				rec("WARC-Type: response\nWARC-Target-URI: "+page+"\nWARC-Record-ID: <urn:2>\n", css) +
				rec("WARC-Type: response\nWARC-Target-URI: "+page+"\nWARC-Record-ID: <urn:4>\nWARC-Concurrent-To: <urn:x>\nWARC-Concurrent-To: <urn:3>\n", css) +
				rec("WARC-Type: request\nWARC-Target-URI: "+page+"\nWARC-Record-ID: <urn:3>\n", "HEAD / HTTP/1.1\r\n\r\n") +
				rec("WARC-Type: request\nWARC-Target-URI: "+page+"a\n", "PUT / HTTP/1.1\r\n\r\n") +
				rec("WARC-Type: response\nWARC-Target-URI: "+page+"a\n", css) + first,
			"page https://www.a.test/\nPOST https://www.a.test/ 200 \"p{}\"\nHEAD https://www.a.test/ 200 \"p{}\"\nPUT https://www.a.test/a 200 \"p{}\"\nGET https://www.a.test/ 200 \"<p>\"\n"},
		{"a request that is none", rec("WARC-Type: request\nWARC-Target-URI: "+page+"\n", "\x16\x03\x01") + first, pageLine + "! record 1: Invalid request line \"\\x16\\x03\\x01\": its response was treated as the answer to a GET.\n"},
		{"what crawlers note", first + rec("WARC-Type: metadata\nWARC-Concurrent-To: <urn:uuid:"+page+">\nContent-Type: application/warc-fields\n", "via: http://b.test/\r\nfetchTimeMs: 120\r\nhopsFromSeed: L\r\n") +
			rec("WARC-Type: metadata\nWARC-Concurrent-To: <urn:uuid:"+page+">\nContent-Type: text/json\n", "{}"), "page https://www.a.test/\nGET https://www.a.test/ 200 \"<p>\" took 120 http://b.test/\n"},
		{"a resource", first + rec("WARC-Type: resource\nWARC-Target-URI: "+page+"a\nContent-Type: text/plain\n", "hi"), pageLine + "GET https://www.a.test/a 200 \"hi\"\n"},
		{"records that are none of the page's", first + rec("WARC-Type: resource\nWARC-Target-URI: urn:thumbnail:"+page+"\nContent-Type: image/png\n", "png") +
			rec("WARC-Type: response\nWARC-Target-URI: dns:a.test\nContent-Type: text/dns\n", "192.0.2.1") + rec("WARC-Type: conversion\nWARC-Target-URI: "+page+"\n", "x") + rec("WARC-Type: continuation\nWARC-Target-URI: "+page+"\n", "x") + rec("WARC-Type: new\n", "x") + rec("", "x"),
			pageLine + "! : Records left out because their URIs are not http or https: 2.\n! : Records of unsupported types left out (conversion, continuation and others): 4.\n"},
		{"URIs that are none", first + response("https://[::", 0, html) + response("//a.test/", 0, html) + response("https:///a", 0, html) + response("https://a.test/\xff", 0, html),
			pageLine + "! record 2: Invalid URI \"https://[::\": left out.\n! record 3: Invalid URI \"//a.test/\": left out.\n! record 4: Invalid URI \"https:///a\": left out.\n! record 5: Invalid URI \"https://a.test/\\xff\": left out.\n"},
		{"a response that is none", first + response(page+"a", 0, "SSH-2.0"), pageLine + "! record 2: https://www.a.test/a was left out: invalid status line \"SSH-2.0\".\n"},
		{"a response cut off when it was recorded", rec("WARC-Type: response\nWARC-Target-URI: "+page+"\nWARC-Truncated: time\n", html), pageLine + "! record 1: https://www.a.test/ was truncated during recording (\"time\").\n"},
		{"a response in segments", rec("WARC-Type: response\nWARC-Target-URI: "+page+"\nWARC-Segment-Number: 1\n", html), pageLine + "! record 1: https://www.a.test/ continues in continuation records, which are not supported: only the beginning was kept.\n"},
		{"a message that is not in order", response(page, 0, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n<p>\r\n"), pageLine + "! record 1: https://www.a.test/: The chunked body is truncated after 3 octets, which were kept.\n"},

		{"digests that fit", rec("WARC-Type: response\nWARC-Target-URI: "+page+"\nWARC-Block-Digest: "+digest(html)+"\nWARC-Payload-Digest: sha1:OTHER\n", html) +
			rec("WARC-Type: response\nWARC-Target-URI: "+page+"a\nWARC-Payload-Digest: sha-256:B94D27B9934D3E08A52E52D7DA7DABFAC484EFE37A5380EE9088F7ACE2EFCDE9\n", "HTTP/1.1 200 OK\r\n\r\nhello world") +
			rec("WARC-Type: response\nWARC-Target-URI: "+page+"b\nWARC-Payload-Digest: "+digest("hi")+"\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n") +
			rec("WARC-Type: resource\nWARC-Target-URI: "+page+"c\nWARC-Payload-Digest: xxh3:00\n", "hi"),
			pageLine + "GET https://www.a.test/a 200 \"hello world\"\nGET https://www.a.test/b 200 \"hi\"\nGET https://www.a.test/c 200 \"hi\"\n"},
		{"digests that do not", rec("WARC-Type: response\nWARC-Target-URI: "+page+"\nWARC-Block-Digest: "+digest("x")+"\n", html) + rec("WARC-Type: resource\nWARC-Target-URI: "+page+"a\nWARC-Payload-Digest: md5:00\n", "hi"),
			pageLine + "GET https://www.a.test/a 200 \"hi\"\n! record 1: https://www.a.test/ does not match its WARC-Block-Digest and may be damaged. It was kept.\n! record 2: https://www.a.test/a does not match its WARC-Payload-Digest and may be damaged. It was kept.\n"},

		{"a length that is too short", strings.Replace(first, "Content-Length: 47", "Content-Length: 40", 1) + response(page+"a", 0, css),
			"page https://www.a.test/\nGET https://www.a.test/ 200 \"\"\nGET https://www.a.test/a 200 \"p{}\"\n! record 2: Skipped 5 octets that belong to no record: a preceding length is wrong, or they are damaged.\n"},
		{"a length that is none", strings.Replace(first, "Content-Length: 47", "Content-Length: -1", 1) + response(page, 0, html),
			pageLine + "! record 1: https://www.a.test/ was left out: invalid status line \"\".\n! record 2: Skipped 47 octets that belong to no record: a preceding length is wrong, or they are damaged.\n"},
		{"cut off in a block", first + response(page+"a", 0, css)[:265], pageLine + "! record 2: The rest of the file cannot be read (the block of record 2: damaged or truncated: unexpected EOF): the records before it were kept.\n"},
		{"cut off in a block that is not read", first + rec("WARC-Type: conversion\n", "xyz")[:55], pageLine + "! record 2: The rest of the file cannot be read (the block of record 2: damaged or truncated: unexpected EOF): the records before it were kept.\n! : Records of unsupported types left out (conversion, continuation and others): 1.\n"},
		{"cut off in a header", first + response(page+"a", 0, css)[:30], pageLine + "! record 2: The rest of the file cannot be read (the header of record 2: damaged or truncated: unexpected EOF): the records before it were kept.\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := Read(strings.NewReader(c.file), "x.warc", Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := describe(r); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

func TestReadSaysWhereItComesFrom(t *testing.T) {
	file := rec("WARC-Type: warcinfo\nContent-Type: application/warc-fields\n", "software: Wget/1.21 (linux)\r\nformat: WARC File Format 1.0\r\n") + response(page, 4, html)
	r, err := Read(strings.NewReader(file), "x.warc", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := "x.warc, written by Wget/1.21 (linux)"; r.Source != want {
		t.Errorf("source %q, want %q", r.Source, want)
	}
	if want := time.Date(2024, 5, 6, 7, 8, 4, 0, time.UTC); !r.Began.Equal(want) {
		t.Errorf("began %v, want %v", r.Began, want)
	}
	if e := r.Exchanges[0]; e.Where != "record 2" || !e.HasBody || e.Size != 3 || e.Transfer != 3 || e.Took != -1 || e.DNS != -1 || e.Connect != -1 || e.Wait != -1 {
		t.Errorf("%+v", e)
	}
}

func TestReadRevisits(t *testing.T) {
	const same = "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest\n"
	const notModified = "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/server-not-modified\n"
	revisit := func(path, fields, head string) string {
		return rec("WARC-Type: revisit\nWARC-Target-URI: "+page+path+"\nWARC-Date: 2024-05-06T07:08:09Z\n"+fields, head)
	}
	gz := zipped(t, "p{}")
	original := response(page+"a", 0, css) + response(page+"a", 5, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"+gz) +
		rec("WARC-Type: response\nWARC-Target-URI: "+page+"d\nWARC-Date: 2024-05-06T07:08:05Z\nWARC-Payload-Digest: "+digest("hi")+"\n", "HTTP/1.1 203 X\r\nA: b\r\n\r\nhi")
	const left = "was left out: the record with its body is not in the file"
	for _, c := range []struct {
		name, record string
		want         string // status, header, body; or a part of the repair
	}{
		{"by identifier", revisit("r", same+"WARC-Refers-To: <urn:uuid:"+page+"a>\n", "HTTP/1.1 200 Again\r\nX: y\r\n\r\n"), `200 [{X y}] "p{}" false`},
		{"by URL", revisit("r", same+"WARC-Refers-To-Target-URI: "+page+"a\n", "HTTP/1.1 200 Again\r\nX: y\r\n\r\n"), `200 [{X y}] "p{}" false`},
		{"by URL and date", revisit("r", same+"WARC-Refers-To-Target-URI: "+page+"a\nWARC-Refers-To-Date: 2024-05-06T07:08:05Z\n", "HTTP/1.1 200 Again\r\nContent-Encoding: br\r\nX: y\r\n\r\n"),
			fmt.Sprintf(`200 [{X y} {Content-Encoding gzip}] %q true`, gz)},
		{"by digest", revisit("r", same+"WARC-Payload-Digest: "+digest("hi")+"\n", "HTTP/1.1 200 Again\r\n\r\n"), `200 [] "hi" false`},
		{"an identifier that is not there, and a digest that is", revisit("r", same+"WARC-Refers-To: <urn:x>\nWARC-Payload-Digest: "+digest("hi")+"\n", "HTTP/1.1 200 Again\r\n\r\n"), `200 [] "hi" false`},
		{"without a header of its own", revisit("r", same+"WARC-Payload-Digest: "+digest("hi")+"\n", ""), `203 [{A b}] "hi" false`},
		{"not modified", revisit("d", notModified, "HTTP/1.1 304 Not Modified\r\nX: y\r\n\r\n"), `203 [{A b}] "hi" false`},
		{"of a revisit", revisit("r", same+"WARC-Refers-To: <urn:r>\n", "HTTP/1.1 200 Again\r\n\r\n") + rec("WARC-Type: revisit\nWARC-Target-URI: "+page+"s\nWARC-Record-ID: <urn:r>\nWARC-Payload-Digest: "+digest("hi")+"\n", "HTTP/1.1 200 Again\r\n\r\n"), `200 [] "hi" false`},
		{"of itself", revisit("r", same+"WARC-Record-ID: <urn:r>\nWARC-Refers-To: <urn:r>\n", ""), left},
		{"in a ring", revisit("r", "WARC-Record-ID: <urn:r>\nWARC-Refers-To: <urn:s>\n", "") + revisit("s", "WARC-Record-ID: <urn:s>\nWARC-Refers-To: <urn:r>\n", ""), left},
		{"of what is not there", revisit("r", same+"WARC-Payload-Digest: sha1:X\n", "HTTP/1.1 200 Again\r\n\r\n"), left},
		{"of no record at all", revisit("r", "", ""), left},
		{"with a header that is none", revisit("r", same+"WARC-Payload-Digest: "+digest("hi")+"\n", "x"), "invalid status line"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, file := range []string{original + c.record, c.record + original} {
				r, err := Read(strings.NewReader(file), "x.warc", Options{})
				if err != nil {
					t.Fatal(err)
				}
				got := ""
				for _, e := range r.Exchanges {
					if e.Started == 9000 {
						got = fmt.Sprintf("%d %v %q %v", e.Status, e.Header, e.Body, e.Encoded)
					}
				}
				if got == "" && len(r.Repairs) > 0 {
					got = r.Repairs[0].What
				}
				if !strings.Contains(got, c.want) {
					t.Errorf("got %s, want %s", got, c.want)
				}
			}
		})
	}
}

func TestReadCompressed(t *testing.T) {
	a, b := response(page, 0, html), response(page+"a", 1, css)
	want := "page https://www.a.test/\nGET https://www.a.test/ 200 \"<p>\"\nGET https://www.a.test/a 200 \"p{}\" at 1000\n"
	members := zipped(t, a, b)
	for name, file := range map[string]string{"a member for each record": members, "one member": zipped(t, a+b), "none": a + b} {
		r, err := Read(iotest.OneByteReader(strings.NewReader(file)), "x.warc.gz", Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := describe(r); got != want {
			t.Errorf("%s: got\n%swant\n%s", name, got, want)
		}
	}
	// At every truncation point, the complete records before it are read.
	for n := range len(members) {
		r, err := Read(strings.NewReader(members[:n]), "x.warc.gz", Options{})
		if whole := len(zipped(t, a)); n < whole-8 { // a member ends with its checksum and length only
			if err == nil && len(r.Repairs) == 0 {
				t.Errorf("%d octets: %s", n, describe(r))
			}
			continue
		}
		if err != nil {
			t.Errorf("%d octets: %v", n, err)
		} else if r.Exchanges[0].URL != page || n > len(zipped(t, a)) && len(r.Repairs) == 0 {
			t.Errorf("%d octets: %s", n, describe(r))
		}
	}
}

func TestReadPage(t *testing.T) {
	file := response(page, 0, html) + response(page+"b#x", 1, html)
	r, err := Read(strings.NewReader(file), "x.warc", Options{Page: page + "b"})
	if err != nil || r.Page != page+"b#x" {
		t.Errorf("page %q, %v", r.Page, err)
	}
	if _, err := Read(strings.NewReader(file), "x.warc", Options{Page: page + "c"}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q, %q", page, page+"b#x")) {
		t.Errorf("a missing page: %v", err)
	}
}

func TestReadWACZ(t *testing.T) {
	pack := func(files ...string) string {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for n := 0; n < len(files); n += 2 {
			f, err := w.Create(files[n])
			if err == nil {
				_, err = io.WriteString(f, files[n+1])
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	const pages = "{\"format\": \"json-pages-1.0\", \"id\": \"pages\"}\n{\"url\": \"https://www.a.test/b\", \"ts\": \"x\"}\n{\"url\": \"https://www.a.test/\"}\n"
	one, two := zipped(t, response(page, 2, html)), zipped(t, response(page+"b", 1, html)+"junk\n")
	r, err := Read(strings.NewReader(pack("pages/pages.jsonl", pages, "archive/1.warc.gz", one, "archive/2.warc.gz", two, "archive/x.cdx", "x", "logs/3.warc.gz", "x", "../archive/4.warc", "x")), "x.wacz", Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := "page https://www.a.test/b\nGET https://www.a.test/b 200 \"<p>\"\nGET https://www.a.test/ 200 \"<p>\" at 1000\n! 2.warc.gz record 1: Skipped 5 octets that belong to no record: a preceding length is wrong, or they are damaged.\n"
	if got := describe(r); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for list, want := range map[string]string{
		"{\"url\": \"https://www.a.test/c\"}": `the page "https://www.a.test/c" is not in the recording`,
		"{\"url\": 3}":                        "Unreadable",
		"":                                    "",
	} {
		r, err := Read(strings.NewReader(pack("pages/pages.jsonl", list, "archive/1.warc.gz", one)), "x.wacz", Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := describe(r); r.Page != page || !strings.Contains(got, want) || (want == "") != (len(r.Repairs) == 0) {
			t.Errorf("pages %q: got\n%s", list, got)
		}
	}
	for file, want := range map[string]string{
		pack("a", "b"):                    "no WARC files",
		pack("archive/1.warc", "x"):       "archive/1.warc",
		pack("archive/1.warc", one)[:100]: "zip",
	} {
		if _, err := Read(strings.NewReader(file), "x.wacz", Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	first := response(page, 0, html)
	for _, c := range []struct {
		name, file string
		budget     message.Budget
		want       string
	}{
		{"nothing", "", message.Budget{Body: 1e6, Total: 1e6}, "not a WARC file"},
		{"a HAR", `{"log": {}}`, message.Budget{Body: 1e6, Total: 1e6}, `the file begins with "{\"log\": {}}"`},
		{"an ARC file", "filedesc://x 0.0.0.0 2001 text/plain 77\n1 0 x\n", message.Budget{Body: 1e6, Total: 1e6}, "want WARC/1.0"},
		{"a version to come", strings.Replace(first, "1.1", "2.0", 1), message.Budget{Body: 1e6, Total: 1e6}, "unsupported version"},
		{"half a gzip header", "\x1f\x8b\x08", message.Budget{Body: 1e6, Total: 1e6}, "decompress: unexpected EOF"},
		{"no response", rec("WARC-Type: warcinfo\n", "software: x"), message.Budget{Body: 1e6, Total: 1e6}, "no responses"},
		{"no response that can be read", response(page, 0, "x"), message.Budget{Body: 1e6, Total: 1e6}, "record 1: https://www.a.test/ was left out"},
		{"gzip without end", zipped(t, first+strings.Repeat("\x00", 1e7)), message.Budget{Body: 1e6, Total: 1e6}, "limit of a recording is exceeded"},
		{"a crawl", strings.Repeat("WARC/1.0\nWARC-Type: response\nWARC-Target-URI: "+page+"\nContent-Length: 14\n\nHTTP/1.1 200\n\n", 100_001), message.Budget{Body: 1e6, Total: 1e8}, "more than 100000 responses"},
		{"a file that is too long", first + strings.Repeat(first, 10_000), message.Budget{Body: 1e6, Total: 1e6}, "limit of a recording is exceeded"},
		{"bodies that are too long when decoded", response(page, 0, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"+zipped(t, strings.Repeat("x", 1e6))) + strings.Repeat(rec("WARC-Type: revisit\nWARC-Target-URI: "+page+"\nWARC-Refers-To-Target-URI: "+page+"\n", ""), 10), message.Budget{Body: 1e7, Total: 1e7}, "limit of a recording is exceeded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := read(strings.NewReader(c.file), "x.warc", Options{}, &c.budget); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestReadLeavesOutWhatIsTooLong(t *testing.T) {
	long := strings.Repeat("x", 100)
	file := response(page, 0, html) + response(page+"a", 0, "HTTP/1.1 200 OK\r\n\r\n"+long) +
		response(page+"b", 0, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"+zipped(t, strings.Repeat("x", 1000))) +
		rec("WARC-Type: resource\nWARC-Target-URI: "+page+"c\n", long) + response(page+"d", 0, css)
	r, err := read(strings.NewReader(file), "x.warc", Options{}, &message.Budget{Body: 99, Total: 1e6})
	if err != nil {
		t.Fatal(err)
	}
	want := `page https://www.a.test/
GET https://www.a.test/ 200 "<p>"
GET https://www.a.test/d 200 "p{}"
! record 2: https://www.a.test/a was left out: the body exceeds the limit of one body (--max-body): 100 octets.
! record 3: https://www.a.test/b was left out: the body exceeds the limit of one body (--max-body): it exceeds 99 octets when decoded.
! record 4: https://www.a.test/c was left out: the body exceeds the limit of one body (--max-body).
`
	if got := describe(r); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// FuzzRead checks that a recording has ordered exchanges with valid URLs, methods and
// times, whatever the octets.
func FuzzRead(f *testing.F) {
	first := response(page, 0, html)
	for _, s := range []string{
		"", "WARC/1.0\n\n", first, first[:200], zipped(f, first), zipped(f, first)[:50], strings.Replace(first, "47", "9223372036854775807", 1), strings.Replace(first, "47", "12", 1) + first,
		rec("WARC-Type: revisit\nWARC-Record-ID: <a>\nWARC-Refers-To: <b>\nWARC-Target-URI: "+page+"\n", css) + rec("WARC-Type: revisit\nWARC-Record-ID: <b>\nWARC-Refers-To: <a>\nWARC-Target-URI: "+page+"\n", "") + first,
		rec("WARC-Type: request\nWARC-Target-URI: "+page+"\n", "POST / HTTP/1.1\r\n\r\n") + first + rec("WARC-Type: metadata\nWARC-Concurrent-To: <urn:uuid:"+page+">\nContent-Type: application/warc-fields\n", "via: x\nfetchTimeMs: 3\n"),
		"PK\x03\x04", rec("WARC-Type: resource\nWARC-Target-URI: <"+page+">\nWARC-Date: 0001-01-01\n", "x") + strings.ReplaceAll(first, "2024", "9999"),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, octets []byte) {
		var r *recording.Recording
		var err error
		// Decoders may allocate megabytes each, and decode up to the budget.
		costtest.Check(t, len(octets), costtest.Limit{Fixed: 64 << 20, PerOctet: cost.PerOctet, Time: cost.Time}, func() {
			r, err = read(bytes.NewReader(octets), "x", Options{}, &message.Budget{Body: 1 << 16, Total: 1 << 18})
		})
		if err != nil {
			return
		}
		if len(r.Exchanges) == 0 {
			t.Error("neither exchanges nor an error")
		}
		last := 0.0
		for _, e := range r.Exchanges {
			if !strings.HasPrefix(strings.ToLower(e.URL), "http") || e.Method == "" || e.Status < 100 || !e.HasBody || len(e.Body) > 1<<16 {
				t.Errorf("%+v", e)
			}
			if e.Started >= 0 && e.Started < last {
				t.Errorf("%s began at %v, before its predecessor at %v", e.URL, e.Started, last)
			}
			last = max(last, e.Started)
		}
	})
}
