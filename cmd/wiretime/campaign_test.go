package main

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"wiretime/needtest"

	"github.com/google/go-cmp/cmp"
)

// dividedStudy is a study of some fifty batches, on paths that make them short.
const dividedStudy = `name: divided
repeats: 24
clock: virtual
matrix:
  sites: [objects@12x20kB]
  protocols: [https/1.1, h2, h3]
  networks: [{name: lossy, rate: 10mbit, rtt: 20ms, queue: 64kB, loss: 1%}, {name: far, rate: 20mbit, rtt: 120ms, queue: 64kB}]
  loaders: [builtin]
`

// sameStores compares two stores whose runs are of the same study: all rows but for when, how long and by whom loads were made,
// and each octet of the artefacts.
func sameStores(t *testing.T, one, other string) {
	t.Helper()
	if d := cmp.Diff(rowsOf(t, one), rowsOf(t, other)); d != "" {
		t.Errorf("the rows of %s and %s differ:\n%s", one, other, d)
	}
	files := artefacts(t, one)
	if d := cmp.Diff(files, artefacts(t, other)); d != "" || len(files) == 0 {
		t.Errorf("the artefacts of %s and %s, of which there are %d, differ:\n%s", one, other, len(files), d)
	}
}

// rowsOf returns the rows of a store as texts, by table.
func rowsOf(t *testing.T, dir string) map[string][]string {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "wiretime.db")+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	all := map[string][]string{}
	for table, query := range map[string]string{
		"load":    "SELECT l.id, planned, attempt, validity, reason, artefacts, boot, boot_attempt, p.described FROM load l LEFT JOIN programs p ON p.id = l.programs",
		"planned": "SELECT * FROM planned", "cell": "SELECT * FROM cell", "cell_value": "SELECT * FROM cell_value", "metric": "SELECT * FROM metric",
		"value": "SELECT * FROM value", "violation": "SELECT * FROM violation", "page": "SELECT * FROM page", "artefact": "SELECT * FROM artefact",
	} {
		all[table] = textsOf(t, db, query+" ORDER BY 1, 2, 3")
	}
	return all
}

// textsOf returns the rows that a query selects, each as one text.
func textsOf(t *testing.T, db *sql.DB, query string) (texts []string) {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values, places := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			places[i] = &values[i]
		}
		if err := rows.Scan(places...); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, fmt.Sprint(values...))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return texts
}

// namespace is a network namespace with a way to the coordinator's.
type namespace struct{ name, address, coordinator string }

// addNamespaces makes network namespaces, each joined to that of this process by a pair of devices of its own.
func addNamespaces(t *testing.T, n int) (all []namespace) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can make network namespaces that outlast a process")
	}
	ip := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			t.Fatalf("ip %v: %v: %s", args, err, out)
		}
	}
	for i := range n {
		name := fmt.Sprintf("wt%d-%d", os.Getpid()%100000, i)
		s := namespace{name: name, address: fmt.Sprintf("10.213.%d.2", i), coordinator: fmt.Sprintf("10.213.%d.1", i)}
		ip("netns", "add", name)
		t.Cleanup(func() {
			if out, err := exec.Command("ip", "netns", "del", name).CombinedOutput(); err != nil { // and both devices with it
				t.Errorf("remove the namespace %s: %v: %s", name, err, out)
			}
		})
		ip("link", "add", name, "type", "veth", "peer", "name", "uplink", "netns", name)
		ip("addr", "add", s.coordinator+"/24", "dev", name)
		ip("link", "set", name, "up")
		ip("-n", name, "addr", "add", s.address+"/24", "dev", "uplink")
		ip("-n", name, "link", "set", "lo", "up")
		ip("-n", name, "link", "set", "uplink", "up")
		all = append(all, s)
	}
	return all
}

// TestCampaignIsARun: two workers of this machine make the store that a single run makes. All batches are carried out twice.
func TestCampaignIsARun(t *testing.T) {
	needtest.Long(t)
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	file := u.write(t, "study.yaml", dividedStudy)
	for _, args := range [][]string{{"run", file, "--store", "single"}, {"campaign", "run", file, "--store", "divided", "--workers", "2", "--checks", "100"}} {
		if r := u.run(t, args...); r.code != 0 {
			t.Fatalf("%v: exit code %d: %s", args, r.code, r.errors)
		}
	}
	sameStores(t, filepath.Join(u.home, "single"), filepath.Join(u.home, "divided"))
}

