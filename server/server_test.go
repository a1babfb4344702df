package server_test

import (
	"bytes"
	"cmp"
	"errors"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/protocol"
	"wiretime/sandbox/sandboxtest"
	"wiretime/server"
	"wiretime/site"
)

// eachRow runs a test for every row of every installed kind.
func eachRow(t *testing.T, test func(t *testing.T, k server.Kind, row string)) {
	for _, k := range server.Kinds() {
		for _, row := range k.Protocols {
			t.Run(k.Name+" "+strings.ReplaceAll(row, "/", "-"), func(t *testing.T) {
				installed(t, k)
				test(t, k, row)
			})
		}
	}
}

// answersPosts reports whether a kind answers more than GET.
func answersPosts(k server.Kind) bool { return k.Name != "apache2" }

// own are the fields that a server may add to the archived ones.
var own = []string{"date", "server", "content-length", "connection", "keep-alive", "alt-svc", "accept-ranges"}

// TestEveryServerGivesTheArchive fetches every resource of a site from every server over
// every row it has, by GET and by HEAD. It compares each response with the archive, and
// the server's log with the requests.
func TestEveryServerGivesTheArchive(t *testing.T) {
	eachRow(t, func(t *testing.T, k server.Kind, row string) {
		s := wholeSite(t, answersPosts(k))
		r := start(t, k, row, s)
		client := r.client(t)
		var asked []capture.ServerEntry
		for i := range s.Resources {
			resource := &s.Resources[i]
			body, err := s.Body(resource)
			must(t, err)
			response, got := r.get(t, client, resource.Method, resource.URL)
			compare(t, resource, response, body, got)
			asked = append(asked, request(r, resource.Method, resource.URL, resource.Status, len(got), false))
			if resource.Method == "GET" && i%7 == 0 {
				response, got = r.get(t, client, "HEAD", resource.URL)
				compare(t, resource, response, nil, got)
				asked = append(asked, request(r, "HEAD", resource.URL, resource.Status, 0, false))
			}
		}
		for _, url := range []string{"https://" + pageHost + "/absent?a=b", "https://" + imageHost + "/i/0.png?v=7", "https://" + adHost + "/q"} {
			response, got := r.get(t, client, "GET", url)
			if response.StatusCode != 404 {
				t.Errorf("%s, which is not archived, has status %d", url, response.StatusCode)
			}
			asked = append(asked, request(r, "GET", url, 404, len(got), true))
		}
		if preflighted := "https://" + imageHost + "/a%2Fb%20c?q=1&r="; answersPosts(k) {
			response, got := r.get(t, client, "OPTIONS", preflighted)
			if response.StatusCode != 204 || len(got) > 0 || response.Header.Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("a CORS preflight is answered with %d, %q", response.StatusCode, response.Header)
			}
			asked = append(asked, request(r, "OPTIONS", preflighted, 204, 0, false))
		}
		client.CloseIdleConnections() // Apache logs some requests only then
		must(t, r.Stop())
		log, err := r.Log()
		must(t, err)
		compareLog(t, r, log, asked)
	})
}

