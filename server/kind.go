package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"wiretime/network"
	"wiretime/protocol"
	"wiretime/site"
)

// Own is the name of Wiretime's own server, which is package protocol's and not a kind
// of this package.
const Own = "wiretime"

// Kind is one row of the table of third-party servers.
type Kind struct {
	// Name is the server's name in studies.
	Name string
	// Title is the name for people.
	Title string
	// Protocols are the rows of package protocol that it can serve.
	Protocols []string
	// Program is the name of its binary.
	Program string
	// Remedy says how to install it; errors end with it.
	Remedy string
	// Logs says that it logs every request. Without a log, nothing can contradict the
	// server.
	Logs bool
	// Starts is roughly the processor time needed to start it.
	Starts time.Duration

	fields    func(string) bool // which field values it can send; nil: all
	methods   bool              // it can answer requests other than GET and HEAD from an archive
	browsers  map[string]string // by row: why browsers cannot be kept to the row's protocol
	version   []string          // the arguments that print its version
	configure func(*setup) ([]launch, error)
	entry     func(line []byte) (logged, error) // parses a line of its log
	peers     string                            // its subfolder of the peers folder, if it is a peer
	plain     bool                              // it serves only folders of plain files
}

// Kinds returns the table in the order in which results are shown.
func Kinds() []Kind {
	secure := []string{"http/1.1", "https/1.1", "h2"}
	return []Kind{
		{Name: "caddy", Starts: 200 * time.Millisecond, Title: "Caddy", Protocols: append(slices.Clone(secure), "h3"), Program: "caddy", Remedy: "install Debian's package caddy",
			Logs: true, methods: true, version: []string{"version"}, configure: configureCaddy, fields: utf8.ValidString, entry: caddyEntry},
		{Name: "nginx", Starts: 50 * time.Millisecond, Title: "nginx", Protocols: secure, Program: "nginx", Remedy: "install Debian's package nginx",
			Logs: true, methods: true, version: []string{"-v"}, configure: configureNginx, entry: nginxEntry},
		{Name: "h2o", Starts: 100 * time.Millisecond, Title: "H2O", Protocols: secure, Program: "h2o", Remedy: "install Debian's package h2o",
			Logs: true, methods: true, version: []string{"-v"}, configure: configureH2O, fields: utf8.ValidString, entry: h2oEntry,
			browsers: map[string]string{"https/1.1": "H2O offers HTTP/2 whenever it serves TLS, and browsers choose it; use the loader builtin"}},
		{Name: "apache2", Starts: 100 * time.Millisecond, Title: "Apache HTTP Server", Protocols: secure, Program: "apache2", Remedy: "install Debian's package apache2-bin",
			Logs: true, version: []string{"-v"}, configure: configureApache, entry: apacheEntry},
		{Name: "node-spdy", Starts: 400 * time.Millisecond, Title: "node-spdy", Protocols: []string{"spdy/2", "spdy/3", "spdy/3.1"}, Program: "node", Remedy: "install Node.js",
			Logs: true, methods: true, version: []string{"--version"}, configure: configureNode, fields: isASCII, entry: jsonEntry, peers: "node"},
		{Name: "netty", Starts: 3000 * time.Millisecond, Title: "Netty", Protocols: []string{"spdy/3.1"}, Program: "java", Remedy: "install Debian's package default-jdk-headless",
			Logs: true, methods: true, version: []string{"--version"}, configure: configureNetty, fields: isASCII, entry: jsonEntry, peers: "netty"},
		{Name: "jetty", Starts: 3000 * time.Millisecond, Title: "Jetty", Protocols: []string{"spdy/2", "spdy/3"}, Program: "java", Remedy: "install Debian's package default-jdk-headless",
			Logs: true, methods: true, version: []string{"--version"}, configure: configureJetty, fields: isASCII, entry: jsonEntry, peers: "jetty"},
	}
}

