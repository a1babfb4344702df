package main

import (
	"context"
	"encoding/csv"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"wiretime/protocol"
	"wiretime/store"
)

// liveSite serves a page with an image over HTTP/2 alone, as somebody else's site, until the test ends. It returns the
// port and the certificate to trust.
func liveSite(t *testing.T, handler http.HandlerFunc) (port string, certificate []byte) {
	t.Helper()
	ca, err := protocol.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	p, err := protocol.Lookup("h2")
	if err != nil {
		t.Fatal(err)
	}
	s, err := protocol.Serve(t.Context(), protocol.ServerConfig{
		Protocol: p, Hosts: map[string]netip.Addr{"www.live.test": netip.MustParseAddr("127.0.0.1")}, Handler: handler, CA: ca,
		Listen: func(ctx context.Context, network, _ string) (net.Listener, error) {
			l, err := new(net.ListenConfig).Listen(ctx, network, "127.0.0.1:0")
			if err == nil {
				_, port, err = net.SplitHostPort(l.Addr().String())
			}
			return l, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return port, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Issuer()})
}

func livePage(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/" {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>live</title><img src=/a.svg>")
		return
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	fmt.Fprint(w, `<svg xmlns="http://www.w3.org/2000/svg"/>`)
}

// liveStudy is a study of the page with a port and a number of repeats. What others take of the processors does not matter.
const liveStudy = `name: live-small
repeats: %[2]d
clock: live
matrix:
  sites: ["https://www.live.test:%[1]s/"]
  protocols: [https/1.1, h2]
  loaders: [builtin]
options: {taken_limit: 100%%}
`

// TestLiveFromStartToReport loads a real site, as root and as an unprivileged user, and does with the results what one does.
// The unprivileged user has no captures, and no metrics that need one.
func TestLiveFromStartToReport(t *testing.T) {
	t.Parallel()
	port, certificate := liveSite(t, livePage)
	for _, u := range users(t) {
		t.Run(u.name, func(t *testing.T) {
			study := u.write(t, "live.yaml", fmt.Sprintf(liveStudy, port, 2))
			flags := []string{"--store", "kept", "--cacert", u.write(t, "ca.pem", string(certificate)), "--resolve", "www.live.test:" + port + ":127.0.0.1"}
			plan := u.run(t, append([]string{"run", study, "--dry-run"}, flags...)...)
			if plan.code != 0 || !strings.Contains(plan.out, "www.live.test:"+port+": 4 loads of its pages, 12 at most") {
				t.Errorf("--dry-run: exit code %d\n%s%s", plan.code, plan.out, plan.errors)
			}
			r := u.run(t, append([]string{"run", study}, flags...)...)
			if r.code != 0 || !strings.Contains(r.out, "over this machine's own network (builtin)") || !strings.Contains(r.out, "refuses http/1.1 by ALPN") {
				t.Fatalf("exit code %d\n%s%s", r.code, r.out, r.errors)
			}
			if v := verdicts(t, filepath.Join(u.home, "kept")); v[store.Valid] != 2 || v[store.Unsupported] != 2 {
				t.Errorf("verdicts %v, want 2 valid and 2 unsupported loads", v)
			}
			captured := u.id == 0
			if noted := strings.Contains(r.errors, "no right to capture packets (CAP_NET_RAW)"); noted == captured {
				t.Errorf("as %s, it says:\n%s", u.name, r.errors)
			}
			tow := 0
			rows, err := csv.NewReader(strings.NewReader(u.run(t, "export", "csv", "--store", "kept").out)).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				if strings.Contains(strings.Join(row, ","), ",tow,") {
					tow++
				}
			}
			if want := map[bool]int{true: 2}[captured]; tow != want {
				t.Errorf("%d loads have a ToW, want %d", tow, want)
			}
			for _, verb := range [][]string{{"results"}, {"report", "-o", "report.html"}} {
				if r := u.run(t, append(verb, "--store", "kept")...); r.code != 0 {
					t.Errorf("%s: exit code %d: %s", verb[0], r.code, r.errors)
				}
			}
			if r := u.run(t, "reproduce", firstValid(t, filepath.Join(u.home, "kept")), "--store", "kept"); r.code == 0 {
				t.Errorf("a load of the live clock is reproduced:\n%s", r.out)
			}
		})
	}
}

// firstValid returns the ID of a store's first valid load.
func firstValid(t *testing.T, dir string) string {
	t.Helper()
	st, err := store.Open(dir, store.Read)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	loads, err := st.Loads(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range loads {
		if l.Validity == store.Valid {
			return l.ID
		}
	}
	t.Fatal("no load is valid")
	return ""
}

// TestLiveInterrupted interrupts a run while the site has not answered. It goes on with that load.
func TestLiveInterrupted(t *testing.T) {
	t.Parallel()
	asked, answer := make(chan struct{}, 100), make(chan struct{})
	port, certificate := liveSite(t, func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case <-answer:
			livePage(w, r)
		case <-r.Context().Done():
		}
	})
	u := self(t)
	study := strings.Replace(fmt.Sprintf(liveStudy, port, 3), "https/1.1, ", "", 1)
	args := []string{"run", u.write(t, "live.yaml", study), "--store", "kept", "--cacert", u.write(t, "ca.pem", string(certificate)), "--resolve", "www.live.test:" + port + ":127.0.0.1"}
	p := u.begin(t, args...)
	p.await(t, "Run 1 of study live-small")
	<-asked
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	p.await(t, "was interrupted")
	if err := p.Wait(); err == nil || p.ProcessState.Sys().(syscall.WaitStatus).ExitStatus() != exitInterrupted {
		t.Errorf("the run ended with %v", err)
	}
	close(answer)
	if r := u.run(t, append(args, "--resume")...); r.code != 0 {
		t.Fatalf("exit code %d\n%s%s", r.code, r.out, r.errors)
	}
	if v := verdicts(t, filepath.Join(u.home, "kept")); v[store.Valid] != 3 || len(v) != 1 {
		t.Errorf("verdicts %v, want 3 valid loads", v)
	}
}

// TestLiveWithoutNetwork: hosts that cannot be resolved or reached fail their loads, with the reason, and end nothing.
func TestLiveWithoutNetwork(t *testing.T) {
	t.Parallel()
	u := self(t)
	study := strings.Replace(fmt.Sprintf(liveStudy, "9", 1), "https/1.1, ", "", 1)
	r := u.run(t, "run", u.write(t, "live.yaml", study), "--store", "kept", "--resolve", "www.live.test:9:127.0.0.1")
	if r.code != exitFailure || !strings.Contains(r.errors, "connection refused") || !strings.Contains(r.errors, "1 planned loads have no valid attempt") {
		t.Errorf("exit code %d\n%s%s", r.code, r.out, r.errors)
	}
	if v := verdicts(t, filepath.Join(u.home, "kept")); v[store.Failed] != 3 {
		t.Errorf("verdicts %v, want 3 failed attempts", v)
	}
	for _, flags := range [][]string{{"--clock", "virtual"}, {"--resolve", "www.live.test"}, {"--cacert", "/no/such/file"}} {
		if r := u.run(t, append([]string{"run", filepath.Join(u.home, "live.yaml"), "--store", "other"}, flags...)...); r.code != exitInput {
			t.Errorf("%v: exit code %d, want %d: %s", flags, r.code, exitInput, r.errors)
		}
	}
}
