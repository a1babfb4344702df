package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"golang.org/x/sys/unix"
)

// What is in a server's folder.
const (
	lockFile      = "lock"        // flocked while a server runs there
	addressFile   = "address"     // where it listens
	authorityFile = "ca.pem"      // its authority's certificate
	accountFile   = "account.jwt" // the account, with whom it has revoked
	workersFile   = "workers.json"
	storeFolder   = "jetstream"
	keyFolder     = "keys"
)

// Config says where a server keeps its state and where it is reached.
type Config struct {
	Dir    string   // its folder, on a local disk
	Listen string   // HOST:PORT; empty: loopback, and a free port that the folder remembers
	Hosts  []string // by which names and addresses workers reach the server, if not by that in Listen
	Octets int64    // how many octets all streams may have together; 0: three quarters of what is free on the disk
}

// Server is a NATS server inside this process, with one account for campaigns. Its users have JWTs; all keys lie in its
// folder, readable by this user alone. Over the network it speaks nothing but TLS, with a certificate of its own authority.
// Messages survive a crash of the process. Power cuts may cost the last ten seconds, so a coordinator must
// publish again what its store lacks.
type Server struct {
	nats        *server.Server
	config      Config
	keys        keys
	certificate *authority
	urls        []string
	lock        *os.File

	mu      sync.Mutex // for what follows
	account *jwt.AccountClaims
	workers roster
}

// Start starts a server. Started again in the same folder it has the same streams and keys, and invitations stay valid.
// The context ends the wait for the start only. One server at a time may run in a folder.
func Start(ctx context.Context, c Config) (*Server, error) {
	s, err := start(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("start a NATS server in %s: %w", c.Dir, err)
	}
	return s, nil
}

func start(ctx context.Context, c Config) (_ *Server, err error) {
	if c.Octets < 0 {
		return nil, fmt.Errorf("its limit must not be negative, as %d octets are", c.Octets)
	}
	if err := os.MkdirAll(filepath.Join(c.Dir, keyFolder), 0o700); err != nil {
		return nil, err
	}
	s := &Server{config: c}
	if s.lock, err = lock(filepath.Join(c.Dir, lockFile)); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.keys, err = openKeys(filepath.Join(c.Dir, keyFolder)); err != nil {
		return nil, err
	}
	if s.account, err = openAccount(filepath.Join(c.Dir, accountFile), s.keys); err != nil {
		return nil, err
	}
	if s.workers, err = openRoster(filepath.Join(c.Dir, workersFile)); err != nil {
		return nil, err
	}
	host, port, err := s.address()
	if err != nil {
		return nil, err
	}
	if s.certificate, err = openAuthority(filepath.Join(c.Dir, authorityFile), filepath.Join(c.Dir, keyFolder, "ca.key")); err != nil {
		return nil, err
	}
	if err := s.run(ctx, host, port); err != nil {
		return nil, err
	}
	return s, s.remember(host)
}

// lock locks a folder for one server.
func lock(file string) (*os.File, error) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = errors.New("another server runs there: stop it, or name another folder")
		}
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// address says where to listen. Port -1 stands for a free one.
func (s *Server) address() (host string, port int, err error) {
	listen := s.config.Listen
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	host, text, err := net.SplitHostPort(listen)
	if err != nil {
		return "", 0, fmt.Errorf("the address to listen on: %w (it must be of the form HOST:PORT)", err)
	}
	if port, err = strconv.Atoi(text); err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("the address to listen on: the port %q must be 0 to 65535", text)
	}
	if ip := net.ParseIP(host); len(s.config.Hosts) == 0 && (host == "" || ip != nil && ip.IsUnspecified()) {
		return "", 0, fmt.Errorf("it is to listen on all addresses (%s), but by which do workers reach it? Name one at least", listen)
	}
	if port > 0 {
		return host, port, nil
	}
	// Invitations name the port of the last time.
	switch last, err := os.ReadFile(filepath.Join(s.config.Dir, addressFile)); {
	case errors.Is(err, os.ErrNotExist):
		return host, server.RANDOM_PORT, nil
	case err != nil:
		return "", 0, err
	default:
		_, text, err := net.SplitHostPort(strings.TrimSpace(string(last)))
		if port, _ = strconv.Atoi(text); err != nil || port <= 0 || port > 65535 {
			return "", 0, fmt.Errorf("the file %s is damaged: remove it, and invite all workers again", addressFile)
		}
		return host, port, nil
	}
}

