package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/loader/chromium"
	"wiretime/network"
	"wiretime/store"
	"wiretime/study"
	"wiretime/ui/reader"
)

// manyRequests is how many requests the largest page has.
const manyRequests = 5000

// foreign is text of a recorded page that would run if a page took it for its own.
const foreign = `</title><img src="/api/state" onerror="document.title=1">`

// oddStore makes a store with three loads: one of very many requests with foreign titles and addresses, whose packets were not kept; one
// that left nothing; and one whose files were dropped.
func oddStore(t *testing.T, dir string) {
	t.Helper()
	link := network.Link{Rate: 5e6, Delay: 10 * time.Millisecond, Queue: network.Queue{Bytes: 64000}}
	cell := study.NewCell(study.Pages(), map[study.Axis]string{
		study.AxisSite: "page", study.AxisNetwork: "cable", study.AxisLoader: "chromium", study.AxisProtocol: "h2", study.AxisClock: study.ClockVirtual,
	}, network.Path{Name: "cable", Access: []network.Access{{Name: "a", Up: link, Down: link}}})
	spec := store.RunSpec{StudyName: "odd", StudyText: "name: odd\n", Environment: json.RawMessage(`{}`), Started: time.Unix(1, 0), Cells: []study.Cell{cell},
		Metrics: []study.Metric{{Name: "onload", Title: "onLoad", Unit: "ms"}}}
	for i := range 3 {
		spec.Plan = append(spec.Plan, study.PlannedLoad{Cell: cell, Repeat: i, Seed: uint64(i)})
	}
	st, err := store.Open(dir, store.Create)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	run, err := st.BeginRun(spec)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := st.Plan(run)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range plan {
		r := store.LoadRecord{Planned: p, Attempt: 1, Started: time.Unix(2, 0), Wall: time.Second, Validity: store.Valid, Values: map[string]float64{"onload": 9000}}
		if i != 1 {
			staged, err := st.StageDir(r.ID())
			if err != nil {
				t.Fatal(err)
			}
			if err := capture.WriteHAR(filepath.Join(staged, "load.har"), manyRequestsHAR()); err != nil {
				t.Fatal(err)
			}
		}
		if err := st.Commit(r); err != nil {
			t.Fatal(err)
		}
		if i == 2 {
			if err := st.Drop(r.ID()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func manyRequestsHAR() *capture.HAR {
	began := time.Unix(1_700_000_000, 0)
	har := &capture.HAR{Log: capture.Log{Version: "1.2", Pages: []capture.Page{{ID: "p", Title: foreign, Started: began, Timings: capture.PageTimings{OnContentLoad: 300, OnLoad: 9000}}}}}
	for i := range manyRequests {
		har.Log.Entries = append(har.Log.Entries, capture.Entry{Page: "p", Started: began.Add(time.Duration(i) * time.Millisecond), Time: 20,
			Request:  capture.Request{Method: "GET", URL: fmt.Sprintf("https://page.test/%d?%s", i, foreign)},
			Response: capture.Response{Status: 200, HTTPVersion: "h2", TransferSize: 2000},
			Timings:  capture.Timings{Blocked: -1, DNS: -1, Connect: -1, SSL: -1, Send: 1, Wait: 10, Receive: 9}})
	}
	return har
}

// TestOddLoads looks at loads that lack what the page would show, and at one with very many requests.
func TestOddLoads(t *testing.T) {
	t.Parallel()
	program, err := chromium.Find("")
	if err != nil {
		t.Skip(err)
	}
	u := self(t)
	oddStore(t, filepath.Join(u.home, "odd"))
	if got := u.run(t, "report", "--store", "odd", "--output", "odd.html"); got.code != 0 {
		t.Errorf("report: exit code %d: %s", got.code, got.errors)
	}
	server := u.serveUI(t, "odd")
	v := &visitor{T: t}
	if v.Reader, err = reader.Open(t.Context(), program, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	v.check(v.Set(t.Context(), reader.Look{Width: 1280, Height: 900}))
	v.check(v.Open(t.Context(), server.address+"/?token="+server.token))

	v.step("5,000 requests, without packets", func() {
		v.goes("#/loads/r1-0000-a1")
		v.until(fmt.Sprintf(`document.querySelector("table.requests")?.getAttribute("aria-rowcount") === "%d"`, manyRequests+1))
		v.sees("The packets are not known")
		v.sees("No connection has packets of both ends.")
		var rows int
		v.eval(`document.querySelectorAll("table.requests button").length`, &rows)
		if rows < 1 || rows >= manyRequests/2 {
			t.Errorf("%d rows are drawn before the reader comes near the others", rows)
		}
		v.eval(`document.querySelector("table.requests tbody:last-child").scrollIntoView()`, nil)
		v.until(fmt.Sprintf(`document.querySelector('button[data-row="%d"]') !== null`, manyRequests-1))
		v.eval(fmt.Sprintf(`document.querySelector('button[data-row="%d"]').click()`, manyRequests-1), nil)
		v.sees(fmt.Sprintf("https://page.test/%d?%s", manyRequests-1, foreign))
	})
	v.step("nothing left", func() {
		v.goes("#/loads/r1-0001-a1")
		v.sees("This load left no files.")
		v.sees("There is no record of its requests")
	})
	v.step("files that were dropped", func() {
		v.goes("#/loads/r1-0002-a1")
		v.sees("Its files were dropped")
	})
	v.step("two loads of which one left nothing", func() {
		v.goes("#/compare/r1-0000-a1/r1-0001-a1")
		v.until(`document.querySelector("h1")?.textContent.includes("r1-0001-a1") && document.querySelector("[aria-busy=true]") === null`)
	})
	if title := ""; v.Eval(t.Context(), "document.title", &title) != nil || title == "1" {
		t.Error("a page took foreign text for its own")
	}
}
