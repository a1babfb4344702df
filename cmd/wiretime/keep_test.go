package main

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite"

	"wiretime/needtest"
	"wiretime/store"
)

// keptStudy is a study on a clock that keeps what a word says.
const keptStudy = `name: kept
repeats: 4
clock: %s
keep: %s
matrix:
  sites: [objects@10x5kB]
  protocols: [spdy/3.1, h3]
  networks: [{name: lossy, rate: 10mbit, rtt: 20ms, queue: 64kB, loss: 1%%}]
  loaders: [builtin]
options: {late_limit: 10s, taken_limit: 100%%}
`

// artefacts are the checksums of the files in a store, by their names.
func artefacts(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := store.Checksums(filepath.Join(dir, "loads"))
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for _, f := range files {
		sums[f.Name] = f.SHA256
	}
	return sums
}

// loadsIn returns the loads of a store's first run.
func loadsIn(t *testing.T, dir string) []store.Load {
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
	return loads
}

// runs runs the program and wants an exit code.
func (u user) runs(t *testing.T, code int, args ...string) result {
	t.Helper()
	r := u.run(t, args...)
	if r.code != code {
		t.Fatalf("%v: exit code %d, want %d\n%s%s", args, r.code, code, r.out, r.errors)
	}
	return r
}