// remember writes down where the server listens and what invitations say.
func (s *Server) remember(host string) error {
	_, port, err := net.SplitHostPort(s.nats.Addr().String())
	if err != nil {
		return err
	}
	hosts := s.config.Hosts
	if len(hosts) == 0 {
		hosts = []string{host}
	}
	for _, h := range hosts {
		s.urls = append(s.urls, "tls://"+net.JoinHostPort(h, port))
	}
	return writeSecret(filepath.Join(s.config.Dir, addressFile), []byte(net.JoinHostPort(host, port)+"\n"))
}

// run starts the server and waits until it takes connections.
func (s *Server) run(ctx context.Context, host string, port int) error {
	certificate, err := s.certificate.issue(append([]string{host, "localhost", "127.0.0.1", "::1"}, s.config.Hosts...))
	if err != nil {
		return err
	}
	operator, resolver, err := s.keys.trust(s.account)
	if err != nil {
		return err
	}
	options := &server.Options{
		ServerName:         "wiretime",
		Host:               host,
		Port:               port,
		NoSigs:             true, // signals are the program's
		TrustedOperators:   []*jwt.OperatorClaims{operator},
		SystemAccount:      operator.SystemAccount,
		AccountResolver:    resolver,
		TLS:                true,
		TLSTimeout:         10,
		TLSConfig:          certificate,
		JetStream:          true,
		JetStreamMaxMemory: 64 << 20,
		JetStreamMaxStore:  s.config.Octets,
		StoreDir:           filepath.Join(s.config.Dir, storeFolder),
		SyncInterval:       10 * time.Second,
		// Each worker has consumers on the stream of plans, of which 1,000 would be allowed.
		JetStreamLimits: server.JSLimitOpts{DefaultMaxConsumers: -1},
	}
	if s.nats, err = server.NewServer(options); err != nil {
		return err
	}
	troubles := &troubles{first: make(chan string, 1)}
	s.nats.SetLoggerV2(troubles, false, false, false)
	s.nats.Start()
	for !s.nats.ReadyForConnections(100 * time.Millisecond) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case text := <-troubles.first:
			return errors.New(text)
		default:
		}
	}
	if !s.nats.JetStreamEnabled() {
		return fmt.Errorf("JetStream does not start: %s", troubles)
	}
	return nil
}

// troubles is the log of a server, of which only the first fatal error is kept.
type troubles struct{ first chan string }

func (t *troubles) Noticef(string, ...any) {}
func (t *troubles) Warnf(string, ...any)   {}
func (t *troubles) Errorf(string, ...any)  {}
func (t *troubles) Debugf(string, ...any)  {}
func (t *troubles) Tracef(string, ...any)  {}
func (t *troubles) Fatalf(format string, args ...any) {
	select {
	case t.first <- fmt.Sprintf(format, args...):
	default:
	}
}

func (t *troubles) String() string {
	select {
	case text := <-t.first:
		return text
	default:
		return "it does not say why"
	}
}

// URLs are the addresses that invitations name.
func (s *Server) URLs() []string { return s.urls }

// PlanKey is the key that signs plans, whose public half invitations name as Trust.
func (s *Server) PlanKey() nkeys.KeyPair { return s.keys.plan }

// Coordinator connects to the server within this process, with all rights in the account of campaigns.
func (s *Server) Coordinator(ctx context.Context) (*nats.Conn, error) {
	connection, err := s.coordinator(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to the NATS server in this process: %w", err)
	}
	return connection, nil
}

func (s *Server) coordinator(ctx context.Context) (*nats.Conn, error) {
	token, seed, err := s.keys.coordinator(jwt.ConnectionTypeInProcess)
	if err != nil {
		return nil, err
	}
	return open(ctx, "", []nats.Option{nats.Name("coordinator"), nats.InProcessServer(s.nats), nats.UserJWTAndSeed(token, seed)})
}

// Close stops the server and waits until it has stopped. Messages stay in the folder.
func (s *Server) Close() error {
	if s.nats != nil {
		s.nats.Shutdown()
		s.nats.WaitForShutdown()
	}
	return s.lock.Close()
}
