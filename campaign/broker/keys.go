package broker

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// keys are the identities of a server of our own. The operator vouches for accounts, the account for its users.
type keys struct {
	operator, system, account nkeys.KeyPair
	plan                      nkeys.KeyPair // no identity in NATS: it signs plans
}

func openKeys(dir string) (k keys, err error) {
	for _, one := range []struct {
		pair *nkeys.KeyPair
		name string
		kind nkeys.PrefixByte
	}{
		{&k.operator, "operator.nk", nkeys.PrefixByteOperator},
		{&k.system, "system.nk", nkeys.PrefixByteAccount},
		{&k.account, "account.nk", nkeys.PrefixByteAccount},
		{&k.plan, "plan.nk", nkeys.PrefixByteUser},
	} {
		if *one.pair, err = openKey(filepath.Join(dir, one.name), one.kind); err != nil {
			return keys{}, err
		}
	}
	return k, nil
}

// OpenPlanKey reads the key that signs plans from a file. If there is no such file it makes a key and writes the file,
// which only its owner may read. nsc generate nkey --user makes such a key too.
func OpenPlanKey(file string) (nkeys.KeyPair, error) { return openKey(file, nkeys.PrefixByteUser) }

func openKey(file string, kind nkeys.PrefixByte) (nkeys.KeyPair, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		pair, err := nkeys.CreatePair(kind)
		if err != nil {
			return nil, err
		}
		seed, err := pair.Seed()
		if err != nil {
			return nil, err
		}
		return pair, writeSecret(file, append(seed, '\n'))
	}
	if err != nil {
		return nil, err
	}
	line, _, _ := strings.Cut(string(text), "\n") // nsc writes the public key into a second one
	seed := []byte(strings.TrimSpace(line))
	if prefix, _, err := nkeys.DecodeSeed(seed); err != nil || prefix != kind {
		return nil, fmt.Errorf("the file %s has no seed of a key of the kind %s", file, kind)
	}
	return nkeys.FromSeed(seed)
}

// trust makes what tells the server whom to trust: the operator, and its accounts.
func (k keys) trust(account *jwt.AccountClaims) (*jwt.OperatorClaims, server.AccountResolver, error) {
	operatorKey, err := k.operator.PublicKey()
	if err != nil {
		return nil, nil, err
	}
	systemKey, err := k.system.PublicKey()
	if err != nil {
		return nil, nil, err
	}
	operator := jwt.NewOperatorClaims(operatorKey)
	operator.Name, operator.SystemAccount = "wiretime", systemKey
	token, err := operator.Encode(k.operator)
	if err != nil {
		return nil, nil, err
	}
	if operator, err = jwt.DecodeOperatorClaims(token); err != nil { // with what signing filled in
		return nil, nil, err
	}
	system := jwt.NewAccountClaims(systemKey)
	system.Name = "system"
	resolver := &server.MemAccResolver{}
	for _, claims := range []*jwt.AccountClaims{system, account} {
		token, err := claims.Encode(k.operator)
		if err != nil {
			return nil, nil, err
		}
		if err := resolver.Store(claims.Subject, token); err != nil {
			return nil, nil, err
		}
	}
	return operator, resolver, nil
}

// openAccount reads the account of campaigns, or makes it.
func openAccount(file string, k keys) (*jwt.AccountClaims, error) {
	public, err := k.account.PublicKey()
	if err != nil {
		return nil, err
	}
	token, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		account := jwt.NewAccountClaims(public)
		account.Name = "wiretime"
		account.Limits.JetStreamLimits = jwt.JetStreamLimits{DiskStorage: jwt.NoLimit,
			Streams: jwt.NoLimit, Consumer: jwt.NoLimit}
		return account, writeAccount(file, k, account)
	}
	if err != nil {
		return nil, err
	}
	account, err := jwt.DecodeAccountClaims(strings.TrimSpace(string(token)))
	if err != nil {
		return nil, fmt.Errorf("the file %s is damaged: %w", file, err)
	}
	if account.Subject != public {
		return nil, fmt.Errorf("the file %s is about another account than the key beside it", file)
	}
	return account, nil
}