// TestEveryServerRecognisesItsValidators sends conditional requests to every server over every row: with
// the validators of an archived response, with others, and for a response that has none.
func TestEveryServerRecognisesItsValidators(t *testing.T) {
	const date, other = "Tue, 03 Mar 2020 10:00:00 GMT", "Wed, 04 Mar 2015 10:00:00 GMT"
	m := maker{site: site.Site{Name: "valid", Page: "https://" + pageHost + "/"}, bodies: map[string][]byte{}}
	m.add("GET", pageHost+"/", 200, []byte("tagged"), "content-type", "text/html", "etag", `"a.b/{c}$d"`, "cache-control", "no-cache", "last-modified", date)
	m.add("GET", pageHost+"/weak.css", 200, zipped("p {}"), "content-type", "text/css", "content-encoding", "gzip", "etag", `W/"1"`, "vary", "accept-encoding")
	m.add("GET", imageHost+"/dated.png", 200, []byte("dated"), "content-type", "image/png", "last-modified", date, "timing-allow-origin", "*")
	m.add("GET", imageHost+"/plain.png", 200, []byte("plain"), "content-type", "image/png", "cache-control", "max-age=60")
	m.add("GET", imageHost+"/gone.png", 404, []byte("gone"), "content-type", "text/plain", "etag", `"gone"`)
	s, err := site.New(m.site, m.bodies)
	must(t, err)
	const tag, since = "If-None-Match", "If-Modified-Since"
	tests := []struct {
		url       string
		fields    []string
		unchanged bool
	}{
		{pageHost + "/", []string{tag, `"a.b/{c}$d"`}, true},
		{pageHost + "/", []string{tag, `"x", W/"a.b/{c}$d"`}, true},
		{pageHost + "/", []string{tag, "*"}, true},
		{pageHost + "/", []string{tag, `"a.b/{c}$d"`, since, date}, true},
		{pageHost + "/", []string{tag, `"a.b"`, since, date}, false},
		{pageHost + "/", []string{tag, `"axb/{c}$d"`}, false},
		{pageHost + "/", []string{since, date}, true},
		{pageHost + "/", []string{since, other}, false},
		{pageHost + "/", nil, false},
		{pageHost + "/weak.css", []string{tag, `W/"1"`}, true},
		{pageHost + "/weak.css", []string{tag, `"1"`}, true},
		{pageHost + "/weak.css", []string{tag, `"11"`}, false},
		{imageHost + "/dated.png", []string{since, date}, true},
		{imageHost + "/dated.png", []string{tag, `"1"`, since, date}, false},
		{imageHost + "/dated.png", []string{since, other}, false},
		{imageHost + "/plain.png", []string{tag, `"1"`}, false},
		{imageHost + "/gone.png", []string{tag, `"gone"`}, false},
	}
	eachRow(t, func(t *testing.T, k server.Kind, row string) {
		r := start(t, k, row, s)
		client := r.client(t)
		var asked []capture.ServerEntry
		for _, method := range []string{"GET", "HEAD"} {
			for _, test := range tests {
				url := "https://" + test.url
				response, got := r.get(t, client, method, url, test.fields...)
				i := slices.IndexFunc(s.Resources, func(r site.Resource) bool { return r.URL == url })
				want := s.Resources[i]
				body, err := s.Body(&want)
				must(t, err)
				if test.unchanged {
					body, want.Status = nil, 304
					want.Header = kept(want.Header)
				}
				if method == "HEAD" {
					body = nil
				}
				compare(t, &want, response, body, got)
				asked = append(asked, request(r, method, url, want.Status, len(got), false))
			}
		}
		client.CloseIdleConnections()
		must(t, r.Stop())
		log, err := r.Log()
		must(t, err)
		compareLog(t, r, log, asked)
	})
}

// kept returns the fields that a 304 has.
func kept(all []site.Header) []site.Header {
	hasTag := slices.ContainsFunc(all, func(h site.Header) bool { return h.Name == "etag" })
	return slices.DeleteFunc(slices.Clone(all), func(h site.Header) bool {
		return strings.HasPrefix(h.Name, "content-") || h.Name == "last-modified" && hasTag
	})
}

// compare compares a response with the archive.
func compare(t *testing.T, archived *site.Resource, response *http.Response, want, got []byte) {
	t.Helper()
	where := response.Request.Method + " " + archived.URL
	if len(where) > 100 {
		where = where[:100]
	}
	if response.StatusCode != archived.Status || !bytes.Equal(got, want) {
		t.Errorf("%s: status %d and %d octets, want %d and %d", where, response.StatusCode, len(got), archived.Status, len(want))
	}
	fields := http.Header{}
	for _, h := range archived.Header {
		fields.Add(h.Name, h.Value)
	}
	fields.Del("Date") // the server's own, like the next one
	fields.Del("Server")
	for name, values := range fields {
		if len(values) == 1 && values[0] == "" {
			continue // nginx leaves such a field out
		}
		// Several lines are the same as one with commas (RFC 9110 section 5.3), except
		// for cookies.
		all := response.Header.Values(name)
		if name != "Set-Cookie" {
			all, values = listed(all), listed(values)
		}
		if !slices.Equal(all, values) {
			t.Errorf("%s: %s is %q, want %q", where, name, all, values)
		}
	}
	for name, values := range response.Header {
		if _, ok := fields[name]; !ok && !slices.Contains(own, strings.ToLower(name)) {
			t.Errorf("%s: the archive has no field %s: %q", where, name, values)
		}
	}
	if length := response.Header.Get("Content-Length"); length != "" && response.Request.Method != "HEAD" && length != strconv.Itoa(len(want)) {
		t.Errorf("%s: content-length is %s, want %d", where, length, len(want))
	}
}

