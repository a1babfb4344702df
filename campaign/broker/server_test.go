package broker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
)

// started starts a server in a folder for the length of a test.
func started(t *testing.T, dir string) *Server {
	t.Helper()
	s, err := Start(t.Context(), Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	})
	return s
}

// coordinated connects a coordinator.
func coordinated(t *testing.T, s *Server) jetstream.JetStream {
	t.Helper()
	connection, err := s.Coordinator(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(connection.Close)
	js, err := jetstream.New(connection)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// prepared is a server whose account has all that campaigns need.
func prepared(t *testing.T) (*Server, jetstream.JetStream) {
	t.Helper()
	s := started(t, t.TempDir())
	js := coordinated(t, s)
	if err := Setup(t.Context(), js, 1<<20); err != nil {
		t.Fatal(err)
	}
	return s, js
}

// invited invites a worker and says how it connects.
func invited(t *testing.T, s *Server, worker string) Access {
	t.Helper()
	i, err := s.Invite(worker, time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	a, err := i.Access(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// joined connects as a worker.
func joined(t *testing.T, a Access) *nats.Conn {
	t.Helper()
	connection, err := a.Connect(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(connection.Close)
	return connection
}

// TestServerStartedAgain: a server that starts in the folder of another has its streams, its keys and its address, trusts
// whom the other invited, and refuses whom it has revoked.
func TestServerStartedAgain(t *testing.T) {
	t.Parallel() // it waits more than it works
	dir := t.TempDir()
	s := started(t, dir)
	js := coordinated(t, s)
	if err := Setup(t.Context(), js, 1<<20); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), WorkSubject("c", "any", "b1"), []byte("batch 1")); err != nil {
		t.Fatal(err)
	}
	stays, goes := invited(t, s, "stays"), invited(t, s, "goes")
	if err := s.Revoke("goes"); err != nil {
		t.Fatal(err)
	}
	trust, err := s.PlanKey().PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	connected := joined(t, stays)
	again := connected.StatusChanged(nats.CONNECTED)
	js.Conn().Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = started(t, dir)
	js = coordinated(t, s)
	if err := Setup(t.Context(), js, 2<<20); err != nil { // another limit of the same streams
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), WorkStream)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := stream.GetLastMsgForSubject(t.Context(), WorkSubject("c", "any", "b1")); err != nil || string(m.Data) != "batch 1" {
		t.Errorf("the message of before: %v, %v", m, err)
	}
	if stream, err = js.Stream(t.Context(), "OBJ_"+ArtefactBucket); err != nil || stream.CachedInfo().Config.MaxBytes != 2<<20 {
		t.Errorf("the new limit was not set: %+v, %v", stream.CachedInfo().Config, err)
	}
	if now, err := s.PlanKey().PublicKey(); err != nil || now != trust {
		t.Errorf("the key of plans was %s and is %s, %v", trust, now, err)
	}
	joined(t, stays)
	<-again // the connection of before is made again
	if err := connected.Flush(); err != nil {
		t.Error(err)
	}
	if _, err := goes.Connect(t.Context(), "test"); err == nil || !strings.Contains(err.Error(), "revoked") {
		t.Errorf("a revoked worker connects: %v", err)
	}
}

// TestOneServerInAFolder: the second one says so, and the first goes on.
func TestOneServerInAFolder(t *testing.T) {
	s := started(t, t.TempDir())
	if _, err := Start(t.Context(), s.config); err == nil || !strings.Contains(err.Error(), "another server runs there") {
		t.Errorf("a second server in the folder: %v", err)
	}
	coordinated(t, s)
}

// TestServerThatCannotStart says why, and leaves the folder free.
func TestServerThatCannotStart(t *testing.T) {
	other := started(t, t.TempDir())
	taken := strings.TrimPrefix(other.URLs()[0], "tls://")
	dir := t.TempDir()
	for _, c := range []struct {
		name   string
		config Config
		want   string
	}{
		{"an address that is taken", Config{Listen: taken}, "address already in use"},
		{"an address without a port", Config{Listen: "127.0.0.1"}, "must be of the form HOST:PORT"},
		{"a port that is none", Config{Listen: "127.0.0.1:http"}, "must be 0 to 65535"},
		{"all addresses, without a name", Config{Listen: "0.0.0.0:0"}, "by which do workers reach it"},
		{"all addresses, IPv6", Config{Listen: "[::]:0"}, "by which do workers reach it"},
		{"a negative limit", Config{Octets: -1}, "must not be negative"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.config.Dir = dir
			if _, err := Start(t.Context(), c.config); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, not %q", err, c.want)
			}
		})
	}
	started(t, dir)
}

// TestDamagedFolder: a server does not start on damaged files, and names them.
func TestDamagedFolder(t *testing.T) {
	dir := t.TempDir()
	if err := started(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"account.jwt", "address", "ca.pem", "keys/operator.nk", "keys/plan.nk", "workers.json"} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(dir, filepath.FromSlash(name))
			whole, err := os.ReadFile(file)
			if errors.Is(err, os.ErrNotExist) { // workers.json, before the first invitation
				defer os.Remove(file)
			} else if err != nil {
				t.Fatal(err)
			} else {
				defer os.WriteFile(file, whole, 0o600)
			}
			if err := os.WriteFile(file, whole[:len(whole)/2], 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Start(t.Context(), Config{Dir: dir})
			if err == nil {
				defer s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), filepath.Base(file)) {
				t.Errorf("with half of the file %s: %v", name, err)
			}
		})
	}
}

