package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"syscall"
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

// placedSite is a study of one that answers, at a place.
const placedSite = `name: placed-site
repeats: 2
clock: live
matrix:
  sites: ["%s/"]
  protocols: [http/1.1]
  loaders: [builtin]
  at: [here]
options: {taken_limit: 100%%}
`

// TestScheduleOfRealSites has a slot in which one of two real sites cannot be reached. What could be loaded is in the
// results, and the slot says that something could not. Another study of that slot is measured by a worker.
func TestScheduleOfRealSites(t *testing.T) {
	t.Parallel()
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, `<!doctype html><title>real</title><link rel="icon" href="data:,"><p>A page.`)
	}))
	defer served.Close()
	u := self(t)
	u.write(t, "real.yaml", fmt.Sprintf(realSites, served.URL))
	u.write(t, "placed.yaml", fmt.Sprintf(placedSite, served.URL))
	now := time.Now().UTC().Add(30 * time.Second).Truncate(time.Minute) // the minute that began just now, or begins soon
	at := schedule.TimeOfDay{Hour: now.Hour(), Minute: now.Minute()}
	u.write(t, "now.yaml", fmt.Sprintf("name: now\nstudies: [real.yaml, placed.yaml]\nat: [%s]\nzone: UTC\nfrom: %s\ndays: 1\n", at, now.Format(time.DateOnly)))
	ctx, cancel := context.WithTimeout(t.Context(), watchdog)
	defer cancel()
	followed := u.command(ctx, "schedule", "now.yaml", "--listen", "127.0.0.1:0", "--invite", "probe")
	var status strings.Builder
	followed.Stdout = &status
	follows := talking(t, followed)
	follows.await(t, "Worker probe joins")
	probe := talking(t, u.command(ctx, "worker", "--join", "probe.invitation", "--folder", "of-probe", "--at", "here"))
	follows.exits(t, 0)
	r := result{out: status.String(), errors: follows.said.String()}
	probe.signal(t, syscall.SIGINT)
	probe.exits(t, exitInterrupted)
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
	for _, l := range loadsIn(t, filepath.Join(u.home, "results/placed-site")) {
		if l.Validity != store.Valid || l.Worker != "probe" {
			t.Errorf("load %s was made by %q, want probe, and is %s: %s", l.ID, l.Worker, l.Validity, l.Reason)
		}
	}
}