// TestCampaignOverNamespaces: four workers in network namespaces of their own, one of them behind a slow link, one whose link is cut
// again and again, one killed again and again, make the store that a single run makes.
func TestCampaignOverNamespaces(t *testing.T) {
	needtest.Long(t)
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	sites := addNamespaces(t, 4)
	file := u.write(t, "study.yaml", dividedStudy)
	if r := u.run(t, "run", file, "--store", "single"); r.code != 0 {
		t.Fatalf("exit code %d: %s", r.code, r.errors)
	}
	args := []string{"campaign", "run", file, "--store", "divided", "--workers", "0", "--listen", "0.0.0.0:0", "--checks", "5"}
	for i, s := range sites {
		args = append(args, "--host", s.coordinator, "--invite", fmt.Sprint("w", i))
	}
	coordinator := u.command(t.Context(), args...)
	said, err := coordinator.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	coordinator.Stdout = &out
	if err := coordinator.Start(); err != nil {
		t.Fatal(err)
	}
	words := make([]byte, 0, 4096)
	for !bytes.Contains(words, []byte("Worker w3 joins")) { // all invitations are written
		part := make([]byte, 512)
		n, err := said.Read(part)
		if words = append(words, part[:n]...); err != nil {
			t.Fatalf("the coordinator ended: %s", words)
		}
	}
	rest := make(chan []byte, 1)
	go func() {
		text, _ := io.ReadAll(said) // it ends with the program
		rest <- text
	}()
	if slow, err := exec.Command("tc", "-n", sites[0].name, "qdisc", "add", "dev", "uplink", "root", "tbf", "rate", "2mbit", "burst", "16kb", "latency", "200ms").CombinedOutput(); err != nil {
		t.Fatalf("make a link slow: %v: %s", err, slow)
	}
	ctx, cancel := context.WithCancel(t.Context())
	kills := make(chan int, 1)
	ended := make(chan struct{}, len(sites)+1)
	for i, s := range sites {
		start := func() *exec.Cmd {
			c := u.program(ctx, "ip", "netns", "exec", s.name, binary, "worker", "--join", fmt.Sprintf("w%d.invitation", i), "--folder", fmt.Sprint("folder", i), "--jobs", "1", "--core", fmt.Sprint(i%2))
			c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
			return c
		}
		go func() {
			defer func() { ended <- struct{}{} }()
			if i < 3 {
				c := start()
				if text, err := c.CombinedOutput(); ctx.Err() == nil {
					t.Errorf("worker %d ended: %v: %s", i, err, text)
				}
				return
			}
			killed := 0
			for ; ctx.Err() == nil; killed++ {
				c := start()
				if err := c.Start(); err != nil {
					t.Error(err)
					return
				}
				select {
				case <-ctx.Done():
				case <-time.After(time.Duration(500+300*(killed%5)) * time.Millisecond):
				}
				_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
				_ = c.Wait() // it was killed
			}
			kills <- killed
		}()
	}
	go func() {
		defer func() { ended <- struct{}{} }()
		for state := "down"; ctx.Err() == nil; {
			if out, err := exec.Command("ip", "link", "set", sites[1].name, state).CombinedOutput(); err != nil {
				t.Errorf("set a link %s: %v: %s", state, err, out)
			}
			select {
			case <-ctx.Done():
			case <-time.After(2 * time.Second):
			}
			state = map[string]string{"down": "up", "up": "down"}[state]
		}
	}()
	err = coordinator.Wait()
	cancel()
	for range len(sites) + 1 {
		<-ended
	}
	if err != nil {
		t.Fatalf("the campaign: %v: %s%s", err, words, <-rest)
	}
	if n := <-kills; n < 3 {
		t.Errorf("a worker was killed %d times, want 3 at least", n)
	} else {
		t.Logf("one worker was killed %d times; the coordinator said\n%s", n, <-rest)
	}
	sameStores(t, filepath.Join(u.home, "single"), filepath.Join(u.home, "divided"))
	if !strings.Contains(out.String(), "144 loads measured") {
		t.Errorf("it prints no results:\n%s", &out)
	}
}

// TestCampaignInput: what is wrong with a command line, an invitation or a server is said in plain words, with the exit code for it.
func TestCampaignInput(t *testing.T) {
	t.Parallel()
	u := self(t)
	cut := u.write(t, "cut", `{"wiretime_invitation": 1, "worker": "a`)
	newer := u.write(t, "newer", `{"wiretime_invitation": 9}`)
	creds := u.write(t, "bad.creds", "x")
	const (
		nobody = "nats://127.0.0.1:1"
		key    = "UAVATGKKBZY76QMFQDUOE2VCWHCA4ONXE63RA3QVLUWEVO2BPKCO4M5E" // a public key of no further use
	)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"worker"}, exitInput, "name an invitation with --join"},
		{[]string{"worker", "--nats", nobody}, exitInput, "--trust is missing"},
		{[]string{"worker", "--nats", nobody, "--trust", "U"}, exitInput, "--trust U: must be the key that the coordinator prints"},
		{[]string{"worker", "--nats", nobody, "--trust", key}, exitInput, "--creds is missing"},
		{[]string{"worker", "--nats", nobody, "--trust", key, "--creds", creds}, exitInput, "they are not what nsc writes"},
		{[]string{"worker", "--join", cut, "--nats", nobody}, exitInput, "exclude each other"},
		{[]string{"worker", "--join", "missing"}, exitInput, "no such file"},
		{[]string{"worker", "--join", cut}, exitInput, "cut off or not an invitation"},
		{[]string{"worker", "--join", newer}, exitInput, "use the Wiretime that the coordinator has"},
		{[]string{"campaign", "run"}, exitInput, "no study given"},
		{[]string{"campaign", "run", "first-look", "--room", "-1"}, exitInput, "--room -1"},
		{[]string{"campaign", "run", "first-look", "--checks", "200"}, exitInput, "--checks 200"},
		{[]string{"campaign", "run", "first-look", "--creds", creds}, exitInput, "name it with --nats"},
		{[]string{"campaign", "run", "first-look", "--nats", nobody, "--listen", "127.0.0.1:0"}, exitInput, "--listen configures the NATS server that this program starts"},
	} {
		r := u.run(t, c.args...)
		if r.code != c.code || !strings.Contains(r.errors, c.want) || r.out != "" {
			t.Errorf("%v: exit code %d, want %d, with %q:\n%s%s", c.args, r.code, c.code, c.want, r.out, r.errors)
		}
	}
}
