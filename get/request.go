package get

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Template is what the requests for several URLs have in common.
type Template struct {
	// Protocol is one of Names; a URL that it cannot fetch is an error. Empty means any.
	Protocol string
	// Method is empty for GET, or for POST if there is a body.
	Method string
	Header http.Header
	// Host replaces the host of each URL in the request; empty means the URL's own.
	Host string
	// Body sets the request's body; nil means none.
	Body Body
}

// Body sets the body of a request. Each request gets a reader of its own.
type Body func(*http.Request) error

// Requests returns a request for each URL.
func (t Template) Requests(urls []string) ([]*http.Request, error) {
	method := t.Method
	if method == "" {
		method = http.MethodGet
		if t.Body != nil {
			method = http.MethodPost
		}
	}
	var all []*http.Request
	for _, address := range urls {
		u, err := url.Parse(address)
		if err != nil {
			return nil, fmt.Errorf("invalid URL %q: %w", address, err)
		}
		if err := CheckURL(t.Protocol, u); err != nil {
			return nil, err
		}
		r, err := http.NewRequest(method, address, nil)
		if err != nil {
			return nil, fmt.Errorf("request %s: %w", address, err)
		}
		r.Header = t.Header.Clone()
		if t.Host != "" {
			r.Host = t.Host
		}
		if t.Body != nil {
			if err := t.Body(r); err != nil {
				return nil, fmt.Errorf("set the request's body: %w", err)
			}
		}
		all = append(all, r)
	}
	return all, nil
}

// ParseHeader changes fields by lines such as "Name: value". The first line of a name
// replaces the field, the next ones add values, and "Name:" removes it. host is the value of
// Host, which is no field of an http.Request.
func ParseHeader(fields http.Header, lines []string) (header http.Header, host string, err error) {
	header = fields.Clone()
	given := map[string]bool{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return nil, "", fmt.Errorf("invalid field %q: want 'Name: value'", line)
		}
		name = http.CanonicalHeaderKey(name)
		switch {
		case name == "Host":
			host = value
		case value == "":
			header.Del(name)
			if name == "User-Agent" {
				header.Set(name, "") // otherwise net/http sends its own
			}
		case given[name]:
			header.Add(name, value)
		default:
			header.Set(name, value)
			given[name] = true
		}
	}
	return header, host, nil
}

// ParseBody returns a body with the given content; "@FILE" means a file's content, and "@-"
// everything that stdin holds.
func ParseBody(data string, stdin io.Reader) (Body, error) {
	name, isFile := strings.CutPrefix(data, "@")
	if !isFile {
		return contentBody([]byte(data)), nil
	}
	if name == "-" {
		content, err := io.ReadAll(stdin)
		if err != nil {
			return nil, fmt.Errorf("read standard input: %w", err)
		}
		return contentBody(content), nil
	}
	if _, err := os.Stat(name); err != nil {
		return nil, err
	}
	return func(r *http.Request) error { return fileBody(r, name) }, nil
}

func contentBody(content []byte) Body {
	return func(r *http.Request) error {
		r.ContentLength = int64(len(content))
		r.GetBody = func() (io.ReadCloser, error) {
			if len(content) == 0 {
				return http.NoBody, nil
			}
			return io.NopCloser(bytes.NewReader(content)), nil
		}
		var err error
		r.Body, err = r.GetBody()
		return err
	}
}

func fileBody(r *http.Request, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", name)
	}
	r.Body, r.ContentLength = file, info.Size()
	if info.Size() == 0 {
		r.Body = http.NoBody
		_ = file.Close()
	}
	r.GetBody = func() (io.ReadCloser, error) { return os.Open(name) }
	return nil
}
