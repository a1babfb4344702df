package broker

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// OldestServer is the oldest version of NATS that carries campaigns.
const OldestServer = "2.11.0"

const (
	connectTimeout = 5 * time.Second  // to connect to one address, and for the first request
	pingInterval   = 20 * time.Second // a connection that answers none of two pings is made anew
)

// Access says how to reach a NATS server, in the terms of NATS's own tools. Creds, CA, Cert and Key name files, or are
// empty.
type Access struct {
	URL   string // one or several, separated by commas: nats://, tls://, ws:// or wss://
	Creds string // a user's credentials, as nsc writes them
	CA    string // the authorities to trust, PEM; empty: those of the system
	Cert  string // a client certificate, PEM
	Key   string // its key, PEM
}

// credentials reads the user's JWT, or returns nil if there are no credentials.
func (a Access) credentials() (*jwt.UserClaims, error) {
	if a.Creds == "" {
		return nil, nil
	}
	text, err := os.ReadFile(a.Creds)
	if err != nil {
		return nil, fmt.Errorf("read the credentials: %w", err)
	}
	claims, err := userOf(text)
	if err != nil {
		return nil, fmt.Errorf("read the credentials in %s: %w", a.Creds, err)
	}
	return claims, nil
}

// userOf decodes the text of a credentials file. It checks that the file also has the key of the user.
func userOf(creds []byte) (*jwt.UserClaims, error) {
	token, err := jwt.ParseDecoratedJWT(creds)
	if err != nil {
		return nil, fmt.Errorf("they are not what nsc writes: %w", err)
	}
	claims, err := jwt.DecodeUserClaims(token)
	if err != nil {
		return nil, fmt.Errorf("they are not what nsc writes, or not a user's: %w", err)
	}
	key, err := jwt.ParseDecoratedUserNKey(creds)
	if err != nil {
		return nil, fmt.Errorf("they have no key of a user: %w", err)
	}
	defer key.Wipe()
	if public, err := key.PublicKey(); err != nil || public != claims.Subject {
		return nil, errors.New("their key and their JWT belong to different users")
	}
	return claims, nil
}

// User returns the name of the user in the credentials. A worker must go by this name, since its rights name it. The
// name is empty without credentials.
func (a Access) User() (string, error) {
	claims, err := a.credentials()
	if err != nil || claims == nil {
		return "", err
	}
	return claims.Name, nil
}

// inbox is the prefix of the subjects on which a user gets its answers. It is the user's own, so that nobody else's
// answers need to be open to the user.
func inbox(user string) string { return "_INBOX." + user }

// Connect connects to the server and checks that it carries campaigns. The server knows the connection by the given name.
// The error says in plain words what is wrong. If the connection breaks later, it is made again, for ever; it is closed
// for good if the server refuses the credentials twice, for instance because they have expired or were revoked.
func (a Access) Connect(ctx context.Context, name string) (*nats.Conn, error) {
	connection, err := a.connect(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS at %s: %w", a.URL, err)
	}
	return connection, nil
}

func (a Access) connect(ctx context.Context, name string) (*nats.Conn, error) {
	claims, err := a.credentials()
	if err != nil {
		return nil, err
	}
	options := []nats.Option{nats.Name(name)}
	if claims != nil {
		if end := time.Unix(claims.Expires, 0); claims.Expires > 0 && time.Now().After(end) {
			return nil, fmt.Errorf("the credentials in %s expired on %s: ask for new ones", a.Creds, end.UTC().Format(time.RFC3339))
		}
		options = append(options, nats.UserCredentials(a.Creds))
		if CheckWorker(claims.Name) == nil {
			options = append(options, nats.CustomInboxPrefix(inbox(claims.Name)))
		}
	}
	if a.CA != "" {
		options = append(options, nats.RootCAs(a.CA))
	}
	if (a.Cert == "") != (a.Key == "") {
		return nil, errors.New("a client certificate and its key must be given together")
	}
	if a.Cert != "" {
		options = append(options, nats.ClientCert(a.Cert, a.Key))
	}
	return open(ctx, a.URL, options)
}

