package protocol

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"wiretime/atomicfile"
	"wiretime/scratch"
)

// The files in an authority's folder.
const (
	rootFile         = "root.pem"
	intermediateFile = "intermediate.pem"
	keyFile          = "intermediate.key"
)

// How long an authority is valid: one that is used by this program alone, and one in a
// folder whose root people may trust in their browsers.
const (
	authorityYears        = 20
	limitedAuthorityYears = 1
)

// leafDays is how long a host's certificate is valid: as long as public
// authorities issue today.
const leafDays = 90

// mostLeaves is how many certificates an authority keeps: more than the hosts of any site,
// since a client of a media server may request any name.
const mostLeaves = 4096

// longestHost is the longest host name in octets (RFC 1035 section 2.3.4).
const longestHost = 253

// Authority issues the certificates of a store's sites. Its chain is as long as
// a public site's: the server sends a leaf and an intermediate, but not the
// root. All keys are ECDSA P-256.
type Authority struct {
	root         []byte // DER
	intermediate *x509.Certificate
	key          *ecdsa.PrivateKey

	mu     sync.Mutex
	leaves map[string]*tls.Certificate
	hosts  []string // of leaves, the oldest first
}

// NewAuthority creates an authority in memory, where its key stays.
func NewAuthority() (*Authority, error) {
	parts, err := makeAuthority(nil)
	if err != nil {
		return nil, fmt.Errorf("create a certificate authority: %w", err)
	}
	intermediate, err := x509.ParseCertificate(parts.intermediate)
	if err != nil {
		return nil, fmt.Errorf("create a certificate authority: %w", err)
	}
	return newAuthority(parts.root, intermediate, parts.key), nil
}

func newAuthority(root []byte, intermediate *x509.Certificate, key *ecdsa.PrivateKey) *Authority {
	return &Authority{root: root, intermediate: intermediate, key: key, leaves: map[string]*tls.Certificate{}}
}

// OpenAuthority opens the authority in folder dir. If the folder is missing or
// empty, it creates one there, whole or not at all. The root's key is discarded
// once it has signed the intermediate. The authority may issue certificates for any
// name: its folder must vanish with its use, as a guest's memory does.
func OpenAuthority(dir string) (*Authority, error) { return openAuthority(dir, nil) }

// OpenLimitedAuthority is OpenAuthority for a folder that is kept and whose root people may
// trust. An authority that it creates is valid for a year, and only for the given names and
// those below them (RFC 5280 section 4.2.1.10). The error says so if the existing one has
// expired or is for other names. An unlimited one is opened as well: see Limited.
func OpenLimitedAuthority(dir string, names []string) (*Authority, error) {
	a, err := openAuthority(dir, names)
	if err != nil {
		return nil, err
	}
	if end := a.intermediate.NotAfter; time.Now().After(end) {
		return nil, fmt.Errorf("open the certificate authority in %s: it expired on %s (delete the folder to create a new one)", dir, end.Format(time.DateOnly))
	}
	for _, name := range names {
		if !a.permits(name) {
			return nil, fmt.Errorf("open the certificate authority in %s: it is valid for %s, not for %s (name another folder, or delete this one to create a new one)",
				dir, strings.Join(a.intermediate.PermittedDNSDomains, ", "), name)
		}
	}
	return a, nil
}

func openAuthority(dir string, names []string) (*Authority, error) {
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open the certificate authority: %w", err)
	}
	if len(files) == 0 {
		if err := createAuthority(dir, names); err != nil {
			return nil, fmt.Errorf("create a certificate authority in %s: %w", dir, err)
		}
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, intermediateFile), filepath.Join(dir, keyFile))
	if err != nil {
		return nil, fmt.Errorf("open the certificate authority in %s: %w (delete the folder to create a new one)", dir, err)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("open the certificate authority in %s: the key in %s is not ECDSA (delete the folder to create a new one)", dir, keyFile)
	}
	return newAuthority(nil, pair.Leaf, key), nil
}

// authorityParts are what an authority consists of; certificates are in DER.
type authorityParts struct {
	root, intermediate []byte
	key                *ecdsa.PrivateKey // the intermediate's
}

// makeAuthority makes an authority for the given names, or for all if there are none.
func makeAuthority(names []string) (authorityParts, error) {
	var made authorityParts
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return made, err
	}
	if made.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return made, err
	}
	root, err := issuer("Wiretime Root", 1)
	if err != nil {
		return made, err
	}
	intermediate, err := issuer("Wiretime Intermediate", 0)
	if err != nil {
		return made, err
	}
	if names != nil {
		limit(root, names)
		limit(intermediate, names)
	}
	if made.root, err = x509.CreateCertificate(rand.Reader, root, root, &rootKey.PublicKey, rootKey); err != nil {
		return made, err
	}
	made.intermediate, err = x509.CreateCertificate(rand.Reader, intermediate, root, &made.key.PublicKey, rootKey)
	return made, err
}

