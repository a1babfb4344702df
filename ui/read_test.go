package ui

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wiretime/report"
	"wiretime/store"
)

func TestRuns(t *testing.T) {
	p := shopServed(t)
	var list struct{ Runs []listedRun }
	p.get("/api/runs", &list)
	if len(list.Runs) != 1 {
		t.Fatalf("%d runs", len(list.Runs))
	}
	if r := list.Runs[0]; r.ID != 1 || r.Study != "shop" || r.Title != "Two protocols" || r.Planned != 28 || r.Done != 28 || r.State != "finished" || r.Clock != "virtual" {
		t.Errorf("the run is %+v", r)
	}
}

func TestOverview(t *testing.T) {
	p := shopServed(t)
	var d struct {
		Cells []struct {
			Label     string
			Valid     int
			Loads     []int
			Summaries map[string]json.RawMessage
		}
		Sections []struct{ Cells []int }
		Loads    []any
		Claims   []report.Claim
		Checks   []report.Check
		Counts   report.Counts
	}
	p.get("/api/runs/1", &d)
	if len(d.Cells) != 4 || len(d.Sections) != 2 || len(d.Loads) != 0 || len(d.Claims) != 1 || d.Claims[0].Verdict == "" || d.Counts.Planned != 28 || d.Counts.Invalid != 4 || d.Counts.Failed != 4 {
		t.Errorf("the overview is %+v", d)
	}
	for _, c := range d.Cells {
		if c.Valid != 6 || c.Summaries["onload"] == nil || c.Summaries["bytes_down"] != nil || len(c.Loads) != 0 {
			t.Errorf("a cell is %+v", c)
		}
	}
	if i := slices.IndexFunc(d.Checks, func(c report.Check) bool { return c.Rule == 3 }); d.Checks[i].Broken != 4 {
		t.Errorf("%d loads broke rule 3", d.Checks[i].Broken)
	}
	p.get("/api/runs/1?metrics=bytes_down", &d)
	if d.Cells[0].Summaries["bytes_down"] == nil {
		t.Error("a metric that is asked for is missing")
	}
	_, header, _ := p.do("GET", "/api/runs/1", "", nil)
	status, _, _ := p.do("GET", "/api/runs/1", "", func(r *http.Request) { r.Header.Set("If-None-Match", header.Get("ETag")) })
	if status != http.StatusNotModified {
		t.Errorf("the same overview again: status %d", status)
	}
}

func TestRatios(t *testing.T) {
	p := shopServed(t)
	var got ratioTable
	p.get("/api/runs/1/ratios?baseline=h3", &got)
	if got.Metric != "onload" || got.Unit != "ms" || !slices.Equal(got.Baselines, []string{"h2", "h3"}) || len(got.Pairs) != 2 {
		t.Fatalf("the ratios are %+v", got)
	}
	for i, q := range got.Pairs {
		if q.Section != i || q.Diff != -20 || q.Ratio >= 1 || q.Low > q.Ratio || q.High < q.Ratio || !q.Interval || q.N != 6 {
			t.Errorf("pair %d is %+v", i, q)
		}
	}
	p.get("/api/runs/1/ratios?metric=plt", &got)
	if got.Baseline != "h2" || got.Pairs[0].Diff != 20 {
		t.Errorf("against the first label the ratios are %+v", got)
	}
}

func TestCell(t *testing.T) {
	p := shopServed(t)
	type answer struct {
		Number int
		Key    string
		Cells  []struct{ MedianLoad int }
		Loads  []struct {
			ID, Validity, Reason string
			Waterfall            *struct{}
		}
		Attempts []attempt
		Sections []any
	}
	var d, light answer
	p.get("/api/runs/1/cells/1", &d)
	if d.Number != 1 || !strings.Contains(d.Key, "h3") || len(d.Loads) != 8 || len(d.Attempts) != 8 || len(d.Sections) != 1 {
		t.Fatalf("the cell is %+v", d)
	}
	for i, l := range d.Loads {
		a := d.Attempts[i]
		if (l.Validity == "invalid") != (len(a.Violations) == 1) || (l.Validity == "failed") != strings.Contains(l.Reason, "<script>") || a.HasFiles != (i == 0) || (l.Waterfall != nil) != (i == 0) {
			t.Errorf("load %d is %+v, %+v", i, l, a)
		}
	}
	p.get("/api/runs/1/cells/1?light=1", &light)
	if len(light.Loads) != 8 || light.Loads[0].Waterfall != nil {
		t.Errorf("the light cell is %+v", light)
	}
}

