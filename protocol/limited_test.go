package protocol

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAuthorityInMemory: its chain leads to its root, and nothing is on disk.
func TestAuthorityInMemory(t *testing.T) {
	t.Chdir(t.TempDir())
	a, err := NewAuthority()
	must(t, err)
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(a.Root()) {
		t.Fatalf("the root is %q", a.Root())
	}
	must(t, verify(t, a, roots, issue(t, a, "www.a.test", nil), "www.a.test"))
	if files, err := os.ReadDir("."); err != nil || len(files) > 0 {
		t.Errorf("it left %v, %v", files, err)
	}
}

// issue issues a certificate with the authority's key, as who has stolen it does.
func issue(t *testing.T, a *Authority, host string, address net.IP) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	serial, err := serialNumber()
	must(t, err)
	leaf := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: host}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(0, 0, 1),
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
	if host != "" {
		leaf.DNSNames = []string{host}
	}
	if address != nil {
		leaf.IPAddresses = []net.IP{address}
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, a.intermediate, &key.PublicKey, a.key)
	must(t, err)
	c, err := x509.ParseCertificate(der)
	must(t, err)
	return c
}

// verify verifies a certificate as a client does that trusts the root.
func verify(t *testing.T, a *Authority, roots *x509.CertPool, leaf *x509.Certificate, host string) error {
	t.Helper()
	between := x509.NewCertPool()
	between.AddCert(a.intermediate)
	_, err := leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	return err
}

// TestStolenKeyOfALimitedAuthority: clients that trust a limited authority accept no
// certificate that its key signs for another name, nor for any address.
func TestStolenKeyOfALimitedAuthority(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ca")
	a, err := OpenLimitedAuthority(dir, []string{"localhost", "a.test"})
	must(t, err)
	if !a.Limited() {
		t.Error("it is not limited")
	}
	roots := x509.NewCertPool()
	roots.AddCert(readCertificate(t, filepath.Join(dir, "root.pem")))
	for _, c := range []struct {
		host    string
		address net.IP
		good    bool
	}{
		{"localhost", nil, true},
		{"a.test", nil, true},
		{"www.a.test", nil, true},
		{"b.test", nil, false},
		{"nota.test", nil, false},
		{"bank.example", nil, false},
		{"", net.IPv4(127, 0, 0, 1).To4(), false},
		{"", net.ParseIP("2001:db8::1"), false},
		{"localhost", net.IPv4(192, 0, 2, 1).To4(), false},
	} {
		name := c.host
		if name == "" {
			name = c.address.String()
		}
		if err := verify(t, a, roots, issue(t, a, c.host, c.address), name); (err == nil) != c.good {
			t.Errorf("a certificate for %q, %v: %v, want good: %v", c.host, c.address, err, c.good)
		}
		if c.address != nil {
			continue
		}
		if _, err := a.Certificate(c.host); (err == nil) != c.good {
			t.Errorf("Certificate for %q: %v, want good: %v", c.host, err, c.good)
		}
	}
	for _, c := range []*x509.Certificate{a.intermediate, readCertificate(t, filepath.Join(dir, "root.pem"))} {
		if most := time.Now().AddDate(1, 0, 1); c.NotAfter.After(most) {
			t.Errorf("%s is valid until %v", c.Subject, c.NotAfter)
		}
	}
}

// TestReopenLimitedAuthority opens authorities as they are found.
func TestReopenLimitedAuthority(t *testing.T) {
	limited, unlimited, expired := filepath.Join(t.TempDir(), "ca"), filepath.Join(t.TempDir(), "ca"), filepath.Join(t.TempDir(), "ca")
	_, err := OpenLimitedAuthority(limited, []string{"a.test", "b.test"})
	must(t, err)
	_, err = OpenAuthority(unlimited)
	must(t, err)
	_, err = OpenAuthority(expired)
	must(t, err)
	expire(t, expired)
	for _, c := range []struct {
		name, dir string
		names     []string
		want      string
	}{
		{"all names", limited, []string{"a.test", "b.test"}, ""},
		{"fewer names", limited, []string{"b.test"}, ""},
		{"a name below", limited, []string{"www.b.test"}, ""},
		{"another name", limited, []string{"a.test", "c.test"}, "valid for a.test, b.test, not for c.test"},
		{"one of an older version", unlimited, []string{"c.test"}, ""},
		{"an old one", expired, []string{"a.test"}, "expired on"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := OpenLimitedAuthority(c.dir, c.names)
			if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.dir)) {
				t.Fatalf("error is %v, want %q and the folder", err, c.want)
			}
			if err == nil && a.Limited() != (c.dir == limited) {
				t.Errorf("Limited is %v", a.Limited())
			}
		})
	}
}

// expire replaces the intermediate certificate in a folder by one that has expired.
func expire(t *testing.T, dir string) {
	t.Helper()
	a, err := OpenAuthority(dir)
	must(t, err)
	c, err := issuer("Wiretime Intermediate", 0)
	must(t, err)
	c.NotAfter = time.Now().Add(-time.Minute)
	der, err := x509.CreateCertificate(rand.Reader, c, c, &a.key.PublicKey, a.key)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, intermediateFile), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
}

// TestCertificatesForAnyName: clients that request ever new names do not fill the memory.
func TestCertificatesForAnyName(t *testing.T) {
	a, err := NewAuthority()
	must(t, err)
	for i := range mostLeaves + 10 {
		if _, err := a.Certificate(fmt.Sprint("host", i, ".test")); err != nil {
			t.Fatal(err)
		}
	}
	if len(a.leaves) != mostLeaves || len(a.hosts) != mostLeaves {
		t.Errorf("it keeps %d certificates of %d hosts, want %d", len(a.leaves), len(a.hosts), mostLeaves)
	}
	if a.leaves["host9.test"] != nil || a.leaves["host10.test"] == nil {
		t.Error("it did not give up the oldest ones")
	}
	if _, err := a.Certificate(strings.Repeat("a", longestHost+1)); err == nil {
		t.Error("it issues a certificate for a name that no host can have")
	}
}
