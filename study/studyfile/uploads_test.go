package studyfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wiretime/study"
)

// TestUploadStudies reads studies of uploads, and the mistakes in them.
func TestUploadStudies(t *testing.T) {
	const good = `name: ups
repeats: 1
upload: {}
matrix:
  uploads: [post@10MB]
  protocols: [h2]
  networks: [{name: mine, rate: 10mbit}]
  loaders: [chromium]
`
	s, err := Parse("ups.yaml", []byte(good), words)
	if err != nil {
		t.Fatal(err)
	}
	if cells := s.Cells(nil); len(cells) != 1 || cells[0].Workload != study.Uploads() || cells[0].Subject() != "post@10MB" || cells[0].On(study.AxisServer) != study.ServerOwn {
		t.Errorf("the cells are %+v", cells)
	}
	// At the ride's mean rate of 51 kbit/s the upload would take 26 minutes, at its first rate it takes less than a second.
	const rush = "seconds,down_kbit,up_kbit,down_ms,up_ms,link\n0,100000,100000,10,10,up\n1,100,1,10,10,up\n2000,,,,,end\n"
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "rush.csv"), []byte(rush), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Parse(filepath.Join(dir, "ups.yaml"), []byte(strings.Replace(good, "rate: 10mbit", "ride: rush.csv", 1)), words); err != nil {
		t.Errorf("an upload over a ride that begins fast: %v", err)
	}
	for _, test := range []struct{ old, new, want string }{
		{"upload: {}\n", "", "uploads applies only to studies of uploads; write upload: {} above the matrix"},
		{"upload: {}", "upload: {size: 3}", "upload has no settings; write upload: {}"},
		{"upload: {}", "upload: 7", "upload has no settings"},
		{"post@10MB", "post@50MB", "unknown upload"},
		{"rate: 10mbit", "rate: 100kbit", "post@10MB takes at least 13m20s at the 100kbit up of mine, but the timeout is 2m0s"},
		{"loaders:", "visits: [cold]\n  loaders:", "every upload is cold"},
		{"loaders:", "sites: [x]\n  loaders:", "uploads have sizes, as in uploads: [post@10MB]"},
		{"loaders:", "hints: [push]\n  loaders:", "a sink has no resources to announce"},
		{"loaders:", "at: [frankfurt]\n  loaders:", "at does not apply to studies of uploads: only pages are loaded at places"},
		{"matrix:", "session: {loads: 2}\nmatrix:", "session does not apply to studies of uploads: every upload is cold"},
		{"loaders: [chromium]\n", "loaders: [chromium]\noptions: {think_time: 1s}\n", "an upload has no pages"},
	} {
		if _, err := Parse("ups.yaml", []byte(strings.Replace(good, test.old, test.new, 1)), words); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("with %q for %q: error %v, want %q", test.new, test.old, err, test.want)
		}
	}
}
