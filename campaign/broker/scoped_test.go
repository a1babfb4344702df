package broker

import (
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// scoped adds a role to a server's account, as nsc does, and says how a user of this role connects.
func scoped(t *testing.T, s *Server, rights jwt.Permissions, name string) Access {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	role, err := nkeys.CreateAccount()
	must(err)
	scope := jwt.NewUserScope()
	scope.Key, err = role.PublicKey()
	must(err)
	scope.Role, scope.Template.Permissions = "wiretime-worker", rights
	s.account.SigningKeys.AddScopedSigner(scope)
	account, err := s.nats.LookupAccount(s.account.Subject)
	must(err)
	s.nats.UpdateAccountClaims(account, s.account)

	user, err := nkeys.CreateUser()
	must(err)
	public, err := user.PublicKey()
	must(err)
	token, err := jwt.IssueUserJWT(role, s.account.Subject, public, name, time.Hour)
	must(err)
	seed, err := user.Seed()
	must(err)
	creds, err := jwt.FormatUserConfig(token, seed)
	must(err)
	i := Invitation{Worker: name, URLs: s.URLs(), CA: string(s.certificate.pem), Creds: string(creds)}
	a, err := i.Access(t.TempDir())
	must(err)
	return a
}
