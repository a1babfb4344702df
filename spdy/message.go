package spdy

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// names are a version's names for the parts of HTTP's first lines (draft 3
// section 3.2, draft 2 "Standard Transactions").
type names struct{ method, path, scheme, host, version, status string }

func (v Version) names() names {
	if v == V2 {
		return names{"method", "url", "scheme", "host", "version", "status"}
	}
	return names{":method", ":path", ":scheme", ":host", ":version", ":status"}
}

// hopByHop reports whether a header field belongs to one HTTP/1.1 connection,
// and must not be sent (draft 3 section 3.2.1). Version 2 has a host field of
// its own.
func hopByHop(name string) bool {
	switch name {
	case "connection", "host", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade":
		return true
	}
	return false
}

// appendHeader appends a header's fields, sorted by name.
func (v Version) appendHeader(fields []Field, h http.Header) []Field {
	start := len(fields)
	for name, values := range h {
		lower := strings.ToLower(name)
		if hopByHop(lower) || strings.HasPrefix(lower, ":") {
			continue
		}
		if _, taken := valueOf(fields[:start], lower); taken {
			continue
		}
		value := ""
		if len(values) == 1 {
			value = values[0]
		} else {
			// None of several values may be empty (section 2.6.10).
			value = strings.Join(slices.DeleteFunc(slices.Clone(values), func(s string) bool { return s == "" }), "\x00")
		}
		if len(values) == 0 || value == "" && v == V2 {
			continue
		}
		fields = append(fields, Field{lower, value})
	}
	added := fields[start:]
	slices.SortFunc(added, func(a, b Field) int { return cmp.Compare(a.Name, b.Name) })
	// Two spellings of a name count as one.
	return fields[:start+len(slices.CompactFunc(added, func(a, b Field) bool { return a.Name == b.Name }))]
}

// requestFields returns the fields of a request's SYN_STREAM.
func (v Version) requestFields(r *http.Request) []Field {
	n := v.names()
	host := cmp.Or(r.Host, r.URL.Host)
	// Up to four more follow.
	fields := append(make([]Field, 0, 5+len(r.Header)+4),
		Field{n.host, host}, Field{n.method, cmp.Or(r.Method, "GET")}, Field{n.path, r.URL.RequestURI()},
		Field{n.scheme, r.URL.Scheme}, Field{n.version, "HTTP/1.1"})
	fields = v.appendHeader(fields, r.Header)
	if len(r.Trailer) > 0 {
		var keys []string
		for k := range r.Trailer {
			keys = append(keys, strings.ToLower(k))
		}
		slices.Sort(keys)
		fields = append(fields, Field{"trailer", strings.Join(keys, ",")})
	}
	return fields
}

// replyFields returns the fields of a response's SYN_REPLY.
func (v Version) replyFields(status int, h http.Header) []Field {
	n := v.names()
	text := "200 OK"
	if status != http.StatusOK {
		text = strings.TrimSuffix(strconv.Itoa(status)+" "+http.StatusText(status), " ")
	}
	// A date and a length may follow.
	fields := append(make([]Field, 0, 2+len(h)+2), Field{n.status, text}, Field{n.version, "HTTP/1.1"})
	return v.appendHeader(fields, h)
}

// insertField inserts a field behind the two of the first line, in order of names.
func insertField(fields []Field, f Field) []Field {
	i := 2
	for i < len(fields) && fields[i].Name < f.Name {
		i++
	}
	return slices.Insert(fields, i, f)
}

// header builds a header from fields, without those of the first line.
func (v Version) header(fields []Field) http.Header {
	n := v.names()
	h := make(http.Header, len(fields))
	values := make([]string, len(fields)) // one array for all
	for i, f := range fields {
		switch f.Name {
		case n.method, n.path, n.scheme, n.host, n.version, n.status:
			continue
		}
		if hopByHop(f.Name) || f.Name[0] == ':' {
			continue
		}
		key := textproto.CanonicalMIMEHeaderKey(f.Name)
		if strings.Contains(f.Value, "\x00") {
			h[key] = strings.Split(f.Value, "\x00")
			continue
		}
		values[i] = f.Value
		h[key] = values[i : i+1 : i+1]
	}
	if cookies := h["Cookie"]; len(cookies) > 1 {
		h["Cookie"] = []string{strings.Join(cookies, "; ")}
	}
	return h
}

