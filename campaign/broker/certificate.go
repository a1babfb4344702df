package broker

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

// How long certificates are valid. The server's is made anew at each start.
const (
	authorityYears   = 20
	certificateYears = 2
)

// authority signs the certificates of one server. Invitations carry it, and nobody else trusts it.
type authority struct {
	pem         []byte
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// openAuthority reads an authority from its two files, or makes it.
func openAuthority(certificateFile, keyFile string) (*authority, error) {
	certificate, err := os.ReadFile(certificateFile)
	if errors.Is(err, os.ErrNotExist) {
		if err := makeAuthority(certificateFile, keyFile); err != nil {
			return nil, fmt.Errorf("make a certificate authority: %w", err)
		}
		certificate, err = os.ReadFile(certificateFile)
	}
	if err != nil {
		return nil, err
	}
	key, err := os.ReadFile(keyFile)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("the certificate authority in %s and %s is damaged: %w", certificateFile, keyFile, err)
	}
	private, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("the key in %s is not an ECDSA key", keyFile)
	}
	return &authority{pem: certificate, certificate: pair.Leaf, key: private}, nil
}

func makeAuthority(certificateFile, keyFile string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := template("Wiretime campaign", authorityYears)
	template.IsCA, template.BasicConstraintsValid, template.MaxPathLenZero = true, true, true
	template.KeyUsage = x509.KeyUsageCertSign
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	// The key comes first: a certificate without its key would be taken for a whole authority.
	if err := writeSecret(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})); err != nil {
		return err
	}
	return writeSecret(certificateFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}))
}

func template(name string, years int) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-24 * time.Hour), // workers whose clocks are slow
		NotAfter:     now.AddDate(years, 0, 0),
	}
}

// issue makes the server's side of TLS, for names and addresses by which it is reached. Empty and unspecified ones are
// left out.
func (a *authority) issue(hosts []string) (*tls.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := template("Wiretime", certificateYears)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip == nil && host != "" {
			template.DNSNames = append(template.DNSNames, host)
		} else if ip != nil && !ip.IsUnspecified() {
			template.IPAddresses = append(template.IPAddresses, ip)
		}
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		return nil, fmt.Errorf("issue a certificate for %q: %w", hosts, err)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}},
		MinVersion:   tls.VersionTLS13,
	}, nil
}
