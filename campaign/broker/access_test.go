package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// plain starts a NATS server as its users configure it, and returns its URL.
func plain(t *testing.T, configuration string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(file, []byte("listen: 127.0.0.1:-1\n"+configuration), 0o600); err != nil {
		t.Fatal(err)
	}
	options, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatal(err)
	}
	options.NoSigs, options.StoreDir = true, t.TempDir()
	s, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the NATS server does not start")
	}
	return s.ClientURL()
}

// TestConnect: an existing server, as its users know it, carries campaigns.
func TestConnect(t *testing.T) {
	a := Access{URL: plain(t, "jetstream: enabled")}
	connection, err := a.Connect(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	js, err := jetstream.New(connection)
	if err != nil {
		t.Fatal(err)
	}
	if err := Setup(t.Context(), js, 1<<20); err != nil {
		t.Error(err)
	}
	if name, err := a.User(); name != "" || err != nil {
		t.Errorf("without credentials the user is %q, %v", name, err)
	}
}

// TestConnectSaysWhatIsWrong: the error names the cause in plain words, and what to do about it.
func TestConnectSaysWhatIsWrong(t *testing.T) {
	t.Parallel() // it waits more than it works
	s := started(t, t.TempDir())
	good := invited(t, s, "w")
	changed := func(change func(*Access)) Access {
		a := good
		change(&a)
		return a
	}
	creds, err := os.ReadFile(good.Creds)
	if err != nil {
		t.Fatal(err)
	}
	file := func(name, text string) string {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	other := started(t, t.TempDir())
	stranger := invited(t, other, "w")
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		access Access
		want   string
	}{
		{"nobody is there", Access{URL: "nats://" + nobody}, "no server answers there"},
		{"no such host", Access{URL: "nats://host.invalid:4222"}, "no server answers there"},
		{"JetStream is off", Access{URL: plain(t, "")}, "the server has no JetStream"},
		{"the account has no JetStream", Access{URL: plain(t, "jetstream: enabled\naccounts: {A: {users: [{user: a, password: b}]}}\nno_auth_user: a")}, "the account has no JetStream"},
		{"the user may not ask", Access{URL: plain(t, "jetstream: enabled\nauthorization: {users: [{user: a, password: b, permissions: {publish: x}}]}\nno_auth_user: a")}, "may not ask"},
		{"the server is too old", Access{URL: old(t)}, "the server is NATS 2.10.29: campaigns need 2.11.0 or newer"},
		{"no credentials", changed(func(a *Access) { a.Creds = "" }), "--creds is missing"},
		{"another server's credentials", changed(func(a *Access) { a.Creds = stranger.Creds }), "the server refuses the credentials"},
		{"credentials that are not there", changed(func(a *Access) { a.Creds = "absent.creds" }), "read the credentials: open absent.creds"},
		{"credentials that are none", changed(func(a *Access) { a.Creds = file("x", "hello") }), "not what nsc writes"},
		{"credentials cut off", changed(func(a *Access) { a.Creds = file("x", string(creds[:len(creds)*2/3])) }), "read the credentials in"},
		{"the system's authorities", changed(func(a *Access) { a.CA = "" }), "--tlsca"},
		{"another authority", changed(func(a *Access) { a.CA = stranger.CA }), "--tlsca"},
		{"an authority that is not there", changed(func(a *Access) { a.CA = "absent.pem" }), "absent.pem"},
		{"a certificate without a key", changed(func(a *Access) { a.Cert = good.CA }), "must be given together"},
		{"no TLS where it is wanted", Access{URL: strings.Replace(plain(t, ""), "nats://", "tls://", 1)}, "does not speak TLS"},
	} {
		t.Run(c.name, func(t *testing.T) {
			connection, err := c.access.Connect(t.Context(), "test")
			if err == nil {
				connection.Close()
				t.Fatal("it connects")
			}
			if !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "connect to NATS at ") {
				t.Errorf("the error is %q, not %q", err, c.want)
			}
		})
	}
	if name, err := good.User(); name != "w" || err != nil {
		t.Errorf("the user is %q, %v", name, err)
	}
}

// old is a peer that says it is an old NATS server. No old server is at hand, and it need say no more.
func old(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
		<-done
	})
	go func() {
		defer close(done)
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		defer connection.Close()
		fmt.Fprint(connection, `INFO {"server_id":"x","version":"2.10.29","proto":1,"max_payload":1048576}`+"\r\n")
		buffer := make([]byte, 4096)
		for said := ""; !strings.Contains(said, "PING\r\n"); {
			n, err := connection.Read(buffer)
			if err != nil {
				return
			}
			said += string(buffer[:n])
		}
		fmt.Fprint(connection, "PONG\r\n")
		for { // until it hangs up
			if _, err := connection.Read(buffer); err != nil {
				return
			}
		}
	}()
	return "nats://" + listener.Addr().String()
}

