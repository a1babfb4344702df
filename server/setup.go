package server

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"wiretime/site"
)

// setup is the input of a kind's configuration: the site as files.
type setup struct {
	Config
	program string          // the kind's binary
	log     string          // the file of the access log
	origins []origin        // in the order of the site
	known   map[string]bool // method, host and target of each answer
}

// origin is one host of the site.
type origin struct {
	host             string
	address          netip.Addr
	certificate, key string // PEM files; empty without TLS
	answers          []answer
}

// answer is one archived response.
type answer struct {
	number int    // unique within the site, from 1
	method string // HEAD gets the answer of GET
	target string // path and query, as in the request line
	status int
	header [][2]string // names in lower case; without the server's own
	body   string      // a file
	size   int64
}

// serversOwn are response fields that each server writes itself.
var serversOwn = []string{"date", "server"}

// bodiesName is the folder of the bodies, named by their hashes.
const bodiesName = "bodies"

// launch describes a program to be started.
type launch struct {
	args []string // the program first
	// nobody runs it as nobody in a user namespace of its own. Programs that drop root's
	// rights when started by root fail where root is the only user, as in a lab without
	// root.
	nobody      bool
	environment []string
	// patience is how long the program has to exit after the signal to stop, which is SIGTERM
	// by default.
	patience time.Duration
	stop     syscall.Signal
}

// room returns how many connections to configure in a server that limits them: its usual limit, or
// twice the connections that it must hold, because some servers count just closed connections and
// open files as well.
func (s *setup) room(usual int) int { return max(usual, 2*s.Connections) }

// prepare writes the site and its certificates to the server's folder.
func prepare(c Config, program string) (*setup, error) {
	s := &setup{Config: c, program: program, log: filepath.Join(c.Folder, "access.log")}
	for _, folder := range []string{filepath.Join(c.Folder, bodiesName), s.scratch()} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			return nil, err
		}
	}
	s.known = map[string]bool{}
	index := map[string]int{}
	for _, host := range c.Site.Origins() {
		o := origin{host: host, address: c.Hosts[host]}
		if !o.address.IsValid() {
			return nil, fmt.Errorf("host %s has no address", host)
		}
		if c.Protocol.ALPN != "" {
			if err := s.certify(&o); err != nil {
				return nil, err
			}
		}
		index[host] = len(s.origins)
		s.origins = append(s.origins, o)
	}
	for i := range c.Site.Resources {
		r := &c.Site.Resources[i]
		u, err := url.Parse(r.URL)
		if err != nil {
			return nil, err
		}
		if r.Method == http.MethodHead {
			continue
		}
		o := &s.origins[index[u.Host]]
		archived := c.Site.Respond(r.Method, u.Host, u.RequestURI())
		if archived.Resource == nil || !archived.Exact {
			return nil, fmt.Errorf("site %s holds %s %s, but does not answer it", c.Site.Name, r.Method, r.URL)
		}
		if err := s.add(o, r.Method, u.RequestURI(), archived); err != nil {
			return nil, err
		}
		if _, crossOrigin := o.answers[len(o.answers)-1].field("access-control-allow-origin"); !crossOrigin || !c.Kind.methods {
			continue
		}
		preflight := c.Site.Respond(http.MethodOptions, u.Host, u.RequestURI())
		if preflight.Resource == nil && !s.known[key(http.MethodOptions, u.Host, u.RequestURI())] {
			if err := s.add(o, http.MethodOptions, u.RequestURI(), preflight); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// add adds an answer to an origin, and writes its body.
func (s *setup) add(o *origin, method, target string, archived site.Answer) error {
	body := filepath.Join(s.Folder, bodiesName, site.Hash(archived.Body))
	a := answer{number: len(s.known) + 1, method: method, target: target, status: archived.Status, body: body, size: int64(len(archived.Body))}
	for _, field := range archived.Header {
		if name := strings.ToLower(field[0]); !slices.Contains(serversOwn, name) {
			a.header = append(a.header, [2]string{name, field[1]})
		}
	}
	s.known[key(method, o.host, target)] = true
	o.answers = append(o.answers, a)
	return writeOnce(body, archived.Body)
}

// key identifies requests that are the same to a server. HEAD counts as GET.
func key(method, host, target string) string {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	return method + " " + host + target
}

// writeOnce writes a file unless it exists already.
func writeOnce(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if os.IsExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// certify writes the certificate of an origin's host with its chain, and its key.
func (s *setup) certify(o *origin) error {
	c, err := s.Authority.Certificate(o.host)
	if err != nil {
		return err
	}
	var chain bytes.Buffer
	for _, der := range c.Certificate {
		if err := pem.Encode(&chain, &pem.Block{Type: "CERTIFICATE", Bytes: der}); err != nil {
			return err
		}
	}
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		return err
	}
	o.certificate, o.key = filepath.Join(s.Folder, o.host+".pem"), filepath.Join(s.Folder, o.host+".key")
	if err := os.WriteFile(o.certificate, chain.Bytes(), 0o644); err != nil {
		return err
	}
	return os.WriteFile(o.key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600)
}

// file returns the path of a file in the server's folder.
func (s *setup) file(name string) string { return filepath.Join(s.Folder, name) }

// scratch returns a folder for the program's own files.
func (s *setup) scratch() string { return s.file("scratch") }

// write writes a file into the server's folder and returns its path.
func (s *setup) write(name string, text []byte) (string, error) {
	name = s.file(name)
	return name, os.WriteFile(name, text, 0o644)
}

// listens returns the addresses and ports of all origins, each once.
func (s *setup) listens() []string {
	var all []string
	for _, o := range s.origins {
		if at := s.at(o); !slices.Contains(all, at) {
			all = append(all, at)
		}
	}
	return all
}

// at returns an origin's address and port.
func (s *setup) at(o origin) string { return s.addrPort(o).String() }

func (s *setup) addrPort(o origin) netip.AddrPort {
	return netip.AddrPortFrom(o.address, uint16(s.Protocol.Port))
}

// secure reports whether the row has TLS.
func (s *setup) secure() bool { return s.Protocol.ALPN != "" }

// field returns the value of a response field, and whether the field exists.
func (a *answer) field(name string) (string, bool) {
	i := slices.IndexFunc(a.header, func(f [2]string) bool { return f[0] == name })
	if i < 0 {
		return "", false
	}
	return a.header[i][1], true
}

// without returns the response's fields except those with the given names.
func (a *answer) without(names ...string) [][2]string {
	return slices.DeleteFunc(slices.Clone(a.header), func(f [2]string) bool { return slices.Contains(names, f[0]) })
}

// place returns the path that identifies the answer in servers that rewrite requests.
// No site has such a path.
func (a *answer) place() string { return "/.wiretime/" + strconv.Itoa(a.number) }

// concurrentRequests is how many requests a connection may have in flight, where a
// server lets one set it: as many as at Wiretime's own server.
const concurrentRequests = 250

// longTime, in seconds, is longer than any load, so that no server closes an idle
// connection.
const longTime = 3600