func TestLoad(t *testing.T) {
	p := shopServed(t)
	var d struct {
		Loads   []struct{ Waterfall struct{ Requests [][]int } }
		Words   []string
		Load    loadFacts
		Packets struct {
			Marks [][]float64
			Fates []string
		}
	}
	p.get("/api/loads/r1-0000-a1", &d)
	if len(d.Loads) != 1 || len(d.Loads[0].Waterfall.Requests) != 2 || !slices.ContainsFunc(d.Words, func(w string) bool { return strings.Contains(w, "<script>") }) {
		t.Errorf("the load is %+v", d)
	}
	if l := d.Load; l.ID != "r1-0000-a1" || l.Number != 0 || l.Next != "r1-0004-a1" || l.Previous != "" || l.Missing != "" || !l.HasFiles {
		t.Errorf("the load's facts are %+v", l)
	}
	if want := [][]float64{{31, 0, 90, 1, 0, 0}, {40, 0, 90, 0, 1, 0}}; len(d.Packets.Marks) != 2 || !slices.Equal(d.Packets.Marks[0], want[0]) || !slices.Equal(d.Packets.Marks[1], want[1]) || d.Packets.Fates[1] != "random loss" {
		t.Errorf("the packets are %+v, want %v", d.Packets, want)
	}
	var names []string
	for _, f := range d.Load.Files {
		names = append(names, f.Name)
	}
	if !slices.Equal(names, []string{"load.har", "load.pcapng", "page.html", "tls.keys"}) {
		t.Errorf("the files are %v", names)
	}

	var none struct{ Load loadFacts }
	p.get("/api/loads/r1-0004-a1", &none)
	if none.Load.Missing == "" || len(none.Load.Files) != 0 || none.Load.Previous != "r1-0000-a1" {
		t.Errorf("a load without files is %+v", none.Load)
	}
}

func TestCompare(t *testing.T) {
	p := shopServed(t)
	for _, c := range []struct {
		a, b       string
		difference float64
		reason     string
	}{{"r1-0000-a1", "r1-0001-a1", 20, ""}, {"r1-0001-a1", "r1-0000-a1", -20, ""}, {"r1-0000-a1", "r1-0004-a1", 0, "one has no files"}} {
		var got struct {
			A, B       struct{ Load loadFacts }
			Difference float64
			Reason     string
		}
		p.get("/api/compare?a="+c.a+"&b="+c.b, &got)
		if got.A.Load.ID != c.a || got.B.Load.ID != c.b || got.Difference != c.difference || got.Reason != c.reason {
			t.Errorf("%s and %s are %+v", c.a, c.b, got)
		}
	}
}

// TestFiles: what a load left leaves the server as files, never as pages.
func TestFiles(t *testing.T) {
	p := shopServed(t)
	for name, want := range map[string]string{"load.har": `"log"`, "tls.keys": "CLIENT_RANDOM aa bb\n", "page.html": "<script>"} {
		status, header, answer := p.do("GET", "/files/r1-0000-a1/"+name, "", nil)
		if status != 200 || !strings.Contains(string(answer), want) {
			t.Errorf("%s: status %d, %.80q", name, status, answer)
		}
		if header.Get("Content-Type") != "application/octet-stream" || header.Get("Content-Disposition") != `attachment; filename="r1-0000-a1-`+name+`"` || header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s has the headers %v", name, header)
		}
	}
	dir := filepath.Join(p.Store, "loads", "r1-0000-a1")
	if err := os.Symlink(filepath.Join(p.Store, "wiretime.db"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		"/files/r1-0000-a1/none":                  404,
		"/files/r1-0000-a1/link":                  500,
		"/files/r1-0000-a1/..%2f..%2fwiretime.db": 404,
		"/files/r1-0000-a1/.hidden":               404,
		"/files/r1-0004-a1/load.har":              404,
		"/files/r9-0000-a1/load.har":              404,
	} {
		if status, _, answer := p.do("GET", path, "", nil); status != want || strings.Contains(string(answer), "SQLite format") {
			t.Errorf("%s: status %d, want %d: %.80q", path, status, want, answer)
		}
	}
}