// limit limits an issuer to TLS servers of the given names. Without the excluded ranges it
// could issue certificates for any address.
func limit(c *x509.Certificate, names []string) {
	c.NotAfter = time.Now().AddDate(limitedAuthorityYears, 0, 0)
	c.PermittedDNSDomainsCritical = true
	c.PermittedDNSDomains = names
	c.ExcludedIPRanges = []*net.IPNet{{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}, {IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)}}
	c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
}

// Limited reports whether the authority can issue certificates for some names only.
func (a *Authority) Limited() bool { return len(a.intermediate.PermittedDNSDomains) > 0 }

// permits reports whether the authority's certificates are valid for a host.
func (a *Authority) permits(host string) bool {
	return !a.Limited() || slices.ContainsFunc(a.intermediate.PermittedDNSDomains, func(name string) bool {
		return host == name || strings.HasSuffix(host, "."+name)
	})
}

// Root returns the root certificate of a NewAuthority as PEM.
func (a *Authority) Root() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.root})
}

func createAuthority(dir string, names []string) error {
	made, err := makeAuthority(names)
	if err != nil {
		return err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(made.key)
	if err != nil {
		return err
	}
	return writeFolder(dir, map[string]*pem.Block{
		rootFile:         {Type: "CERTIFICATE", Bytes: made.root},
		intermediateFile: {Type: "CERTIFICATE", Bytes: made.intermediate},
		keyFile:          {Type: "PRIVATE KEY", Bytes: keyDER},
	})
}

// writeFolder creates the folder dir with the given files, readable only by
// their owner, whole or not at all.
func writeFolder(dir string, files map[string]*pem.Block) (err error) {
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	temporary, err := scratch.Make(parent, ".ca-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, temporary.Remove()) }() // already renamed if this succeeded
	for name, block := range files {
		file, err := os.OpenFile(filepath.Join(temporary.Path, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		if err := errors.Join(pem.Encode(file, block), file.Close()); err != nil {
			return err
		}
	}
	return atomicfile.MoveFolder(temporary.Path, dir) // the folder may already exist if it is empty, but not if it has files
}

func issuer(name string, below int) (*x509.Certificate, error) {
	serial, err := serialNumber()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name, Organization: []string{"Wiretime"}},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(authorityYears, 0, 0),
		IsCA: true, BasicConstraintsValid: true, MaxPathLen: below, MaxPathLenZero: below == 0,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}, nil
}

// serialNumber returns a random serial number, since RFC 5280 section 4.1.2.2
// requires unique ones.
func serialNumber() (*big.Int, error) {
	return rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
}

// Certificate returns the certificate of a host with its chain: leaf and
// intermediate. It is issued on first use and kept in memory, where the oldest of
// 4096 makes room for a new one.
func (a *Authority) Certificate(host string) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.leaves[host]; c != nil {
		return c, nil
	}
	if len(host) > longestHost {
		return nil, fmt.Errorf("issue a certificate for a host: its name has %d octets, more than %d", len(host), longestHost)
	}
	if !a.permits(host) {
		return nil, fmt.Errorf("issue a certificate for host %q: the authority is not valid for it", host)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate a key for host %s: %w", host, err)
	}
	serial, err := serialNumber()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	leaf := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(0, 0, leafDays),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, a.intermediate, &key.PublicKey, a.key)
	if err != nil {
		return nil, fmt.Errorf("issue a certificate for host %s: %w", host, err)
	}
	c := &tls.Certificate{Certificate: [][]byte{der, a.intermediate.Raw}, PrivateKey: key}
	if len(a.hosts) == mostLeaves {
		delete(a.leaves, a.hosts[0])
		a.hosts = a.hosts[1:]
	}
	a.leaves[host], a.hosts = c, append(a.hosts, host)
	return c, nil
}

// SPKIHash returns the base64 SHA-256 of the intermediate's public key info.
// Given this hash, Chromium trusts every chain that contains the intermediate.
func (a *Authority) SPKIHash() string {
	sum := sha256.Sum256(a.intermediate.RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Issuer returns the intermediate certificate in DER, for browsers that trust
// certificates rather than keys.
func (a *Authority) Issuer() []byte { return a.intermediate.Raw }

// Verify checks that a TLS server has proved, with a certificate of this
// authority, to be the host that the client requested. Dates are ignored: on a
// virtual clock a server's certificate may be older than the authority.
func (a *Authority) Verify(c tls.ConnectionState) error {
	if len(c.PeerCertificates) == 0 {
		return errors.New("verify the server: it sent no certificate")
	}
	leaf := c.PeerCertificates[0]
	if err := leaf.CheckSignatureFrom(a.intermediate); err != nil {
		return fmt.Errorf("verify the server: its certificate was not issued by this authority: %w", err)
	}
	if err := leaf.VerifyHostname(c.ServerName); err != nil {
		return fmt.Errorf("verify the server: %w", err)
	}
	return nil
}
