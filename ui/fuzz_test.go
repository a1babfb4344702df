package ui

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// FuzzRequests sends requests that the page would never send. None of them fails inside the server, is answered with a page of a
// stranger's making, or makes a file that is not a study.
func FuzzRequests(f *testing.F) {
	dir := filepath.Join(f.TempDir(), "store")
	shop{dir, 4}.fill(f)
	studies := filepath.Join(f.TempDir(), "studies")
	if err := os.Mkdir(studies, 0o755); err != nil {
		f.Fatal(err)
	}
	p := serve(f, dir, studies)
	for _, seed := range [][4]string{
		{"GET", "/api/runs/1", "metrics=onload,plt", ""},
		{"GET", "/api/runs/1/ratios.csv", "metric=onload&baseline=h2", ""},
		{"GET", "/api/runs/1/cells/3", "", ""},
		{"GET", "/api/runs/1/cells/0/csv", "metric=plt", ""},
		{"GET", "/api/loads/r1-0000-a1", "", ""},
		{"GET", "/api/loads/r1-0000-a1/connections", "", ""},
		{"GET", "/api/compare", "a=r1-0000-a1&b=r1-0001-a1", ""},
		{"GET", "/files/r1-0000-a1/load.pcapng", "", ""},
		{"GET", "/files/r1-0000-a1/../../wiretime.db", "", ""},
		{"GET", "/metrics", "", ""},
		{"GET", "/", "token=" + token, ""},
		{"PUT", "/api/studies/files/a.yaml", "", `{"text": "name: a\n", "was": ""}`},
		{"PUT", "/api/studies/files/..%2fa.yaml", "", `{"text": "name: a\n"}`},
		{"POST", "/api/studies/check", "", `{"file": "a.yaml", "text": "matrix: {sites: [flags]"}`},
		{"POST", "/api/run", "", `{"builtin": "first-look", "file": "a.yaml"}`},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	address, err := net.ResolveTCPAddr("tcp", p.host)
	if err != nil {
		f.Fatal(err)
	}
	handler := p.guard(address, p.routes())
	methods, study := regexp.MustCompile(`^[A-Z]{1,9}$`), regexp.MustCompile(`^[^/]+\.ya?ml$`)
	f.Fuzz(func(t *testing.T, method, path, query, body string) {
		if !methods.MatchString(method) || strings.HasSuffix(path, "/run") && method == http.MethodPost {
			return // the second starts programs
		}
		r := httptest.NewRequest(method, "http://"+p.host, strings.NewReader(body))
		decoded, err := url.PathUnescape(path)
		if err != nil {
			return
		}
		r.URL.Path, r.URL.RawPath, r.URL.RawQuery = decoded, path, query
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		if strings.Contains(decoded, "events") { // they would be followed
			ctx, cancel := context.WithCancel(r.Context())
			cancel()
			r = r.WithContext(ctx)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code >= http.StatusInternalServerError {
			t.Errorf("%s %q %q: status %d: %.300s", method, path, query, w.Code, w.Body)
		}
		kind := w.Header().Get("Content-Type")
		if own := decoded == "/" || decoded == "/index.html"; strings.HasPrefix(kind, "text/html") && w.Code == http.StatusOK && !own || w.Header().Get("Content-Security-Policy") != contentPolicy {
			t.Errorf("%s %q is answered with %s: %.300s", method, path, kind, w.Body)
		}
		files, err := os.ReadDir(studies)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if !study.MatchString(file.Name()) || !file.Type().IsRegular() {
				t.Errorf("%s %q made %s", method, path, file)
			}
		}
		if beside, err := os.ReadDir(filepath.Dir(studies)); err != nil || len(beside) != 1 {
			t.Errorf("%s %q made %v, %v", method, path, beside, err)
		}
	})
}
