package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wiretime/needtest"
	"wiretime/store"
	"wiretime/study"
)

// placedStudy is a study of two places on the real clock. What others do to the machine does not matter.
const placedStudy = `name: placed
repeats: 2
clock: real
matrix:
  sites: [objects@4x4kB]
  protocols: [h2, h3]
  networks: [{name: near, rate: 20mbit, rtt: 10ms, queue: 64kB}]
  loaders: [builtin]
  at: [here, behind-a-nat]
options: {late_limit: 10s, taken_limit: 100%}
`

// livePlacedStudy is one on the live clock, of a page that each place has for itself.
const livePlacedStudy = `name: live-placed
repeats: 2
clock: live
matrix:
  sites: ["http://127.0.0.1:8080/"]
  protocols: [http/1.1]
  loaders: [builtin]
  at: [here, behind-a-nat]
options: {taken_limit: 100%}
`

// behindNAT makes a namespace whose only way to others leads through another namespace, which translates addresses: connections
// can be made from it, and none to it.
func (n namespace) behindNAT(t *testing.T) string {
	t.Helper()
	inner := n.name + "-in"
	for _, line := range []string{
		"ip netns add " + inner,
		"ip -n " + n.name + " link add inside type veth peer name uplink netns " + inner,
		"ip -n " + n.name + " addr add 192.168.213.1/24 dev inside",
		"ip -n " + n.name + " link set inside up",
		"ip -n " + inner + " addr add 192.168.213.2/24 dev uplink",
		"ip -n " + inner + " link set lo up",
		"ip -n " + inner + " link set uplink up",
		"ip -n " + inner + " route add default via 192.168.213.1",
		"ip netns exec " + n.name + " sysctl -q net.ipv4.ip_forward=1",
		"ip netns exec " + n.name + " nft add table ip nat",
		"ip netns exec " + n.name + " nft add chain ip nat out { type nat hook postrouting priority 100 ; }",
		"ip netns exec " + n.name + " nft add rule ip nat out oifname uplink masquerade",
	} {
		args := strings.Fields(line)
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
		if line == "ip netns add "+inner {
			t.Cleanup(func() {
				if out, err := exec.Command("ip", "netns", "del", inner).CombinedOutput(); err != nil {
					t.Errorf("remove the namespace %s: %v: %s", inner, err, out)
				}
			})
		}
	}
	return inner
}

// listenIn listens in a network namespace.
func listenIn(t *testing.T, namespace, address string) net.Listener {
	t.Helper()
	type listening struct {
		net.Listener
		error
	}
	made := make(chan listening)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with this goroutine
		fd, err := unix.Open("/var/run/netns/"+namespace, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			err = unix.Setns(fd, unix.CLONE_NEWNET)
			_ = unix.Close(fd)
		}
		var l net.Listener
		if err == nil {
			l, err = new(net.ListenConfig).Listen(t.Context(), "tcp4", address)
		}
		made <- listening{l, err}
	}()
	l := <-made
	if l.error != nil {
		t.Fatal(l.error)
	}
	return l.Listener
}

// sockets returns how many TCP connections a namespace has, and how many sockets that wait for some or are of UDP.
func sockets(t *testing.T, namespace string) (connections, others int) {
	t.Helper()
	text, err := exec.Command("ip", "netns", "exec", namespace, "sh", "-c", "tail -qn +2 /proc/net/tcp /proc/net/tcp6; tail -qn +2 /proc/net/udp /proc/net/udp6 | sed s/^/udp/").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		const established = "01" // include/net/tcp_states.h
		if fields := strings.Fields(line); len(fields) > 3 && fields[3] == established && !strings.HasPrefix(line, "udp") {
			connections++
		} else {
			others++
		}
	}
	return connections, others
}

// exits waits for the program's end and checks its exit code.
func (p *interrupted) exits(t *testing.T, code int) {
	t.Helper()
	for p.lines.Scan() {
		p.said.WriteString(p.lines.Text() + "\n")
	}
	_ = p.Wait() // the code says it
	if got := p.ProcessState.ExitCode(); got != code {
		t.Fatalf("%v: exit code %d, want %d:\n%s", p.Args, got, code, &p.said)
	}
}

// beginWorker starts a worker of a place in a network namespace.
func (u user) beginWorker(ctx context.Context, t *testing.T, namespace, name, place string) *interrupted {
	t.Helper()
	return talking(t, u.program(ctx, "ip", "netns", "exec", namespace, binary, "worker", "--join", name+".invitation", "--folder", "of-"+name, "--at", place))
}

