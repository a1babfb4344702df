package ui

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"

	"wiretime/artefact"
	"wiretime/atomicfile"
)

// Listen listens on a loopback address, such as 127.0.0.1:9480. Port 0 takes any port that is free. It refuses other addresses:
// whoever reaches the page starts programs on this machine.
func Listen(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w; write it like 127.0.0.1:9480", address, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("listen on %s: the page is for this machine alone, because it starts runs; use a loopback address such as 127.0.0.1:9480, "+
			"and from another machine a tunnel: ssh -L 9480:127.0.0.1:9480 HOST", address)
	}
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("listen on %s: the port is taken, perhaps by another `wiretime ui`; choose another one with --listen, as in --listen 127.0.0.1:0 for any that is free", address)
	}
	return l, err
}

// tokenOctets is how long a token is, before it is written in hexadecimal.
const tokenOctets = 16

// NewToken returns a token that nobody can guess.
func NewToken() string {
	b := make([]byte, tokenOctets)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

// TokenFile returns the token that a file holds. If there is no such file, it makes a token and a file that only the user may read.
func TokenFile(path string) (string, error) {
	text, err := artefact.Read(path, 1<<10)
	if errors.Is(err, fs.ErrNotExist) {
		token := NewToken()
		file, err := atomicfile.Create(path, 0o600)
		if err != nil {
			return "", fmt.Errorf("keep a token in %s: %w", path, err)
		}
		defer file.Discard()
		if _, err = file.WriteString(token + "\n"); err == nil {
			err = file.Commit()
		}
		if err != nil {
			return "", fmt.Errorf("keep a token in %s: %w", path, err)
		}
		return token, nil
	}
	if err != nil {
		return "", fmt.Errorf("read the token in %s: %w", path, err)
	}
	token := strings.TrimSpace(string(text))
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("read the token in %s: others may read it; chmod 600 it, or delete it for a new one", path)
	}
	if _, err := hex.DecodeString(token); err != nil || len(token) < 2*tokenOctets {
		return "", fmt.Errorf("read the token in %s: want at least %d hexadecimal digits; delete the file for a new one", path, 2*tokenOctets)
	}
	return token, nil
}

// Address returns the page's address with the token, as a browser's first visit needs it.
func Address(l net.Addr, token string) string { return "http://" + l.String() + "/?token=" + token }

// contentPolicy says what the page may load and run: its own files alone, no script in a document, and no frame around it. The one style
// sheet within a document is the constant one that Observable Plot puts into each chart.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'sha256-jSYQUrW7J0b3jPqhZP9C2Xh1PyJKHKXd4s0fpGGKrww='; " +
	"img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// gate is what requests must pass.
type gate struct {
	hosts  []string // that may stand in Host and, after http://, in Origin
	cookie string   // its name: cookies know no ports, so the name has it
	token  string
	next   http.Handler
}

// guard lets only those requests pass to next that come from the page, or show the token.
func (s *Server) guard(address net.Addr, next http.Handler) http.Handler {
	_, port, _ := net.SplitHostPort(address.String())
	return &gate{
		hosts:  []string{address.String(), "localhost:" + port, "127.0.0.1:" + port, "[::1]:" + port},
		cookie: "wiretime-" + port, token: s.Token, next: next,
	}
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", contentPolicy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cache-Control", "no-cache")
	status, refusal := g.refuse(r)
	if refusal != "" {
		writeError(w, status, refusal)
		return
	}
	if given := r.URL.Query().Get("token"); r.URL.Path == "/" && given != "" {
		if !g.is(given) {
			writeError(w, http.StatusUnauthorized, "the token is not the one of this `wiretime ui`; take the address that it printed when it started")
			return
		}
		http.SetCookie(w, &http.Cookie{Name: g.cookie, Value: g.token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	g.next.ServeHTTP(w, r)
}

// refuse says why a request is not answered; "" if it is.
func (g *gate) refuse(r *http.Request) (status int, why string) {
	// A name that leads here by DNS is a stranger's page that wants to pass for this one (DNS rebinding).
	if !slices.Contains(g.hosts, strings.ToLower(r.Host)) {
		return http.StatusMisdirectedRequest, "this server answers only requests for " + g.hosts[0]
	}
	secret := strings.HasPrefix(r.URL.Path, "/api/") || strings.HasPrefix(r.URL.Path, "/files/") || r.URL.Path == "/metrics"
	changes := r.Method != http.MethodGet && r.Method != http.MethodHead
	bearer, script := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	origin := r.Header.Get("Origin")
	switch own := slices.Contains(g.hosts, strings.TrimPrefix(origin, "http://")) && strings.HasPrefix(origin, "http://"); {
	case origin != "" && !own:
		return http.StatusForbidden, "the request comes from another page"
	case origin == "" && changes && !script:
		return http.StatusForbidden, "the request does not say which page it comes from (Origin)"
	}
	// Pages on other ports of this machine are the same site to a browser, and it sends them our cookie.
	if site := r.Header.Get("Sec-Fetch-Site"); secret && site != "" && site != "same-origin" && site != "none" {
		return http.StatusForbidden, "the request comes from another page"
	}
	if !secret && !changes {
		return 0, ""
	}
	if script {
		if !g.is(bearer) {
			return http.StatusUnauthorized, "the token in Authorization is not the one of this `wiretime ui`"
		}
		return 0, ""
	}
	// A browser may hold several cookies of that name, and another program's may come first.
	for _, c := range r.CookiesNamed(g.cookie) {
		if g.is(c.Value) {
			return 0, ""
		}
	}
	return http.StatusUnauthorized, "open the address that `wiretime ui` printed when it started: it has the token that this page lacks"
}

// is compares with the token, in a time that says nothing about it.
func (g *gate) is(given string) bool {
	return subtle.ConstantTimeCompare([]byte(given), []byte(g.token)) == 1
}
