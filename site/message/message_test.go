package message

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"wiretime/costtest"
	"wiretime/site"
	"wiretime/site/recording"
)

// coded applies a content coding.
func coded(t testing.TB, coding, content string) string {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "zlib":
		w = zlib.NewWriter(&b)
	case "flate":
		w, err = flate.NewWriter(&b, flate.BestCompression)
	case "br":
		w = brotli.NewWriter(&b)
	case "zstd":
		w, err = zstd.NewWriter(&b)
	}
	if err == nil {
		_, err = io.WriteString(w, content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// parse reads a message whose head has LF line ends.
func parse(octets string, budget *Budget) (*Response, error) {
	line, header, body := Split([]byte(octets))
	return New(line, header, body, budget)
}

func TestNew(t *testing.T) {
	text := strings.Repeat("body { color: red } ", 50)
	gz := coded(t, "gzip", text)
	for _, c := range []struct {
		name, octets string
		want         string // status, fields, coding, size, transfer
		body         string
		repair       string
	}{
		{"as it crossed the wire", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi",
			"200 Content-Type=text/html Content-Length=2 false 2 2", "hi", ""},
		{"LF alone", "HTTP/1.1 404 Not Found\nA: b\n\nhi", "404 A=b false 2 2", "hi", ""},
		{"no reason", "HTTP/1.1 200\r\n\r\n", "200 false 0 0", "", ""},
		{"a status line for HTTP/2", "HTTP/2 301 \r\n:status: 301\r\nlocation: /\r\n\r\n", "301 location=/ false 0 0", "", ""},
		{"no end of the header", "HTTP/1.1 204 No Content\r\nA: b", "204 A=b false 0 0", "", ""},
		{"a folded field", "HTTP/1.1 200 OK\r\nA: b\r\n  c\r\n\td\r\n\r\n", "200 A=b c d false 0 0", "", ""},
		{"space around names", "HTTP/1.1 200 OK\r\nA :b\r\n\r\n", "200 A=b false 0 0", "", ""},
		{"interim responses", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\n\r\nhi", "200 A=b false 2 2", "hi", ""},
		{"lines that are no fields", "HTTP/1.1 200 OK\r\nA b\r\nA(: b\r\nC: d\x00\r\nE: f\r\n\r\n", "200 E=f false 0 0", "", "were left out (3)"},
		{"a field that is not UTF-8", "HTTP/1.1 200 OK\r\nA: \xe4\r\n\r\n", "200 A=ä false 0 0", "", "not UTF-8"},
		{"a body with less than its length", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi", "200 Content-Length=9 false 2 2", "hi", "2 octets, but Content-Length is 9"},
		{"a body with more than its length", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nhi", "200 Content-Length=1 false 2 2", "hi", ""},
		{"a length that is none", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\nhi", "200 Content-Length=x false 2 2", "hi", ""},
		{"the answer to HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", "200 Content-Length=9 false 0 0", "", ""},

		{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n3;x=y\r\n ho\r\n0\r\nA: b\r\n\r\n", "200 Transfer-Encoding=chunked false 5 5", "hi ho", ""},
		{"chunks with LF alone", "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\nhi\n0\n\n", "200 Transfer-Encoding=chunked false 2 2", "hi", ""},
		{"no octets in chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "200 Transfer-Encoding=chunked false 0 0", "", ""},
		{"chunks cut off within one", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n9\r\nho", "200 Transfer-Encoding=chunked false 4 4", "hiho", "truncated after 4 octets"},
		{"chunks cut off between two", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n", "200 Transfer-Encoding=chunked false 2 2", "hi", "truncated after 2 octets"},
		{"a chunk longer than it says", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhiho\r\n0\r\n\r\n", "200 Transfer-Encoding=chunked false 2 2", "hi", "truncated after 2 octets"},
		{"chunked that is not", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nhello\nworld", "200 Transfer-Encoding=chunked false 11 11", "hello\nworld", "is chunked, but the body is not"},
		{"a chunk of more than there can be", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nhi", "200 Transfer-Encoding=chunked false 22 22", "ffffffffffffffffff\r\nhi", "is chunked, but the body is not"},

		{"gzip", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gz, fmt.Sprintf("200 Content-Encoding=gzip true 1000 %d", len(gz)), gz, ""},
		{"gzip in chunks", fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: x-gzip\r\nTransfer-Encoding: Chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(gz), gz), fmt.Sprintf("200 Content-Encoding=x-gzip Transfer-Encoding=Chunked true 1000 %d", len(gz)), gz, ""},
		{"deflate as it is meant", "HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\n" + coded(t, "zlib", "hi"), "200 Content-Encoding=deflate true 2 14", coded(t, "zlib", "hi"), ""},
		{"deflate as some send it", "HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\n" + coded(t, "flate", "hi"), "200 Content-Encoding=deflate true 2 8", coded(t, "flate", "hi"), ""},
		{"br", "HTTP/1.1 200 OK\r\nContent-Encoding: BR\r\n\r\n" + coded(t, "br", "hi"), "200 Content-Encoding=BR true 2 6", coded(t, "br", "hi"), ""},
		{"zstd", "HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\n\r\n" + coded(t, "zstd", "hi"), "200 Content-Encoding=zstd true 2 15", coded(t, "zstd", "hi"), ""},
		{"one coding over the other", "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Encoding: identity, gzip\r\n\r\n" + coded(t, "gzip", coded(t, "br", "hi")), "200 Content-Encoding=br Content-Encoding=identity, gzip true 2 30", coded(t, "gzip", coded(t, "br", "hi")), ""},
		{"gzip of no octets", "HTTP/1.1 302 Found\r\nContent-Encoding: gzip\r\n\r\n", "302 Content-Encoding=gzip false 0 0", "", ""},
		{"gzip that was decoded", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + text, "200 Content-Encoding=gzip false 1000 1000", text, "is gzip, but the body is not"},
		{"br that was decoded", "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n" + text, "200 Content-Encoding=br false 1000 1000", text, "is br, but the body is not"},
		{"deflate that was decoded", "HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\n" + text, "200 Content-Encoding=deflate false 1000 1000", text, "is deflate, but the body is not"},
		{"gzip with more behind it", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gz + "more", fmt.Sprintf("200 Content-Encoding=gzip false 1000 %d", len(gz)+4), text, "is damaged"},
		{"gzip without its end", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gz[:len(gz)-8], fmt.Sprintf("200 Content-Encoding=gzip false 1000 %d", len(gz)-8), text, "first 1000 octets could be decoded"},
		{"a coding that nobody knows", "HTTP/1.1 200 OK\r\nContent-Encoding: utf-8\r\n\r\nhi", "200 Content-Encoding=utf-8 false 2 2", "hi", "unsupported content coding"},
		{"a heap of codings", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip, gzip, gzip, gzip\r\n\r\nhi", "200 Content-Encoding=gzip, gzip, gzip, gzip false 2 2", "hi", "4 nested content codings"},

		{"what Browsertrix decoded", "HTTP/1.1 200 OK\r\nx-orig-content-encoding: br\r\nx-orig-transfer-encoding: chunked\r\ncontent-length: 2\r\n\r\nhi", "200 content-encoding=br content-length=2 false 2 -1", "hi", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := parse(c.octets, NewBudget(recording.Limits{}))
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint(r.Status)
			for _, h := range r.Header {
				got += fmt.Sprintf(" %s=%s", h.Name, h.Value)
			}
			got += fmt.Sprintf(" %v %d %d", r.Encoded, r.Size, r.Transfer)
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if string(r.Body) != c.body {
				t.Errorf("body %q, want %q", r.Body, c.body)
			}
			if all := strings.Join(r.Repairs, " "); (c.repair == "") != (all == "") || !strings.Contains(all, c.repair) {
				t.Errorf("repairs %q, want %q", all, c.repair)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	zeros := coded(t, "gzip", strings.Repeat("\x00", 100_000))
	for _, c := range []struct {
		name, octets string
		budget       Budget
		want         error
	}{
		{"nothing", "", Budget{100, 100}, nil},
		{"a request", "GET / HTTP/1.1\r\n\r\n", Budget{100, 100}, nil},
		{"a status of two digits", "HTTP/1.1 99 x\r\n\r\n", Budget{100, 100}, nil},
		{"a status that is none", "HTTP/1.1 -20\r\n\r\n", Budget{100, 100}, nil},
		{"more fields than there can be", "HTTP/1.1 200 OK\r\n" + strings.Repeat("a:b\r\n", 20_000), Budget{100, 100}, nil},
		{"a long body", "HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", 101), Budget{100, 1000}, ErrBody},
		{"a body that is long when decoded", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + zeros, Budget{1000, 10_000}, ErrBody},
		{"a body that the others leave no room for", "HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", 51), Budget{100, 50}, ErrTotal},
		{"likewise, when decoded", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + zeros, Budget{10_000, 1000}, ErrTotal},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := parse(c.octets, &c.budget); err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}

func TestBudgetIsUsedUp(t *testing.T) {
	budget := &Budget{Body: 10, Total: 10}
	for range 3 {
		if _, err := parse("HTTP/1.1 200 OK\r\n\r\nabc", budget); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := parse("HTTP/1.1 200 OK\r\n\r\nabc", budget); !errors.Is(err, ErrTotal) {
		t.Errorf("spending three octets four times from a budget of ten: %v", err)
	}
}

func TestEntryAndFind(t *testing.T) {
	redirect := func(from, to string) recording.Exchange {
		return recording.Exchange{Method: "GET", URL: from, Status: 301, Header: []site.Header{{Name: "Location", Value: to}}}
	}
	document := recording.Exchange{Method: "GET", URL: "https://www.a.test/home#x", Status: 200, Header: []site.Header{{Name: "content-type", Value: "text/html; charset=utf-8"}}}
	for _, c := range []struct {
		name      string
		exchanges []recording.Exchange
		want      string
	}{
		{"no redirect", []recording.Exchange{document}, document.URL},
		{"a chain", []recording.Exchange{redirect("http://a.test/", "//www.a.test"), redirect("http://www.a.test/", "https://www.a.test/home"), document}, "http://a.test/"},
		{"to itself", []recording.Exchange{redirect("https://www.a.test/home", "home"), document}, document.URL},
		{"in a ring", []recording.Exchange{redirect("https://b.test/", "https://c.test/"), redirect("https://c.test/", "https://b.test/"), redirect("https://c.test/", "https://www.a.test/home"), document}, "https://b.test/"},
		{"places that are none", []recording.Exchange{redirect("https://b.test/", "http://[::"), redirect("http://[::", "/"), document}, document.URL},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Entry(c.exchanges, document.URL); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	for typed, want := range map[string]string{
		"https://www.a.test/home": document.URL, "https://WWW.a.test/home#y": document.URL, "http://b.test": "http://b.test/", "https://www.a.test/other": "", "": "",
	} {
		got, err := Find([]recording.Exchange{document, redirect("http://b.test/", "/")}, typed)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("Find(%q) = %q, %v", typed, got, err)
		}
		if err != nil && !strings.Contains(err.Error(), document.URL) {
			t.Errorf("the error does not list the existing page: %v", err)
		}
	}
}

// FuzzNew checks that a response keeps within its budget, has fields that an archive
// accepts, and reports its coding correctly, whatever the octets.
func FuzzNew(f *testing.F) {
	for _, s := range []string{
		"", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200\nA: b\n c\n\n", "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 200 OK\r\n\r\nx",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\n",
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + coded(f, "gzip", "hi"), "HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\n" + coded(f, "zlib", "hi"),
		"HTTP/1.1 200 OK\r\nContent-Encoding: br, zstd\r\n\r\n" + coded(f, "zstd", coded(f, "br", "hi")), "HTTP/1.1 200 OK\r\nx-orig-content-encoding: br\r\n\r\nhi",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, octets []byte) {
		budget := Budget{Body: 1 << 16, Total: 1 << 17}
		var r *Response
		var err error
		// Decoders may allocate megabytes each, and decode up to the budget.
		costtest.Check(t, len(octets), costtest.Limit{Fixed: 64 << 20, PerOctet: cost.PerOctet, Time: cost.Time}, func() {
			line, header, body := Split(octets)
			r, err = New(line, header, body, &budget)
		})
		if err != nil {
			return
		}
		if r.Status < 100 || r.Status > 999 || int64(len(r.Body)) > budget.Body || r.Size < 0 || r.Size > budget.Body || budget.Total < 0 || budget.Total > 1<<17-r.Size {
			t.Errorf("status %d, %d octets, size %d, %d left", r.Status, len(r.Body), r.Size, budget.Total)
		}
		if !r.Encoded && r.Size != int64(len(r.Body)) {
			t.Errorf("size %d of %d octets without a coding", r.Size, len(r.Body))
		}
		for _, h := range r.Header {
			if strings.ContainsAny(h.Name+h.Value, "\r\n\x00") || h.Name == "" {
				t.Errorf("field %q: %q", h.Name, h.Value)
			}
		}
	})
}
