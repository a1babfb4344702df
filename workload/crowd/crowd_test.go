package crowd

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"wiretime/evidence"
	"wiretime/lab"
	"wiretime/lab/labtest"
	"wiretime/loader/many"
	"wiretime/metric"
	"wiretime/needtest"
	"wiretime/protocol"
	"wiretime/server"
	"wiretime/site"
	"wiretime/study"
	"wiretime/workload"
)

// page is a page of a document and eight objects.
func page(t *testing.T) *site.Site {
	t.Helper()
	s, err := site.Objects(8, 3000)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// crowd returns an order for three clients.
func crowd(t *testing.T, row string) Order {
	return Order{Clients: 3, Protocol: row, Server: server.Own, Pages: 7, Rest: time.Millisecond, Congestion: "cubic", Timeout: time.Minute, Site: page(t)}
}

// measured measures a crowd and returns what it left.
func measured(t *testing.T, l *lab.Lab, o Order) *Record {
	t.Helper()
	r, err := Run(t.Context(), l, o, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestCountsOfACrowd measures crowds of Wiretime's own server over every protocol, and compares what can be counted
// with the order. No rule is broken.
func TestCountsOfACrowd(t *testing.T) {
	l := labtest.New(t, labtest.Config(1))
	for _, row := range protocol.All() {
		for _, idle := range []bool{true, false} {
			t.Run(strings.ReplaceAll(row.Name, "/", "-")+map[bool]string{true: " idle", false: " active"}[idle], func(t *testing.T) {
				o := crowd(t, row.Name)
				o.Idle = idle
				r := measured(t, l, o)
				if r.LoadError != nil {
					t.Fatal(r.LoadError)
				}
				left := evidence.Evidence{Protocol: row.Name}
				r.Collect(&left)
				for _, v := range metric.Crowds().Violations(&left) {
					t.Errorf("rule %d: %s", v.Rule, v.Detail)
				}
				each, handshakes, pages := 1.0, 0.0, 9.0 // seven pages or more, as many of each
				if row.Spoken == "http/1.1" {
					each = 6
				}
				if row.ALPN != "" {
					handshakes = 3 * each
				}
				if idle {
					pages = 3
				}
				values := metric.Crowds().Values(&left)
				for name, want := range map[string]float64{
					"connections": 3 * each, "connections_client": each, "handshakes": handshakes, "pages": pages, "requests": 9 * pages,
				} {
					if got := values[name]; got != want {
						t.Errorf("%s: %v, want %v", name, got, want)
					}
				}
				for _, name := range []string{"server_cpu_page", "server_cpu_mb", "server_memory", "server_memory_peak"} {
					if values[name] <= 0 {
						t.Errorf("%s is %v", name, values[name])
					}
				}
				if _, rested := values["server_cpu_idle"]; rested != idle {
					t.Errorf("server_cpu_idle has a value: %v", rested)
				}
				if calls, counted := values["server_calls_page"]; counted == idle || counted && calls < 1 {
					t.Errorf("server_calls_page is %v (%v)", calls, counted)
				}
			})
		}
	}
	if left := children(t); left > 1 { // the lab's emulator
		t.Errorf("%d processes are left", left)
	}
}

// children returns how many child processes this one has.
func children(t *testing.T) int {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range lists {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has just ended
		}
		n += len(strings.Fields(string(text)))
	}
	return n
}

// TestCrowdsOfSeveralHosts loads a page whose text names another host. Over HTTP it is shorter than over HTTPS, since
// it names the host with http.
func TestCrowdsOfSeveralHosts(t *testing.T) {
	l := labtest.New(t, labtest.Config(1))
	const document, image = "https://www.page.test/", "https://img.page.test/a.png"
	text, pixels := []byte(`<!DOCTYPE html><img src="`+image+`">`), []byte("pixels")
	html := []site.Header{{Name: "content-type", Value: "text/html"}}
	s, err := site.New(site.Site{Name: "page", Page: document, Resources: []site.Resource{
		{Method: "GET", URL: document, Status: 200, Header: html, Body: site.Hash(text)},
		{Method: "GET", URL: image, Status: 200, Body: site.Hash(pixels)},
	}}, map[string][]byte{site.Hash(text): text, site.Hash(pixels): pixels})
	if err != nil {
		t.Fatal(err)
	}
	for row, connections := range map[string]float64{"http/1.1": 12, "h2": 2} {
		o := crowd(t, row)
		o.Site = s
		r := measured(t, l, o)
		if r.LoadError != nil {
			t.Errorf("%s: %v", row, r.LoadError)
			continue
		}
		left := evidence.Evidence{Protocol: row}
		r.Collect(&left)
		for _, v := range metric.Crowds().Violations(&left) {
			t.Errorf("%s: rule %d: %s", row, v.Rule, v.Detail)
		}
		if got := metric.Crowds().Values(&left)["connections_client"]; got != connections {
			t.Errorf("%s: each client has %v connections, want %v", row, got, connections)
		}
	}
}

// TestCrowdsOfEveryServer measures a small crowd of every third-party server over every row that it has.
func TestCrowdsOfEveryServer(t *testing.T) {
	l := labtest.New(t, labtest.Config(1))
	for _, k := range server.Kinds() {
		for _, row := range k.Protocols {
			t.Run(k.Name+" "+strings.ReplaceAll(row, "/", "-"), func(t *testing.T) {
				if k.Name != "nginx" {
					needtest.Long(t)
				}
				_, err := k.Find()
				needtest.Program(t, k.Name, err)
				o := crowd(t, row)
				o.Server = k.Name
				r := measured(t, l, o)
				if r.LoadError != nil {
					t.Fatal(r.LoadError)
				}
				left := evidence.Evidence{Protocol: row}
				r.Collect(&left)
				for _, v := range metric.Crowds().Violations(&left) {
					t.Errorf("rule %d: %s", v.Rule, v.Detail)
				}
			})
		}
	}
}

// TestRecordsOfCrowdsSurviveTheirFile reads the readings that a crowd has saved in its folder.
func TestRecordsOfCrowdsSurviveTheirFile(t *testing.T) {
	dir := t.TempDir()
	was := Record{Crowd: &evidence.Crowd{Clients: 7, Held: -1, Rest: &evidence.Phase{Took: 3, Octets: 5}, TLS: []string{"terms"}}}
	if err := was.save(dir); err != nil {
		t.Fatal(err)
	}
	var is, none Record
	if err := is.ReadFiles(dir); err != nil {
		t.Fatal(err)
	}
	if is.Crowd.Clients != 7 || is.Crowd.Held != -1 || is.Crowd.Rest.Octets != 5 || is.Crowd.TLS[0] != "terms" {
		t.Errorf("the file holds %+v", is.Crowd)
	}
	if err := none.ReadFiles(t.TempDir()); err != nil || none.Crowd != nil {
		t.Errorf("a folder without readings has %+v, error %v", none.Crowd, err)
	}
}

// TestCrowdsThatFail checks the errors of crowds that fail. The lab can be used afterwards, and no process is left.
func TestCrowdsThatFail(t *testing.T) {
	l := labtest.New(t, labtest.Config(1))
	for _, test := range []struct {
		change func(*Order)
		want   string
	}{
		{func(o *Order) { o.Site.Resources[3].Size++ }, "client 1: GET "},
		{func(o *Order) { o.Timeout = time.Nanosecond }, "timed out after 1ns"},
		{func(o *Order) { o.Server = "nobody's" }, "unknown server"},
		{func(o *Order) {
			o.Template = server.Template{Name: "mine", Command: []string{"false"}, Protocols: []string{"h2"}}
			o.Server = "mine"
		}, "start mine"},
	} {
		o := crowd(t, "h2")
		test.change(&o)
		if r := measured(t, l, o); r.LoadError == nil || !strings.Contains(r.LoadError.Error(), test.want) {
			t.Errorf("want %q: %v", test.want, r.LoadError)
		}
	}
	if r := measured(t, l, crowd(t, "h2")); r.LoadError != nil {
		t.Error("after these:", r.LoadError)
	}
	if left := children(t); left > 1 {
		t.Errorf("%d processes are left", left)
	}
}

// TestACrowdThatIsInterrupted ends the context while clients rest, as Ctrl-C does.
func TestACrowdThatIsInterrupted(t *testing.T) {
	l := labtest.New(t, labtest.Config(1))
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("interrupted")
	o := crowd(t, "http/1.1")
	o.Idle, o.Rest = true, time.Hour
	m := gathered(t, l, o)
	err := m.guarded(ctx, func(ctx context.Context) error {
		cancel(why)
		return m.rest(ctx)
	})
	if !errors.Is(err, why) {
		t.Errorf("the crowd ended with %v, want %v", err, why)
	}
	if _, err := m.clients.tell(command{}); err == nil {
		t.Error("the clients still answer")
	}
	m.close()
	if left := children(t); left > 1 { // the lab's emulator
		t.Errorf("%d processes are left", left)
	}
}

// TestPhaseTakesAsLongAsItsCommand checks that a phase does not take the time in which it waits for the server.
func TestPhaseTakesAsLongAsItsCommand(t *testing.T) {
	m := gathered(t, labtest.New(t, labtest.Config(1)), crowd(t, "h2"))
	defer m.close()
	began := time.Now()
	p, err := m.phase(t.Context(), command{Connect: 1, Load: 1, Rounds: 1})
	if err != nil {
		t.Fatal(err)
	}
	if all := time.Since(began); p.Took <= 0 || p.Took > all-restLook {
		t.Errorf("the phase took %v of %v, in which it waited for at least %v", p.Took, all, restLook)
	}
}

// TestUseFileLimit checks that programs may open as many files as the hard limit allows.
func TestUseFileLimit(t *testing.T) {
	if err := useFileLimit(); err != nil {
		t.Fatal(err)
	}
	limits, err := exec.Command("sh", "-c", "ulimit -Sn; ulimit -Hn").Output()
	if err != nil {
		t.Fatal(err)
	}
	if all := strings.Fields(string(limits)); len(all) != 2 || all[0] != all[1] {
		t.Errorf("a program that was started has the soft and hard limits %q", all)
	}
}

// gathered starts the server and the clients of a crowd. The caller closes the result.
func gathered(t *testing.T, l *lab.Lab, o Order) *measuring {
	t.Helper()
	hosts, err := l.Prepare(loopback(), lab.TCPOptions{Congestion: o.Congestion, InitCwnd: usualWindow})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hosts.Close(); err != nil {
			t.Error(err)
		}
	})
	m, err := o.gather(t.Context(), hosts, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestACrowdWhoseServerDies kills Wiretime's own server and a third-party one while clients rest. No figure is made of it.
func TestACrowdWhoseServerDies(t *testing.T) {
	l := labtest.New(t, labtest.Config(1))
	for _, name := range []string{server.Own, "nginx"} {
		t.Run(name, func(t *testing.T) {
			if kind, err := server.Lookup(name); err == nil {
				_, err := kind.Find()
				needtest.Program(t, name, err)
			}
			o := crowd(t, "h2")
			o.Server, o.Idle, o.Rest = name, true, time.Hour
			m := gathered(t, l, o)
			defer m.close()
			err := m.guarded(t.Context(), func(ctx context.Context) error {
				if err := syscall.Kill(m.server()[0], syscall.SIGKILL); err != nil {
					t.Error(err)
				}
				return m.rest(ctx)
			})
			if err == nil || !strings.Contains(err.Error(), "exited unexpectedly") {
				t.Errorf("the crowd ended with %v, want that the server exited", err)
			}
		})
	}
}

// bind binds a cell of a study of crowds.
func bind(t *testing.T, values map[study.Axis]string, change func(*site.Site)) workload.Job {
	t.Helper()
	s := page(t)
	if change != nil {
		change(s)
	}
	on := map[study.Axis]string{study.AxisSite: "page", study.AxisClients: "2", study.AxisActivity: study.ActivityActive, study.AxisProtocol: "h2"}
	maps.Copy(on, values)
	setting := workload.Setting{Sites: map[string]*site.Site{"page": s}, Options: study.Options{Crowd: &study.Crowd{Pages: 3}}}
	j, err := Workload{}.Bind(study.NewCell(study.Crowds(), on, loopback()), 1, setting)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// TestWhatCrowdsCannotBe checks why cells are unsupported.
func TestWhatCrowdsCannotBe(t *testing.T) {
	if why := bind(t, nil, nil).Unsupported; why != "" {
		t.Errorf("a usual cell is unsupported: %s", why)
	}
	for _, test := range []struct {
		values map[study.Axis]string
		change func(*site.Site)
		want   string
	}{
		{values: map[study.Axis]string{study.AxisClock: study.ClockVirtual}, want: "counts as zero on the virtual clock"},
		{values: map[study.Axis]string{study.AxisInitCwnd: "3"}, want: "initcwnd"},
		{values: map[study.Axis]string{study.AxisServer: "nginx", study.AxisProtocol: "h3"}, want: "nginx does not support h3"},
		{values: map[study.Axis]string{study.AxisClients: "500000000", study.AxisProtocol: "https/1.1"}, // more than Linux allows
			want: "500000000 clients with 6 connections each need 3000000500 open files in one process"},
		{change: func(s *site.Site) { s.Journey = []string{s.Page} }, want: "several pages"},
		{change: func(s *site.Site) { s.Resources[1].Method = "POST" }, want: "not fetched by GET"},
		{change: func(s *site.Site) { s.Resources[0].Push = []string{s.Resources[1].URL} }, want: "do not support resources that are pushed"},
	} {
		if why := bind(t, test.values, test.change).Unsupported; !strings.Contains(why, test.want) {
			t.Errorf("want %q: %q", test.want, why)
		}
	}
}

// TestACrowdHasTheMachineToItself checks that no other load of a run can run at the same time.
func TestACrowdHasTheMachineToItself(t *testing.T) {
	if share := bind(t, nil, nil).Estimate.Share(); share < 100 {
		t.Errorf("a crowd claims %v cores, want more than any machine has", share)
	}
}

// TestAHelperThatEnds starts a process that fails at once, and sends a message to one that has been killed.
func TestAHelperThatEnds(t *testing.T) {
	l := labtest.New(t, labtest.Config(1))
	if _, err := start(clientsCommand, l.Client().Command, map[string]string{"Protocol": "h4"}); err == nil || !strings.Contains(err.Error(), `unknown protocol "h4"`) {
		t.Errorf("clients of an unknown protocol: error %v", err)
	}
	h, err := start(clientsCommand, l.Client().Command, many.Order{
		Protocol: "http/1.1", Hosts: map[string]netip.Addr{"a.test": netip.MustParseAddr("127.0.0.1")}, Page: []many.Resource{{Host: "a.test", Target: "/"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	h.kill()
	if _, err := h.tell(command{}); err == nil || !strings.Contains(err.Error(), clientsCommand) {
		t.Errorf("a process that was killed: error %v, want one that names it", err)
	}
	h.stop()
}
