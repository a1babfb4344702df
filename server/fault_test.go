package server_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"wiretime/process/processtest"
	"wiretime/server"
)

// plainServer is the first argument that makes the test program a small file server,
// for templates. Next come its behaviour, the folder, address and port, and the
// certificate and key files.
const plainServer = "plain-server"

// childAddress is where a server's child listens.
const childAddress = "127.0.0.9:81"

func servePlain(args []string) error {
	how, folder, at, certificate, key := args[0], args[1], args[2], args[3], args[4]
	fmt.Println("it begins")
	handler := http.FileServer(http.Dir(folder))
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	switch how {
	case "stubborn":
	case "parent":
		child := exec.Command("/proc/self/exe", plainServer, "stubborn", folder, childAddress, "", "")
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := child.Start(); err != nil {
			return err
		}
	case "mortal":
		handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			fmt.Println("fatal: cannot continue")
			os.Exit(7)
		})
	case "mute":
		select {}
	case "dead":
		fmt.Println("fatal: too many arguments")
		os.Exit(3)
	}
	if how != "stubborn" {
		go func() { <-terminated; os.Exit(0) }()
	}
	if certificate != "" {
		return http.ListenAndServeTLS(at, certificate, key, handler)
	}
	return http.ListenAndServe(at, handler)
}

// template returns a server of ours with a given behaviour.
func template(how string) server.Kind {
	return server.Template{Name: "mine", Protocols: []string{"http/1.1", "h2"}, Command: []string{
		"/proc/self/exe", plainServer, how, "{folder}", "{address}:{port}", "{certificate}", "{key}",
	}}.Kind()
}

func TestTemplateServesPlainFiles(t *testing.T) {
	for _, row := range []string{"http/1.1", "h2"} {
		t.Run(strings.ReplaceAll(row, "/", "-"), func(t *testing.T) {
			s := plainSite(t)
			r := start(t, template("well"), row, s)
			client := r.client(t)
			for i := range s.Resources {
				want, err := s.Body(&s.Resources[i])
				must(t, err)
				response, got := r.get(t, client, "GET", s.Resources[i].URL)
				if response.StatusCode != 200 || string(got) != string(want) {
					t.Errorf("%s: status %d, %q", s.Resources[i].URL, response.StatusCode, got)
				}
			}
			log, err := r.Log()
			if log != nil || err != nil || r.Config.Kind.Logs {
				t.Errorf("the log is %v, %v", log, err)
			}
		})
	}
}

func TestStartSaysWhyItFailed(t *testing.T) {
	for _, c := range []struct {
		name  string
		kind  server.Kind
		taken bool // something else has a port
		want  []string
	}{
		{"a program that ends at once", template("dead"), false, []string{"start mine: the server mine exited unexpectedly: exit status 3", "fatal: too many arguments"}},
		{"a program that never answers", template("mute"), false, []string{"not ready after 300ms", "connection refused", "it begins"}},
		{"a program that is not installed", server.Template{Name: "mine", Protocols: []string{"http/1.1"}, Command: []string{"no-such-program"}}.Kind(), false,
			[]string{"no-such-program is not installed"}},
		{"a port already in use", template("well"), true, []string{"its port is already in use", "127.0.0.3:80", "address already in use"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := config(t, c.kind, "http/1.1", plainSite(t))
			config.ReadyLimit = 300 * time.Millisecond
			if c.taken {
				other, err := net.Listen("tcp4", net.JoinHostPort(addresses[imageHost].String(), "80"))
				must(t, err)
				defer other.Close()
			}
			s, err := server.Start(t.Context(), config)
			if err == nil {
				must(t, s.Stop())
				t.Fatal("it started")
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error is %q, want it to contain %q", err, part)
				}
			}
			if _, err := os.Stat(config.Folder); !errors.Is(err, os.ErrNotExist) {
				t.Error("its folder still exists")
			}
		})
	}
}

// TestStartEndsWithItsContext cancels the start of a server that never answers.
func TestStartEndsWithItsContext(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(cause) })
	if _, err := server.Start(ctx, config(t, template("mute"), "http/1.1", plainSite(t))); !errors.Is(err, cause) {
		t.Errorf("the error is %v", err)
	}
}

func TestServerThatDiesIsNoticed(t *testing.T) {
	r := start(t, template("mortal"), "http/1.1", plainSite(t))
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	response, err := r.client(t).Get("http://" + pageHost + "/")
	if err == nil {
		_ = response.Body.Close()
		t.Error("it answered")
	}
	select {
	case <-r.Died():
	case <-time.After(patience):
		t.Fatal("nobody noticed")
	}
	for _, part := range []string{"the server mine exited unexpectedly: exit status 7", "fatal: cannot continue"} {
		if err := r.Err(); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the error is %v, want it to contain %q", err, part)
		}
	}
}

// TestOutputIsNotReplaced starts servers that end after they have put something else in the place of the file with
// their output.
func TestOutputIsNotReplaced(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(secret, []byte("password"), 0o600))
	for name, commands := range map[string]string{
		"a link":      "ln -s " + secret + " output-0",
		"a FIFO":      "mkfifo output-0",
		"a huge file": "truncate -s 60G output-0",
	} {
		t.Run(name, func(t *testing.T) {
			kind := server.Template{Name: "mine", Protocols: []string{"http/1.1"}, Command: []string{"sh", "-c", "echo last words; rm output-0; " + commands + "; exit 3"}}.Kind()
			s, err := server.Start(t.Context(), config(t, kind, "http/1.1", plainSite(t)))
			if err == nil {
				must(t, s.Stop())
				t.Fatal("it started")
			}
			if text := err.Error(); strings.Contains(text, "password") || !strings.Contains(text, "last words") {
				t.Errorf("the error is %q, want the last words of the server", text)
			}
		})
	}
}

// TestStopEndsWhateverItStarted stops a server that ignores SIGTERM, and one whose child
// has left its process group.
func TestStopEndsWhateverItStarted(t *testing.T) {
	for _, how := range []string{"stubborn", "parent"} {
		t.Run(how, func(t *testing.T) {
			s := plainSite(t)
			r := start(t, template(how), "http/1.1", s)
			at := net.JoinHostPort(addresses[pageHost].String(), "80")
			if how == "parent" {
				at = childAddress
			}
			awaitListener(t, at)
			must(t, r.Stop())
			if conn, err := net.Dial("tcp4", at); err == nil {
				_ = conn.Close()
				t.Errorf("something still listens on %s", at)
			}
			if r.Err() != nil {
				t.Error(r.Err())
			}
		})
	}
}

func awaitListener(t *testing.T, at string) {
	t.Helper()
	for limit := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp4", at)
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(limit) {
			t.Fatal(err)
		}
	}
}

// TestServerOutlivesThread starts a server from a thread that ends while the server is needed, as
// a lab's threads do when the lab is closed.
func TestServerOutlivesThread(t *testing.T) {
	c := config(t, template("well"), "http/1.1", plainSite(t))
	var r *running
	processtest.OnEndingThread(func() {
		srv, err := server.Start(t.Context(), c)
		if err != nil {
			t.Error(err)
			return
		}
		r = &running{srv, c}
	})
	if r == nil {
		return
	}
	defer func() { must(t, r.Stop()) }()
	if response, body := r.get(t, r.client(t), "GET", "https://"+pageHost+"/css/a.css?v=3"); response.StatusCode != 200 || string(body) != "p {}" {
		t.Errorf("the server answered %s %q", response.Status, body)
	}
}