// open connects and checks the server.
func open(ctx context.Context, url string, options []nats.Option) (*nats.Conn, error) {
	d := &dialer{first: ctx}
	options = append(options, nats.SetCustomDialer(d), nats.Timeout(connectTimeout), nats.MaxReconnects(-1), nats.PingInterval(pingInterval),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // by default nats.go prints what it cannot return
	connection, err := nats.Connect(url, options...)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, inPlainWords(err)
	}
	d.connected.Store(true)
	if err := check(ctx, connection); err != nil {
		connection.Close()
		return nil, err
	}
	return connection, nil
}

// dialer dials under a context until a connection stands. nats.Connect knows no contexts, and what it dials later must
// not end with the context of the first connection.
type dialer struct {
	first     context.Context
	connected atomic.Bool
}

// Dial is for nats.go.
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	ctx := d.first
	if d.connected.Load() {
		ctx = context.Background()
	}
	return (&net.Dialer{Timeout: connectTimeout}).DialContext(ctx, network, address)
}

// check says what a server lacks.
func check(ctx context.Context, connection *nats.Conn) error {
	if version := connection.ConnectedServerVersion(); older(version, OldestServer) {
		return fmt.Errorf("the server is NATS %s: campaigns need %s or newer", version, OldestServer)
	}
	js, err := jetstream.New(connection)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	_, err = js.AccountInfo(limited)
	switch {
	case err == nil, ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return errors.New("the account has no JetStream: give it limits for JetStream, as with nsc edit account --js-disk-storage")
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, nats.ErrNoResponders):
		return errors.New("the server has no JetStream: start it with -js, or with a block jetstream in its configuration")
	case errors.Is(err, context.DeadlineExceeded) && errors.Is(connection.LastError(), nats.ErrPermissionViolation):
		return fmt.Errorf("the user may not ask for the state of JetStream: %w", connection.LastError())
	}
	return fmt.Errorf("ask for the state of JetStream: %w", err)
}

// inPlainWords says why a connection failed.
func inPlainWords(err error) error {
	var (
		unknown  x509.UnknownAuthorityError
		host     x509.HostnameError
		verify   *tls.CertificateVerificationError
		alert    tls.AlertError
		missing  *os.PathError
		resolved *net.DNSError
	)
	switch {
	case errors.As(err, &missing):
		return err
	case errors.As(err, &unknown):
		return fmt.Errorf("the server's certificate is not trusted: name the authority that signed it with --tlsca (%w)", err)
	case errors.As(err, &host), errors.As(err, &verify):
		return fmt.Errorf("the server's certificate is not valid: %w", err)
	case errors.As(err, &alert):
		return fmt.Errorf("the server refuses TLS with this client: it may want a client certificate (%w)", err)
	case errors.Is(err, nats.ErrSecureConnWanted):
		return errors.New("the server does not speak TLS, but the URL or --tlsca asks for it")
	case errors.Is(err, nats.ErrAuthExpired):
		return errors.New("the credentials have expired: ask for new ones")
	case errors.Is(err, nats.ErrAuthRevoked):
		return errors.New("the credentials were revoked: ask for new ones")
	case errors.Is(err, nats.ErrAuthorization):
		return errors.New("the server refuses the credentials: they are wrong, expired or revoked, or --creds is missing")
	case errors.As(err, &resolved):
		return fmt.Errorf("no server answers there: %w", err)
	case errors.Is(err, nats.ErrNoServers), errors.Is(err, nats.ErrTimeout):
		return errors.New("no server answers there: check the address, and that the server runs")
	}
	return err
}

// older compares two versions such as 2.11.0-RC.1 by their numbers.
func older(version, than string) bool {
	a, b := numbers(version), numbers(than)
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}

func numbers(version string) (n [3]int) {
	version, _, _ = strings.Cut(strings.TrimPrefix(version, "v"), "-")
	for i, text := range strings.SplitN(version, ".", 3) {
		n[i], _ = strconv.Atoi(text) // anything else counts as 0, which is too old
	}
	return n
}
