package chromium

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"

	"wiretime/capture"
	"wiretime/costtest"
	"wiretime/loader/browser"
)

// message returns an event as the browser sends it.
func message(t testing.TB, method cdproto.MethodType, event any) []byte {
	t.Helper()
	params, err := jsonv2.Marshal(event, tolerant)
	if err != nil {
		t.Fatal(err)
	}
	text, err := jsonv2.Marshal(cdproto.Message{Method: method, Params: params}, tolerant)
	if err != nil {
		t.Fatal(err)
	}
	return append(text, 0)
}

// deaf returns a visit whose browser is not there: what the visit sends goes nowhere.
func deaf(t testing.TB) *Visit {
	t.Helper()
	out, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = out.Close() })
	c := &connection{out: out, largest: browser.MaxMessage, done: make(chan struct{}),
		waiting: map[int64]chan<- *cdproto.Message{}, hearings: map[target.SessionID]hearing{}}
	v := &Visit{browser: &Browser{pipe: c}, page: session{connection: c}, targets: map[target.SessionID]*target.Info{}, log: newRequestLog(), changed: make(chan struct{}, 1)}
	c.hear("", v.observe)
	return v
}

// limit is what a message from the browser may cost.
var limit = costtest.Limit{Fixed: 1 << 20, PerOctet: 600, Time: 5 * time.Microsecond}

// FuzzEvents feeds a visit with what a browser may send: events in any order, complete or not.
func FuzzEvents(f *testing.F) {
	all := [][]byte{
		message(f, cdproto.EventTargetAttachedToTarget, &target.EventAttachedToTarget{SessionID: "s", TargetInfo: &target.Info{TargetID: "t", Type: "worker"}, WaitingForDebugger: true}),
		message(f, cdproto.EventNetworkRequestWillBeSent, sent("1", "https://www.page.test/a.png", 10)),
		message(f, cdproto.EventNetworkRequestWillBeSentExtraInfo, &network.EventRequestWillBeSentExtraInfo{RequestID: "1", Headers: network.Headers{"a": "b"}}),
		message(f, cdproto.EventNetworkResponseReceived, responded("1", &network.ResourceTiming{RequestTime: 10})),
		message(f, cdproto.EventNetworkDataReceived, &network.EventDataReceived{RequestID: "1", DataLength: 35}),
		message(f, cdproto.EventNetworkLoadingFinished, finished("1", 10.2, 5000)),
		message(f, cdproto.EventNetworkWebSocketCreated, &network.EventWebSocketCreated{RequestID: "2", URL: "wss://www.page.test/"}),
		message(f, cdproto.EventNetworkWebSocketFrameError, &network.EventWebSocketFrameError{RequestID: "2", ErrorMessage: "Unexpected response code: 404"}),
		message(f, cdproto.EventPageFrameNavigated, &page.EventFrameNavigated{Frame: &cdp.Frame{ID: "f", LoaderID: "1", URL: "https://www.page.test/"}}),
		message(f, cdproto.EventPageFrameDetached, &page.EventFrameDetached{FrameID: "f", Reason: page.FrameDetachedReasonRemove}),
		message(f, cdproto.EventPageJavascriptDialogOpening, &page.EventJavascriptDialogOpening{Type: page.DialogTypeAlert, Message: "Hi"}),
		message(f, cdproto.EventTargetDetachedFromTarget, &target.EventDetachedFromTarget{SessionID: "s"}),
		[]byte("{\"id\":1,\"result\":{}}\x00"),
	}
	for _, one := range all {
		f.Add(one)
	}
	f.Add(bytes.Join(all, nil))
	f.Fuzz(func(t *testing.T, text []byte) {
		v := deaf(t)
		costtest.Check(t, len(text), limit, func() {
			if err := v.page.receive(bytes.NewReader(text)); err == nil {
				t.Error("the pipe ended without an error")
			}
			v.log.due([]browser.Awaited{{URL: "https://www.page.test/a.png"}}, 1)
			if _, err := v.look(); err == nil {
				v.log.close(true)
			}
			v.log.unfinished()
			v.log.upgraded()
			v.log.har("Chrome/1", capture.Timing{NavigationStart: v.log.navigationStart(0, 0)}, 0)
			v.turnPage()
		})
	})
}

// FuzzPipe reads messages in pieces of any size: they are what is between the zero octets.
func FuzzPipe(f *testing.F) {
	f.Add([]byte("a\x00\x00bc\x00d"), uint16(3))
	f.Fuzz(func(t *testing.T, text []byte, largest uint16) {
		c := &connection{largest: int(largest)}
		messages := bufio.NewReaderSize(bytes.NewReader(text), 16)
		pieces := bytes.Split(text, []byte{0})
		for i, want := range pieces {
			got, err := c.next(messages)
			if i == len(pieces)-1 || len(want) > int(largest) {
				if err == nil {
					t.Fatalf("got %q, want an error", got)
				}
				return
			}
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("got %q and %v, want %q", got, err, want)
			}
		}
	})
}

// withoutEnd is a message without an end.
type withoutEnd struct{ read int }