// listed returns the members of a field that is a list.
func listed(lines []string) []string {
	var members []string
	for member := range strings.SplitSeq(strings.Join(lines, ","), ",") {
		members = append(members, strings.TrimSpace(member))
	}
	return members
}

// request returns the expected log entry of a request.
func request(r *running, method, url string, status, size int, miss bool) capture.ServerEntry {
	e := capture.ServerEntry{Method: method, URL: strings.Replace(url, "https:", r.Protocol.Scheme+":", 1), Status: status,
		BodyBytes: int64(size), Miss: miss, Protocol: r.Protocol.Spoken}
	if r.Protocol.ALPN != "" {
		e.TLS = "TLS 1.3"
	}
	return e
}

func compareLog(t *testing.T, r *running, log, asked []capture.ServerEntry) {
	t.Helper()
	order := func(a, b capture.ServerEntry) int {
		return cmp.Or(strings.Compare(a.Method+a.URL, b.Method+b.URL), a.Status-b.Status)
	}
	connections := map[int64]string{}
	for i := range log {
		e := &log[i]
		client, err1 := netip.ParseAddrPort(e.Client)
		at, err2 := netip.ParseAddrPort(e.Server)
		u, _, _ := strings.Cut(strings.TrimPrefix(e.URL, r.Protocol.Scheme+"://"), "/")
		if err1 != nil || err2 != nil || !client.Addr().IsLoopback() || at != netip.AddrPortFrom(addresses[u], uint16(r.Protocol.Port)) {
			t.Errorf("%s: from %q to %q", e.URL, e.Client, e.Server)
		}
		if e.Start == 0 || e.End < e.Start || e.Resumed || e.EarlyData {
			t.Errorf("%s: %+v", e.URL, e)
		}
		if e.Protocol != "h3" && (e.TLS != "") != strings.HasPrefix(e.Cipher, "TLS_") {
			t.Errorf("%s: TLS %q with the cipher %q", e.URL, e.TLS, e.Cipher)
		}
		if before := connections[e.Connection]; before != "" && before != e.Client {
			t.Errorf("connection %d is from %s and from %s", e.Connection, before, e.Client)
		}
		connections[e.Connection] = e.Client
		e.Client, e.Server, e.Start, e.End, e.Cipher, e.Connection = "", "", 0, 0, "", 0
	}
	if len(log) != len(asked) {
		t.Errorf("the log has %d requests, want %d", len(log), len(asked))
	}
	slices.SortFunc(log, order)
	slices.SortFunc(asked, order)
	for i := range min(len(log), len(asked)) {
		if !reflect.DeepEqual(log[i], asked[i]) {
			t.Fatalf("the log has\n%+v\nwant\n%+v", log[i], asked[i])
		}
	}
}

