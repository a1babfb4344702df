package ui

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGuard sends requests as the page, as other pages, and as programs do.
func TestGuard(t *testing.T) {
	p := shopServed(t)
	set := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	without := func(names ...string) func(*http.Request) {
		return func(r *http.Request) {
			for _, n := range names {
				r.Header.Del(n)
			}
		}
	}
	both := func(all ...func(*http.Request)) func(*http.Request) {
		return func(r *http.Request) {
			for _, f := range all {
				f(r)
			}
		}
	}
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	port := p.host[strings.LastIndex(p.host, ":"):]
	bearer := set("Authorization", "Bearer "+token)
	for name, c := range map[string]struct {
		method, path string
		change       func(*http.Request)
		want         int
	}{
		"the page reads":                              {"GET", "/api/state", nil, 200},
		"the page follows":                            {"GET", "/api/runs", set("Origin", "http://"+p.host), 200},
		"the page changes something":                  {"POST", "/api/run/stop", nil, 409},
		"by the name localhost":                       {"GET", "/api/state", host("localhost" + port), 200},
		"by a stranger's name (DNS rebinding)":        {"GET", "/api/state", host("evil.example" + port), 421},
		"the page itself by a stranger's name":        {"GET", "/", host("evil.example"), 421},
		"by the right name without its port":          {"GET", "/api/state", host("127.0.0.1"), 421},
		"no cookie":                                   {"GET", "/api/state", without("Cookie"), 401},
		"another cookie":                              {"GET", "/api/state", both(without("Cookie"), set("Cookie", "wiretime-"+port[1:]+"=x")), 401},
		"another program's cookie first":              {"GET", "/api/state", both(without("Cookie"), set("Cookie", "wiretime-"+port[1:]+"=x; wiretime-"+port[1:]+"="+token)), 200},
		"files need the token":                        {"GET", "/files/r1-0000-a1/load.har", without("Cookie"), 401},
		"metrics need the token":                      {"GET", "/metrics", without("Cookie"), 401},
		"events need the token":                       {"GET", "/api/events", without("Cookie"), 401},
		"a program's token":                           {"GET", "/metrics", both(without("Cookie", "Sec-Fetch-Site"), bearer), 200},
		"a program's wrong token":                     {"GET", "/metrics", set("Authorization", "Bearer x"), 401},
		"a program changes something":                 {"POST", "/api/run/stop", both(without("Cookie", "Origin", "Sec-Fetch-Site"), bearer), 409},
		"another page reads":                          {"GET", "/api/state", set("Sec-Fetch-Site", "cross-site"), 403},
		"a page on another port reads":                {"GET", "/api/state", set("Sec-Fetch-Site", "same-site"), 403},
		"another page follows":                        {"GET", "/api/events", both(without("Sec-Fetch-Site"), set("Origin", "http://evil.example")), 403},
		"another page changes something":              {"POST", "/api/run/stop", set("Origin", "http://evil.example"), 403},
		"a page on another port changes something":    {"POST", "/api/run/stop", set("Origin", "http://127.0.0.1:1"), 403},
		"a page over TLS changes something":           {"POST", "/api/run/stop", set("Origin", "https://"+p.host), 403},
		"a page without an origin changes something":  {"POST", "/api/run/stop", set("Origin", "null"), 403},
		"nobody says who changes something":           {"POST", "/api/run/stop", without("Origin"), 403},
		"a form changes something":                    {"POST", "/api/run/stop", set("Content-Type", "text/plain"), 400},
		"the page's own files need no token":          {"GET", "/app.js", without("Cookie"), 200},
		"a link from elsewhere opens the page":        {"GET", "/", both(without("Cookie"), set("Sec-Fetch-Site", "cross-site")), 200},
		"nothing else is served":                      {"GET", "/wiretime.db", nil, 404},
		"a folder is not listed":                      {"GET", "/files/r1-0000-a1/", nil, 404},
		"another method":                              {"DELETE", "/api/studies/files/a.yaml", nil, 405},
		"the token in the address":                    {"GET", "/?token=" + token, without("Cookie"), 303},
		"a wrong token in the address":                {"GET", "/?token=x", nil, 401},
		"the token in the address of something other": {"GET", "/api/state?token=" + token, without("Cookie"), 401},
	} {
		t.Run(name, func(t *testing.T) {
			status, header, answer := p.do(c.method, c.path, "{}", c.change)
			if status != c.want {
				t.Errorf("status %d, want %d: %s", status, c.want, answer)
			}
			policy := header.Get("Content-Security-Policy")
			if !strings.HasPrefix(policy, "default-src 'none'; script-src 'self'; ") || strings.Contains(policy, "unsafe") || header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("the headers are %v", header)
			}
		})
	}
	_, header, _ := p.do("GET", "/?token="+token, "", nil)
	cookie := header.Get("Set-Cookie")
	if header.Get("Location") != "/" || !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Strict") {
		t.Errorf("the first visit leads to %q with the cookie %q", header.Get("Location"), cookie)
	}
}

func TestListen(t *testing.T) {
	first, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	for address, want := range map[string]string{
		first.Addr().String(): "--listen",
		"0.0.0.0:0":           "loopback",
		":0":                  "loopback",
		"192.0.2.1:80":        "loopback",
		"example.org:80":      "loopback",
		"9480":                "write it like",
	} {
		if l, err := Listen(address); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("listening on %s: error %v, want one about %q", address, err, want)
			if l != nil {
				_ = l.Close()
			}
		}
	}
	for _, address := range []string{"localhost:0", "[::1]:0"} {
		l, err := Listen(address)
		if err != nil {
			t.Logf("this machine has no %s: %v", address, err)
			continue
		}
		_ = l.Close()
	}
}

func TestTokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	made, err := TokenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := TokenFile(path); err != nil || again != made || len(made) != 32 {
		t.Errorf("the file has token %q, then %q, error %v", made, again, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, error %v", info.Mode(), err)
	}
	if a, b := NewToken(), NewToken(); a == b {
		t.Error("two tokens are equal")
	}
	mustWrite(t, path, "guess")
	if _, err := TokenFile(path); err == nil || !strings.Contains(err.Error(), "hexadecimal") {
		t.Errorf("a short token: error %v", err)
	}
	mustWrite(t, path, made)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := TokenFile(path); err == nil || !strings.Contains(err.Error(), "chmod") {
		t.Errorf("a token that others may read: error %v", err)
	}
}