// TestKeep measures a study that keeps all artefacts, those of the median loads, and none. The values are the same,
// and so is what is kept; the median is the load that the report of the whole store shows.
func TestKeep(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	all := u.write(t, "all.yaml", fmt.Sprintf(keptStudy, "virtual", "all"))
	none := u.write(t, "none.yaml", fmt.Sprintf(keptStudy, "virtual", "none"))
	u.runs(t, 0, "run", all, "--store", "all")
	u.runs(t, 0, "run", all, "--store", "median", "--keep", "median")
	verified := u.runs(t, 0, "run", none, "--store", "none", "--verify-determinism", "2")
	if n := strings.Count(verified.out, "the same in every metric and every byte"); n != 2 {
		t.Errorf("%d loads without artefacts came out the same when run again, want 2:\n%s", n, verified.out)
	}
	want := artefacts(t, filepath.Join(u.home, "all"))
	kept := map[string]int{}
	for _, dir := range []string{"median", "none"} {
		loads := loadsIn(t, filepath.Join(u.home, dir))
		for i, l := range loadsIn(t, filepath.Join(u.home, "all")) {
			if d := cmp.Diff(l.Values, loads[i].Values); d != "" || !loads[i].Dropped && loads[i].Artefacts == "" {
				t.Errorf("%s, keep %s: dropped %v; values differ: %s", l.ID, dir, loads[i].Dropped, d)
			}
			if !loads[i].Dropped {
				kept[dir]++
			}
		}
		for name, sum := range artefacts(t, filepath.Join(u.home, dir)) {
			if want[name] != sum {
				t.Errorf("keep %s: %s is not what a run that keeps all has", dir, name)
			}
		}
	}
	if kept["median"] != 2 || kept["none"] != 0 {
		t.Errorf("loads with artefacts: %v, want one of each of the 2 cells with median", kept)
	}
	u.runs(t, 0, "report", "--store", "all", "-o", "all.html")
	whole, err := os.ReadFile(filepath.Join(u.home, "all.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range loadsIn(t, filepath.Join(u.home, "median")) {
		if shown := strings.Contains(string(whole), fmt.Sprintf(`"critical":{"load":%d,`, l.Index)); shown == l.Dropped {
			t.Errorf("%s: the report of all loads shows it as the median: %v; it was dropped: %v", l.ID, shown, l.Dropped)
		}
	}
}

// TestReadersSayWhatWasDropped has every reader of artefacts read a store without any.
func TestReadersSayWhatWasDropped(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	u.runs(t, 0, "run", u.write(t, "study.yaml", fmt.Sprintf(keptStudy, "virtual", "none")), "--store", "kept")
	u.runs(t, 0, "report", "--store", "kept", "-o", "report.html")
	page, err := os.ReadFile(filepath.Join(u.home, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	back := "'wiretime reproduce r1-0003-a1 --store " + filepath.Join(u.home, "kept") + "' brings them back"
	for name, c := range map[string]struct{ said, want string }{
		"report":  {string(page), "The artefacts of 8 of 8 loads were dropped (keep: none)"},
		"results": {u.runs(t, 0, "results", "--store", "kept").out, "The artefacts of 8 of 8 loads were dropped (keep: none)"},
		"show":    {u.runs(t, 0, "show", "r1-0003-a1", "--store", "kept").out, back},
		"explain": {u.runs(t, exitInput, "explain", "r1-0003-a1", "--store", "kept").errors, "its artefacts were dropped; " + back},
		"export":  {u.runs(t, 0, "export", "json", "--store", "kept").out, `"keep": "none"`},
	} {
		if !strings.Contains(c.said, c.want) {
			t.Errorf("%s does not say %q", name, c.want)
		}
	}
	if strings.Count(u.runs(t, 0, "show", "r1-0003-a1", "--store", "kept").out, "\ndropped  ") < 3 {
		t.Error("show does not list the dropped artefacts")
	}
}

// TestReproduce brings the artefacts of dropped loads back: they are those of a run that dropped none, byte for
// byte.
func TestReproduce(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	all := u.write(t, "study.yaml", fmt.Sprintf(keptStudy, "virtual", "all"))
	u.runs(t, 0, "run", all, "--store", "all")
	u.runs(t, 0, "run", all, "--store", "none", "--keep", "none")
	want := artefacts(t, filepath.Join(u.home, "all"))

	r := u.runs(t, 0, "reproduce", "r1-0005-a1", "r1-0002-a1", "--store", "none", "--out", "outside")
	if strings.Count(r.out, "the same\n") != 2 || len(artefacts(t, filepath.Join(u.home, "none"))) != 0 {
		t.Errorf("with --out: %s", r.out)
	}
	if err := os.Rename(filepath.Join(u.home, "outside"), filepath.Join(u.home, "loads")); err != nil {
		t.Fatal(err)
	}
	same(t, want, artefacts(t, u.home), "r1-0002-a1", "r1-0005-a1")

	r = u.runs(t, 0, "reproduce", "r1-0005-a1", "r1-0002-a1", "--store", "none")
	if strings.Count(r.out, "its artefacts are back in ") != 2 {
		t.Errorf("it does not say where the artefacts are: %s", r.out)
	}
	same(t, want, artefacts(t, filepath.Join(u.home, "none")), "r1-0002-a1", "r1-0005-a1")
	r = u.runs(t, 0, "reproduce", "r1-0002-a1", "--store", "none") // has its artefacts, and is verified
	if strings.Contains(r.out, "back in") || !strings.Contains(r.out, "the same\n") {
		t.Errorf("a load that has its artefacts: %s", r.out)
	}
	u.runs(t, 0, "explain", "r1-0002-a1", "--store", "none")

	changes := filepath.Join(u.home, "none", "loads", "r1-0002-a1", "server.jsonl")
	text, err := os.ReadFile(changes)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(changes, append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
	change(t, filepath.Join(u.home, "none"), "UPDATE artefact SET sha256 = 'another' WHERE load = 'r1-0003-a1' AND name = 'load.har'; UPDATE value SET value = value + 1 WHERE load = 'r1-0004-a1' AND metric = 'plt'")
	r = u.runs(t, exitFailure, "reproduce", "r1-0002-a1", "r1-0003-a1", "r1-0004-a1", "r1-0006-a1", "--store", "none")
	for _, said := range []string{"server.jsonl differs", "load.har differs", "plt ", "they are not those that were dropped"} {
		if !strings.Contains(r.out, said) {
			t.Errorf("it does not say %q:\n%s", said, r.out)
		}
	}
	if !strings.Contains(r.errors, "3 of 4 loads came out differently") {
		t.Error(r.errors)
	}
	same(t, want, artefacts(t, filepath.Join(u.home, "none")), "r1-0004-a1", "r1-0005-a1", "r1-0006-a1")
	if _, err := os.Stat(filepath.Join(u.home, "none", "loads", "r1-0003-a1")); err == nil {
		t.Error("artefacts that are not those that were dropped were put into the store")
	}
}

// same checks that the artefacts of loads are those of a run that dropped none.
func same(t *testing.T, want, got map[string]string, loads ...string) {
	t.Helper()
	compared := 0
	for name, sum := range want {
		if slices.Contains(loads, strings.Split(name, "/")[0]) {
			compared++
			if got[name] != sum {
				t.Errorf("%s is not the same", name)
			}
		}
	}
	if compared < 3*len(loads) {
		t.Errorf("%d artefacts of loads %v, want at least 3 of each", compared, loads)
	}
}

// change runs a statement on a store's database.
func change(t *testing.T, dir, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "wiretime.db"))
	if err == nil {
		_, err = db.Exec(statement)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestCountedLoadsAreReproduced: what a load asked of the kernel is not compared, since the host's processor time is part of it.
func TestCountedLoadsAreReproduced(t *testing.T) {
	needtest.Long(t)
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	file := u.write(t, "study.yaml", fmt.Sprintf(keptStudy, "virtual", "all"))
	r := u.runs(t, 0, "run", file, "--store", "kept", "--count", "--verify-determinism", "2")
	if n := strings.Count(r.out, "the same in every metric and every byte"); n != 2 {
		t.Errorf("%d loads came out the same when run again, want 2:\n%s", n, r.out)
	}
	if shown := u.onTerminal(t, "reproduce", "r1-0004-a1", "--store", "kept"); !strings.Contains(shown, "/5]  loads carried out again") || strings.Contains(shown, "carried out\r\n") {
		t.Errorf("on a terminal: %q", shown)
	}
	if r := u.runs(t, exitInput, "run", file, "--store", "none", "--count", "--keep", "none"); !strings.Contains(r.errors, "add --keep all") {
		t.Error(r.errors)
	}
}

// TestReproduceNeedsTheSamePrograms: a load that was made by another program or kernel, or of another site, is
// carried out only if that is wanted, since it would come out otherwise.
func TestReproduceNeedsTheSamePrograms(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	u.runs(t, 0, "run", u.write(t, "study.yaml", fmt.Sprintf(keptStudy, "virtual", "none")), "--store", "kept")
	change(t, filepath.Join(u.home, "kept"), `UPDATE programs SET described = json_set(described, '$.kernel', 'Linux 1.0', '$."site objects@10x5kB"', 'SHA-256 0')`)
	r := u.runs(t, exitInput, "reproduce", "r1-0001-a1", "--store", "kept")
	for _, said := range []string{"    kernel: Linux 1.0; today: Linux ", "    site objects@10x5kB: SHA-256 0; today: SHA-256 ", "--other-programs"} {
		if !strings.Contains(r.errors, said) {
			t.Errorf("it does not say %q: %s", said, r.errors)
		}
	}
	if strings.Contains(r.errors, "    wiretime:") {
		t.Errorf("it says that wiretime is another program: %s", r.errors)
	}
	r = u.runs(t, 0, "reproduce", "r1-0001-a1", "--store", "kept", "--other-programs")
	if !strings.Contains(r.errors, "kernel: Linux 1.0; today: Linux ") || !strings.Contains(r.out, "its artefacts are back in ") {
		t.Errorf("%s%s", r.out, r.errors)
	}
}

// TestWhatCannotBeReproduced names loads on the real clock and loads that are not there.
func TestWhatCannotBeReproduced(t *testing.T) {
	t.Parallel()
	u := self(t)
	r := u.runs(t, 0, "run", u.write(t, "study.yaml", fmt.Sprintf(keptStudy, "real", "median")), "--store", "kept", "--wait", "0")
	if !strings.Contains(r.errors, "note: keep: median drops artefacts of loads on the real or the live clock, which nothing can bring back") {
		t.Errorf("the run does not say that it drops for good:\n%s", r.errors)
	}
	kept := 0
	for _, l := range loadsIn(t, filepath.Join(u.home, "kept")) {
		if l.Artefacts != "" && l.Validity == store.Valid {
			kept++
		}
	}
	if kept != 2 {
		t.Errorf("%d valid loads have artefacts, want the medians of 2 cells", kept)
	}
	for load, said := range map[string]string{
		"r1-0001-a1": "ran on the real clock: it depends on what this machine and its other programs did at that moment",
		"r1-0099-a1": "not in the store", "nonsense": "not in the store",
	} {
		if r := u.runs(t, exitInput, "reproduce", load, "--store", "kept"); !strings.Contains(r.errors, said) {
			t.Errorf("%s: it does not say %q: %s", load, said, r.errors)
		}
	}
}

// TestReproduceBrowsersAndStreams brings back a page that Chromium loaded after another in its guest, and a stream.
func TestReproduceBrowsersAndStreams(t *testing.T) {
	needtest.Long(t)
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	u.addPage(t)
	pages := `name: browser
repeats: 2
clock: virtual
matrix:
  sites: [page]
  protocols: [h3]
  networks: [{name: quick, rate: 10mbit, rtt: 50ms}]
  loaders: [chromium]
`
	streams := `name: streams
repeats: 1
clock: virtual
stream: {rate: 5 Mbit/s, duration: 3s, window: 2s}
matrix:
  media: [clip]
  transports: [quic, tcp]
  players: [throughput]
  link_delays: [10ms]
  reconnections: [1]
`
	for name, text := range map[string]string{"pages": pages, "streams": streams} {
		t.Run(name, func(t *testing.T) {
			if name == "pages" {
				needChromium(t)
			}
			file := u.write(t, name+".yaml", text)
			u.runs(t, 0, "run", file, "--store", name+"-all")
			u.runs(t, 0, "run", file, "--store", name, "--keep", "none")
			u.runs(t, 0, "reproduce", "r1-0001-a1", "--store", name)
			same(t, artefacts(t, filepath.Join(u.home, name+"-all")), artefacts(t, filepath.Join(u.home, name)), "r1-0001-a1")
		})
	}
}

// TestKilledRunKeepsTheMedian kills a run that keeps the median of each cell again and again. In the end it has kept what a
// run has kept that nobody killed.
func TestKilledRunKeepsTheMedian(t *testing.T) {
	needtest.Long(t)
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	file := u.write(t, "study.yaml", strings.Replace(fmt.Sprintf(keptStudy, "virtual", "median"), "spdy/3.1, h3", "http/1.1, https/1.1, spdy/3, spdy/3.1, h2, h3", 1))
	u.runs(t, 0, "run", file, "--store", "whole")
	args := []string{"run", file, "--store", "killed"}
	for _, at := range []string{"[ 5/", "[15/", "[21/"} {
		p := u.begin(t, args...)
		p.await(t, at)
		if err := p.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for p.lines.Scan() { // until the last process that belongs to the run is gone
		}
		_ = p.Wait() // it was killed
		args = []string{"run", "--resume", "--store", "killed"}
	}
	u.runs(t, 0, args...)
	want := artefacts(t, filepath.Join(u.home, "whole"))
	if d := cmp.Diff(want, artefacts(t, filepath.Join(u.home, "killed"))); d != "" || len(want) < 6*3 {
		t.Errorf("%d artefacts are kept; they differ: %s", len(want), d)
	}
}

// TestCompressedArtefacts measures a study that keeps compressed artefacts: every reader reads them as if they were not, and
// show writes them as they were.
func TestCompressedArtefacts(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	all := u.write(t, "study.yaml", fmt.Sprintf(keptStudy, "virtual", "all"))
	u.runs(t, 0, "run", all, "--store", "all")
	u.runs(t, 0, "run", all, "--store", "small", "--keep", "compressed", "--verify-determinism", "2")
	plain, err := filepath.Glob(filepath.Join(u.home, "small", "loads", "*", "load.pcapng"))
	if err != nil || len(plain) > 0 {
		t.Errorf("not compressed: %v (%v)", plain, err)
	}
	if d := cmp.Diff(artefacts(t, filepath.Join(u.home, "all")), artefacts(t, filepath.Join(u.home, "small"))); d != "" {
		t.Error("the contents differ:", d)
	}
	for _, verb := range [][]string{{"explain", "r1-0003-a1"}, {"explain", "--json", "r1-0003-a1"}} {
		if a, b := u.runs(t, 0, append(verb, "--store", "all")...), u.runs(t, 0, append(verb, "--store", "small")...); a.out != b.out {
			t.Errorf("%v differs: %s\n%s", verb, a.out, b.out)
		}
	}
	pages := map[string]string{}
	for _, dir := range []string{"all", "small"} {
		u.runs(t, 0, "report", "--store", dir, "-o", dir+".html")
		text, err := os.ReadFile(filepath.Join(u.home, dir+".html"))
		if err != nil {
			t.Fatal(err)
		}
		_, pages[dir], _ = strings.Cut(string(text), `"loads":`)
	}
	if pages["all"] == "" || pages["all"] != pages["small"] {
		t.Errorf("the reports' loads differ, or are not there: %d and %d octets", len(pages["all"]), len(pages["small"]))
	}
	u.runs(t, 0, "show", "r1-0003-a1", "--store", "small", "--out", "loads")
	same(t, artefacts(t, filepath.Join(u.home, "all")), artefacts(t, u.home), "r1-0003-a1")
	if entries, err := os.ReadDir(filepath.Join(u.home, "loads", "r1-0003-a1")); err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.HasSuffix(e.Name(), ".zst") }) {
		t.Errorf("show has written %v (%v)", entries, err)
	}
	u.runs(t, exitInput, "show", "r1-0003-a1", "--store", "small", "--out", "loads") // is there already
	if tshark, err := exec.LookPath("tshark"); err == nil {
		out, err := exec.CommandContext(t.Context(), tshark, "-r", filepath.Join(u.home, "small", "loads", "r1-0003-a1", "load.pcapng.zst"), "-c", "3").Output()
		if err != nil || strings.Count(string(out), "\n") != 3 {
			t.Errorf("tshark reads %q (%v)", out, err)
		}
	}
	u.runs(t, 0, "reproduce", "r1-0003-a1", "--store", "small")
}