func (w *withoutEnd) Read(p []byte) (int, error) {
	w.read += len(p)
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// TestMessageWithoutEnd ends the connection, instead of taking all memory.
func TestMessageWithoutEnd(t *testing.T) {
	v, in := deaf(t), &withoutEnd{}
	v.page.largest = 1 << 20
	err := v.page.receive(in)
	if err == nil || !strings.Contains(err.Error(), "a message of more than 1048576 octets") {
		t.Errorf("the error is %v", err)
	}
	if in.read > 2<<20 {
		t.Errorf("%d octets were read, want little more than 1048576", in.read)
	}
}

// TestPagesOverALimit reports pages that are over each limit of a load, and some at it. Nothing more is recorded of those
// that are over.
func TestPagesOverALimit(t *testing.T) {
	attached := func(i int) []byte {
		return message(t, cdproto.EventTargetAttachedToTarget, &target.EventAttachedToTarget{SessionID: target.SessionID(fmt.Sprint(i)), TargetInfo: &target.Info{Type: "worker"}})
	}
	asked := func(i int) []byte {
		return message(t, cdproto.EventNetworkRequestWillBeSent, sent(fmt.Sprint(i), fmt.Sprint("https://www.page.test/?", i), 10))
	}
	long := strings.Repeat("x", 1<<20)
	for _, c := range []struct {
		name  string
		times int
		event func(i int) []byte
		want  string // in the error; empty: none
	}{
		{"requests", browser.MaxRequests, asked, ""},
		{"too many requests", browser.MaxRequests + 500, asked, "more than 20000 requests"},
		{"too many WebSockets", browser.MaxRequests + 500, func(i int) []byte {
			return message(t, cdproto.EventNetworkWebSocketCreated, &network.EventWebSocketCreated{RequestID: network.RequestID(fmt.Sprint(i)), URL: "wss://www.page.test/"})
		}, "more than 20000 requests"},
		{"workers", browser.MaxTargets, attached, ""},
		{"too many workers", browser.MaxTargets + 100, attached, "more than 1000 frames and workers"},
		{"workers that come and go", 3 * browser.MaxTargets, func(i int) []byte {
			return append(attached(i), message(t, cdproto.EventTargetDetachedFromTarget, &target.EventDetachedFromTarget{SessionID: target.SessionID(fmt.Sprint(i))})...)
		}, ""},
		{"heads of no requests", 200, func(i int) []byte {
			return message(t, cdproto.EventNetworkRequestWillBeSentExtraInfo, &network.EventRequestWillBeSentExtraInfo{RequestID: network.RequestID(fmt.Sprint(i)), Headers: network.Headers{"x": long}})
		}, "more than 134217728 octets"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := deaf(t)
			var text bytes.Buffer
			for i := range c.times {
				text.Write(c.event(i))
			}
			if err := v.page.receive(&text); !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			_, err := v.look()
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("the error is %v, want %q", err, c.want)
			}
			if len(v.log.requests) > browser.MaxRequests+1 || len(v.targets) > browser.MaxTargets+1 || len(v.log.headers) > 130 || len(v.log.sockets) > browser.MaxRequests+1 {
				t.Errorf("%d requests, %d heads, %d WebSockets and %d targets are kept", len(v.log.requests), len(v.log.headers), len(v.log.sockets), len(v.targets))
			}
			if v.turnPage(); v.excess != nil {
				t.Errorf("the next page begins with the error %v", v.excess)
			}
		})
	}
}

// TestCostOfManyRequests holds the largest page to a cost in proportion to its events, though the load looks at the
// page after each of them, and all requests are in flight.
func TestCostOfManyRequests(t *testing.T) {
	var text bytes.Buffer
	for i := range browser.MaxRequests {
		id := fmt.Sprint(i)
		text.Write(message(t, cdproto.EventNetworkRequestWillBeSent, sent(id, "https://www.page.test/?"+id, 10)))
		text.Write(message(t, cdproto.EventNetworkResponseReceived, responded(id, nil)))
	}
	v := deaf(t)
	looking := func(s session, event any, octets int) {
		v.observe(s, event, octets)
		if _, err := v.look(); err != nil {
			t.Fatal(err)
		}
	}
	v.page.hear("", looking)
	costtest.Check(t, text.Len(), costtest.Limit{Fixed: 1 << 20, PerOctet: 60, Time: time.Microsecond}, func() {
		v.turnPage()
		_ = v.page.receive(bytes.NewReader(text.Bytes()))
	})
	if len(v.log.requests) != browser.MaxRequests {
		t.Errorf("%d requests, want %d", len(v.log.requests), browser.MaxRequests)
	}
}

// TestBrowserThatReadsNoCommands loads a page in a browser that sends events without end and reads nothing: the load ends,
// and the browser is killed.
func TestBrowserThatReadsNoCommands(t *testing.T) {
	file := t.TempDir() + "/event"
	alert := message(t, cdproto.EventPageJavascriptDialogOpening, &page.EventJavascriptDialogOpening{Type: page.DialogTypeAlert})
	must(t, os.WriteFile(file, bytes.Repeat(alert, 1000), 0o600)) // whose answers fill the pipe
	commands, out, err := os.Pipe()
	must(t, err)
	in, events, err := os.Pipe()
	must(t, err)
	command := exec.Command("/bin/sh", "-c", "while :; do cat "+file+" >&4; done")
	command.ExtraFiles = []*os.File{commands, events}
	b := &Browser{output: &browser.Output{}, visits: map[cdp.BrowserContextID]*Visit{}, options: Options{Folder: t.TempDir()}}
	b.process, err = browser.Start(command, b.output)
	must(t, err)
	must(t, errors.Join(commands.Close(), events.Close()))
	b.pipe = newConnection(in, out, browser.MaxMessage)
	v := &Visit{browser: b, page: session{connection: b.pipe}, context: "c", targets: map[target.SessionID]*target.Info{}, log: newRequestLog(), changed: make(chan struct{}, 1)}
	b.pipe.hear("", v.observe)
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("time is over"))
	defer cancel()
	if _, _, err := v.Load(ctx, "https://www.page.test/"); err == nil {
		t.Error("the page has loaded")
	}
	must(t, v.Close())
	if b.Alive() {
		t.Error("the browser is still there")
	}
	must(t, b.Close())
}