// TestExpiredCredentials: they are refused before and by the server, and a connection ends when they expire.
func TestExpiredCredentials(t *testing.T) {
	t.Parallel() // it waits more than it works
	s, _ := prepared(t)
	if _, err := s.Invite("w", time.Now()); err == nil || !strings.Contains(err.Error(), "must be in the future") {
		t.Errorf("an invitation that ends now: %v", err)
	}
	i, err := s.Invite("w", time.Now().Add(2*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	a, err := i.Access(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	joined(t, a).SetClosedHandler(func(c *nats.Conn) { closed <- c.LastError() })
	if err := <-closed; !errors.Is(err, nats.ErrAuthExpired) && !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("the connection ended because of %v", err)
	}
	if _, err := a.Connect(t.Context(), "test"); err == nil || !strings.Contains(err.Error(), "expired on") {
		t.Errorf("expired credentials: %v", err)
	}
}

// TestConnectEndsWithItsContext, even while a server is silent.
func TestConnectEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := Access{URL: plain(t, "jetstream: enabled")}
	if _, err := a.Connect(ctx, "test"); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

// TestVersions compares versions by their numbers.
func TestVersions(t *testing.T) {
	for _, c := range []struct {
		version string
		old     bool
	}{
		{"2.10.29", true}, {"2.9.0", true}, {"1.99.99", true}, {"", true}, {"dev", true},
		{"2.11.0", false}, {"2.11.0-RC.1", false}, {"v2.11.4", false}, {"2.12", false}, {"3.0.0", false},
	} {
		if older(c.version, OldestServer) != c.old {
			t.Errorf("%q is older than %s: %t, want %t", c.version, OldestServer, !c.old, c.old)
		}
	}
}

// TestServersOnOtherAddresses: workers reach the server by the names that its certificate has, and by no others.
func TestServersOnOtherAddresses(t *testing.T) {
	s, err := Start(t.Context(), Config{Dir: t.TempDir(), Listen: "0.0.0.0:0", Hosts: []string{"localhost", "127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a := invited(t, s, "w")
	for url := range strings.SplitSeq(a.URL, ",") {
		one := a
		one.URL = url
		joined(t, one)
	}
	if want := 2; len(s.URLs()) != want {
		t.Errorf("the server has the URLs %q", s.URLs())
	}
	a.URL = strings.Replace(s.URLs()[1], "127.0.0.1", "127.0.0.2", 1)
	if _, err := a.Connect(t.Context(), "test"); err == nil || !strings.Contains(err.Error(), "certificate is not valid") {
		t.Errorf("by an address that the certificate does not have: %v", err)
	}
}

// TestNSCInThePage: the page shows the commands as they are.
func TestNSCInThePage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "nats.md"))
	if err != nil {
		t.Fatal(err)
	}
	block := "    " + strings.ReplaceAll(strings.TrimSpace(NSC("wiretime", "worker-1")), "\n", "\n    ") + "\n"
	if !strings.Contains(string(page), block) {
		t.Errorf("docs/nats.md does not have the block\n%s", block)
	}
}

// TestNSC: the role in the commands for nsc holds WorkerRights once a server has put the user's name into it. The
// commands' flags are read here; nsc itself is not run.
func TestNSC(t *testing.T) {
	words := strings.Fields(strings.NewReplacer("\\\n", " ", "'", "").Replace(NSC("measuring", "w")))
	template := jwt.Permissions{}
	for i, word := range words {
		switch word {
		case "--allow-pub":
			template.Pub.Allow.Add(words[i+1])
		case "--allow-sub":
			template.Sub.Allow.Add(words[i+1])
		}
	}
	text := fmt.Sprint(template)
	if want := fmt.Sprint(WorkerRights("w")); strings.ReplaceAll(text, "{{name()}}", "w") != want {
		t.Errorf("the role holds\n%s\nnot\n%s", text, want)
	}
	s, js := prepared(t)
	a := scoped(t, s, template, "w")
	connection := joined(t, a)
	worker, err := jetstream.New(connection)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := worker.Publish(t.Context(), ResultSubject("c", "w", "b"), []byte("result")); err != nil {
		t.Error("publish a result: ", err)
	}
	if err := connection.Publish(ResultSubject("c", "other", "b"), []byte("result")); err != nil {
		t.Error(err)
	}
	if err := connection.Flush(); err != nil {
		t.Error(err)
	}
	stream, err := js.Stream(t.Context(), ResultStream)
	if err != nil {
		t.Fatal(err)
	}
	if n := stream.CachedInfo().State.Msgs; n != 1 {
		t.Errorf("there are %d results", n)
	}
}
