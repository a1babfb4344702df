package firefox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/costtest"
	"wiretime/loader/browser"
)

// deaf returns a visit and its session with a browser that is not there.
func deaf() (*Visit, *session) {
	b := &Browser{}
	v := &Visit{browser: b, tab: "t", changed: make(chan struct{}, 1)}
	v.reset()
	b.current = v
	return v, &session{event: b.observe, waiting: map[uint64]chan<- message{}}
}

// limit is what a message from the browser may cost.
var limit = costtest.Limit{Fixed: 1 << 20, PerOctet: 600, Time: 5 * time.Microsecond}

// FuzzMessages feeds a visit with what a browser may send, one message a line: events in any order, complete or not.
func FuzzMessages(f *testing.F) {
	request := `"redirectCount":0,"timestamp":1000,"request":{"request":"1","url":"https://www.page.test/","method":"GET","headers":[{"name":"a","value":{"type":"string","value":"b"}}],"timings":{"requestTime":1000,"responseEnd":1200}}`
	response := `"response":{"protocol":"h2","status":200,"headers":[{"name":"content-length","value":{"type":"string","value":"5"}}],"bytesReceived":100}`
	event := func(method, params string) []byte {
		return fmt.Appendf(nil, `{"type":"event","method":%q,"params":{%s}}`, method, params)
	}
	all := [][]byte{
		event("browsingContext.navigationStarted", `"context":"t","navigation":"n","url":"https://www.page.test/"`),
		event("network.beforeRequestSent", request),
		event("network.responseStarted", request+","+response),
		event("network.responseStarted", request),
		event("network.responseCompleted", request+","+response),
		event("network.fetchError", request+`,"errorText":"NS_BINDING_ABORTED"`),
		event("browsingContext.userPromptOpened", `"type":"alert","message":"Hi"`),
		event("browsingContext.load", `"context":"t","navigation":"n"`),
		event("browsingContext.navigationFailed", `"context":"t","navigation":"n","message":"no"`),
		[]byte(`{"type":"success","id":1,"result":{}}`),
	}
	for _, one := range all {
		f.Add(one)
	}
	f.Add(bytes.Join(all, []byte("\n")))
	f.Fuzz(func(t *testing.T, text []byte) {
		v, s := deaf()
		costtest.Check(t, len(text), limit, func() {
			for line := range bytes.SplitSeq(text, []byte("\n")) {
				_ = s.take(line)
			}
			if _, err := v.look("n"); err == nil {
				v.log.close(true)
			}
			v.log.unfinished()
			v.log.due([]browser.Awaited{{URL: "https://www.page.test/"}}, time.Unix(1, 0))
			v.log.har("1", capture.Timing{NavigationStart: v.log.navigationStart(0)})
		})
	})
}

// TestPagesOverALimit reports pages that are over a limit of a load, and one at it. Nothing more is recorded of those that
// are over.
func TestPagesOverALimit(t *testing.T) {
	asked := func(i int, url string) []byte {
		text, err := json.Marshal(message{Type: "event", Method: "network.beforeRequestSent", Params: fmt.Appendf(nil, `{"request":{"request":"%d","url":%q,"method":"GET"}}`, i, url)})
		must(t, err)
		return text
	}
	for _, c := range []struct {
		name  string
		times int
		url   string
		want  string // in the error; empty: none
	}{
		{"requests", browser.MaxRequests, "https://www.page.test/", ""},
		{"too many requests", browser.MaxRequests + 500, "https://www.page.test/", "more than 20000 requests"},
		{"long URLs", 200, "https://www.page.test/" + strings.Repeat("x", 1<<20), "more than 134217728 octets"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, s := deaf()
			for i := range c.times {
				must(t, s.take(asked(i, c.url)))
			}
			_, err := v.look("")
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("the error is %v, want %q", err, c.want)
			}
			if len(v.log.requests) > browser.MaxRequests+1 {
				t.Errorf("%d requests are kept", len(v.log.requests))
			}
			if v.reset(); v.excess != nil {
				t.Errorf("the next page begins with the error %v", v.excess)
			}
		})
	}
}

// TestCostOfManyRequests holds the largest page to a cost in proportion to its events, though the load looks at the
// page after each of them, and all requests are in flight.
func TestCostOfManyRequests(t *testing.T) {
	v, s := deaf()
	var all [][]byte
	octets := 0
	for i := range browser.MaxRequests {
		all = append(all, fmt.Appendf(nil, `{"type":"event","method":"network.beforeRequestSent","params":{"request":{"request":"%d","url":"https://www.page.test/?%[1]d","method":"GET"}}}`, i))
		octets += len(all[i])
	}
	costtest.Check(t, octets, costtest.Limit{Fixed: 1 << 20, PerOctet: 60, Time: time.Microsecond}, func() {
		v.reset()
		for _, text := range all {
			must(t, s.take(text))
			if _, err := v.look(""); err != nil {
				t.Fatal(err)
			}
		}
	})
}
