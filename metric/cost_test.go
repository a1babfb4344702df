package metric

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/costtest"
	"wiretime/evidence"
)

// TestCostOfVeryManyPages takes the figures of a load with as many pages as requests.
func TestCostOfVeryManyPages(t *testing.T) {
	const n, octets = 10_000, 200 // of a page and its request
	h := &capture.HAR{}
	start := time.Unix(1_700_000_000, 0)
	for i := range n {
		id := fmt.Sprint(i)
		began := start.Add(time.Duration(i) * time.Second)
		h.Log.Pages = append(h.Log.Pages, capture.Page{ID: id, Started: began})
		h.Log.Entries = append(h.Log.Entries, capture.Entry{Page: id, Started: began, Time: 1, Request: capture.Request{URL: "https://www.test/" + id}})
	}
	costtest.Check(t, n*octets, costtest.Limit{Fixed: 16 << 20, PerOctet: 128, Time: 2 * time.Microsecond}, func() {
		ev := &evidence.Evidence{HAR: h, Packets: &capture.Packets{}, Server: []capture.ServerEntry{}}
		ev.Timing.NavigationStart = start.UnixNano()
		Pages().Values(ev)
		Pages().Violations(ev)
		if got := len(EachPage(ev)); got != n {
			t.Errorf("%d pages, want %d", got, n)
		}
	})
}

// TestCostOfHints compares the requests of a load with a server log of as many hinted targets as a log may have.
func TestCostOfHints(t *testing.T) {
	url := "https://www.test/" + strings.Repeat("x", 400)
	log := make([]capture.ServerEntry, 2000)
	for i := range log {
		log[i] = capture.ServerEntry{URL: url, Early: []string{strings.Repeat("<a>", 50)}}
	}
	costtest.Check(t, len(log)*600, costtest.Limit{Fixed: 16 << 20, PerOctet: 512, Time: 2 * time.Microsecond}, func() {
		unusedResponses(&evidence.Evidence{HAR: &capture.HAR{}, Server: log})
	})
}