// TestTables reads every table as a spreadsheet does. None of its texts is a formula.
func TestTables(t *testing.T) {
	p := shopServed(t)
	for path, rows := range map[string]int{
		"/api/runs/1/cells.csv":                  1 + 4*2,
		"/api/runs/1/cells.csv?metrics=requests": 1 + 4*3,
		"/api/runs/1/ratios.csv?metric=plt":      1 + 2,
		"/api/runs/1/claims.csv":                 1 + 1,
		"/api/runs/1/printed.csv":                1 + 1,
		"/api/runs/1/cells/0/csv":                1 + 8,
		"/api/runs/1/loads.csv":                  1 + 28*len(testMetrics) + 4,
		"/api/loads/r1-0000-a1/requests.csv":     1 + 2,
	} {
		status, header, answer := p.do("GET", path, "", nil)
		if status != 200 || !strings.HasPrefix(header.Get("Content-Type"), "text/csv") || !strings.HasPrefix(header.Get("Content-Disposition"), "attachment") {
			t.Errorf("%s: status %d, headers %v: %.200s", path, status, header, answer)
			continue
		}
		all, err := csv.NewReader(strings.NewReader(string(answer))).ReadAll()
		if err != nil || len(all) != rows {
			t.Errorf("%s has %d rows, want %d; error %v", path, len(all), rows, err)
		}
		for _, row := range all {
			for _, field := range row {
				if strings.HasPrefix(field, "=") {
					t.Errorf("%s has the formula %q", path, field)
				}
			}
		}
	}
	if status, _, _ := p.do("GET", "/api/loads/r1-0000-a1/path.csv", "", nil); status != 404 {
		t.Errorf("the critical path of a load without one: status %d", status)
	}
}

// TestWhatIsNotThere asks for what the store does not have.
func TestWhatIsNotThere(t *testing.T) {
	p := shopServed(t)
	for path, want := range map[string]int{
		"/api/runs/9": 404, "/api/runs/x": 400, "/api/runs/1/cells/4": 404, "/api/runs/1/cells/-1": 404, "/api/loads/r1-0000-a9": 404, "/api/loads/%00": 404,
		"/api/runs/1/ratios?metric=none": 404, "/api/runs/1/ratios?baseline=none": 404, "/api/compare?a=r1-0000-a1&b=none": 404,
		"/api/loads/r1-0004-a1/connections": 404, "/api/runs/1?metrics=a,b,c,d,e,f,g,h,i,j,k,l,m": 400, "/api/runs/9/loads.csv": 404,
	} {
		status, _, answer := p.do("GET", path, "", nil)
		if status != want {
			t.Errorf("%s: status %d, want %d: %.100s", path, status, want, answer)
		}
		if want >= 400 {
			var said failure
			if err := json.Unmarshal(answer, &said); err != nil || said.Error == "" {
				t.Errorf("%s says %.100s", path, answer)
			}
		}
	}
}

// TestStoresComeAndGo serves a store that is not there at first, appears, and is replaced by another one.
func TestStoresComeAndGo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "store")
	p := serve(t, dir, t.TempDir())
	var state stateAnswer
	p.get("/api/state", &state)
	if !strings.Contains(state.Problem, store.ErrNotStore.Error()) {
		t.Errorf("without a store, the problem is %q", state.Problem)
	}
	p.ask("GET", "/api/runs", "", 503, nil)
	if status, _, answer := p.do("GET", "/metrics", "", nil); status != 200 || !strings.Contains(string(answer), "\nwiretime_runs 0\n") {
		t.Errorf("without a store the metrics are, with status %d:\n%s", status, answer)
	}

	empty := shop{dir: dir}.open(t)
	if err := empty.Close(); err != nil {
		t.Fatal(err)
	}
	var list struct{ Runs []listedRun }
	if p.get("/api/runs", &list); list.Runs == nil || len(list.Runs) != 0 {
		t.Errorf("an empty store has the runs %v", list.Runs)
	}
	state = stateAnswer{}
	if p.get("/api/state", &state); state.Problem != "" {
		t.Errorf("an empty store has the problem %q", state.Problem)
	}
	p.ask("GET", "/api/runs/1", "", 404, nil)

	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	shop{dir, 1}.fill(t)
	if p.get("/api/runs", &list); len(list.Runs) != 1 {
		t.Errorf("a store that took another's place has the runs %v", list.Runs)
	}
	p.get("/api/runs/1", nil)
}

// TestTheLogDoesNotStay: a server that outlives the writer leaves the store as the writer would have left it.
func TestTheLogDoesNotStay(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	shop{dir, 1}.fill(t)
	p := serve(t, dir, t.TempDir())
	p.get("/api/runs", nil)
	st := shop{dir: dir}.open(t)
	if _, err := st.BeginRun(shop{dir, 1}.spec()); err != nil {
		t.Fatal(err)
	}
	var list struct{ Runs []listedRun }
	if p.get("/api/runs", &list); len(list.Runs) != 2 || list.Runs[0].State != "running" {
		t.Errorf("while another run is written, the runs are %+v", list.Runs)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if p.get("/api/runs", &list); list.Runs[0].State != "interrupted" {
		t.Errorf("after the writer has gone, the run is %q", list.Runs[0].State)
	}
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "wiretime.db-wal")); err == nil {
		t.Error("SQLite's log stays behind")
	}
}
