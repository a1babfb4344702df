package page

import (
	"slices"
	"testing"
	"time"
)

// TestStep: what a step causes is asked for at once or after its delay, and what waits for something else after that.
func TestStep(t *testing.T) {
	const host = "https://www.a.test/"
	recorded := []Recorded{
		{URL: host + "list.json", Initiator: host + "a.js", Kind: Fetch},
		{URL: host + "one.png", Initiator: host + "list.json", Kind: Image},
		{URL: host + "late.png", Kind: Image, Delay: 100 * time.Millisecond},
	}
	p := NewStep(Config{URL: host, Recorded: recorded})
	defer p.Close()
	names := func() (list []string) {
		for _, r := range p.Requests() {
			list = append(list, r.URL[len(host):])
		}
		return list
	}
	p.Advance(0)
	if got := names(); !slices.Equal(got, []string{"list.json"}) {
		t.Fatalf("asked for %q at once", got)
	}
	if at, ok := p.Next(); !ok || at != 100*time.Millisecond {
		t.Errorf("what comes next is due at %v, %v", at, ok)
	}
	p.Respond(50*time.Millisecond, 0, Head{Status: 200, ContentType: "application/json"})
	p.Data(50*time.Millisecond, 0, []byte("[]"))
	p.Finish(50*time.Millisecond, 0, nil)
	if got := names(); !slices.Equal(got, []string{"one.png"}) {
		t.Errorf("asked for %q after the list", got)
	}
	p.Advance(100 * time.Millisecond)
	if got := names(); !slices.Equal(got, []string{"late.png"}) {
		t.Errorf("asked for %q in the end", got)
	}
	if _, loaded := p.Load(); !loaded || !p.HeadDone() {
		t.Error("the page of a step has not been loaded")
	}
	if recorded[0].AfterLoad {
		t.Error("the caller's list was changed")
	}
}
