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
	"os"
	"path/filepath"
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

// authorityYears is how long a store's authority is valid.
const authorityYears = 20

// leafDays is how long a host's certificate is valid: as long as public
// authorities issue today.
const leafDays = 90

// Authority issues the certificates of a store's sites. Its chain is as long as
// a public site's: the server sends a leaf and an intermediate, but not the
// root. All keys are ECDSA P-256.
type Authority struct {
	intermediate *x509.Certificate
	key          *ecdsa.PrivateKey

	mu     sync.Mutex
	leaves map[string]*tls.Certificate
}

// OpenAuthority opens the authority in folder dir. If the folder is missing or
// empty, it creates one there, whole or not at all. The root's key is discarded
// once it has signed the intermediate.
func OpenAuthority(dir string) (*Authority, error) {
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open the certificate authority: %w", err)
	}
	if len(files) == 0 {
		if err := makeAuthority(dir); err != nil {
			return nil, fmt.Errorf("create a certificate authority in %s: %w", dir, err)
		}
	}
	a := &Authority{leaves: map[string]*tls.Certificate{}}
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, intermediateFile), filepath.Join(dir, keyFile))
	if err != nil {
		return nil, fmt.Errorf("open the certificate authority in %s: %w (delete the folder to create a new one)", dir, err)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("open the certificate authority in %s: the key in %s is not ECDSA (delete the folder to create a new one)", dir, keyFile)
	}
	a.intermediate, a.key = pair.Leaf, key
	return a, nil
}

func makeAuthority(dir string) error {
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	root, err := issuer("Wiretime Root", 1)
	if err != nil {
		return err
	}
	intermediate, err := issuer("Wiretime Intermediate", 0)
	if err != nil {
		return err
	}
	rootDER, err := x509.CreateCertificate(rand.Reader, root, root, &rootKey.PublicKey, rootKey)
	if err != nil {
		return err
	}
	intermediateDER, err := x509.CreateCertificate(rand.Reader, intermediate, root, &key.PublicKey, rootKey)
	if err != nil {
		return err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return writeFolder(dir, map[string]*pem.Block{
		rootFile:         {Type: "CERTIFICATE", Bytes: rootDER},
		intermediateFile: {Type: "CERTIFICATE", Bytes: intermediateDER},
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
// intermediate. It is issued on first use and kept in memory.
func (a *Authority) Certificate(host string) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.leaves[host]; c != nil {
		return c, nil
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
	a.leaves[host] = c
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