// TestTheLogBeginsAnew rewrites earlier log lines after the restart, as a late server
// does: Apache over HTTP/2 logs some requests only when the next one has come, or the
// client has gone.
func TestTheLogBeginsAnew(t *testing.T) {
	eachRow(t, func(t *testing.T, k server.Kind, row string) {
		if !k.Logs {
			t.Skip("this server keeps no log")
		}
		s := plainSite(t)
		r := start(t, k, row, s)
		client := r.client(t)
		r.get(t, client, "GET", s.Page)
		time.Sleep(5 * time.Millisecond) // logs have a resolution of milliseconds
		must(t, r.StartLog())
		name := filepath.Join(r.Folder, "access.log")
		written, err := os.ReadFile(name)
		must(t, err)
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
		must(t, err)
		_, err = file.Write(written)
		must(t, errors.Join(err, file.Close()))
		r.get(t, client, "GET", s.Page+"?after")
		client.CloseIdleConnections()
		must(t, r.Stop())
		log, err := r.Log()
		must(t, err)
		for _, e := range log {
			if !strings.HasSuffix(e.URL, "?after") {
				t.Errorf("%s was requested before the restart", e.URL)
			}
		}
	})
}

// TestOneProtocolAlone offers each TLS server a protocol that it must not
// speak.
func TestOneProtocolAlone(t *testing.T) {
	eachRow(t, func(t *testing.T, k server.Kind, row string) {
		p, err := protocol.Lookup(row)
		must(t, err)
		if p.ALPN == "" || p.Transport == "udp" {
			t.Skip("TCP handshakes negotiate no protocol")
		}
		r := start(t, k, row, plainSite(t))
		for _, other := range []string{"h2", "http/1.1", "spdy/3.1"} {
			if other == p.ALPN {
				continue
			}
			got, err := r.offer(t, other, p.ALPN)
			t.Logf("offered %s and %s, it chooses %q, %v", other, p.ALPN, got, err)
			if err == nil && got != p.ALPN && k.NoBrowser(row) == "" {
				t.Errorf("offered %s and %s, it chooses %q", other, p.ALPN, got)
			}
		}
	})
}

// TestHostileFields serves a site whose names and values are made to change a server's configuration. What a name of a field
// may have is all that HTTP allows (RFC 9110 section 5.6.2).
func TestHostileFields(t *testing.T) {
	m := maker{site: site.Site{Name: "hostile", Page: "https://" + pageHost + "/"}, bodies: map[string][]byte{}}
	m.add("GET", pageHost+"/", 200, []byte("page"), "content-type", "text/html", "x-open'", "1", "x-close", "' always; no_such_directive on; }",
		"#x-comment", "2", "$x-dollar", "3", "x-%h", "4", "x-file", "{file./etc/passwd} {env.PATH}", "x-back", `\`)
	m.add("GET", pageHost+"/moved", 301, nil, "location", "/x'", "x-open'", "1", "x-close", "'; no_such_directive", "`x-run`", "|id")
	m.add("GET", pageHost+"/q?a ../answers", 200, []byte("spaced"), "content-type", "text/plain") // no client can request it
	m.add("GET", pageHost+"/it's;{}|$(id)*!~,@", 200, []byte("named"), "content-type", "text/plain")
	s, err := site.New(m.site, m.bodies)
	must(t, err)
	for _, k := range server.Kinds() {
		t.Run(k.Name, func(t *testing.T) {
			installed(t, k)
			r := start(t, k, k.Protocols[0], s)
			client := r.client(t)
			for i := range s.Resources {
				resource := &s.Resources[i]
				body, err := s.Body(resource)
				must(t, err)
				if strings.Contains(resource.URL, " ") {
					continue
				}
				response, got := r.get(t, client, resource.Method, resource.URL)
				compare(t, resource, response, body, got)
			}
			if response, got := r.get(t, client, "GET", "https://"+pageHost+"/q?a"); response.StatusCode != 404 {
				t.Errorf("a part of a target is answered with %d, %q", response.StatusCode, got)
			}
		})
	}
}

// TestServersAreContained: the processes that serve are kept to their folder.
func TestServersAreContained(t *testing.T) {
	t.Setenv(sandboxtest.Secret, "1")
	for _, k := range server.Kinds() {
		t.Run(k.Name, func(t *testing.T) {
			installed(t, k)
			for _, pid := range start(t, k, k.Protocols[0], plainSite(t)).Processes() {
				sandboxtest.Check(t, pid)
			}
		})
	}
}
