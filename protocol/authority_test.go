package protocol

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAuthorityIsMadeOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "ca")
	made, err := OpenAuthority(dir)
	must(t, err)
	opened, err := OpenAuthority(dir)
	must(t, err)
	if made.SPKIHash() != opened.SPKIHash() {
		t.Errorf("after reopening the hash is %s, was %s", opened.SPKIHash(), made.SPKIHash())
	}
	files, err := os.ReadDir(dir)
	must(t, err)
	var names []string
	for _, f := range files {
		info, err := f.Info()
		must(t, err)
		if info.Mode() != 0o600 {
			t.Errorf("%s has mode %v, want it readable only by its owner", f.Name(), info.Mode())
		}
		names = append(names, f.Name())
	}
	if got, want := strings.Join(names, " "), "intermediate.key intermediate.pem root.pem"; got != want {
		t.Errorf("the folder holds %s, want %s", got, want)
	}
	if left, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(left) != 1 {
		t.Errorf("leftover files beside the authority: %v (%v)", left, err)
	}
}

func TestAuthorityInAnEmptyFolder(t *testing.T) {
	_, err := OpenAuthority(t.TempDir())
	must(t, err)
}

func TestAuthoritiesDiffer(t *testing.T) {
	if one, other := testAuthority(t), testAuthority(t); one.SPKIHash() == other.SPKIHash() {
		t.Error("two authorities have the same key")
	}
}

func TestChainLeadsToTheRoot(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ca")
	a, err := OpenAuthority(dir)
	must(t, err)
	c, err := a.Certificate("www.a.test")
	must(t, err)
	if len(c.Certificate) != 2 {
		t.Fatalf("the chain has %d certificates, want leaf and intermediate", len(c.Certificate))
	}
	leaf, err := x509.ParseCertificate(c.Certificate[0])
	must(t, err)
	intermediate, err := x509.ParseCertificate(c.Certificate[1])
	must(t, err)
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	roots.AddCert(readCertificate(t, filepath.Join(dir, "root.pem")))
	between.AddCert(intermediate)
	for host, valid := range map[string]bool{"www.a.test": true, "a.test": false, "x.www.a.test": false} {
		chains, err := leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, Intermediates: between})
		if (err == nil) != valid {
			t.Errorf("for host %s: %v, want valid: %v", host, err, valid)
		}
		if valid && (len(chains) != 1 || len(chains[0]) != 3) {
			t.Errorf("chains are %v, want leaf, intermediate, root", chains)
		}
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots}); err == nil {
		t.Error("the leaf is signed directly by the root")
	}
	again, err := a.Certificate("www.a.test")
	must(t, err)
	other, err := a.Certificate("b.test")
	must(t, err)
	if !bytes.Equal(again.Certificate[0], c.Certificate[0]) || bytes.Equal(other.Certificate[0], c.Certificate[0]) {
		t.Error("want one certificate per host, kept")
	}
}

func TestDamagedAuthorityNamesItsFolder(t *testing.T) {
	write := func(content string) func(t *testing.T, file string) {
		return func(t *testing.T, file string) { must(t, os.WriteFile(file, []byte(content), 0o600)) }
	}
	other := filepath.Join(t.TempDir(), "ca")
	_, err := OpenAuthority(other)
	must(t, err)
	for _, c := range []struct {
		name, file string
		damage     func(t *testing.T, file string)
		want       string
	}{
		{"a key that is not PEM", "intermediate.key", write("not PEM"), "PEM"},
		{"an empty key", "intermediate.key", write(""), "PEM"},
		{"a key of noise", "intermediate.key", write("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"), "private key"},
		{"a certificate cut short", "intermediate.pem", func(t *testing.T, file string) { must(t, os.Truncate(file, 100)) }, "PEM"},
		{"the key of another authority", "intermediate.key", func(t *testing.T, file string) {
			key, err := os.ReadFile(filepath.Join(other, "intermediate.key"))
			must(t, err)
			must(t, os.WriteFile(file, key, 0o600))
		}, "does not match"},
		{"no key", "intermediate.key", func(t *testing.T, file string) { must(t, os.Remove(file)) }, "no such file"},
		{"no certificate", "intermediate.pem", func(t *testing.T, file string) { must(t, os.Remove(file)) }, "no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "ca")
			_, err := OpenAuthority(dir)
			must(t, err)
			c.damage(t, filepath.Join(dir, c.file))
			_, err = OpenAuthority(dir)
			if err == nil || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "delete the folder") {
				t.Errorf("error is %v, want one with %q, the folder and what to do", err, c.want)
			}
		})
	}
	t.Run("a file in its place", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "ca")
		must(t, os.WriteFile(file, nil, 0o600))
		if _, err := OpenAuthority(file); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("error is %v, want one with %s", err, file)
		}
		if info, err := os.Stat(file); err != nil || info.Mode()&fs.ModeDir != 0 {
			t.Errorf("the file is gone: %v, %v", info, err)
		}
	})
}

// TestSPKIHashIsOfWhatTheServerSends connects like Chromium, which looks for
// the given hash in the chain that the server sends.
func TestSPKIHashIsOfWhatTheServerSends(t *testing.T) {
	for _, name := range []string{"https/1.1", "spdy/3.1", "h2", "h3"} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, name, nil)
			state, err := s.shakeHands(t, pageHost, func(c *tls.Config) {})
			must(t, err)
			var hashes []string
			for _, c := range state.PeerCertificates {
				hashes = append(hashes, spkiHash(c))
			}
			if len(hashes) != 2 || hashes[1] != s.config.CA.SPKIHash() {
				t.Errorf("the chain has %q, want %s second of two", hashes, s.config.CA.SPKIHash())
			}
		})
	}
}

func TestVerify(t *testing.T) {
	a, other := testAuthority(t), testAuthority(t)
	for _, c := range []struct {
		name, host string
		issuer     *Authority
		want       string
	}{
		{"its own", "www.a.test", a, ""},
		{"of another host", "www.b.test", a, "www.b.test"},
		{"of another authority", "www.a.test", other, "not issued by this authority"},
		{"none", "www.a.test", nil, "no certificate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			state := tls.ConnectionState{ServerName: c.host}
			if c.issuer != nil {
				issued, err := c.issuer.Certificate("www.a.test")
				must(t, err)
				leaf, err := x509.ParseCertificate(issued.Certificate[0])
				must(t, err)
				state.PeerCertificates = []*x509.Certificate{leaf}
			}
			err := a.Verify(state)
			if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want %q", err, c.want)
			}
		})
	}
}

func readCertificate(t *testing.T, file string) *x509.Certificate {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	block, _ := pem.Decode(text)
	if block == nil {
		t.Fatalf("%s contains no PEM block", file)
	}
	c, err := x509.ParseCertificate(block.Bytes)
	must(t, err)
	return c
}