func writeAccount(file string, k keys, account *jwt.AccountClaims) error {
	token, err := account.Encode(k.operator)
	if err != nil {
		return err
	}
	return writeSecret(file, []byte(token+"\n"))
}

// userClaims begins the JWT of a user.
func userClaims(key nkeys.KeyPair, name string) (*jwt.UserClaims, error) {
	public, err := key.PublicKey()
	if err != nil {
		return nil, err
	}
	claims := jwt.NewUserClaims(public)
	claims.Name = name
	return claims, nil
}

// Invite makes credentials for a worker, with WorkerRights. A worker may be invited again, for instance before its
// credentials expire; all of them are valid.
func (s *Server) Invite(worker string, until time.Time) (Invitation, error) {
	i, err := s.invite(worker, until)
	if err != nil {
		return Invitation{}, fmt.Errorf("invite the worker: %w", err)
	}
	return i, nil
}

func (s *Server) invite(worker string, until time.Time) (Invitation, error) {
	if err := CheckWorker(worker); err != nil {
		return Invitation{}, err
	}
	until = until.UTC().Truncate(time.Second)
	if !until.After(time.Now()) {
		return Invitation{}, fmt.Errorf("its end %s must be in the future", until.Format(time.RFC3339))
	}
	key, err := nkeys.CreateUser()
	if err != nil {
		return Invitation{}, err
	}
	seed, err := key.Seed()
	if err != nil {
		return Invitation{}, err
	}
	claims, err := userClaims(key, worker)
	if err != nil {
		return Invitation{}, err
	}
	claims.Expires = until.Unix()
	claims.Permissions = WorkerRights(worker)
	claims.AllowedConnectionTypes.Add(jwt.ConnectionTypeStandard)
	token, err := claims.Encode(s.keys.account)
	if err != nil {
		return Invitation{}, err
	}
	creds, err := jwt.FormatUserConfig(token, seed)
	if err != nil {
		return Invitation{}, err
	}
	trust, err := s.keys.plan.PublicKey()
	if err != nil {
		return Invitation{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.workers.add(worker, credential{Key: claims.Subject, Until: until})
	if err := s.workers.write(filepath.Join(s.config.Dir, workersFile)); err != nil {
		return Invitation{}, err
	}
	return Invitation{Worker: worker, URLs: s.urls, CA: string(s.certificate.pem), Creds: string(creds), Trust: trust, Until: until}, nil
}

// Revoke makes all credentials of a worker invalid, for good. Its connections end at once.
func (s *Server) Revoke(worker string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	credentials := s.workers[worker]
	if len(credentials) == 0 {
		return fmt.Errorf("revoke the worker %s: it was not invited, or its invitations have expired", worker)
	}
	for _, c := range credentials {
		s.account.Revoke(c.Key)
	}
	// The file comes first: what the server was told holds only while it runs.
	if err := writeAccount(filepath.Join(s.config.Dir, accountFile), s.keys, s.account); err != nil {
		return fmt.Errorf("revoke the worker %s: %w", worker, err)
	}
	account, err := s.nats.LookupAccount(s.account.Subject)
	if err != nil {
		return fmt.Errorf("revoke the worker %s: %w", worker, err)
	}
	s.nats.UpdateAccountClaims(account, s.account)
	return nil
}

// credential is one that a worker has.
type credential struct {
	Key   string    `json:"key"` // the user's public key
	Until time.Time `json:"until"`
}

// roster has the credentials of each worker.
type roster map[string][]credential

func openRoster(file string) (roster, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return roster{}, nil
	}
	if err != nil {
		return nil, err
	}
	r := roster{}
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("the file %s is damaged: %w", file, err)
	}
	return r, nil
}

// add notes a credential, and forgets those that have expired.
func (r roster) add(worker string, c credential) {
	for name, all := range r {
		kept := all[:0]
		for _, one := range all {
			if one.Until.After(time.Now()) {
				kept = append(kept, one)
			}
		}
		if r[name] = kept; len(kept) == 0 {
			delete(r, name)
		}
	}
	r[worker] = append(r[worker], c)
}

func (r roster) write(file string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return writeSecret(file, append(text, '\n'))
}
