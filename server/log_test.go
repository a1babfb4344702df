package server

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"wiretime/artefact"
	"wiretime/capture"
	"wiretime/protocol"
	"wiretime/site"
)

// oneFile returns a setup whose site has one page.
func oneFile(t testing.TB, kind, row string) *setup {
	t.Helper()
	body := []byte("page")
	s, err := site.New(site.Site{Name: "one", Page: "https://www.page.test/", Resources: []site.Resource{
		{Method: "GET", URL: "https://www.page.test/", Status: 200, Body: site.Hash(body)},
	}}, map[string][]byte{site.Hash(body): body})
	if err != nil {
		t.Fatal(err)
	}
	k, err := Lookup(kind)
	if err != nil {
		t.Fatal(err)
	}
	p, err := protocol.Lookup(row)
	if err != nil {
		t.Fatal(err)
	}
	return &setup{Config: Config{Kind: k, Protocol: p, Site: s, Hosts: map[string]netip.Addr{"www.page.test": netip.MustParseAddr("198.19.1.1")}},
		known: map[string]bool{"GET www.page.test/": true}}
}

// lines are log lines as the servers write them, one request each.
var lines = map[string]struct {
	row, text string
	want      capture.ServerEntry
}{
	"nginx": {"h2", `{"end":1795266212.403,"took":0.008,"protocol":"HTTP/2.0","tls":"TLSv1.3","cipher":"TLS_AES_256_GCM_SHA384","reused":".",` +
		`"request":"GET / HTTP/2.0","host":"www.page.test","target":"/","status":200,"bytes":4,"client":"10.0.0.2:4000","server":"198.19.1.1:443"}`,
		capture.ServerEntry{Start: 1795266212395e6, End: 1795266212403e6, Protocol: "h2", TLS: "TLS 1.3", Cipher: "TLS_AES_256_GCM_SHA384", Method: "GET",
			URL: "https://www.page.test/", Status: 200, BodyBytes: 4, Client: "10.0.0.2:4000", Server: "198.19.1.1:443", Connection: 1}},
	"caddy": {"h3", `{"level":"info","ts":1795266212403000000,"logger":"http.log.access.requests","msg":"handled request","request":{"remote_ip":"10.0.0.2","remote_port":"4000",` +
		`"proto":"HTTP/3.0","method":"GET","host":"www.page.test","uri":"/absent?a=b","tls":{"resumed":false,"version":0,"cipher_suite":0,"proto":"","server_name":""}},"duration":0.008,"size":0,"status":404}`,
		capture.ServerEntry{Start: 1795266212395e6, End: 1795266212403e6, Protocol: "h3", TLS: "TLS 1.3", Method: "GET",
			URL: "https://www.page.test/absent?a=b", Status: 404, Client: "10.0.0.2:4000", Server: "198.19.1.1:443", Connection: 1, Miss: true}},
	"h2o": {"http/1.1", `{"time":"1795266212.395000","took":"0.008","protocol":"HTTP/1.1","tls":null,"cipher":null,"reused":null,"method":"HEAD","host":"www.page.test:80","path":"/","query":"",` +
		`"status":200,"bytes":0,"address":"10.0.0.2","port":"4000","ownAddress":"198.19.1.1","ownPort":"80"}`,
		capture.ServerEntry{Start: 1795266212395e6, End: 1795266212403e6, Protocol: "http/1.1", Method: "HEAD",
			URL: "http://www.page.test:80/", Status: 200, Client: "10.0.0.2:4000", Server: "198.19.1.1:80", Connection: 1}},
	"apache2": {"https/1.1", `{"start":1795266212395000,"end":1795266212403000,"protocol":"HTTP/1.1","host":"www.page.test","request":"GET /\x01\"? HTTP/1.1","status":404,"bytes":236,` +
		`"client":"10.0.0.2:4000","server":"198.19.1.1:443","tls":"TLSv1.3","cipher":"TLS_AES_128_GCM_SHA256","reused":"Resumed"}`,
		capture.ServerEntry{Start: 1795266212395e6, End: 1795266212403e6, Protocol: "http/1.1", TLS: "TLS 1.3", Cipher: "TLS_AES_128_GCM_SHA256", Resumed: true, Method: "GET",
			URL: "https://www.page.test/\x01\"?", Status: 404, BodyBytes: 236, Client: "10.0.0.2:4000", Server: "198.19.1.1:443", Connection: 1, Miss: true}},
	"node-spdy": {"spdy/3.1", `{"start":1795266212395000000,"end":1795266212403000000,"tls":"TLSv1.3","cipher":"TLS_AES_128_GCM_SHA256","method":"GET","host":"www.page.test","target":"/","protocol":"spdy/3.1",` +
		`"resumed":false,"status":200,"bytes":4,"client":"10.0.0.2:4000","server":"198.19.1.1:443"}`,
		capture.ServerEntry{Start: 1795266212395e6, End: 1795266212403e6, Protocol: "spdy/3.1", TLS: "TLS 1.3", Cipher: "TLS_AES_128_GCM_SHA256", Method: "GET",
			URL: "https://www.page.test/", Status: 200, BodyBytes: 4, Client: "10.0.0.2:4000", Server: "198.19.1.1:443", Connection: 1}},
}

