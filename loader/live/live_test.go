package live_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"wiretime/loader/builtin"
	"wiretime/loader/live"
	"wiretime/loader/session"
	"wiretime/protocol"
)

func TestProtocol(t *testing.T) {
	tests := []struct {
		name string
		urls []string
		want string
		says string // of the error
	}{
		{"", []string{"http://a.test/"}, "http/1.1", ""},
		{"", []string{"https://a.test/"}, "h2", ""},
		{"h3", []string{"https://a.test/", "https://b.test/"}, "h3", ""},
		{"", []string{"https://a.test/", "http://a.test/"}, "", "cannot fetch http://a.test/ over h2"},
		{"http/1.1", []string{"https://a.test/"}, "", "https/1.1"},
		{"h4", []string{"https://a.test/"}, "", "h4"},
		{"", []string{"://"}, "", "missing protocol scheme"},
	}
	for _, test := range tests {
		p, err := live.Protocol(test.name, test.urls)
		if test.says == "" && (err != nil || p.Name != test.want) {
			t.Errorf("Protocol(%q, %q) returns %q and %v, want %q", test.name, test.urls, p.Name, err, test.want)
		}
		if test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
			t.Errorf("Protocol(%q, %q) returns the error %v, want one that says %q", test.name, test.urls, err, test.says)
		}
	}
}

// TestVerify: a certificate is accepted if its authority is trusted and it has the server's
// name, or if every certificate is.
func TestVerify(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	trusted := x509.NewCertPool()
	trusted.AddCert(server.Certificate())
	for _, test := range []struct {
		name     string
		roots    *x509.CertPool
		insecure bool
		server   string
		ok       bool
	}{
		{"trusted", trusted, false, "example.com", true},
		{"unknown authority", x509.NewCertPool(), false, "example.com", false},
		{"another name", trusted, false, "a.test", false},
		{"insecure", nil, true, "a.test", true},
	} {
		state := tls.ConnectionState{PeerCertificates: []*x509.Certificate{server.Certificate()}, ServerName: test.server}
		err := live.Verify(test.roots, test.insecure)(state)
		if (err == nil) != test.ok {
			t.Errorf("%s: Verify returns %v", test.name, err)
		}
		if err != nil && !strings.Contains(err.Error(), "--cacert") {
			t.Errorf("%s: the error does not say what to do: %v", test.name, err)
		}
	}
}

// TestLoadPages loads a page and its script from an address given for its host.
func TestLoadPages(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(`<!doctype html><script src=/a.js></script>`))
		}
	}))
	defer server.Close()
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	host := "www.a.test:" + at.Port()
	p, err := protocol.Lookup("http/1.1")
	if err != nil {
		t.Fatal(err)
	}
	strategy, err := session.ParseStrategy("")
	if err != nil {
		t.Fatal(err)
	}
	c := live.Config{Addresses: map[string]netip.Addr{host: netip.MustParseAddr(at.Hostname())}}
	har, timing, err := live.LoadPages(t.Context(), c.Session(p, strategy), builtin.Limits{}, []string{"http://" + host + "/"})
	if err != nil {
		t.Fatal(err)
	}
	if len(har.Log.Entries) != 2 || har.Log.Entries[1].Request.URL != "http://"+host+"/a.js" || timing.OnLoad <= 0 {
		t.Errorf("%d requests, onLoad after %v ms", len(har.Log.Entries), timing.OnLoad)
	}
}
