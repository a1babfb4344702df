package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wiretime/schedule"
	"wiretime/store"
)

// realSites is a study of one real site that answers and one that does not exist, as when there is no network.
const realSites = `name: real-sites
repeats: 1
clock: live
matrix:
  sites: ["%s/", "http://no-such-host.invalid/"]
  protocols: [http/1.1]
  loaders: [builtin]
options: {retries: 0, taken_limit: 100%%}
`

// TestScheduleOfRealSites has a slot in which one of two real sites cannot be reached. What could be loaded is in the
// results, and the slot says that something could not.
func TestScheduleOfRealSites(t *testing.T) {
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, `<!doctype html><title>real</title><link rel="icon" href="data:,"><p>A page.`)
	}))
	defer served.Close()
	u := self(t)
	u.write(t, "real.yaml", fmt.Sprintf(realSites, served.URL))
	now := time.Now().UTC().Add(30 * time.Second).Truncate(time.Minute) // the minute that began just now, or begins soon
	at := schedule.TimeOfDay{Hour: now.Hour(), Minute: now.Minute()}
	u.write(t, "now.yaml", fmt.Sprintf("name: now\nstudies: [real.yaml]\nat: [%s]\nzone: UTC\nfrom: %s\ndays: 1\n", at, now.Format(time.DateOnly)))
	r := u.run(t, "schedule", "now.yaml")
	if r.code != 0 || !strings.Contains(r.out, "0 done, 1 failed, 0 missed, 0 to come.") || !strings.Contains(r.out, "real-sites: 1 of the slot's 2 loads have no valid attempt") {
		t.Fatalf("exit code %d: %s%s", r.code, r.out, r.errors)
	}
	for _, l := range loadsIn(t, filepath.Join(u.home, "results/real-sites")) {
		want := store.Valid
		if strings.Contains(l.Cell.Subject(), "invalid") {
			want = store.Failed
		}
		if l.Validity != want || want == store.Failed && !strings.Contains(l.Reason, "no-such-host.invalid") {
			t.Errorf("the load of %s is %s: %s; want it %s", l.Cell.Subject(), l.Validity, l.Reason, want)
		}
	}
}
