package broker

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// written makes an invitation and writes it, as a server does.
func written(t testing.TB) (Invitation, string) {
	t.Helper()
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	k, err := openKeys(dir)
	must(err)
	certificate, err := openAuthority(filepath.Join(dir, "ca.pem"), filepath.Join(dir, "ca.key"))
	must(err)
	s := &Server{config: Config{Dir: dir}, keys: k, certificate: certificate, urls: []string{"tls://127.0.0.1:4222"}, workers: roster{}}
	i, err := s.Invite("w", time.Now().Add(time.Hour))
	must(err)
	file := filepath.Join(t.TempDir(), "w.invitation")
	must(i.Write(file))
	return i, file
}

// TestInvitation: what is read is what was written, and only its owner may read it.
func TestInvitation(t *testing.T) {
	i, file := written(t)
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	read, err := ReadInvitation(file)
	if err != nil {
		t.Fatal(err)
	}
	a, err := json.Marshal(i)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(read)
	if err != nil {
		t.Fatal(err)
	}
	if string(a) != string(b) {
		t.Errorf("read %s, not %s", b, a)
	}
	if i.Worker != "w" || len(i.URLs) != 1 || !strings.HasPrefix(i.URLs[0], "tls://127.0.0.1:") {
		t.Errorf("the invitation is %+v", i)
	}
}

// TestDamagedInvitation: each damage is named.
func TestDamagedInvitation(t *testing.T) {
	other, _ := written(t)
	_, file := written(t)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	with := func(key string, value any) func() []byte {
		return func() []byte {
			all := map[string]any{}
			if err := json.Unmarshal(whole, &all); err != nil {
				t.Fatal(err)
			}
			all[key] = value
			text, err := json.Marshal(all)
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
	}
	for _, c := range []struct {
		name string
		text func() []byte
		want string
	}{
		{"empty", func() []byte { return nil }, "cut off or not an invitation"},
		{"half", func() []byte { return whole[:len(whole)/2] }, "cut off or not an invitation"},
		{"all but the last brace", func() []byte { return whole[:len(whole)-2] }, "cut off or not an invitation"},
		{"something behind", func() []byte { return append(slices.Clip(whole), "{}"...) }, "cut off or not an invitation"},
		{"another file", func() []byte { return []byte(`{"a": 1}`) }, "no key wiretime_invitation"},
		{"too large", func() []byte { return make([]byte, mostInvitation+1) }, "more than"},
		{"newer", with("wiretime_invitation", 2), "use the Wiretime that the coordinator has"},
		{"a key that is not known", with("color", "red"), "color"},
		{"no worker", with("worker", ""), "the worker's name"},
		{"a worker that is a path", with("worker", "../w"), "the worker's name"},
		{"another worker", with("worker", "v"), `those of "w", not of the worker "v"`},
		{"no server", with("urls", []string{}), "names no server"},
		{"a server without TLS", with("urls", []string{"nats://127.0.0.1:4222"}), "must be of the form tls://HOST:PORT"},
		{"two servers in one", with("urls", []string{"tls://a:1,nats://b:2"}), "urls:"},
		{"no authority", with("ca", ""), "ca: "},
		{"a key among the authorities", with("ca", other.CA+"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"), "PRIVATE KEY"},
		{"no credentials", with("creds", ""), "creds: "},
		{"credentials of two", with("creds", other.Creds[:strings.Index(other.Creds, "USER NKEY SEED")]), "creds: "},
		{"no key of plans", with("trust", ""), "trust: "},
		{"no time", with("until", "tomorrow"), "tomorrow"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "invitation")
			if err := os.WriteFile(file, c.text(), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := ReadInvitation(file)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), file) {
				t.Errorf("the error is %v, not %q", err, c.want)
			}
		})
	}
	if _, err := ReadInvitation(filepath.Join(t.TempDir(), "absent")); err == nil {
		t.Error("a file that is not there is read")
	}
}

// FuzzReadInvitation: what is taken for an invitation has all that a worker needs, and comes back when it is written.
func FuzzReadInvitation(f *testing.F) {
	_, file := written(f)
	whole, err := os.ReadFile(file)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(`{"wiretime_invitation": 2}`))
	f.Add([]byte(`{"wiretime_invitation": 1, "worker": "w", "urls": ["tls://a"], "ca": "", "creds": "", "trust": ""}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		i, err := parseInvitation(text)
		if err != nil {
			return
		}
		file := filepath.Join(t.TempDir(), "invitation")
		if err := i.Write(file); err != nil {
			t.Fatal(err)
		}
		again, err := ReadInvitation(file)
		if err != nil {
			t.Fatal("written and read again: ", err)
		}
		if again.Worker != i.Worker || again.Creds != i.Creds || again.CA != i.CA || again.Trust != i.Trust || !again.Until.Equal(i.Until) {
			t.Errorf("read %+v, then %+v", i, again)
		}
		if _, err := again.Access(t.TempDir()); err != nil {
			t.Error(err)
		}
	})
}
