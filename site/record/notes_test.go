package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/target"

	"wiretime/costtest"
	"wiretime/loader/browser"
	"wiretime/loader/chromium"
)

// FuzzNotes feeds a recording with what a browser may send, one message a line: events in any order, complete or not.
func FuzzNotes(f *testing.F) {
	asked := `"requestId":"1","loaderId":"1","documentURL":"https://www.page.test/","request":{"url":"https://www.page.test/","method":"GET","headers":{}},"timestamp":10,"wallTime":1000,"type":"Document"`
	all := [][]byte{
		[]byte(`{"method":"Network.requestWillBeSent","params":{` + asked + `,"initiator":{"type":"script","stack":{"callFrames":[{"url":"https://www.page.test/a.js","lineNumber":1}]}}}}`),
		[]byte(`{"method":"Network.requestWillBeSent","params":{` + asked + `,"redirectHasExtraInfo":true,"redirectResponse":{"url":"https://www.page.test/","status":302,"headers":{"location":"/"}}}}`),
		[]byte(`{"method":"Network.responseReceivedExtraInfo","params":{"requestId":"1","statusCode":200,"headers":{"a":"b\nc"}}}`),
		[]byte(`{"method":"Network.responseReceived","sessionId":"s","params":{"requestId":"1","timestamp":11,"hasExtraInfo":true,"response":{"status":200,"headers":{},"timing":{"requestTime":10,"connectStart":1,"sslStart":2}}}}`),
		[]byte(`{"method":"Network.dataReceived","sessionId":"s","params":{"requestId":"1","timestamp":11,"dataLength":5,"encodedDataLength":5}}`),
		[]byte(`{"method":"Network.loadingFinished","sessionId":"s","params":{"requestId":"1","timestamp":12,"encodedDataLength":100}}`),
		[]byte(`{"method":"Network.loadingFailed","params":{"requestId":"1","timestamp":12,"errorText":"net::ERR_FAILED","canceled":true}}`),
		[]byte(`{"method":"Network.webSocketCreated","params":{"requestId":"2","url":"wss://www.page.test/"}}`),
		[]byte(`{"method":"Target.detachedFromTarget","params":{"sessionId":"s"}}`),
		[]byte(`{"method":"Page.frameNavigated","params":{"frame":{"id":"f","loaderId":"1","url":"https://www.page.test/"}}}`),
		[]byte(`{"method":"Page.loadEventFired","params":{"timestamp":13}}`),
		[]byte(`{"method":"Tracing.dataCollected","params":{"value":[{"name":"ThreadPool_RunTask","pid":1,"ts":1,"dur":2},{"name":"thread_name","pid":1,"args":{"name":"CrRendererMain"}}]}}`),
		[]byte(`{"method":"Tracing.tracingComplete","params":{"dataLossOccurred":false}}`),
	}
	for _, one := range all {
		f.Add(one)
	}
	f.Add(bytes.Join(all, []byte("\n")))
	f.Add(bytes.Join([][]byte{all[12], all[12]}, []byte("\n")))
	limit := costtest.Limit{Fixed: 1 << 20, PerOctet: 600, Time: 5 * time.Microsecond}
	f.Fuzz(func(t *testing.T, text []byte) {
		costtest.Check(t, len(text), limit, func() {
			l, b := newLog(browser.MaxRequests, DefaultMaxSize, func(error) {}), newBusy()
			l.fetch = func(of *request, _ target.SessionID) {
				l.take(of, network.GetResponseBodyResult{Body: []byte("body")}, nil)
			}
			for line := range bytes.SplitSeq(text, []byte("\n")) {
				var m cdproto.Message
				if jsonv2.Unmarshal(line, &m, jsonv2.DefaultOptionsV2()) != nil {
					continue
				}
				if event, ok := chromium.ParseEvent(&m); ok && l.count(event, len(line)) {
					b.note(event)
					l.note(m.SessionID, m.SessionID == "", event)
				}
			}
			l.idle()
			l.close()
			_ = l.crash()
			l.recording("https://www.page.test/#a", "Chrome/1")
			b.since(milliseconds(l.origin()))
		})
	})
}

// TestRecordingsOverALimit end, and their error names the limit and the flag that raises it.
func TestRecordingsOverALimit(t *testing.T) {
	asked := func(i int) any {
		return &network.EventRequestWillBeSent{RequestID: network.RequestID(fmt.Sprint(i)), Request: &network.Request{Method: "GET", URL: "https://www.page.test/"}}
	}
	for _, c := range []struct {
		name   string
		times  int
		event  func(i int) any
		octets int
		want   string // in the error; empty: none
	}{
		{"requests", 99, asked, 1000, ""},
		{"too many requests", 150, asked, 1000, "made 100 requests (record more with --max-requests)"},
		{"too many WebSockets", 150, func(int) any { return &network.EventWebSocketCreated{} }, 1000, "made 100 requests"},
		{"too much", 5, asked, 1 << 20, "reported more than 3276800 octets"},
		{"too many workers", browser.MaxTargets + 1, func(int) any { return &target.EventAttachedToTarget{TargetInfo: &target.Info{}} }, 100, "more than 1000 frames and workers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, full := context.WithCancelCause(t.Context())
			defer full(nil)
			l := newLog(100, 1000, full)
			for i := range c.times {
				if event := c.event(i); l.count(event, c.octets) {
					l.note("", true, event)
				}
			}
			l.count(nil, 0)
			checkFull(t, context.Cause(ctx), c.want)
			if n := len(l.requests) + len(l.sockets); n > 100 {
				t.Errorf("%d requests are kept, want at most 100", n)
			}
		})
	}
}

// TestBodiesOverTheLimit are left out, and end the recording.
func TestBodiesOverTheLimit(t *testing.T) {
	ctx, full := context.WithCancelCause(t.Context())
	defer full(nil)
	l := newLog(100, 1000, full)
	var all [4]request
	for i := range all {
		l.take(&all[i], network.GetResponseBodyResult{Body: make([]byte, 400)}, nil)
		if kept := all[i].hasBody; kept != (i < 2) {
			t.Errorf("body %d is kept: %t", i, kept)
		}
	}
	checkFull(t, context.Cause(ctx), "more than 1000 octets (record more with --max-size)")
}

func checkFull(t *testing.T, cause error, want string) {
	t.Helper()
	if want == "" {
		if cause != nil {
			t.Errorf("the recording ended: %v", cause)
		}
		return
	}
	if _, full := errors.AsType[*FullError](cause); !full || !strings.Contains(cause.Error(), want) {
		t.Errorf("the recording ended with %v, want %q", cause, want)
	}
}