func TestReadLogs(t *testing.T) {
	for kind, line := range lines {
		t.Run(kind, func(t *testing.T) {
			s := oneFile(t, kind, line.row)
			// The second line is unfinished.
			got, err := s.entries([]byte(line.text + "\n" + line.text[:40]))
			if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], line.want) {
				t.Errorf("%v\ngot  %+v\nwant %+v", err, got, line.want)
			}
		})
	}
}

func TestConnectionsAreNumberedAsTheyCame(t *testing.T) {
	s, text := oneFile(t, "node-spdy", "spdy/3.1"), lines["node-spdy"].text
	later := strings.Replace(text, `{"start":1795266212395`, `{"start":1795266212396`, 1)
	other := strings.Replace(later, ":4000", ":4001", 1)
	got, err := s.entries([]byte(other + "\n" + later + "\n" + text + "\n"))
	if err != nil || len(got) != 3 || got[0].Connection != 1 || got[1].Connection != 2 || got[2].Connection != 1 {
		t.Errorf("%v\n%+v", err, got)
	}
}

func TestALineThatCannotBeReadIsNamed(t *testing.T) {
	s := oneFile(t, "nginx", "h2")
	_, err := s.entries([]byte(lines["nginx"].text + "\nnot JSON\n"))
	if err == nil || !strings.Contains(err.Error(), `line 2, "not JSON"`) {
		t.Error(err)
	}
}

// FuzzEntries parses logs of all kinds, which contain what clients have sent.
func FuzzEntries(f *testing.F) {
	for kind, line := range lines {
		f.Add(kind, []byte(line.text+"\n"))
	}
	f.Fuzz(func(t *testing.T, kind string, text []byte) {
		k, err := Lookup(kind)
		if err != nil {
			return
		}
		s := oneFile(t, kind, k.Protocols[0])
		entries, err := s.entries(text)
		if err == nil && len(entries) != strings.Count(string(text), "\n") {
			t.Errorf("%d entries of %d lines", len(entries), strings.Count(string(text), "\n"))
		}
	})
}

// TestALogIsNotReplaced reads the log of a server that has put something else in its place.
func TestALogIsNotReplaced(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("password"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, replace := range map[string]func(log string) error{
		"a link":      func(log string) error { return os.Symlink(secret, log) },
		"a hard link": func(log string) error { return os.Link(secret, log) },
		"a FIFO":      func(log string) error { return syscall.Mkfifo(log, 0o600) },
		"a huge file": func(log string) error {
			return errors.Join(os.WriteFile(log, nil, 0o600), os.Truncate(log, largestLog+1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			s := &Server{config: Config{Folder: folder}, setup: &setup{log: filepath.Join(folder, "access.log")}}
			if err := replace(s.setup.log); err != nil {
				t.Fatal(err)
			}
			if text, err := s.readLog(); !errors.Is(err, artefact.ErrUnfit) {
				t.Errorf("its log is %.20q, error %v", text, err)
			}
		})
	}
}