// TestPlaces: two workers in network namespaces of their own, one of them behind a NAT, make the loads of their places, on the
// real and then on the live clock. Each has one connection, which it has made itself.
func TestPlaces(t *testing.T) {
	needtest.Long(t)
	t.Parallel()
	u := self(t)
	spaces := addNamespaces(t, 2)
	inside := map[string]string{"here": spaces[0].name, "behind-a-nat": spaces[1].behindNAT(t)}
	for place, pictures := range map[string]int{"here": 1, "behind-a-nat": 3} {
		l := listenIn(t, inside[place], "127.0.0.1:8080")
		served := http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if livePage(w, r); r.URL.Path == "/" {
				for n := range pictures - 1 {
					fmt.Fprintf(w, "<img src=/%d.svg>", n)
				}
			}
		})}
		go func() { _ = served.Serve(l) }()
		t.Cleanup(func() { _ = served.Close() })
	}
	const of = "kept"
	args := []string{"campaign", "run", u.write(t, "placed.yaml", placedStudy), "--store", of, "--listen", "0.0.0.0:0"}
	for i, name := range []string{"near", "far"} {
		args = append(args, "--host", spaces[i].coordinator, "--invite", name)
	}
	ctx, cancel := context.WithTimeout(t.Context(), watchdog)
	defer cancel()
	first := talking(t, u.command(ctx, args...))
	first.await(t, "Worker far joins")
	near, far := u.beginWorker(ctx, t, inside["here"], "near", "here"), u.beginWorker(ctx, t, inside["behind-a-nat"], "far", "behind-a-nat")
	far.await(t, "working for campaign placed, study placed, at behind-a-nat")
	if connections, others := sockets(t, inside["behind-a-nat"]); connections != 1 || others != 1 {
		t.Errorf("behind the NAT there are %d connections and %d other sockets, want one of the worker, and the one that the page is served at", connections, others)
	}
	first.exits(t, 0)
	u.checkPlaced(t, of, 1, 8)

	// The same invitations hold for the next campaign of the store, and the workers wait for it.
	u.runs(t, 0, "campaign", "run", u.write(t, "live.yaml", livePlacedStudy), "--store", of, "--listen", "0.0.0.0:0", "--host", spaces[0].coordinator, "--host", spaces[1].coordinator)
	for _, l := range u.checkPlaced(t, of, 2, 4) {
		if want := map[string]float64{"here": 2, "behind-a-nat": 4}[l.Cell.On(study.AxisAt)]; l.Values["requests"] != want {
			t.Errorf("load %s at %s made %v requests, want %v: those of the page there", l.ID, l.Cell.On(study.AxisAt), l.Values["requests"], want)
		}
	}
	for _, w := range []*interrupted{near, far} {
		w.signal(t, syscall.SIGINT)
		w.exits(t, exitInterrupted)
	}
	u.placesAreShown(t, of)
}

// checkPlaced checks that a run has so many loads, all of them valid, made by the worker of their place, with artefacts and a clock
// that was compared: all of them have this machine's clock.
func (u user) checkPlaced(t *testing.T, dir string, run int64, n int) []store.Load {
	t.Helper()
	st, err := store.Open(filepath.Join(u.home, dir), store.Read)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	loads, err := st.Loads(run)
	if err != nil || len(loads) != n {
		t.Fatalf("run %d has %d loads (%v), want %d", run, len(loads), err, n)
	}
	for _, l := range loads {
		worker := map[string]string{"here": "near", "behind-a-nat": "far"}[l.Cell.On(study.AxisAt)]
		if l.Validity != store.Valid || l.Worker != worker {
			t.Errorf("load %s at %s was made by %q, want %s, and is %s: %s", l.ID, l.Cell.On(study.AxisAt), l.Worker, worker, l.Validity, l.Reason)
		}
		if _, err := os.Stat(filepath.Join(l.Artefacts, "load.har")); err != nil {
			t.Error(err)
		}
		if offset, bound := l.Values["clock_offset"], l.Values["clock_bound"]; bound <= 0 || offset < -bound || offset > bound {
			t.Errorf("load %s: the clock is ahead by %v +- %v ms, and it is the same clock", l.ID, offset, bound)
		}
	}
	return loads
}

// placesAreShown checks that results, comparisons and exports tell the places apart.
func (u user) placesAreShown(t *testing.T, dir string) {
	t.Helper()
	results := u.runs(t, 0, "results", "--store", dir, "--run", "1")
	for _, words := range []string{"places here and behind-a-nat", "h2 · at here", "h3 · at behind-a-nat"} {
		if !strings.Contains(results.out, words) {
			t.Errorf("the results do not say %q:\n%s", words, results.out)
		}
	}
	compared := u.runs(t, 0, "compare", "at=here", "at=behind-a-nat", "--store", dir, "--run", "1")
	if !strings.Contains(compared.out, "Compared by at: A has here, B has behind-a-nat.") {
		t.Errorf("the comparison is not of the places:\n%s", compared.out)
	}
	var exported struct {
		Workers []struct {
			Name      string
			Described struct {
				At          []string
				Bound       float64 `json:"bound_ns"`
				Environment struct{ Kernel string }
			}
		}
		Rows []struct{ At, Worker string }
	}
	if err := json.Unmarshal([]byte(u.runs(t, 0, "export", "json", "--store", dir, "--run", "1").out), &exported); err != nil {
		t.Fatal(err)
	}
	for _, w := range exported.Workers {
		if want := map[string]string{"near": "here", "far": "behind-a-nat"}[w.Name]; !slices.Equal(w.Described.At, []string{want}) || w.Described.Bound <= 0 || w.Described.Environment.Kernel == "" {
			t.Errorf("worker %s is described as %+v", w.Name, w.Described)
		}
	}
	if len(exported.Workers) != 2 || !slices.ContainsFunc(exported.Rows, func(r struct{ At, Worker string }) bool { return r.At == "here" && r.Worker == "near" }) {
		t.Errorf("the export has %d workers, and rows such as %+v", len(exported.Workers), exported.Rows[0])
	}
}
