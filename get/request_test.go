package get_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wiretime/get"
)

func TestParseHeader(t *testing.T) {
	tests := []struct {
		lines []string
		want  http.Header
		host  string
	}{
		{nil, http.Header{"Accept": {"*/*"}, "User-Agent": {"test"}}, ""},
		{[]string{"accept: text/html"}, http.Header{"Accept": {"text/html"}, "User-Agent": {"test"}}, ""},
		{[]string{"X: 1", "X: 2"}, http.Header{"Accept": {"*/*"}, "User-Agent": {"test"}, "X": {"1", "2"}}, ""},
		{[]string{"Accept:"}, http.Header{"User-Agent": {"test"}}, ""},
		{[]string{"User-Agent:"}, http.Header{"Accept": {"*/*"}, "User-Agent": {""}}, ""},
		{[]string{"Host: a.test"}, http.Header{"Accept": {"*/*"}, "User-Agent": {"test"}}, "a.test"},
	}
	fields := http.Header{"Accept": {"*/*"}, "User-Agent": {"test"}}
	for _, test := range tests {
		h, host, err := get.ParseHeader(fields, test.lines)
		if err != nil {
			t.Errorf("%q: %v", test.lines, err)
			continue
		}
		var got, want strings.Builder
		_, _ = h.Write(&got), test.want.Write(&want)
		if got.String() != want.String() || host != test.host {
			t.Errorf("%q: the fields are\n%swith host %q; want\n%swith host %q", test.lines, &got, host, &want, test.host)
		}
	}
	for _, line := range []string{"no field", "a name: x", ": x", "X: a\nb"} {
		if _, _, err := get.ParseHeader(fields, []string{line}); err == nil {
			t.Errorf("the invalid line %q is accepted", line)
		}
	}
}

// TestRequests: each URL has a request with a method, a host and a body of its own, which can
// be read again.
func TestRequests(t *testing.T) {
	file := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(file, []byte("from a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	urls := []string{"https://a.test/1", "https://a.test/2"}
	for data, content := range map[string]string{"given": "given", "": "", "@" + file: "from a file", "@-": "from standard input"} {
		body, err := get.ParseBody(data, strings.NewReader("from standard input"))
		if err != nil {
			t.Fatal(err)
		}
		all, err := get.Template{Header: http.Header{}, Host: "b.test", Body: body}.Requests(urls)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range all {
			if r.Method != "POST" || r.Host != "b.test" || r.URL.String() != urls[i] || r.ContentLength != int64(len(content)) {
				t.Errorf("%q: %s %s to %s with %d octets", data, r.Method, r.URL, r.Host, r.ContentLength)
			}
			again, err := r.GetBody()
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range []io.ReadCloser{r.Body, again} {
				if got, err := io.ReadAll(b); err != nil || string(got) != content {
					t.Errorf("%q: the body is %q, %v", data, got, err)
				}
				_ = b.Close()
			}
		}
	}
}

func TestRequestsRefuse(t *testing.T) {
	if _, err := get.ParseBody("@nowhere", nil); err == nil {
		t.Error("a file that does not exist is accepted as a body")
	}
	directory, err := get.ParseBody("@"+t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		template get.Template
		url      string
		says     string
	}{
		{get.Template{}, "ftp://a.test/", "https://HOST"},
		{get.Template{}, "://", "invalid URL"},
		{get.Template{Protocol: "h3"}, "http://a.test/", "https URL"},
		{get.Template{Method: "NO METHOD"}, "http://a.test/", "invalid method"},
		{get.Template{Header: http.Header{}, Body: directory}, "http://a.test/", "not a regular file"},
	} {
		if _, err := test.template.Requests([]string{test.url}); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%+v for %s: %v, want an error that says %q", test.template, test.url, err, test.says)
		}
	}
}
