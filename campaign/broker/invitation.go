package broker

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nkeys"

	"wiretime/atomicfile"
)

// invitationVersion is the version of the format. It grows when an older program would misread a file.
const invitationVersion = 1

// mostInvitation is how many octets an invitation may have.
const mostInvitation = 256 << 10

// Invitation is all that a worker needs to join: a file to be kept secret, since who has it can work in the worker's name
// until it expires.
type Invitation struct {
	Worker string    // the worker's name
	URLs   []string  // where the server is
	CA     string    // the authority that signed the server's certificate, PEM
	Creds  string    // the worker's credentials, as NATS writes them
	Trust  string    // the public key (an nkey) that signs plans
	Until  time.Time // when the credentials expire
}

// invitationFile is an invitation as it stands in a file.
type invitationFile struct {
	Version int       `json:"wiretime_invitation"`
	Worker  string    `json:"worker"`
	URLs    []string  `json:"urls"`
	CA      string    `json:"ca"`
	Creds   string    `json:"creds"`
	Trust   string    `json:"trust"`
	Until   time.Time `json:"until"`
}

// ReadInvitation reads the file of an invitation and checks that it is whole. An expired one is read as well: Connect
// refuses it.
func ReadInvitation(file string) (Invitation, error) {
	f, err := os.Open(file)
	if err != nil {
		return Invitation{}, fmt.Errorf("read the invitation: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostInvitation+1))
	if err != nil {
		return Invitation{}, fmt.Errorf("read the invitation: %w", err)
	}
	i, err := parseInvitation(text)
	if err != nil {
		return Invitation{}, fmt.Errorf("read the invitation %s: %w", file, err)
	}
	return i, nil
}

func parseInvitation(text []byte) (Invitation, error) {
	if len(text) > mostInvitation {
		return Invitation{}, fmt.Errorf("it has more than %d octets, so it is not an invitation", mostInvitation)
	}
	var head struct {
		Version int `json:"wiretime_invitation"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return Invitation{}, fmt.Errorf("it is cut off or not an invitation: copy it again (%w)", err)
	}
	switch {
	case head.Version > invitationVersion:
		return Invitation{}, fmt.Errorf("its format is %d, but this program knows formats up to %d: use the Wiretime that the coordinator has", head.Version, invitationVersion)
	case head.Version < 1:
		return Invitation{}, errors.New("it is not an invitation: it has no key wiretime_invitation")
	}
	var file invitationFile
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&file); err != nil {
		return Invitation{}, err
	}
	i := Invitation{Worker: file.Worker, URLs: file.URLs, CA: file.CA, Creds: file.Creds, Trust: file.Trust, Until: file.Until}
	return i, i.check()
}

// check says what is wrong with an invitation.
func (i Invitation) check() error {
	if err := CheckWorker(i.Worker); err != nil {
		return err
	}
	if len(i.URLs) == 0 {
		return errors.New("it names no server: urls is empty")
	}
	for _, text := range i.URLs {
		u, err := url.Parse(text)
		if err != nil {
			return fmt.Errorf("urls: %w", err)
		}
		if u.Scheme != "tls" || u.Hostname() == "" || strings.Contains(text, ",") {
			return fmt.Errorf("urls: %q must be of the form tls://HOST:PORT", text)
		}
	}
	if !x509.NewCertPool().AppendCertsFromPEM([]byte(i.CA)) {
		return errors.New("ca: it has no certificate in PEM")
	}
	for rest := []byte(i.CA); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return fmt.Errorf("ca: it has a block %q, not only certificates", block.Type)
		}
	}
	claims, err := userOf([]byte(i.Creds))
	if err != nil {
		return fmt.Errorf("creds: %w", err)
	}
	if claims.Name != i.Worker {
		return fmt.Errorf("creds: they are those of %q, not of the worker %q", claims.Name, i.Worker)
	}
	if !nkeys.IsValidPublicUserKey(i.Trust) {
		return errors.New("trust: it is not the public key of a user (U...)")
	}
	return nil
}

// Write writes the invitation to a file that only its owner may read.
func (i Invitation) Write(file string) error {
	text, err := json.MarshalIndent(invitationFile{Version: invitationVersion, Worker: i.Worker, URLs: i.URLs, CA: i.CA,
		Creds: i.Creds, Trust: i.Trust, Until: i.Until}, "", "  ")
	if err != nil {
		return fmt.Errorf("write the invitation: %w", err)
	}
	if err := writeSecret(file, append(text, '\n')); err != nil {
		return fmt.Errorf("write the invitation: %w", err)
	}
	return nil
}

// Access writes the credentials and the authority into a folder, which must be there, and says how to connect with them.
// The files must stay as long as the connection.
func (i Invitation) Access(dir string) (Access, error) {
	a := Access{
		URL:   strings.Join(i.URLs, ","),
		Creds: filepath.Join(dir, i.Worker+".creds"),
		CA:    filepath.Join(dir, i.Worker+".ca.pem"),
	}
	for file, text := range map[string]string{a.Creds: i.Creds, a.CA: i.CA} {
		if err := writeSecret(file, []byte(text)); err != nil {
			return Access{}, fmt.Errorf("unpack the invitation: %w", err)
		}
	}
	return a, nil
}

// writeSecret writes a file that only its owner may read.
func writeSecret(file string, text []byte) error {
	f, err := atomicfile.Create(file, 0o600)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(text); err != nil {
		return err
	}
	return f.Commit()
}