// TestSecretsAreTheUsersOwn: nobody else may read the keys of a server.
func TestSecretsAreTheUsersOwn(t *testing.T) {
	dir := t.TempDir()
	s := started(t, dir)
	if _, err := s.Invite("w", time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"account.jwt", "address", "ca.pem", "keys/account.nk", "keys/ca.key", "keys/operator.nk", "keys/plan.nk", "keys/system.nk", "workers.json"} {
		if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// TestRevokedWorker: its connection ends at once and for good, while others stay, and it can be invited again.
func TestRevokedWorker(t *testing.T) {
	t.Parallel() // it waits more than it works
	s, _ := prepared(t)
	gone := make(chan error, 1)
	revoked := joined(t, invited(t, s, "stolen"))
	revoked.SetClosedHandler(func(c *nats.Conn) { gone <- c.LastError() })
	other := joined(t, invited(t, s, "other"))
	if err := s.Revoke("stolen"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	select {
	case err := <-gone:
		if !errors.Is(err, nats.ErrAuthRevoked) && !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("it ended because of %v", err)
		}
	case <-ctx.Done():
		t.Fatal("the connection of a revoked worker stays")
	}
	if err := other.Flush(); err != nil {
		t.Error("another worker: ", err)
	}
	joined(t, invited(t, s, "stolen"))
	if err := s.Revoke("nobody"); err == nil || !strings.Contains(err.Error(), "not invited") {
		t.Errorf("revoke a worker that was not invited: %v", err)
	}
}

// TestSetupRefusesStreamsOfOthers: a stream with one of the names that is not fit for campaigns is left as it is.
func TestSetupRefusesStreamsOfOthers(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*jetstream.StreamConfig)
		want   string
	}{
		{"other subjects", func(c *jetstream.StreamConfig) { c.Subjects = []string{"a", "b"} }, "has the subjects a b, not"},
		{"it forgets", func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }, "for 1h0m0s"},
		{"another retention", func(c *jetstream.StreamConfig) { c.Retention = jetstream.LimitsPolicy }, "by the policy Limits, not WorkQueue"},
		{"it drops old messages", func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardOld }, "by the policy DiscardOld, not DiscardNew"},
		{"rollups", func(c *jetstream.StreamConfig) { c.AllowRollup = true }, "allow_rollup_hdrs true"},
	} {
		t.Run(c.name, func(t *testing.T) {
			// A server of its own: one that has deleted a stream goes on removing its folder, and may take that of the next stream
			// of this name for it.
			js := coordinated(t, started(t, t.TempDir()))
			wrong := streams(1)[0]
			c.change(&wrong)
			if _, err := js.CreateStream(t.Context(), wrong); err != nil {
				t.Fatal(err)
			}
			err := Setup(t.Context(), js, 1<<20)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), WorkStream) {
				t.Errorf("the error is %v, not %q", err, c.want)
			}
		})
	}
	if err := Setup(t.Context(), coordinated(t, started(t, t.TempDir())), 0); err == nil {
		t.Error("a limit of 0 octets is taken")
	}
}

// TestSetupWithoutRoom: a limit beyond the server's is an error that says so, and one within it is not.
func TestSetupWithoutRoom(t *testing.T) {
	s, err := Start(t.Context(), Config{Dir: t.TempDir(), Octets: 100 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	js := coordinated(t, s)
	if err := Setup(t.Context(), js, 200<<20); !IsFull(err) || !strings.Contains(err.Error(), "lower the artefacts' limit") {
		t.Errorf("more than the server has: %v", err)
	}
	if err := Setup(t.Context(), js, 20<<20); err != nil {
		t.Error(err)
	}
}

// TestOpenPlanKey: a key is made once, nsc's are read as well, and keys of another kind are refused.
func TestOpenPlanKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "plan.nk")
	public := func() string {
		t.Helper()
		key, err := OpenPlanKey(file)
		if err != nil {
			t.Fatal(err)
		}
		text, err := key.PublicKey()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	first := public()
	if again := public(); again != first {
		t.Errorf("the key was %s and is %s", first, again)
	}
	seed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(seed, first+"\n"...), 0o600); err != nil { // as nsc generate nkey writes it
		t.Fatal(err)
	}
	if again := public(); again != first {
		t.Errorf("the key was %s and is %s in nsc's file", first, again)
	}
	account, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	if seed, err = account.Seed(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, seed, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenPlanKey(file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("an account's key: %v", err)
	}
}
