package protection

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// certificate returns a certificate that signs itself.
func certificate(t testing.TB) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// sending records what an end sends.
type sending struct {
	net.Conn
	sent *bytes.Buffer
}

func (c sending) Write(b []byte) (int, error) {
	c.sent.Write(b)
	return c.Conn.Write(b)
}

// talk asks a question over TLS up to a version, with the cipher suites over TLS 1.2, and returns the octets of both ends and the key log.
func talk(t testing.TB, version uint16, suites ...uint16) (fromClient, fromServer, log []byte) {
	t.Helper()
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	var up, down, keys bytes.Buffer
	var serving sync.WaitGroup
	serving.Go(func() {
		c := tls.Server(sending{b, &down}, &tls.Config{
			Certificates: []tls.Certificate{certificate(t)}, NextProtos: []string{"h2"}, MaxVersion: version, CipherSuites: suites, SessionTicketsDisabled: true,
		})
		if _, err := io.ReadFull(c, make([]byte, len("question"))); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(c, "ans")
		_, _ = io.WriteString(c, "wer")
	})
	c := tls.Client(sending{a, &up}, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}, MaxVersion: version, KeyLogWriter: &keys}) //nolint:gosec // the certificate is not tested
	_, err := io.WriteString(c, "question")
	must(t, err)
	_, err = io.ReadFull(c, make([]byte, len("answer")))
	must(t, err)
	serving.Wait()
	return up.Bytes(), down.Bytes(), keys.Bytes()
}

func TestUnseal(t *testing.T) {
	fromClient, fromServer, log := talk(t, tls.VersionTLS13)
	_, _, otherLog := talk(t, tls.VersionTLS13)
	oldClient, oldServer, oldLog := talk(t, tls.VersionTLS12, tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256)
	longClient, longServer, longLog := talk(t, tls.VersionTLS12, tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384)
	chachaClient, chachaServer, chachaLog := talk(t, tls.VersionTLS12, tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256)
	cbcClient, cbcServer, cbcLog := talk(t, tls.VersionTLS12, tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA)
	forged := slices.Clone(oldServer)
	forged[len(forged)-1] ^= 1
	clientOnly := strings.ReplaceAll(string(log), "SERVER_TRAFFIC_SECRET_0", "OTHER")
	for _, c := range []struct {
		name                       string
		fromClient, fromServer     []byte
		log                        []byte
		wantClient, wantServer     string
		alpn                       string
		recordsClient, recordsSent int
		err                        error
	}{
		{"whole", fromClient, fromServer, log, "question", "answer", "h2", 1, 2, nil},
		{"the last record is cut off", fromClient, fromServer[:len(fromServer)-1], log, "question", "ans", "h2", 1, 1, nil},
		{"the secrets of one direction", fromClient, fromServer, []byte(clientOnly), "question", "", "", 1, 0, ErrNoSecrets},
		{"another connection's keys", fromClient, fromServer, otherLog, "", "", "", 0, 0, ErrNoSecrets},
		{"no keys", fromClient, fromServer, nil, "", "", "", 0, 0, ErrNoSecrets},
		{"no answer", fromClient, nil, log, "", "", "", 0, 0, ErrNoHandshake},
		{"the beginning is missing", fromClient[3:], fromServer, log, "", "", "", 0, 0, ErrNoHandshake},
		{"TLS 1.2, AES-128", oldClient, oldServer, oldLog, "question", "answer", "h2", 1, 2, nil},
		{"TLS 1.2, AES-256", longClient, longServer, longLog, "question", "answer", "h2", 1, 2, nil},
		{"TLS 1.2, ChaCha20", chachaClient, chachaServer, chachaLog, "question", "answer", "h2", 1, 2, nil},
		{"TLS 1.2 without authenticated encryption", cbcClient, cbcServer, cbcLog, "", "", "", 0, 0, ErrUnknownTLS},
		{"TLS 1.2, the last record is cut off", oldClient, oldServer[:len(oldServer)-1], oldLog, "question", "ans", "h2", 1, 1, nil},
		{"TLS 1.2, the last record is forged", oldClient, forged, oldLog, "question", "ans", "h2", 1, 1, nil},
		{"TLS 1.2, another connection's keys", oldClient, oldServer, longLog, "", "", "", 0, 0, ErrNoSecrets},
		{"TLS 1.2, a secret that is too short", oldClient, oldServer, oldLog[:len(oldLog)-5], "", "", "h2", 0, 0, ErrNoSecrets},
	} {
		got, err := Unseal(slices.Clone(c.fromClient), slices.Clone(c.fromServer), ReadKeyLog(c.log))
		if !errors.Is(err, c.err) || string(got.Texts[0].Data) != c.wantClient || string(got.Texts[1].Data) != c.wantServer || got.ALPN != c.alpn {
			t.Errorf("%s: %q and %q over %q, error %v; want %q and %q over %q, %v", c.name, got.Texts[0].Data, got.Texts[1].Data, got.ALPN, err, c.wantClient, c.wantServer, c.alpn, c.err)
		}
		for d, want := range []int{c.recordsClient, c.recordsSent} {
			text, sent := got.Texts[d], [][]byte{c.fromClient, c.fromServer}[d]
			if len(text.Records) != want {
				t.Errorf("%s: %d records, want %d", c.name, len(text.Records), want)
			}
			at := 0
			for _, r := range text.Records {
				if r.Text != at || r.Offset+r.Size > len(sent) || sent[r.Offset] != recordApplication || r.Size <= text.Head+r.Length {
					t.Errorf("%s: a record is %+v, want its text at %d", c.name, r, at)
				}
				at += r.Length
			}
		}
	}
}

// FuzzUnseal decrypts octets that need not be TLS.
func FuzzUnseal(f *testing.F) {
	for _, version := range []uint16{tls.VersionTLS13, tls.VersionTLS12} {
		fromClient, fromServer, log := talk(f, version)
		f.Add(fromClient, fromServer, log)
	}
	f.Fuzz(func(t *testing.T, fromClient, fromServer, log []byte) {
		most := [2]int{len(fromClient), len(fromServer)}
		got, err := Unseal(fromClient, fromServer, ReadKeyLog(log))
		for d, text := range got.Texts {
			if len(text.Data) > most[d] {
				t.Errorf("%d octets became a text of %d", most[d], len(text.Data))
			}
		}
		if err != nil && len(got.Texts[0].Data) > 0 && len(got.Texts[1].Data) > 0 {
			t.Errorf("both directions were decrypted in spite of %v", err)
		}
	})
}