// Names returns the names of all kinds.
func Names() []string {
	var names []string
	for _, k := range Kinds() {
		names = append(names, k.Name)
	}
	return names
}

// Lookup returns the kind called name. The error lists the kinds and suggests the
// nearest one, if any is near.
func Lookup(name string) (Kind, error) {
	for _, k := range Kinds() {
		if k.Name == name {
			return k, nil
		}
	}
	meant := ""
	if nearest := network.Nearest(name, Names()); nearest != "" {
		meant = fmt.Sprintf(" (did you mean %q?)", nearest)
	}
	return Kind{}, fmt.Errorf("unknown server %q%s; write one of %s", name, meant, strings.Join(Names(), ", "))
}

// ErrMissing means that a server's program is not installed.
var ErrMissing = errors.New("is not installed")

// Find returns the path of the kind's program. The error wraps ErrMissing and says
// what to install.
func (k Kind) Find() (string, error) {
	path, err := exec.LookPath(k.Program)
	if err != nil {
		// Debian installs servers where only root's shell searches.
		path, err = exec.LookPath(filepath.Join("/usr/sbin", k.Program))
	}
	if err != nil {
		return "", fmt.Errorf("%s: %s %w: %s", k.Name, k.Program, ErrMissing, k.Remedy)
	}
	if k.peers != "" {
		if _, err := PeersFolder(); err != nil {
			return "", fmt.Errorf("%s: %w", k.Name, err)
		}
	}
	return path, nil
}

// Version returns the version of the kind's program. The error wraps ErrMissing if it is
// not installed.
func (k Kind) Version(ctx context.Context) (string, error) {
	program, err := k.Find()
	if err != nil {
		return "", err
	}
	command := exec.CommandContext(ctx, program, k.version...)
	command.Env = append(os.Environ(), "HOME=/dev/null") // caddy makes a folder in its user's home
	out, err := command.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("get the version of %s: %w", program, err)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if library := k.library(); library != "" {
		return library + " on " + first, nil
	}
	return first, nil
}

// Serves reports whether the kind supports a protocol's row.
func (k Kind) Serves(row string) bool { return slices.Contains(k.Protocols, row) }

// NoBrowser returns why browsers cannot be kept to a row's protocol at this server, or ""
// if they can.
func (k Kind) NoBrowser(row string) string { return k.browsers[row] }

// Supports returns an error that says why the kind cannot serve a site's archive over a
// row, or nil if it can.
func (k Kind) Supports(s *site.Site, row protocol.Protocol) error {
	if !k.Serves(row.Name) {
		return fmt.Errorf("%s does not support %s, only %s", k.Name, row.Name, strings.Join(k.Protocols, ", "))
	}
	isSPDY := strings.HasPrefix(row.ALPN, "spdy/") // which has no Early Hints
	pushes := row.Transport == "tcp" && row.Spoken != "http/1.1"
	for i := range s.Resources {
		r := &s.Resources[i]
		odd := slices.IndexFunc(r.Header, func(h site.Header) bool { return k.fields != nil && !k.fields(h.Value) })
		switch {
		case odd >= 0:
			return fmt.Errorf("%s cannot send %s of %s, whose value %q is not plain text", k.Name, r.Header[odd].Name, r.URL, r.Header[odd].Value)
		case r.Method != http.MethodGet && !k.methods:
			return fmt.Errorf("%s supports only GET on files, and the site has %s %s", k.Name, r.Method, r.URL)
		case r.Early && !isSPDY:
			return fmt.Errorf("%s does not support 103 Early Hints, which the site sends with %s", k.Name, r.URL)
		case len(r.Push) > 0 && pushes:
			return fmt.Errorf("%s is not configured to push, and the site pushes with %s", k.Name, r.URL)
		}
	}
	if k.plain {
		if _, err := plainFiles(s); err != nil {
			return fmt.Errorf("%s serves only plain files: %w", k.Name, err)
		}
	}
	return nil
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII })
}