// errBadRequest is the error of an incomplete request, which is answered with
// 400 (draft 3 section 3.2.1).
var errBadRequest = errors.New("incomplete request")

// request builds a request from a SYN_STREAM's fields. The caller adds its body
// and context.
func (v Version) request(fields []Field) (*http.Request, error) {
	n := v.names()
	var method, path, scheme, host, version string
	for _, f := range fields {
		switch f.Name {
		case n.method:
			method = f.Value
		case n.path:
			path = f.Value
		case n.scheme:
			scheme = f.Value
		case n.host:
			host = f.Value
		case n.version:
			version = f.Value
		}
	}
	for _, part := range []struct{ name, value string }{{n.method, method}, {n.path, path}, {n.version, version}} {
		if part.value == "" {
			return nil, fmt.Errorf("%w: it has no %s (%s)", errBadRequest, part.name, v.cite("3.2.1"))
		}
	}
	if v != V2 && (scheme == "" || host == "") {
		return nil, fmt.Errorf("%w: it lacks :scheme or :host (%s)", errBadRequest, v.cite("3.2.1"))
	}
	u, err := url.ParseRequestURI(path)
	if method == http.MethodConnect {
		u, err = &url.URL{Host: path}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBadRequest, err)
	}
	if u.Host != "" && method != http.MethodConnect {
		// The url of version 2 may be absolute, and its host then takes precedence.
		host = u.Host
		u = &url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery, ForceQuery: u.ForceQuery}
		path = u.RequestURI()
	}
	r := &http.Request{
		Method: method, URL: u, RequestURI: path, Host: host, Header: v.header(fields),
		Proto: v.proto(), ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1,
	}
	if text := r.Header.Get("Content-Length"); text != "" {
		length, err := strconv.ParseUint(text, 10, 63)
		if err != nil {
			return nil, fmt.Errorf("%w: invalid Content-Length %q", errBadRequest, text)
		}
		r.ContentLength = int64(length)
	}
	r.Trailer = announced(r.Header)
	return r, nil
}

// announced prepares the trailer that a header announces, and removes the
// announcement.
func announced(h http.Header) http.Header {
	var trailer http.Header
	for _, line := range h["Trailer"] {
		for name := range strings.SplitSeq(line, ",") {
			if key := http.CanonicalHeaderKey(textproto.TrimString(name)); key != "" {
				if trailer == nil {
					trailer = make(http.Header)
				}
				trailer[key] = nil
			}
		}
	}
	delete(h, "Trailer")
	return trailer
}

// response builds a response from a SYN_REPLY's fields. The caller adds its
// body.
func (v Version) response(fields []Field, r *http.Request) (*http.Response, error) {
	n := v.names()
	status, _ := valueOf(fields, n.status)
	if _, ok := valueOf(fields, n.version); !ok || status == "" {
		return nil, fmt.Errorf("the reply lacks %s or %s (%s)", n.status, n.version, v.cite("3.2.2"))
	}
	digits, reason, _ := strings.Cut(status, " ")
	code, err := strconv.Atoi(digits)
	if err != nil || len(digits) != 3 || code < 100 {
		return nil, fmt.Errorf("invalid %s %q in the reply (%s)", n.status, status, v.cite("3.2.2"))
	}
	if reason == "" {
		status = digits + " " + http.StatusText(code)
	}
	w := &http.Response{
		Status: status, StatusCode: code, Proto: v.proto(), ProtoMajor: 1, ProtoMinor: 1,
		Header: v.header(fields), ContentLength: -1, Request: r,
	}
	w.Trailer = announced(w.Header)
	if length, err := strconv.ParseUint(w.Header.Get("Content-Length"), 10, 63); err == nil {
		w.ContentLength = int64(length)
	}
	return w, nil
}

// addTrailer adds the fields of HEADERS to a trailer.
func (v Version) addTrailer(to *http.Header, fields []Field) {
	if len(fields) == 0 {
		return
	}
	if *to == nil {
		*to = make(http.Header)
	}
	maps.Copy(*to, v.header(fields))
}
